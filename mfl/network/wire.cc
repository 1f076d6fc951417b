#include "mfl/network/wire.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "mfl/network/wire.pb.h"
#include "mfl/network/wire_parse.h"

// The fields that a message and its value have under one name, in both directions.
#define MFL_SCHEMA_FIELDS(F) F(columns) F(features_digest) F(label) F(positive) F(tensors)
#define MFL_NODE_FIELDS(F) F(name) F(connected) F(samples) F(round) F(failures) F(barred)
#define MFL_STATUS_TEXTS(F) F(run_id) F(phase) F(digest) F(schema) F(trouble) F(version)
#define MFL_STATUS_ROUND(F) F(round) F(step) F(steps) F(nodes) F(needed) F(chosen) F(counted) F(quarantined)
#define MFL_STATUS_SUMS(F) F(abandoned) F(rounds_timed) F(bytes_up) F(bytes_down) F(failed_handshakes)
#define MFL_STATUS_FIELDS(F) MFL_STATUS_TEXTS(F) MFL_STATUS_ROUND(F) MFL_STATUS_SUMS(F)
#define MFL_JOINING_FIELDS(F) F(config_digest) F(weight) F(columns) F(bits) F(instance)
#define MFL_PLAN_FIELDS(F) F(run_id) F(config_digest) F(experiment) F(bits)
#define MFL_STATUS_OPTIONAL(F) F(test_loss) F(test_accuracy) F(certificate_expires)
namespace mfl::wire {
namespace {

Result<void> check_protocol(std::uint32_t protocol) {
  if (protocol == kProtocolVersion) return {};
  return fail(
      ErrorCode::kNetwork,
      fmt::format("the peer speaks protocol version {}, this mfl version {}", protocol, kProtocolVersion),
      "upgrade the older of the two");
}

v1::Schema node_to_wire(const Schema& whole) {
  const Schema value = shortened(whole, kMostMessageText);
  v1::Schema out;
  MFL_SCHEMA_FIELDS(MFL_TO_WIRE)
  for (const std::string& name : value.features) out.add_features(name);
  out.set_task(std::string(label_task_name(value.task)));
  for (const std::string& name : value.classes) out.add_classes(name);
  MFL_OPTIONAL_TO_WIRE(own_data)
  return out;
}

// Before anything is made of it: all that a peer may say is at most a few milliseconds of work.
Result<void> check_size(const v1::Schema& message) {
  const auto bytes_of = [](const auto& names, std::size_t each) {
    std::size_t bytes = 0;
    for (const std::string& name : names) bytes += name.size() + each;
    return bytes;
  };
  constexpr std::size_t kLength = 8;
  if (bytes_of(message.features(), kLength) > kMostMessageText)
    return malformed("names of features are too long");
  if (message.tensors().size() > kMostMessageText) return malformed("the tensors are too long");
  if (static_cast<std::size_t>(message.classes_size()) > kMostClasses ||
      bytes_of(message.classes(), 0) > kMostClassBytes)
    return malformed("too many classes");
  return {};
}

Result<void> check_classes(const Schema& schema) {
  if (schema.task == LabelTask::kExternal) return {};
  if (schema.task != LabelTask::kMulticlass) {
    if (schema.classes.size() > 2 || (schema.classes.size() == 2 && schema.classes[0] == schema.classes[1]))
      return malformed("classes that are not two");
    return {};
  }
  if (const auto fault = classes_fault(schema.classes)) return malformed(*fault);
  if (!schema.positive.empty()) return malformed("a positive class of the task multiclass");
  return {};
}

Result<Schema> node_from_wire(const v1::Schema& message) {
  MFL_CHECK(check_size(message));
  Schema out;
  MFL_SCHEMA_FIELDS(MFL_FROM_WIRE)
  out.features.assign(message.features().begin(), message.features().end());
  const auto task = parse_label_task(message.task());
  if (!task) return malformed("an unknown task");
  out.task = *task;
  out.classes.assign(message.classes().begin(), message.classes().end());
  MFL_OPTIONAL_FROM_WIRE(own_data)
  if (out.task != LabelTask::kExternal && !out.features.empty() && out.features.size() != out.columns)
    return malformed("names of other columns");
  MFL_CHECK(check_classes(out));
  return out;
}

v1::NodeStatus node_to_wire(const NodeStatus& value) {
  v1::NodeStatus out;
  MFL_NODE_FIELDS(MFL_TO_WIRE)
  out.set_silent_ms(static_cast<std::uint64_t>(value.silent.count()));
  losses_to_wire(value.losses, out);
  MFL_OPTIONAL_TO_WIRE(seconds)
  MFL_OPTIONAL_TO_WIRE(certificate_expires)
  if (value.set_aside) out.set_quarantined_ms(static_cast<std::uint64_t>(value.set_aside->count()));
  return out;
}

NodeStatus node_from_wire(const v1::NodeStatus& message) {
  NodeStatus out;
  MFL_NODE_FIELDS(MFL_FROM_WIRE)
  out.silent = Time(static_cast<std::int64_t>(message.silent_ms()));
  out.losses = losses_from_wire(message);
  MFL_OPTIONAL_FROM_WIRE(seconds)
  MFL_OPTIONAL_FROM_WIRE(certificate_expires)
  if (message.has_quarantined_ms()) out.set_aside = Time(static_cast<std::int64_t>(message.quarantined_ms()));
  return out;
}

template <class T, class Message>
Result<T> decode_as(std::string_view bytes) {
  MFL_TRY(const auto message, parse<Message>(bytes));
  return from_message(message);
}

}  // namespace

v1::Hello to_message(const Hello& hello) {
  v1::Hello out;
  out.set_protocol(hello.protocol);
  out.set_config_digest(hello.config_digest);
  return out;
}

v1::Plan to_message(const Plan& value) {
  v1::Plan out;
  out.set_protocol(kProtocolVersion);
  MFL_PLAN_FIELDS(MFL_TO_WIRE)
  *out.mutable_schema() = node_to_wire(value.schema);
  return out;
}

v1::Joining to_message(const Joining& value) {
  v1::Joining out;
  out.set_protocol(kProtocolVersion);
  MFL_JOINING_FIELDS(MFL_TO_WIRE)
  *out.mutable_schema() = node_to_wire(value.schema);
  for (const Work work : value.withheld) out.add_withheld(static_cast<v1::Work>(work));
  return out;
}

v1::Verdict to_message(const Verdict& verdict) {
  v1::Verdict out;
  out.set_reason(static_cast<v1::Reason>(verdict.reason));
  out.set_text(verdict.text);
  return out;
}

v1::Status to_message(const FederationStatus& value) {
  v1::Status out;
  MFL_STATUS_FIELDS(MFL_TO_WIRE)
  MFL_STATUS_OPTIONAL(MFL_OPTIONAL_TO_WIRE)
  losses_to_wire(value.losses, out);
  // Reasons that came later are left out until they occur.
  constexpr std::size_t kFirstReasons = 15;
  std::size_t reasons = value.refused.size();
  while (reasons > kFirstReasons && value.refused[reasons - 1] == 0) --reasons;
  for (std::size_t r = 0; r < reasons; ++r) out.add_refused(value.refused[r]);
  out.set_last_round_ms(static_cast<std::uint64_t>(value.last_round.count()));
  out.set_all_rounds_ms(static_cast<std::uint64_t>(value.all_rounds.count()));
  for (const NodeStatus& node : value.node_list) *out.add_node_list() = node_to_wire(node);
  for (const std::string& warning : value.warnings) out.add_warnings(warning);
  return out;
}

std::string encode(const Hello& hello) { return to_message(hello).SerializeAsString(); }
std::string encode(const Plan& plan) { return to_message(plan).SerializeAsString(); }
std::string encode(const Joining& joining) { return to_message(joining).SerializeAsString(); }
std::string encode(const Verdict& verdict) { return to_message(verdict).SerializeAsString(); }
std::string encode(const FederationStatus& status) { return to_message(status).SerializeAsString(); }

Hello from_message(const v1::Hello& message) { return Hello{message.protocol(), message.config_digest()}; }

Result<Plan> from_message(const v1::Plan& message) {
  MFL_CHECK(check_protocol(message.protocol()));
  MFL_TRY(Schema schema, node_from_wire(message.schema()));
  return Plan{message.run_id(), message.config_digest(), message.experiment(), message.bits(),
              std::move(schema)};
}

Result<Joining> from_message(const v1::Joining& message) {
  MFL_CHECK(check_protocol(message.protocol()));
  MFL_TRY(Schema schema, node_from_wire(message.schema()));
  if (schema.task == LabelTask::kUnknown) return malformed("a node that does not say what its labels are");
  Joining out{message.config_digest(), message.weight(),  message.columns(),
              message.bits(),          std::move(schema), message.instance()};
  if (message.withheld_size() > v1::Work_ARRAYSIZE) return malformed("too many kinds of work");
  for (const int work : message.withheld()) {
    if (!v1::Work_IsValid(work)) return malformed(fmt::format("work {}", work));
    out.withheld.push_back(static_cast<Work>(work));
  }
  return out;
}

Result<Verdict> from_message(const v1::Verdict& message) {
  const int reason = message.reason();
  if (reason < 0 || reason >= kReasons) return malformed(fmt::format("reason {}", reason));
  return Verdict{static_cast<Reason>(reason), message.text()};
}

FederationStatus from_message(const v1::Status& message) {
  FederationStatus out;
  MFL_STATUS_FIELDS(MFL_FROM_WIRE)
  MFL_STATUS_OPTIONAL(MFL_OPTIONAL_FROM_WIRE)
  out.losses = losses_from_wire(message);
  for (int i = 0; i < std::min(message.refused_size(), kReasons); ++i)
    out.refused[static_cast<std::size_t>(i)] = message.refused(i);
  out.last_round = Time(static_cast<std::int64_t>(message.last_round_ms()));
  out.all_rounds = Time(static_cast<std::int64_t>(message.all_rounds_ms()));
  for (const v1::NodeStatus& node : message.node_list()) out.node_list.push_back(node_from_wire(node));
  out.warnings.assign(message.warnings().begin(), message.warnings().end());
  return out;
}

Result<Hello> decode_hello(std::string_view bytes) { return decode_as<Hello, v1::Hello>(bytes); }
Result<Plan> decode_plan(std::string_view bytes) { return decode_as<Plan, v1::Plan>(bytes); }
Result<Joining> decode_joining(std::string_view bytes) { return decode_as<Joining, v1::Joining>(bytes); }
Result<Verdict> decode_verdict(std::string_view bytes) { return decode_as<Verdict, v1::Verdict>(bytes); }
Result<FederationStatus> decode_status(std::string_view bytes) {
  return decode_as<FederationStatus, v1::Status>(bytes);
}

}  // namespace mfl::wire
