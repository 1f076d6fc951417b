#include "transport_peers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "mfl/network/server.h"
#include "mfl/network/transport/rpc_client.h"
#include "mfl/network/transport/rpc_server.h"

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostMessage = 2 * wire::kChunk;

MessageBytes chunk_message() {
  Update update;
  update.payload.assign(2 * wire::kChunk, 'x');
  return std::make_shared<const std::string>(wire::encode_piece(update, 1));  // a chunk without a header
}

// Runs play(node) once per node and round, each node on a thread of its own. make_play(node) is called on that thread.
std::vector<double> timed_rounds(const TransportLoad& load,
                                 const std::function<std::function<void()>(std::size_t node)>& make_play) {
  std::vector<double> seconds;
  Clock::time_point start = Clock::now();
  std::barrier all(static_cast<std::ptrdiff_t>(load.nodes), [&]() noexcept {
    seconds.push_back(seconds_since(start));
    start = Clock::now();
  });
  std::vector<std::thread> nodes;
  for (std::size_t i = 0; i < load.nodes; ++i)
    nodes.emplace_back([&, i] {
      const auto play = make_play(i);
      for (std::size_t round = 0; round <= load.rounds; ++round) {
        play();
        all.arrive_and_wait();
      }
    });
  for (std::thread& node : nodes) node.join();
  seconds.erase(seconds.begin());  // it includes the connection set-up
  return seconds;
}

class Down final : public CallHandler {
 public:
  Down(MessageBytes chunk, std::size_t count) : chunk_(std::move(chunk)), left_(count) {}
  std::size_t most_bytes() const override { return kMostMessage; }
  void message(ServerCall&, std::string_view) override {}
  void ended(ServerCall& call) override { writable(call); }
  void writable(ServerCall& call) override {
    while (left_ > 0 && call.queued() < kMostMessage) {
      call.send(chunk_);
      --left_;
    }
    if (left_ == 0) call.finish({}, true);
  }

 private:
  MessageBytes chunk_;
  std::size_t left_;
};

class Up final : public CallHandler {
 public:
  std::size_t most_bytes() const override { return kMostMessage; }
  void message(ServerCall& call, std::string_view bytes) override {
    bytes_ += bytes.size();
    call.earn(static_cast<double>(bytes.size()));
  }
  void ended(ServerCall& call) override {
    call.send(std::make_shared<const std::string>(fmt::to_string(bytes_)));
    call.finish({}, true);
  }

 private:
  std::size_t bytes_ = 0;
};

void bare_round(RpcClient& client, const TransportLoad& load, const MessageBytes& chunk) {
  const std::size_t whole = load.chunks() * chunk->size();
  const StreamId down = client.open("/down", std::nullopt);
  client.end(down);
  std::size_t bytes = 0;
  std::string room;
  while (auto message = client.read(down, std::nullopt, std::move(room))) {
    bytes += message->size();
    room = *std::move(message);
  }
  if (!client.finish(down, std::nullopt).ok() || bytes != whole) give_up("bare: bytes are missing");
  const StreamId up = client.open("/up", std::nullopt);
  for (std::size_t i = 0; i < load.chunks(); ++i) client.send(up, chunk, std::nullopt);
  client.end(up);
  const auto answer = client.read(up, std::nullopt);
  if (!client.finish(up, std::nullopt).ok() || answer != fmt::to_string(whole))
    give_up("bare: the server misses bytes");
}

void send_all(int socket, const std::string& chunk, std::size_t count) {
  for (; count > 0; --count)
    for (std::size_t sent = 0; sent < chunk.size();) {
      const ssize_t some = ::send(socket, chunk.data() + sent, chunk.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) give_up("tcp: cannot send");
      sent += static_cast<std::size_t>(some);
    }
}

// False when the peer has closed instead.
bool receive_all(int socket, std::string& room, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t some = ::recv(socket, room.data(), std::min(room.size(), bytes), 0);
    if (some < 0) give_up("tcp: cannot receive");
    if (some == 0) return false;
    bytes -= static_cast<std::size_t>(some);
  }
  return true;
}

void let_block(int socket) { ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK); }

// The node asks for a round with one byte; the server ends when it leaves.
void serve_tcp(int socket, const TransportLoad& load) {
  const OwnedSocket owner(socket);
  std::string chunk(wire::kChunk, 'x'), room(wire::kChunk, 0);
  while (receive_all(socket, room, 1)) {
    send_all(socket, chunk, load.chunks());
    if (!receive_all(socket, room, load.chunks() * wire::kChunk)) give_up("tcp: bytes are missing");
    send_all(socket, "x", 1);
  }
}

}  // namespace

void give_up(const std::string& why) {
  fmt::print(stderr, "mfl_transport: {}\n", why);
  std::exit(1);
}

std::vector<double> run_bare(const TransportLoad& load) {
  const MessageBytes chunk = chunk_message();
  RpcServerOptions options;
  options.listen = "127.0.0.1:0";
  options.limits.memory = ServerOptions{}.memory_quota;
  options.open = [&](ServerCall&, std::string_view path) -> std::unique_ptr<CallHandler> {
    if (path == "/down") return std::make_unique<Down>(chunk, load.chunks());
    return std::make_unique<Up>();
  };
  const auto server = must(RpcServer::open(std::move(options)));
  server->serve();
  const auto seconds = timed_rounds(load, [&](std::size_t) -> std::function<void()> {
    const std::shared_ptr<RpcClient> client =
        must(RpcClient::make({server->address(), std::nullopt, {}, kMostMessage}));
    return [client, &load, chunk] { bare_round(*client, load, chunk); };
  });
  server->stop();
  return seconds;
}

std::vector<double> run_tcp(const TransportLoad& load) {
  const ListeningSockets listening = must(listen_on("127.0.0.1:0"));
  const int listener = listening.sockets.front().get();
  let_block(listener);
  std::thread server([&] {
    std::vector<std::thread> connections;
    for (std::size_t i = 0; i < load.nodes; ++i) {
      const int socket = ::accept(listener, nullptr, nullptr);
      if (socket < 0) give_up("tcp: cannot accept");
      connections.emplace_back([socket, &load] { serve_tcp(socket, load); });
    }
    for (std::thread& connection : connections) connection.join();
  });
  const auto seconds = timed_rounds(load, [&](std::size_t) -> std::function<void()> {
    constexpr std::chrono::seconds kPatience{20};
    const auto socket =
        std::make_shared<OwnedSocket>(must(connect_to(listening.address, kPatience, true, [] { return false; })));
    let_block(socket->get());
    return [socket, &load, chunk = std::string(wire::kChunk, 'x'), room = std::string(wire::kChunk, 0)]() mutable {
      send_all(socket->get(), "x", 1);
      if (!receive_all(socket->get(), room, load.chunks() * wire::kChunk)) give_up("tcp: bytes are missing");
      send_all(socket->get(), chunk, load.chunks());
      if (!receive_all(socket->get(), room, 1)) give_up("tcp: the server misses bytes");
    };
  });
  server.join();
  return seconds;
}

}  // namespace mfl
