#include "mfl/network/wire.h"

#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "mfl/network/wire.pb.h"

namespace mfl::wire {
namespace {

tl::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::kNetwork, fmt::format("the peer sent a malformed message: {}", what),
              "check that server and node have the same mfl");
}

template <class Message>
Result<Message> parse(std::string_view bytes) {
  static const bool quiet =
      (google::protobuf::SetLogHandler(nullptr), true);  // the error says what went wrong
  (void)quiet;
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return malformed(fmt::format("not a {}", message.GetTypeName()));
  return message;
}

Result<void> check_protocol(std::uint32_t protocol) {
  if (protocol == kProtocolVersion) return {};
  return fail(
      ErrorCode::kNetwork,
      fmt::format("the peer speaks protocol version {}, this mfl version {}", protocol, kProtocolVersion),
      "upgrade the older of the two");
}

v1::Ticket to_wire(const Ticket& ticket) {
  v1::Ticket out;
  out.set_epoch(ticket.epoch);
  out.set_round(ticket.round);
  out.set_attempt(ticket.attempt);
  return out;
}

Ticket from_wire(const v1::Ticket& ticket) { return {ticket.epoch(), ticket.round(), ticket.attempt()}; }

v1::Schema to_wire(const Schema& whole) {
  constexpr std::size_t kMostNames = std::size_t{192} << 10U;  // bytes: a message stays below its limit
  const Schema schema = shortened(whole, kMostNames);
  v1::Schema out;
  out.set_columns(schema.columns);
  for (const std::string& name : schema.features) out.add_features(name);
  out.set_features_digest(schema.features_digest);
  out.set_label(schema.label);
  out.set_task(std::string(label_task_name(schema.task)));
  for (const std::string& name : schema.classes) out.add_classes(name);
  out.set_positive(schema.positive);
  return out;
}

Result<Schema> from_wire(const v1::Schema& message) {
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
  if (!out.features.empty() && out.features.size() != out.columns) return malformed("names of other columns");
  if (out.classes.size() > 2 || (out.classes.size() == 2 && out.classes[0] == out.classes[1]))
    return malformed("classes that are not two");
  return out;
}

v1::NodeStatus to_wire(const NodeStatus& node) {
  v1::NodeStatus out;
  out.set_name(node.name);
  out.set_connected(node.connected);
  out.set_silent_ms(static_cast<std::uint64_t>(node.silent.count()));
  out.set_samples(node.samples);
  out.set_round(node.round);
  if (node.loss) out.set_loss(*node.loss);
  if (node.seconds) out.set_seconds(*node.seconds);
  if (node.certificate_expires) out.set_certificate_expires(*node.certificate_expires);
  out.set_failures(node.failures);
  if (node.set_aside) out.set_quarantined_ms(static_cast<std::uint64_t>(node.set_aside->count()));
  return out;
}

NodeStatus from_wire(const v1::NodeStatus& node) {
  NodeStatus out;
  out.name = node.name();
  out.connected = node.connected();
  out.silent = Time(static_cast<std::int64_t>(node.silent_ms()));
  out.samples = node.samples();
  out.round = node.round();
  if (node.has_loss()) out.loss = node.loss();
  if (node.has_seconds()) out.seconds = node.seconds();
  if (node.has_certificate_expires()) out.certificate_expires = node.certificate_expires();
  out.failures = node.failures();
  if (node.has_quarantined_ms()) out.set_aside = Time(static_cast<std::int64_t>(node.quarantined_ms()));
  return out;
}

std::size_t chunks(std::string_view payload) { return (payload.size() + kChunk - 1) / kChunk; }

std::string_view chunk_of(std::string_view payload, std::size_t number) {
  return payload.substr(std::min(payload.size(), number * kChunk), kChunk);
}

