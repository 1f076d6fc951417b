// Converts between the values of mfl/federation and the bytes of wire.proto. Decoders accept any bytes; malformed ones are kNetwork.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/messages.h"

namespace mfl::wire {

namespace v1 {  // generated from wire.proto
class Hello;
class Joining;
class Plan;
class Status;
class Verdict;
}  // namespace v1

// The largest piece of a vector in one message, bytes.
inline constexpr std::size_t kChunk = std::size_t{256} << 10U;

struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string config_digest;
};

std::string encode(const Hello& hello);
std::string encode(const Plan& plan);
std::string encode(const Joining& joining);
std::string encode(const Verdict& verdict);
std::string encode(const FederationStatus& status);
// A task becomes a message and its chunks. kEnded has no message: it is the end of the stream.
std::vector<std::string> encode(const Order& order);
std::vector<std::string> encode(const Update& update);
std::size_t pieces(const Order& order);
std::size_t pieces(const Update& update);
std::string encode_piece(const Order& order, std::size_t number);  // one of these messages
std::string encode_piece(const Update& update, std::size_t number);
void append_piece(std::string& out, const Update& update, std::size_t number);

// A peer of another protocol version is refused in decode_plan and decode_joining.
Result<Hello> decode_hello(std::string_view bytes);
Result<Plan> decode_plan(std::string_view bytes);
Result<Joining> decode_joining(std::string_view bytes);
Result<Verdict> decode_verdict(std::string_view bytes);
Result<FederationStatus> decode_status(std::string_view bytes);

// Puts orders together out of messages. Not thread-safe.
class OrderReader {
 public:
  // A task whose vectors are larger is refused.
  explicit OrderReader(std::uint64_t max_payload) : max_payload_(max_payload) {}
  // kNone while chunks of a task are missing, and for the empty order.
  Result<Order> take(std::string_view message);
  // Of the last task nothing has arrived but its announcement.
  bool began() const { return task_ && payload_->empty(); }

 private:
  Result<Order> take_chunk(std::string_view chunk);

  std::uint64_t max_payload_;
  std::optional<Assignment> task_;
  std::uint64_t size_ = 0;
  // The vectors being received, and those of the last two tasks: the older ones' memory is reused once nobody holds them.
  std::shared_ptr<std::string> payload_, last_, before_;
};

// Puts an update together out of parts. Not thread-safe. Never holds more than the header's size, which the caller
// checks before it continues.
class UpdateReader {
 public:
  Result<void> take(std::string_view message);
  bool has_header() const { return header_; }
  const Update& header() const { return update_; }  // payload not complete
  std::uint64_t size() const { return size_; }
  // Continues in this string, with room for everything, once the caller has accepted the header's size.
  void move_to(std::string buffer);
  // The whole; an error when bytes are missing.
  Result<Update> finish();

 private:
  Result<void> take_chunk(std::string_view chunk);

  bool header_ = false;
  Update update_;
  std::uint64_t size_ = 0;
};

// The same without the last step to and from bytes, for the transport.
v1::Hello to_message(const Hello& hello);
v1::Plan to_message(const Plan& plan);
v1::Joining to_message(const Joining& joining);
v1::Verdict to_message(const Verdict& verdict);
v1::Status to_message(const FederationStatus& status);
Hello from_message(const v1::Hello& message);
Result<Plan> from_message(const v1::Plan& message);
Result<Joining> from_message(const v1::Joining& message);
Result<Verdict> from_message(const v1::Verdict& message);
FederationStatus from_message(const v1::Status& message);

}  // namespace mfl::wire
