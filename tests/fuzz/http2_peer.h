// The other end of an HTTP/2 connection, for testing what this side sends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "mfl/network/transport/http2.h"

namespace mfl::fuzz {

// How an input of a connection is used. Its first byte selects the role, whether a valid beginning is put in front, the length of
// the pieces and the limits; the second one says what happens between the pieces; the rest is what the peer sends.
struct Http2Input {
  explicit Http2Input(std::string_view input);

  Http2Session::Role role;
  Http2Limits limits;
  unsigned script = 0;
  std::string bytes;
  std::size_t piece = 1;                 // > 0
  std::size_t window = (1U << 16U) - 1;  // of a stream: the limit's only once the peer knows it

  // 0 to 3, for the piece of this number.
  unsigned action(std::size_t number) const { return script >> (number % 4 * 2) & 3U; }
};

// A message by its number, of up to 700 bytes.
MessageBytes numbered(std::uint32_t number);

// What a peer receives: aborts where frames are invalid, frames follow the end of a stream, or messages are not numbered(), in
// ascending order.
class SentFrames {
 public:
  explicit SentFrames(bool after_preface) : in_preface_(after_preface) {}

  void take(std::string_view bytes);
  bool at_boundary() const { return held_.empty(); }

 private:
  struct Stream {
    MessageSplitter splitter{1U << 16U};
    std::int64_t last = -1;
    bool ended = false;
  };

  void take_frame(std::uint8_t type, std::uint8_t flags, StreamId id, std::string_view payload);

  bool in_preface_;
  std::string held_;
  std::map<StreamId, Stream> streams_;
};

}  // namespace mfl::fuzz