template <class T>
std::vector<std::string> encode_pieces(const T& value) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pieces(value); ++i) out.push_back(piece(value, i).SerializeAsString());
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
  out.set_model(plan.model);
  out.set_lambda(plan.lambda);
  out.set_algorithm(plan.algorithm);
  out.set_eta(plan.eta);
  out.set_gamma(plan.gamma);
  out.set_tau(plan.tau);
  out.set_steps(plan.steps);
  out.set_bits(plan.bits);
  *out.mutable_schema() = to_wire(plan.schema);
  return out;
}

v1::Joining to_message(const Joining& joining) {
  v1::Joining out;
  out.set_protocol(kProtocolVersion);
  out.set_config_digest(joining.config_digest);
  out.set_weight(joining.weight);
  out.set_columns(joining.columns);
  out.set_bits(joining.bits);
  *out.mutable_schema() = to_wire(joining.schema);
  out.set_instance(joining.instance);
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
  if (status.train_loss) out.set_train_loss(*status.train_loss);
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
  for (const NodeStatus& node : status.node_list) *out.add_node_list() = to_wire(node);
  out.set_version(status.version);
  if (status.certificate_expires) out.set_certificate_expires(*status.certificate_expires);
  for (const std::string& warning : status.warnings) out.add_warnings(warning);
  out.set_quarantined(status.quarantined);
  return out;
}

std::size_t pieces(const Order& order) {
  return order.kind == Order::Kind::kTask ? 1 + chunks(*order.task.payload) : 1;
}

v1::Order piece(const Order& order, std::size_t number) {
  assert(order.kind != Order::Kind::kEnded);
  v1::Order out;
  if (order.kind == Order::Kind::kDone) {
    out.mutable_ending()->set_status(order.status);
    out.mutable_ending()->set_digest(order.digest);
  } else if (order.kind == Order::Kind::kTask && number == 0) {
    v1::Task& task = *out.mutable_task();
    task.set_run_id(order.task.run_id);
    *task.mutable_ticket() = to_wire(order.task.ticket);
    task.set_steps(order.task.steps);
    task.set_state_digest(order.task.state_digest);
    task.set_size(order.task.payload->size());
  } else if (order.kind == Order::Kind::kTask) {
    const auto chunk = chunk_of(*order.task.payload, number - 1);
    out.set_chunk(chunk.data(), chunk.size());
  }
  return out;
}

std::size_t pieces(const Update& update) { return std::max<std::size_t>(1, chunks(update.payload)); }

v1::UpdatePart piece(const Update& update, std::size_t number) {
  v1::UpdatePart out;
  if (number == 0) {
    v1::UpdateHeader& header = *out.mutable_header();
    header.set_run_id(update.run_id);
    *header.mutable_ticket() = to_wire(update.ticket);
    header.set_weight(update.weight);
    header.set_loss(update.loss);
    header.set_size(update.payload.size());
    header.set_compute_seconds(update.timing.compute);
    header.set_down_seconds(update.timing.down);
    header.set_round_trip_seconds(update.timing.round_trip);
  }
  const auto chunk = chunk_of(update.payload, number);
  out.set_chunk(chunk.data(), chunk.size());
  return out;
}

std::string encode(const Hello& hello) { return to_message(hello).SerializeAsString(); }
std::string encode(const Plan& plan) { return to_message(plan).SerializeAsString(); }
std::string encode(const Joining& joining) { return to_message(joining).SerializeAsString(); }
std::string encode(const Verdict& verdict) { return to_message(verdict).SerializeAsString(); }
std::string encode(const FederationStatus& status) { return to_message(status).SerializeAsString(); }
std::vector<std::string> encode(const Order& order) { return encode_pieces(order); }
std::vector<std::string> encode(const Update& update) { return encode_pieces(update); }

std::string encode_piece(const Order& order, std::size_t number) {
  return piece(order, number).SerializeAsString();
}

std::string encode_piece(const Update& update, std::size_t number) {
  return piece(update, number).SerializeAsString();
}

Hello from_message(const v1::Hello& message) { return Hello{message.protocol(), message.config_digest()}; }

