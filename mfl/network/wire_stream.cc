// Orders and updates, whose vectors are sent in chunks. A chunk is copied once on either side: only what precedes it is a message that
// protobuf builds and parses.
#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

#include "mfl/network/wire.h"
#include "mfl/network/wire.pb.h"
#include "mfl/network/wire_parse.h"

namespace mfl::wire {
namespace {

// Field 2 of Order and of UpdatePart: bytes.
static_assert(v1::Order::kChunkFieldNumber == 2 && v1::UpdatePart::kChunkFieldNumber == 2);
constexpr char kChunkTag = 0x12;
constexpr unsigned kVarintBits = 7, kVarintMore = 0x80;

v1::Ticket ticket_to_wire(const Ticket& ticket) {
  v1::Ticket out;
  out.set_epoch(ticket.epoch);
  out.set_round(ticket.round);
  out.set_attempt(ticket.attempt);
  out.set_stage(ticket.stage);
  return out;
}

Ticket ticket_from_wire(const v1::Ticket& ticket) {
  return {ticket.epoch(), ticket.round(), ticket.attempt(), ticket.stage()};
}

template <class Blocks>
void put_blocks(const std::vector<Block>& blocks, Blocks& out) {
  for (const Block& block : blocks) {
    v1::Block& added = *out.Add();
    added.set_name(block.name);
    added.set_encoding(block.encoding);
    added.set_numbers(block.numbers);
  }
}

template <class Blocks>
Result<std::vector<Block>> take_blocks(const Blocks& blocks) {
  constexpr int kMost = 64;
  if (blocks.size() > kMost) return malformed(fmt::format("{} blocks of vectors", blocks.size()));
  std::vector<Block> out;
  for (const v1::Block& block : blocks) out.push_back({block.name(), block.encoding(), block.numbers()});
  return out;
}

template <class List>
Result<Metrics> take_metrics(const List& metrics) {
  if (static_cast<std::size_t>(metrics.size()) > kMostMetrics)
    return malformed(fmt::format("{} metrics", metrics.size()));
  Metrics out;
  for (const v1::Metric& metric : metrics) {
    if (metric.name().size() > kMostMetricName) return malformed("the name of a metric is too long");
    if (!std::isfinite(metric.value())) return malformed("a metric that is not finite");
    out[metric.name()] = metric.value();
  }
  return out;
}

std::size_t chunks(std::string_view payload) { return (payload.size() + kChunk - 1) / kChunk; }

std::string_view chunk_of(std::string_view payload, std::size_t number) {
  return payload.substr(std::min(payload.size(), number * kChunk), kChunk);
}

// As protobuf would: the field has the highest number.
void append_chunk(std::string& message, std::string_view chunk) {
  constexpr std::size_t kMostHead = 11;
  message.reserve(message.size() + kMostHead + chunk.size());
  message += kChunkTag;
  std::size_t rest = chunk.size();
  for (; rest >= kVarintMore; rest >>= kVarintBits)
    message += static_cast<char>(static_cast<unsigned char>(rest | kVarintMore));
  message += static_cast<char>(static_cast<unsigned char>(rest));
  message += chunk;
}

// The chunk of a message that has nothing else; nothing for every other message, well-formed or not.
std::optional<std::string_view> only_chunk(std::string_view message) {
  if (message.empty() || message.front() != kChunkTag) return std::nullopt;
  std::uint64_t size = 0;
  constexpr std::size_t kMostVarint = 5;
  for (std::size_t i = 1; i < message.size() && i <= kMostVarint; ++i) {
    const auto byte = static_cast<unsigned char>(message[i]);
    size |= std::uint64_t{byte & (kVarintMore - 1)} << (kVarintBits * (i - 1));
    if (byte >= kVarintMore) continue;
    const std::string_view chunk = message.substr(i + 1);
    return chunk.size() == size ? std::optional(chunk) : std::nullopt;
  }
  return std::nullopt;
}

template <class T>
std::vector<std::string> encode_pieces(const T& value) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pieces(value); ++i) out.push_back(encode_piece(value, i));
  return out;
}

}  // namespace

std::size_t pieces(const Order& order) {
  return order.kind == Order::Kind::kTask ? 1 + chunks(*order.task.payload) : 1;
}

std::size_t pieces(const Update& update) { return std::max<std::size_t>(1, chunks(update.payload)); }

std::string encode_piece(const Order& order, std::size_t number) {
  assert(order.kind != Order::Kind::kEnded);
  if (order.kind == Order::Kind::kTask && number > 0) {
    std::string message;
    append_chunk(message, chunk_of(*order.task.payload, number - 1));
    return message;
  }
  v1::Order out;
  if (order.kind == Order::Kind::kDone) {
    out.mutable_ending()->set_status(order.status);
    out.mutable_ending()->set_digest(order.digest);
  } else if (order.kind == Order::Kind::kTask) {
    v1::Task& task = *out.mutable_task();
    task.set_run_id(order.task.run_id);
    *task.mutable_ticket() = ticket_to_wire(order.task.ticket);
    task.set_steps(order.task.steps);
    task.set_state_digest(order.task.state_digest);
    task.set_size(order.task.payload->size());
    put_blocks(order.task.blocks, *task.mutable_blocks());
    task.set_counted_round(order.task.counted_round);
    task.set_work(static_cast<v1::Work>(order.task.work));
    task.set_eta(order.task.eta);
  }
  return out.SerializeAsString();
}

