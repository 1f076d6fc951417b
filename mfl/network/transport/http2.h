// One HTTP/2 connection without its socket: bytes go in, events and bytes come out. A thin layer over nghttp2 that carries gRPC
// messages in both roles and holds the peer to limits.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/network/transport/framing.h"

namespace mfl {

using HeaderFields = std::vector<std::pair<std::string, std::string>>;
using StreamId = std::int32_t;

// The value of a field; empty where there is none.
std::string_view field(const HeaderFields& fields, std::string_view name);

// What the peer of a connection may do.
struct Http2Limits {
  std::uint32_t streams = 16;                          // at a time
  std::size_t header_bytes = 16U << 10U;               // of all fields of a request, after decompression
  std::size_t continuations = 4;                       // frames that continue a header block
  std::uint64_t reset_burst = 100;                     // streams that it cancels: at once,
  std::uint64_t reset_rate = 20;                       // and per second
  std::uint32_t frame_bytes = 64U << 10U;              // of one frame
  std::int32_t stream_window = 1 << 20;                // bytes sent before they were consumed, per stream
  std::int32_t connection_window = 4 << 20;            // and in all
  std::size_t output_bytes = std::size_t{256} << 10U;  // that are encoded ahead of the socket
};

inline constexpr std::uint8_t kInvalidFrame = 0xff;  // for Http2Events::frame

// Called by Http2Session during receive(), closed() during output() as well. Must not destroy the session.
class Http2Events {
 public:
  virtual ~Http2Events() = default;
  // A request (server) or a response or its trailers (client). `ended`: the peer sends nothing more on this stream.
  virtual void headers(StreamId stream, HeaderFields fields, bool ended) = 0;
  // The receiver calls Http2Session::consume for these bytes when they are dealt with.
  virtual void data(StreamId stream, std::string_view bytes) = 0;
  virtual void ended(StreamId stream) = 0;
  // No event of this stream follows. The error code is HTTP/2's.
  virtual void closed(StreamId stream, std::uint32_t error) = 0;
  // A frame has begun to arrive, or was found to be invalid (kInvalidFrame). False: the peer has sent too many and the session ends.
  virtual bool frame(std::uint8_t type, std::size_t bytes) = 0;
  // The peer ends the connection, with a text for people.
  virtual void goaway(std::uint32_t error, std::string_view text) = 0;
};

// Not thread-safe.
class Http2Session {
 public:
  enum class Role { kServer, kClient };

  // `events` outlives the session.
  Http2Session(Role role, const Http2Limits& limits, Http2Events& events);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  ~Http2Session();

  // Bytes from the peer. False: the peer broke the protocol or a limit, see failure(); what remains is to send output(). Later
  // bytes are ignored.
  bool receive(std::string_view bytes);
  // Appends what is to be sent to `out`, up to the limit of output_bytes.
  void output(std::string& out);
  bool wants_output() const { return nghttp2_session_want_write(session_) != 0; }
  // Both sides have said what they had to say.
  bool is_over() const { return nghttp2_session_want_read(session_) == 0 && !wants_output(); }
  const std::string& failure() const { return failure_; }

  // Client: begins a request. -1 when the connection takes no more.
  StreamId request(const HeaderFields& fields);
  // Server: the head of a response. Messages and trailers follow.
  void respond(StreamId stream, const HeaderFields& fields);
  // Queues a message. Not after end().
  void send(StreamId stream, MessageBytes message);
  // Bytes of messages that are queued and not yet encoded.
  std::size_t queued(StreamId stream) const;
  // Ends this side of a stream after what is queued; trailers are the server's. A server that has sent no message may end with the
  // trailers alone, in place of respond().
  void end(StreamId stream, const HeaderFields& trailers = {});
  // The first message that is partly sent is completed, later ones are dropped.
  void drop_queued(StreamId stream);
  void reset(StreamId stream, std::uint32_t error);

  // The receiver has dealt with bytes of data(): the peer may send as many more. consume_connection alone keeps the stream's own
  // window closed, until consume_stream opens it.
  void consume(StreamId stream, std::size_t bytes);
  void consume_connection(std::size_t bytes);
  void consume_stream(StreamId stream, std::size_t bytes);

  void ping();
  // Says why the connection ends. Streams that are open may still end.
  void goaway(std::uint32_t error, std::string_view text);

 private:
  struct Stream {
    HeaderFields fields;
    std::size_t header_bytes = 0;
    std::deque<MessageBytes> queue;
    std::size_t offset = 0;    // sent of the first in the queue, its prefix included
    std::size_t queued = 0;    // bytes
    std::size_t reserved = 0;  // of them in a frame whose head is made
    bool responded = false, ending = false, trailers_sent = false;
    HeaderFields trailers;
  };
  struct Callbacks;
  friend struct Callbacks;

  Stream* find(StreamId stream);
  void resume(StreamId stream);
  void pack(Stream& stream, std::size_t bytes);

  Role role_;
  Http2Limits limits_;
  Http2Events& events_;
  nghttp2_session* session_ = nullptr;
  std::map<StreamId, Stream> streams_;
  std::string* out_ = nullptr;  // during output()
  bool peer_left_ = false;
  std::string failure_;
};

}  // namespace mfl