Result<Plan> from_message(const v1::Plan& message) {
  MFL_CHECK(check_protocol(message.protocol()));
  MFL_TRY(Schema schema, from_wire(message.schema()));
  return Plan{message.run_id(),    message.config_digest(), message.model(),  message.lambda(),
              message.algorithm(), message.eta(),           message.gamma(),  message.tau(),
              message.steps(),     message.bits(),          std::move(schema)};
}

Result<Joining> from_message(const v1::Joining& message) {
  MFL_CHECK(check_protocol(message.protocol()));
  MFL_TRY(Schema schema, from_wire(message.schema()));
  if (schema.task == LabelTask::kUnknown) return malformed("a node that does not say what its labels are");
  return Joining{message.config_digest(), message.weight(),  message.columns(),
                 message.bits(),          std::move(schema), message.instance()};
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
  if (message.has_train_loss()) out.train_loss = message.train_loss();
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
  for (const v1::NodeStatus& node : message.node_list()) out.node_list.push_back(from_wire(node));
  out.version = message.version();
  if (message.has_certificate_expires()) out.certificate_expires = message.certificate_expires();
  out.warnings.assign(message.warnings().begin(), message.warnings().end());
  out.quarantined = message.quarantined();
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

Result<Order> OrderReader::take(std::string_view bytes) {
  MFL_TRY(const auto message, parse<v1::Order>(bytes));
  return take(message);
}

Result<void> UpdateReader::take(std::string_view bytes) {
  MFL_TRY(const auto message, parse<v1::UpdatePart>(bytes));
  return take(message);
}

Result<Order> OrderReader::take(const v1::Order& message) {
  switch (message.kind_case()) {
    case v1::Order::kTask: {
      if (task_) return malformed("a task before the vectors of the last one");
      const v1::Task& task = message.task();
      if (task.size() == 0 || task.size() > max_payload_)
        return malformed(fmt::format("a task with {} bytes of vectors", task.size()));
      task_ = Assignment{task.run_id(), from_wire(task.ticket()), task.steps(), task.state_digest(), nullptr};
      size_ = task.size();
      payload_ = before_ != nullptr && before_.use_count() == 1 ? std::move(before_)
                                                                : std::make_shared<std::string>();
      payload_->clear();
      payload_->reserve(size_);
      return Order{};
    }
    case v1::Order::kChunk: {
      if (!task_ || message.chunk().size() > size_ - payload_->size())
        return malformed("more bytes of vectors than announced");
      *payload_ += message.chunk();
      if (payload_->size() < size_) return Order{};
      Order order{Order::Kind::kTask, *std::exchange(task_, std::nullopt), {}, {}};
      order.task.payload = payload_;
      before_ = std::exchange(last_, std::move(payload_));
      return order;
    }
    case v1::Order::kEnding:
      return Order{Order::Kind::kDone, {}, message.ending().status(), message.ending().digest()};
    case v1::Order::KIND_NOT_SET: break;
  }
  return Order{};
}

Result<void> UpdateReader::take(const v1::UpdatePart& message) {
  if (message.has_header() == header_) return malformed("an update needs one header, in its first part");
  if (!header_) {
    const v1::UpdateHeader& header = message.header();
    update_ = {header.run_id(),
               from_wire(header.ticket()),
               header.weight(),
               header.loss(),
               {},
               {header.compute_seconds(), header.down_seconds(), header.round_trip_seconds()}};
    size_ = header.size();
    header_ = true;
  }
  if (message.chunk().size() > size_ - update_.payload.size())
    return malformed("more bytes of vectors than announced");
  update_.payload += message.chunk();
  return {};
}

void UpdateReader::move_to(std::string room) {
  room.reserve(size_);
  room.assign(update_.payload);
  update_.payload = std::move(room);
}

Result<Update> UpdateReader::finish() {
  if (!header_) return malformed("an update without a header");
  if (update_.payload.size() != size_)
    return malformed(fmt::format("{} of {} bytes of vectors", update_.payload.size(), size_));
  return std::move(update_);
}

}  // namespace mfl::wire