void append_piece(std::string& out, const Update& update, std::size_t number) {
  if (number == 0) {
    v1::UpdatePart part;
    v1::UpdateHeader& header = *part.mutable_header();
    header.set_run_id(update.run_id);
    *header.mutable_ticket() = ticket_to_wire(update.ticket);
    header.set_weight(update.weight);
    losses_to_wire(update.losses, header);
    header.set_size(update.payload.size());
    header.set_base(update.base);
    header.set_compute_seconds(update.timing.compute);
    header.set_down_seconds(update.timing.down);
    header.set_round_trip_seconds(update.timing.round_trip);
    put_blocks(update.blocks, *header.mutable_blocks());
    for (const auto& [name, value] : update.metrics) {
      v1::Metric& metric = *header.add_metrics();
      metric.set_name(name);
      metric.set_value(value);
    }
    part.AppendToString(&out);
  }
  if (const auto chunk = chunk_of(update.payload, number); !chunk.empty()) append_chunk(out, chunk);
}

std::string encode_piece(const Update& update, std::size_t number) {
  std::string message;
  append_piece(message, update, number);
  return message;
}

std::vector<std::string> encode(const Order& order) { return encode_pieces(order); }
std::vector<std::string> encode(const Update& update) { return encode_pieces(update); }

Result<Order> OrderReader::take(std::string_view bytes) {
  if (const auto chunk = only_chunk(bytes)) return take_chunk(*chunk);
  MFL_TRY(const auto message, parse<v1::Order>(bytes));
  switch (message.kind_case()) {
    case v1::Order::kTask: {
      if (task_) return malformed("a task before the vectors of the last one");
      const v1::Task& task = message.task();
      if (task.size() == 0 || task.size() > max_payload_)
        return malformed(fmt::format("a task with {} bytes of vectors", task.size()));
      if (!v1::Work_IsValid(task.work())) return malformed(fmt::format("work {}", int{task.work()}));
      if (!std::isfinite(task.eta()) || task.eta() < 0) return malformed("a step size that is not a number");
      MFL_TRY(auto blocks, take_blocks(task.blocks()));
      task_ = Assignment{task.run_id(),     ticket_from_wire(task.ticket()),
                         task.steps(),      task.state_digest(),
                         std::move(blocks), task.counted_round(),
                         nullptr,           static_cast<Work>(task.work()),
                         task.eta()};
      size_ = task.size();
      payload_ = before_ != nullptr && before_.use_count() == 1 ? std::move(before_)
                                                                : std::make_shared<std::string>();
      payload_->clear();
      payload_->reserve(size_);
      return Order{};
    }
    case v1::Order::kChunk: return take_chunk(message.chunk());
    case v1::Order::kEnding:
      return Order{Order::Kind::kDone, {}, message.ending().status(), message.ending().digest()};
    case v1::Order::KIND_NOT_SET: break;
  }
  return Order{};
}

Result<Order> OrderReader::take_chunk(std::string_view chunk) {
  if (!task_ || chunk.size() > size_ - payload_->size())
    return malformed("more bytes of vectors than announced");
  *payload_ += chunk;
  if (payload_->size() < size_) return Order{};
  Order order{Order::Kind::kTask, *std::exchange(task_, std::nullopt), {}, {}};
  order.task.payload = payload_;
  before_ = std::exchange(last_, std::move(payload_));
  return order;
}

Result<void> UpdateReader::take(std::string_view bytes) {
  if (const auto chunk = only_chunk(bytes); chunk && header_) return take_chunk(*chunk);
  MFL_TRY(const auto message, parse<v1::UpdatePart>(bytes));
  if (message.has_header() == header_) return malformed("an update needs one header, in its first part");
  if (!header_) {
    const v1::UpdateHeader& header = message.header();
    MFL_TRY(auto blocks, take_blocks(header.blocks()));
    MFL_TRY(auto metrics, take_metrics(header.metrics()));
    update_ = {header.run_id(),
               ticket_from_wire(header.ticket()),
               header.weight(),
               losses_from_wire(header),
               std::move(blocks),
               {},
               {header.compute_seconds(), header.down_seconds(), header.round_trip_seconds()},
               std::move(metrics),
               header.base()};
    size_ = header.size();
    header_ = true;
  }
  return take_chunk(message.chunk());
}

Result<void> UpdateReader::take_chunk(std::string_view chunk) {
  if (chunk.size() > size_ - update_.payload.size()) return malformed("more bytes of vectors than announced");
  update_.payload += chunk;
  return {};
}

void UpdateReader::move_to(std::string buffer) {
  buffer.reserve(size_);
  buffer.assign(update_.payload);
  update_.payload = std::move(buffer);
}

Result<Update> UpdateReader::finish() {
  if (!header_) return malformed("an update without a header");
  if (update_.payload.size() != size_)
    return malformed(fmt::format("{} of {} bytes of vectors", update_.payload.size(), size_));
  return std::move(update_);
}

}  // namespace mfl::wire
