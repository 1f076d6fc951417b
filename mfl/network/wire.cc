#include "mfl/network/wire.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "mfl/network/wire.pb.h"
#include "mfl/network/wire_parse.h"

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
  const Schema schema = shortened(whole, kMostMessageText);
  v1::Schema out;
  out.set_columns(schema.columns);
  for (const std::string& name : schema.features) out.add_features(name);
  out.set_features_digest(schema.features_digest);
  out.set_label(schema.label);
  out.set_task(std::string(label_task_name(schema.task)));
  for (const std::string& name : schema.classes) out.add_classes(name);
  out.set_positive(schema.positive);
  if (schema.own_data) out.set_own_data(*schema.own_data);
  out.set_tensors(schema.tensors);
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
  out.columns = message.columns();
  out.features.assign(message.features().begin(), message.features().end());
  out.features_digest = message.features_digest();
  out.label = message.label();
  const auto task = parse_label_task(message.task());
  if (!task) return malformed("an unknown task");
  out.task = *task;
  out.classes.assign(message.classes().begin(), message.classes().end());
  out.positive = message.positive();
  if (message.has_own_data()) out.own_data = message.own_data();
  out.tensors = message.tensors();
  if (out.task != LabelTask::kExternal && !out.features.empty() && out.features.size() != out.columns)
    return malformed("names of other columns");
  MFL_CHECK(check_classes(out));
  return out;
}

v1::NodeStatus node_to_wire(const NodeStatus& node) {
  v1::NodeStatus out;
  out.set_name(node.name);
  out.set_connected(node.connected);
  out.set_silent_ms(static_cast<std::uint64_t>(node.silent.count()));
  out.set_samples(node.samples);
  out.set_round(node.round);
  losses_to_wire(node.losses, out);
  if (node.seconds) out.set_seconds(*node.seconds);
  if (node.certificate_expires) out.set_certificate_expires(*node.certificate_expires);
  out.set_failures(node.failures);
  if (node.set_aside) out.set_quarantined_ms(static_cast<std::uint64_t>(node.set_aside->count()));
  out.set_barred(node.barred);
  return out;
}

NodeStatus node_from_wire(const v1::NodeStatus& node) {
  NodeStatus out;
  out.name = node.name();
  out.connected = node.connected();
  out.silent = Time(static_cast<std::int64_t>(node.silent_ms()));
  out.samples = node.samples();
  out.round = node.round();
  out.losses = losses_from_wire(node);
  if (node.has_seconds()) out.seconds = node.seconds();
  if (node.has_certificate_expires()) out.certificate_expires = node.certificate_expires();
  out.failures = node.failures();
  if (node.has_quarantined_ms()) out.set_aside = Time(static_cast<std::int64_t>(node.quarantined_ms()));
  out.barred = node.barred();
  return out;
}

}  // namespace

v1::Hello to_message(const Hello& hello) {
  v1::Hello out;
  out.set_protocol(hello.protocol);
  out.set_config_digest(hello.config_digest);
  return out;
}

v1::Plan to_message(const Plan& plan) {
  v1::Plan out;
  out.set_protocol(kProtocolVersion);
  out.set_run_id(plan.run_id);
  out.set_config_digest(plan.config_digest);
  out.set_experiment(plan.experiment);
  out.set_bits(plan.bits);
  *out.mutable_schema() = node_to_wire(plan.schema);
  return out;
}

v1::Joining to_message(const Joining& joining) {
  v1::Joining out;
  out.set_protocol(kProtocolVersion);
  out.set_config_digest(joining.config_digest);
  out.set_weight(joining.weight);
  out.set_columns(joining.columns);
  out.set_bits(joining.bits);
  *out.mutable_schema() = node_to_wire(joining.schema);
  out.set_instance(joining.instance);
  for (const Work work : joining.withheld) out.add_withheld(static_cast<v1::Work>(work));
  return out;
}

v1::Verdict to_message(const Verdict& verdict) {
  v1::Verdict out;
  out.set_reason(static_cast<v1::Reason>(verdict.reason));
  out.set_text(verdict.text);
  return out;
}

