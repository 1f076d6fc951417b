#include "tests/fuzz/http2_peer.h"

#include <array>
#include <cstring>

#include "tests/fuzz/fuzz.h"

namespace mfl::fuzz {
namespace {

constexpr std::size_t kHead = 9;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::string_view kSettings{"\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0",
                                     2 * kHead};  // and its acknowledgement

// As small as 4 KB of input need to pass them.
Http2Limits small_limits() {
  return {.streams = 3,
          .header_bytes = 512,
          .continuations = 2,
          .reset_burst = 4,
          .reset_rate = 1,
          .frame_bytes = 16U << 10U,
          .stream_window = 1000,
          .connection_window = 1 << 16,
          .output_bytes = 200};
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

Http2Input::Http2Input(std::string_view input) {
  const auto [choice, rest] = choice_and_rest(input);
  const auto [actions, sent] = choice_and_rest(rest);
  role = (choice & 1U) == 0 ? Http2Session::Role::kServer : Http2Session::Role::kClient;
  script = actions;
  if ((choice & 16U) != 0) limits = small_limits();
  if ((choice & 2U) == 0) {
    if (role == Http2Session::Role::kServer) bytes += kPreface;
    bytes += kSettings;
    window = static_cast<std::size_t>(limits.stream_window);
  }
  bytes += sent;
  constexpr std::array<std::size_t, 4> kPieces = {1U << 16U, 100, 9, 1};
  piece = kPieces[choice >> 2U & 3U];
}

MessageBytes numbered(std::uint32_t number) {
  constexpr std::uint32_t kMostPadding = 696;
  std::string bytes(sizeof number + number * 37 % kMostPadding, static_cast<char>(number));
  std::memcpy(bytes.data(), &number, sizeof number);
  return std::make_shared<const std::string>(std::move(bytes));
}

void SentFrames::take(std::string_view bytes) {
  held_ += bytes;
  std::string_view rest = held_;
  if (in_preface_) {
    require(rest.starts_with(kPreface.substr(0, rest.size())), "a client begins with the preface");
    if (rest.size() < kPreface.size()) return;
    rest.remove_prefix(kPreface.size());
    in_preface_ = false;
  }
  while (rest.size() >= kHead) {
    const std::size_t length = big_endian(rest.substr(0, 3));
    require(length <= 1U << 16U, "frames are short");
    if (rest.size() < kHead + length) break;
    take_frame(static_cast<std::uint8_t>(rest[3]), static_cast<std::uint8_t>(rest[4]),
               static_cast<StreamId>(big_endian(rest.substr(5, 4))), rest.substr(kHead, length));
    rest.remove_prefix(kHead + length);
  }
  held_.erase(0, held_.size() - rest.size());
}

void SentFrames::take_frame(std::uint8_t type, std::uint8_t flags, StreamId id, std::string_view payload) {
  require(type <= NGHTTP2_CONTINUATION && type != NGHTTP2_PUSH_PROMISE && id >= 0,
          "frames of types that are in use");
  require((flags & (NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_PRIORITY)) == 0, "no padding, no priority");
  if (type == NGHTTP2_RST_STREAM) streams_[id].ended = true;
  if (type != NGHTTP2_DATA && type != NGHTTP2_HEADERS) return;
  require(id > 0, "content belongs to a stream");
  Stream& stream = streams_[id];
  require(!stream.ended, "nothing follows the end of a stream");
  stream.ended = (flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (type != NGHTTP2_DATA) return;
  const auto fault = stream.splitter.feed(payload, [&](std::string_view message) {
    std::uint32_t number = 0;
    require(message.size() >= sizeof number, "messages are whole");
    std::memcpy(&number, message.data(), sizeof number);
    require(*numbered(number) == message && number > stream.last, "messages are intact and in order");
    stream.last = number;
    return true;
  });
  require(fault == MessageSplitter::Fault::kNone, "messages have valid prefixes");
}

}  // namespace mfl::fuzz
