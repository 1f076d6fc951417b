// A session in either role whose calls do what those of ServerConnection and of RpcClient do. See Http2Input for the input.
#include <set>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/http2_peer.h"

namespace mfl {
namespace {

using Role = Http2Session::Role;

constexpr std::size_t kMostMemory = std::size_t{2} << 20U;  // of a session whose peer has sent 4 KB
constexpr std::size_t kMostMessage = 1000, kMessagesAhead = 2000, kMostFrames = 300;
constexpr std::uint32_t kMostMessages = 40;  // that a call sends of its own accord

const HeaderFields kResponse{{":status", "200"}, {"content-type", "application/grpc"}};
const HeaderFields kTrailers{{"grpc-status", "0"}};

class Side final : public Http2Events {
 public:
  explicit Side(const fuzz::Http2Input& input)
      : limits_(input.limits),
        window_(input.window),
        role_(input.role),
        session_(role_, limits_, *this),
        sent_(role_ == Role::kClient) {}

  void request(char method) {
    const StreamId stream = session_.request(
        {{":method", "POST"}, {":scheme", "http"}, {":path", {'/', method}}, {":authority", "a"}});
    if (stream < 0) return;
    calls_[stream].method = method;
    send(stream, 1);
    if (method == 'e') session_.end(stream);
  }

  // True: the session is sound.
  bool receive(std::string_view bytes) {
    const std::size_t before = events_;
    const bool was_sound = session_.failure().empty();
    const bool sound = session_.receive(bytes);
    fuzz::require(sound == session_.failure().empty(), "a session that fails says why");
    fuzz::require(was_sound || (!sound && events_ == before), "nothing happens after a failure");
    return sound;
  }

  void act(unsigned action) {
    switch (action) {
      case 1: resume(); break;
      case 2:
        session_.ping();
        for (const auto& [stream, call] : calls_) session_.drop_queued(stream);
        return;  // and sends nothing yet
      case 3:
        if (!calls_.empty()) session_.end(calls_.begin()->first, trailers(calls_.begin()->second));
        break;
      default: break;
    }
    drain();
  }

  void drain() {
    for (bool more = true; more;) {
      std::string out;
      session_.output(out);
      fuzz::require(out.size() <= limits_.output_bytes + (16U << 10U), "the output is limited");
      sent_.take(out);
      more = !out.empty();
    }
  }

  // As a server does whose peer broke a limit.
  void finish() {
    for (const auto& [stream, call] : calls_) {
      session_.drop_queued(stream);
      session_.end(stream, trailers(call));
    }
    session_.goaway(NGHTTP2_ENHANCE_YOUR_CALM, session_.failure());
    drain();
    fuzz::require(sent_.at_boundary(), "frames are sent whole");
  }

 private:
  struct Call {
    char method = 'n';
    HeaderFields fields;
    MessageSplitter splitter{kMostMessage};
    std::size_t unconsumed = 0, last_frame = 0;
    std::uint32_t sent = 0;
    bool has_head = false, responded = false, input_ended = false;
  };

  HeaderFields trailers(const Call& call) const {
    if (role_ == Role::kClient) return {};
    return call.responded ? kTrailers : kResponse;
  }

  Call& call_of(StreamId stream) {
    ++events_;
    const auto found = calls_.find(stream);
    fuzz::require(found != calls_.end(), "events belong to open streams");
    fuzz::require(!found->second.input_ended, "nothing arrives after the end of a stream");
    return found->second;
  }

  void headers(StreamId stream, HeaderFields fields, bool ended) override {
    std::size_t bytes = 0;
    for (const auto& [name, value] : fields) bytes += name.size() + value.size();
    fuzz::require(bytes <= limits_.header_bytes, "headers are limited");
    fuzz::require(!closed_.contains(stream), "a stream that is closed remains so");
    if (role_ == Role::kServer) calls_.try_emplace(stream);
    fuzz::require(role_ == Role::kClient || calls_.size() <= limits_.streams, "streams are limited");
    Call& call = call_of(stream);
    if (!std::exchange(call.has_head, true) && role_ == Role::kServer) open(stream, call, std::move(fields));
    if (ended) end_input(stream, call);
  }