v1::Status to_message(const FederationStatus& status) {
  v1::Status out;
  out.set_run_id(status.run_id);
  out.set_phase(status.phase);
  out.set_round(status.round);
  out.set_step(status.step);
  out.set_steps(status.steps);
  out.set_nodes(status.nodes);
  out.set_chosen(status.chosen);
  out.set_counted(status.counted);
  out.set_abandoned(status.abandoned);
  out.set_bytes_up(status.bytes_up);
  out.set_bytes_down(status.bytes_down);
  losses_to_wire(status.losses, out);
  // Reasons that came later are left out until they occur.
  constexpr std::size_t kFirstReasons = 15;
  std::size_t reasons = status.refused.size();
  while (reasons > kFirstReasons && status.refused[reasons - 1] == 0) --reasons;
  for (std::size_t r = 0; r < reasons; ++r) out.add_refused(status.refused[r]);
  out.set_digest(status.digest);
  out.set_trouble(status.trouble);
  out.set_rounds_timed(status.rounds_timed);
  out.set_last_round_ms(static_cast<std::uint64_t>(status.last_round.count()));
  out.set_all_rounds_ms(static_cast<std::uint64_t>(status.all_rounds.count()));
  out.set_schema(status.schema);
  out.set_needed(status.needed);
  if (status.test_loss) out.set_test_loss(*status.test_loss);
  if (status.test_accuracy) out.set_test_accuracy(*status.test_accuracy);
  for (const NodeStatus& node : status.node_list) *out.add_node_list() = node_to_wire(node);
  out.set_version(status.version);
  if (status.certificate_expires) out.set_certificate_expires(*status.certificate_expires);
  for (const std::string& warning : status.warnings) out.add_warnings(warning);
  out.set_quarantined(status.quarantined);
  out.set_failed_handshakes(status.failed_handshakes);
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
  out.run_id = message.run_id();
  out.phase = message.phase();
  out.round = message.round();
  out.step = message.step();
  out.steps = message.steps();
  out.nodes = message.nodes();
  out.chosen = message.chosen();
  out.counted = message.counted();
  out.abandoned = message.abandoned();
  out.bytes_up = message.bytes_up();
  out.bytes_down = message.bytes_down();
  out.losses = losses_from_wire(message);
  for (int i = 0; i < std::min(message.refused_size(), kReasons); ++i)
    out.refused[static_cast<std::size_t>(i)] = message.refused(i);
  out.digest = message.digest();
  out.trouble = message.trouble();
  out.rounds_timed = message.rounds_timed();
  out.last_round = Time(static_cast<std::int64_t>(message.last_round_ms()));
  out.all_rounds = Time(static_cast<std::int64_t>(message.all_rounds_ms()));
  out.schema = message.schema();
  out.needed = message.needed();
  if (message.has_test_loss()) out.test_loss = message.test_loss();
  if (message.has_test_accuracy()) out.test_accuracy = message.test_accuracy();
  for (const v1::NodeStatus& node : message.node_list()) out.node_list.push_back(node_from_wire(node));
  out.version = message.version();
  if (message.has_certificate_expires()) out.certificate_expires = message.certificate_expires();
  out.warnings.assign(message.warnings().begin(), message.warnings().end());
  out.quarantined = message.quarantined();
  out.failed_handshakes = message.failed_handshakes();
  return out;
}

Result<Hello> decode_hello(std::string_view bytes) {
  MFL_TRY(const auto message, parse<v1::Hello>(bytes));
  return from_message(message);
}

Result<Plan> decode_plan(std::string_view bytes) {
  MFL_TRY(const auto message, parse<v1::Plan>(bytes));
  return from_message(message);
}

Result<Joining> decode_joining(std::string_view bytes) {
  MFL_TRY(const auto message, parse<v1::Joining>(bytes));
  return from_message(message);
}

Result<Verdict> decode_verdict(std::string_view bytes) {
  MFL_TRY(const auto message, parse<v1::Verdict>(bytes));
  return from_message(message);
}

Result<FederationStatus> decode_status(std::string_view bytes) {
  MFL_TRY(const auto message, parse<v1::Status>(bytes));
  return from_message(message);
}

}  // namespace mfl::wire
