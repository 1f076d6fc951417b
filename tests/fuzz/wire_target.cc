// The first byte selects what the rest is decoded as. In a stream every message is preceded by its length in two bytes.
#include <vector>

#include "mfl/network/wire.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

constexpr std::uint64_t kMostPayload = 1 << 16;

void require_error(const Error& error) {
  fuzz::require(error.code == ErrorCode::kNetwork && !error.message.empty(), "the error blames the peer");
}

// Compared as bytes: a loss may be NaN.
template <class Decode>
void check_message(std::string_view bytes, Decode decode) {
  const auto value = decode(bytes);
  if (!value) {
    require_error(value.error());
    return;
  }
  const std::string written = wire::encode(*value);
  const auto again = decode(written);
  fuzz::require(again.has_value() && wire::encode(*again) == written, "decode(encode(v)) == v");
}

std::vector<std::string_view> messages(std::string_view stream) {
  std::vector<std::string_view> out;
  while (stream.size() >= 2) {
    const auto [first, rest] = fuzz::two_files(stream);
    out.push_back(first);
    stream = rest;
  }
  return out;
}

void require_same(const Order& order) {
  wire::OrderReader reader(kMostPayload);
  Order again;
  for (const std::string& message : wire::encode(order)) {
    auto taken = reader.take(message);
    fuzz::require(taken.has_value(), "an order that was written is read");
    again = *std::move(taken);
  }
  fuzz::require(again.kind == order.kind && again.status == order.status && again.digest == order.digest,
                "an order is read as it was");
  if (order.kind != Order::Kind::kTask) return;
  fuzz::require(again.task.ticket == order.task.ticket && again.task.run_id == order.task.run_id &&
                    again.task.steps == order.task.steps &&
                    again.task.state_digest == order.task.state_digest &&
                    *again.task.payload == *order.task.payload,
                "a task is read as it was");
}

void check_orders(std::string_view stream) {
  wire::OrderReader reader(kMostPayload);
  for (const std::string_view message : messages(stream)) {
    const auto order = reader.take(message);
    if (!order) {
      require_error(order.error());
      return;
    }
    if (order->kind == Order::Kind::kTask)
      fuzz::require(
          order->task.payload && !order->task.payload->empty() && order->task.payload->size() <= kMostPayload,
          "a task has vectors within the limit");
    require_same(*order);
  }
}

void check_update(std::string_view stream) {
  wire::UpdateReader reader;
  for (const std::string_view message : messages(stream)) {
    const auto taken = reader.take(message);
    fuzz::require(reader.header().payload.size() <= reader.size(), "never more than the header says");
    if (taken) continue;
    require_error(taken.error());
    return;
  }
  const auto update = reader.finish();
  if (!update) {
    require_error(update.error());
    return;
  }
  wire::UpdateReader second;
  const std::vector<std::string> parts = wire::encode(*update);
  for (const std::string& part : parts)
    fuzz::require(second.take(part).has_value(), "an update that was written is read");
  const auto again = second.finish();
  fuzz::require(again.has_value() && wire::encode(*again) == parts, "an update is read as it was");
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto [choice, rest] = fuzz::choice_and_rest(fuzz::view(data, size));
  switch (choice % 7) {
    case 0: check_message(rest, wire::decode_hello); break;
    case 1: check_message(rest, wire::decode_plan); break;
    case 2: check_message(rest, wire::decode_joining); break;
    case 3: check_message(rest, wire::decode_verdict); break;
    case 4: check_message(rest, wire::decode_status); break;
    case 5: check_orders(rest); break;
    default: check_update(rest);
  }
  return 0;
}