  void open(StreamId stream, Call& call, HeaderFields fields) {
    if (const std::string_view path = field(fields, ":path"); path.size() > 1) call.method = path[1];
    call.fields = std::move(fields);
    if (field(call.fields, ":method") != "POST") return session_.end(stream, {{":status", "405"}});
    if (call.method == 'e') session_.end(stream, kResponse);
    if (call.method == 'r') session_.reset(stream, NGHTTP2_CANCEL);
    if (call.method == 'f') flood(stream, call);
  }

  void data(StreamId stream, std::string_view bytes) override {
    Call& call = call_of(stream);
    fuzz::require(call.has_head, "headers come first");
    if (call.method == 'p') {
      if (call.unconsumed <= window_) call.last_frame = frames_;
      call.unconsumed += bytes.size();
      fuzz::require(call.last_frame == frames_, "no frame follows the one that exceeds a stream's window");
      session_.consume_connection(bytes.size());
    } else if (call.method != 'n') {
      session_.consume(stream, bytes.size());
    }
    call.splitter.feed(bytes, [&](std::string_view) {
      if (role_ == Role::kServer) answer(stream, call);
      return true;
    });
  }

  void answer(StreamId stream, Call& call) {
    send(stream, call.method == 'd' ? 5 : 1);
    if (call.method != 'd') return;
    session_.drop_queued(stream);
    session_.end(stream, kTrailers);
  }

  void ended(StreamId stream) override { end_input(stream, call_of(stream)); }

  void end_input(StreamId stream, Call& call) {
    call.input_ended = true;
    if (role_ == Role::kServer && call.method != 'n') session_.end(stream, trailers(call));
  }

  void closed(StreamId stream, std::uint32_t) override {
    ++events_;
    calls_.erase(stream);
    fuzz::require(closed_.insert(stream).second, "a stream is closed once");
    fuzz::require(session_.queued(stream) == 0, "nothing is queued for a stream that is closed");
  }

  bool frame(std::uint8_t, std::size_t) override {
    ++events_;
    return ++frames_ < kMostFrames;
  }
  void goaway(std::uint32_t, std::string_view) override {
    ++events_;
    if (role_ == Role::kClient) request('x');
  }

  void send(StreamId stream, std::uint32_t count) {
    Call& call = calls_.at(stream);
    if (role_ == Role::kServer && !std::exchange(call.responded, true)) session_.respond(stream, kResponse);
    while (count-- > 0 && call.sent < kMostMessages) session_.send(stream, fuzz::numbered(call.sent++));
  }

  void flood(StreamId stream, Call& call) {
    while (call.sent < kMostMessages && session_.queued(stream) < kMessagesAhead) send(stream, 1);
  }

  void resume() {
    for (auto& [stream, call] : calls_) {
      session_.consume_stream(stream, std::exchange(call.unconsumed, 0));
      if (call.method == 'f') flood(stream, call);
    }
  }

  Http2Limits limits_;
  std::size_t window_;
  Role role_;
  std::map<StreamId, Call> calls_;
  std::set<StreamId> closed_;
  std::size_t events_ = 0, frames_ = 0;
  Http2Session session_;
  fuzz::SentFrames sent_;
};

void run(const fuzz::Http2Input& input) {
  const std::size_t before = fuzz::allocated_bytes();
  Side side(input);
  if (input.role == Role::kClient)
    for (const char method : {'e', 'x', 'p'}) side.request(method);
  side.drain();
  const std::string_view bytes = input.bytes;
  bool sound = true;
  for (std::size_t at = 0, number = 0; at < bytes.size() && sound; at += input.piece, ++number) {
    sound = side.receive(bytes.substr(at, input.piece));
    if (sound) side.act(input.action(number));
    fuzz::require(fuzz::allocated_bytes() <= before + kMostMemory, "memory is limited");
  }
  side.finish();
  side.receive(bytes);
  side.drain();
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mfl::run(mfl::fuzz::Http2Input(mfl::fuzz::view(data, size)));
  return 0;
}
