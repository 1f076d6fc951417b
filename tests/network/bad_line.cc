#include "bad_line.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <mutex>
#include <vector>

#include "loopback.h"
#include "mfl/base/rng.h"
#include "processes.h"

namespace mfl::test {
namespace {

constexpr std::size_t kPiece = 16 << 10;
constexpr milliseconds kLongestDelay{200};
constexpr milliseconds kThrottle{8};  // per piece: 2 MB/s

void close_hard(int socket) {
  const linger hard{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  ::close(socket);
}

}  // namespace

class BadLine::Relay {
 public:
  Relay(std::uint16_t server_port, const LineFaults& faults, std::uint64_t seed)
      : server_port_(server_port), faults_(faults), seed_(seed) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
      std::abort();
    port = ntohs(at.sin_port);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() {
    ::close(listener_);
    for (const Connection& c : connections_)
      if (!c.closed)
        for (const int socket : c.sockets) close_hard(socket);
  }

  void run() {
    while (!stop) {
      wait();
      accept_one();
      for (Connection& c : connections_)
        for (Direction& way : c.ways) move(c, way);
      connections_.remove_if([](const Connection& c) { return c.closed; });
    }
  }

  Seen seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

  std::uint16_t port = 0;
  std::atomic<bool> stop{false};

 private:
  // Bytes that one side has sent and the other has not received.
  struct Direction {
    int from, to;
    std::string held;
    Clock::time_point not_before{};
  };

  struct Connection {
    std::array<int, 2> sockets;
    Stream dice;
    bool throttled;
    bool stalled = false, closed = false;
    std::array<Direction, 2> ways;
  };

  void wait() {
    std::vector<pollfd> waits{{listener_, POLLIN, 0}};
    for (const Connection& c : connections_)
      for (const Direction& way : c.ways)
        if (way.held.empty() && !c.stalled) waits.push_back({way.from, POLLIN, 0});
    ::poll(waits.data(), waits.size(), 1);
  }

  void accept_one() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in to = loopback(server_port_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      ::close(server);
      return close_hard(client);
    }
    const int on = 1;
    for (const int socket : {client, server}) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    Stream dice(seed_, Purpose::kSynthetic, ++seen_.connections);
    const bool throttled = dice.uniform() < faults_.throttled;
    connections_.push_back({{client, server},
                            dice,
                            throttled,
                            false,
                            false,
                            {Direction{client, server, {}, {}}, Direction{server, client, {}, {}}}});
  }

  void end(Connection& c, bool hard) {
    c.closed = true;
    for (const int socket : c.sockets) hard ? close_hard(socket) : void(::close(socket));
  }

  void move(Connection& c, Direction& way) {
    if (c.closed) return;
    if (c.stalled) {  // nothing is read any more; only a hang-up is noticed
      pollfd hung{way.from, POLLRDHUP, 0};
      if (::poll(&hung, 1, 0) > 0 && (hung.revents & (POLLHUP | POLLERR)) != 0) end(c, true);
      return;
    }
    if (way.held.empty() && !read(c, way)) return;
    if (Clock::now() < way.not_before) return;
    const ssize_t sent = ::send(way.to, way.held.data(), way.held.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) way.held.erase(0, static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) end(c, true);
  }

  // False when there is nothing to pass on.
  bool read(Connection& c, Direction& way) {
    std::array<char, kPiece> piece;
    const ssize_t got = ::recv(way.from, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got < 0) {
      if (errno != EAGAIN && errno != EINTR) end(c, true);
      return false;
    }
    if (got == 0) {
      end(c, false);
      return false;
    }
    way.held.assign(piece.data(), static_cast<std::size_t>(got));
    way.not_before = Clock::now() + (c.throttled ? kThrottle : milliseconds(0));
    const std::lock_guard lock(mutex_);
    if (c.dice.uniform() < faults_.reset) {
      ++seen_.resets;
      end(c, true);
      return false;
    }
    if (c.dice.uniform() < faults_.stall) {
      ++seen_.stalls;
      c.stalled = true;
      return false;
    }
    if (c.dice.uniform() < faults_.delay) {
      ++seen_.delays;
      way.not_before += milliseconds(c.dice.below(static_cast<std::uint64_t>(kLongestDelay.count())));
    }
    return true;
  }

  std::uint16_t server_port_;
  LineFaults faults_;
  std::uint64_t seed_;
  int listener_ = -1;
  std::list<Connection> connections_;
  mutable std::mutex mutex_;
  Seen seen_;
};

BadLine::BadLine(std::uint16_t server_port, const LineFaults& faults, std::uint64_t seed)
    : relay_(std::make_unique<Relay>(server_port, faults, seed)), thread_([this] { relay_->run(); }) {}

BadLine::~BadLine() {
  relay_->stop = true;
  thread_.join();
}

std::string BadLine::address() const { return fmt::format("127.0.0.1:{}", relay_->port); }
BadLine::Seen BadLine::seen() const { return relay_->seen(); }

}  // namespace mfl::test
