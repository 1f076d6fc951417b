// gRPC's framing within an HTTP/2 stream: every message has a prefix of five bytes, a flag for compression and its length.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace mfl {

// The bytes of one message. All calls that send it share them.
using MessageBytes = std::shared_ptr<const std::string>;

inline constexpr std::size_t kPrefixBytes = 5;

// size < 2^32.
std::array<char, kPrefixBytes> message_prefix(std::size_t size);

// Splits the bytes of a stream into messages. Memory grows with what has arrived, never with what a prefix claims. Not thread-safe.
class MessageSplitter {
 public:
  enum class Fault { kNone, kTooLong, kCompressed };

  // A longer message, or a compressed one, is a fault.
  explicit MessageSplitter(std::size_t most) : most_(most) {}

  // Calls take(message) for every message that these bytes complete; the view is valid during the call. take returns false to
  // stop: the rest is dropped. After a fault nothing more is taken, and every call returns the same fault.
  Fault feed(std::string_view bytes, const std::function<bool(std::string_view)>& take);

  // During take, at most once: the message, without a copy where it came in parts. The next one is put together in `buffer`.
  std::string own(std::string_view message, std::string buffer);

  // The stream may end here: no message is incomplete.
  bool at_boundary() const { return prefixed_ == 0; }
  // Bytes held of an incomplete message.
  std::size_t held() const { return prefixed_ + held_.size(); }

 private:
  Fault split(std::string_view bytes, const std::function<bool(std::string_view)>& take);

  std::size_t most_;
  std::array<char, kPrefixBytes> prefix_ = {};  // of the message that is incomplete
  std::size_t prefixed_ = 0;                    // bytes of it that have arrived
  std::string held_;                            // and of the message itself
  Fault fault_ = Fault::kNone;
};

// For the trailer grpc-message: everything but printable ASCII, and '%', as %XX.
std::string percent_encoded(std::string_view text);
std::string percent_decoded(std::string_view text);

}  // namespace mfl
