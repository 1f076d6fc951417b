// A connection of a server over a pair of sockets, without TLS, in made-up time. See Http2Input for the input.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "mfl/network/transport/server_connection.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/http2_peer.h"

namespace mfl {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostMemory = std::size_t{2} << 20U;  // of a connection whose peer has sent 4 KB
constexpr std::size_t kMostMessage = 1000;
constexpr std::size_t kLeastPiece = 20;      // smaller ones cost system calls; the target http2 has them
constexpr std::uint32_t kMostMessages = 40;  // that a call sends of its own accord
constexpr std::array kSteps = {milliseconds(0), milliseconds(1), milliseconds(700), milliseconds(6'000)};

// Does what the first letter of its path says.
class Handler final : public CallHandler {
 public:
  explicit Handler(char method) : method_(method) {}

  std::size_t most_bytes() const override { return kMostMessage; }
  void message(ServerCall& call, std::string_view bytes) override {
    fuzz::require(bytes.size() <= kMostMessage, "messages are within the limit");
    fuzz::require(!ended_, "no message after the end");
    if (method_ == 'p') call.pause();
    if (method_ == 'n') return;
    call.earn(1);
    call.send(fuzz::numbered(sent_++));
    if (method_ == 'd') call.finish({StatusCode::kAborted, std::string(bytes)});
  }
  void ended(ServerCall& call) override {
    fuzz::require(!std::exchange(ended_, true), "an input ends once");
    if (method_ == 'p') call.resume();
    if (method_ != 'n') call.finish({}, true);
  }
  void writable(ServerCall& call) override {
    if (method_ == 'f' && sent_ < kMostMessages) call.send(fuzz::numbered(sent_++));
  }

 private:
  char method_;
  std::uint32_t sent_ = 0;
  bool ended_ = false;
};

std::unique_ptr<CallHandler> open_call(ServerCall& call, std::string_view path) {
  const char method = path.size() > 1 ? path[1] : 'u';
  if (method == 'u') return nullptr;
  auto handler = std::make_unique<Handler>(method);
  if (method == 'e') call.finish({StatusCode::kNotFound, std::string(path)});
  return handler;
}

RpcServerOptions options_for(const fuzz::Http2Input& input) {
  RpcServerOptions options;
  options.limits.http2 = input.limits;
  options.limits.frame_burst = 200;
  options.open = open_call;
  return options;
}

class Server {
 public:
  explicit Server(const fuzz::Http2Input& input) : options_(options_for(input)) {
    std::array<int, 2> pair{};
    fuzz::require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) == 0,
                  "a pair of sockets");
    peer_ = pair[1];
    connection_ = std::make_unique<ServerConnection>(pair[0], "origin", "address", shared_, now_);
    fuzz::require(connection_->shake_hands(now_), "no handshake without TLS");
    connection_->admit(now_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    connection_.reset();
    ::close(peer_);
    fuzz::require(shared_.held == 0 && shared_.calls.empty(), "nothing is left of a connection");
  }

  bool over() const { return connection_->over(); }

  void receive(std::string_view bytes) {
    arrived_ += bytes.size();
    if (::send(peer_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
    serve();
  }

  void pass(milliseconds time, bool resume) {
    now_ += time;
    if (resume)
      for (const auto& [id, call] : shared_.calls) call->resume();
    if (over()) return;
    connection_->tick(now_);
    if (!over() && !std::exchange(shared_.touched, {}).empty()) connection_->flush_output(now_);
    take_output();
  }

  void end_input() {
    ::shutdown(peer_, SHUT_WR);
    if (!over()) serve();
    fuzz::require(over(), "a connection ends with its peer");
  }

 private:
  void serve() {
    while (!over() && connection_->serve(now_)) continue;
    take_output();
    fuzz::require(shared_.held <= arrived_, "no more is held than has arrived");
    fuzz::require(shared_.calls.size() <= options_.limits.http2.streams, "calls are limited");
    fuzz::require(connection_->abuse().empty() || !connection_->is_open(), "abuse ends a connection");
  }

  void take_output() {
    std::array<char, 4096> buffer;
    for (ssize_t count = 0; (count = ::recv(peer_, buffer.data(), buffer.size(), 0)) > 0;)
      sent_.take({buffer.data(), static_cast<std::size_t>(count)});
  }

  RpcServerOptions options_;
  TlsContext tls_;
  ServerShared shared_{options_, tls_};
  SteadyTime now_{std::chrono::hours(1)};
  int peer_ = -1;
  std::size_t arrived_ = 0;
  std::unique_ptr<ServerConnection> connection_;
  fuzz::SentFrames sent_{false};
};

void run(const fuzz::Http2Input& input) {
  const std::size_t before = fuzz::allocated_bytes();
  Server server(input);
  const std::string_view bytes = input.bytes;
  const std::size_t piece = std::max(input.piece, kLeastPiece);
  for (std::size_t at = 0, number = 0; at < bytes.size() && !server.over(); at += piece, ++number) {
    server.receive(bytes.substr(at, piece));
    const unsigned action = input.action(number);
    server.pass(kSteps[action], action == 1);
    fuzz::require(fuzz::allocated_bytes() <= before + kMostMemory, "memory is limited");
  }
  if ((input.script & 1U) != 0) return server.end_input();
  constexpr milliseconds kSilence{10'500};
  for (int i = 0; i < 2; ++i) server.pass(kSilence, false);
  fuzz::require(server.over(), "a connection ends when its peer is silent");
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mfl::run(mfl::fuzz::Http2Input(mfl::fuzz::view(data, size)));
  return 0;
}
