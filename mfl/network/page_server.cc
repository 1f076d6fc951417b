#include "mfl/network/page_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <list>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "mfl/network/transport/sockets.h"

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostRequest = 8192;
constexpr std::chrono::milliseconds kPageFarewell{
    1'000};  // for the peer to take the end of a response and close
constexpr std::chrono::milliseconds kAcceptPause{100};

struct Connection {
  enum class State { kRequest, kResponse, kLinger };
  OwnedSocket socket;
  Clock::time_point deadline;
  State state = State::kRequest;
  std::string request, response;
  std::size_t sent = 0;
};

std::string response_text(std::string_view status, std::string_view type, std::string_view body,
                          bool with_body, std::string_view more = {}) {
  std::string out = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Cache-Control: no-store\r\nConnection: "
      "close\r\n\r\n",
      status, type, body.size(), more);
  if (with_body) out += body;
  return out;
}

std::string refusal_text(std::string_view status, bool with_body = true, std::string_view more = {}) {
  return response_text(status, "text/plain; charset=utf-8", fmt::format("{}\n", status), with_body, more);
}

struct RequestLine {
  std::string_view method, path;
};

std::optional<RequestLine> parse_request(std::string_view request) {
  std::string_view line = request.substr(0, request.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == 0 || last == first) return std::nullopt;
  const std::string_view target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return std::nullopt;
  if (!target.starts_with('/') || target.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  const std::string_view method = line.substr(0, first);
  if (!std::ranges::all_of(method, [](char c) { return c >= 'A' && c <= 'Z'; })) return std::nullopt;
  return RequestLine{method, target.substr(0, target.find('?'))};
}

bool is_whole(std::string_view request) {
  return request.find("\r\n\r\n") != std::string_view::npos || request.find("\n\n") != std::string_view::npos;
}

class Server final : public PageServer {
 public:
  Server(std::vector<OwnedSocket> listeners, OwnedSocket wakeup, std::uint16_t port, Page page,
         PageOptions options)
      : listeners_(std::move(listeners)),
        wakeup_(std::move(wakeup)),
        port_(port),
        page_(std::move(page)),
        options_(std::move(options)),
        thread_([this] { serve(); }) {}

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  ~Server() override {
    const std::uint64_t one = 1;
    while (::write(wakeup_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  std::uint16_t port() const override { return port_; }

 private:
  using Connections = std::list<Connection>;
  static constexpr short kGone = POLLERR | POLLHUP | POLLNVAL;

  void serve() {
    std::vector<pollfd> files;
    for (;;) {
      files.assign(1, {wakeup_.get(), POLLIN, 0});
      const bool accepting = Clock::now() >= accept_again_;
      for (const OwnedSocket& listener : listeners_)
        files.push_back({listener.get(), static_cast<short>(accepting ? POLLIN : 0), 0});
      for (const Connection& one : connections_)
        files.push_back({one.socket.get(),
                         one.state == Connection::State::kResponse ? short{POLLOUT} : short{POLLIN}, 0});
      if (::poll(files.data(), files.size(), wait_ms()) < 0) {
        if (errno != EINTR) std::this_thread::sleep_for(kAcceptPause);
        continue;
      }
      if (files[0].revents != 0) return;
      auto file = files.begin() + 1 + static_cast<std::ptrdiff_t>(listeners_.size());
      for (auto at = connections_.begin(); at != connections_.end(); ++file)
        at = keep(*at, file->revents) ? std::next(at) : connections_.erase(at);
      for (std::size_t i = 0; i < listeners_.size(); ++i)
        if (files[i + 1].revents != 0) accept_all(listeners_[i].get());
    }
  }

  int wait_ms() const {
    std::optional<Clock::time_point> next;
    const auto consider = [&](Clock::time_point time) { next = std::min(next.value_or(time), time); };
    for (const Connection& one : connections_) consider(one.deadline);
    if (accept_again_ > Clock::now()) consider(accept_again_);
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  // False when the connection is over.
  bool keep(Connection& one, short events) {
    bool open = true;
    if (one.state == Connection::State::kRequest && events != 0) open = take_request(one);
    if (open && one.state == Connection::State::kResponse) open = (events & kGone) == 0 && send(one);
    if (open && one.state == Connection::State::kLinger && events != 0) open = drain(one);
    return open && Clock::now() < one.deadline;
  }

  bool take_request(Connection& one) {
    std::array<char, 2048> piece;
    while (one.request.size() <= kMostRequest && !is_whole(one.request)) {
      const ssize_t got = ::recv(one.socket.get(), piece.data(), piece.size(), 0);
      if (got == 0) return false;
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      one.request.append(piece.data(), static_cast<std::size_t>(got));
    }
    one.response = one.request.size() > kMostRequest ? refusal_text("400 Bad Request") : answer(one.request);
    one.request = {};
    one.state = Connection::State::kResponse;
    one.deadline = Clock::now() + options_.patience;
    return true;
  }

  std::string answer(std::string_view request) const {
    const auto line = parse_request(request);
    if (!line) return refusal_text("400 Bad Request");
    const bool head = line->method == "HEAD";
    if (line->path != options_.path) return refusal_text("404 Not Found", !head);
    if (!head && line->method != "GET")
      return refusal_text("405 Method Not Allowed", true, "Allow: GET, HEAD\r\n");
    try {
      return response_text("200 OK", options_.content_type, page_(), !head);
    } catch (const std::exception&) {
      return refusal_text("500 Internal Server Error", !head);
    }
  }

  static bool send(Connection& one) {
    while (one.sent < one.response.size()) {
      const ssize_t sent = ::send(one.socket.get(), one.response.data() + one.sent,
                                  one.response.size() - one.sent, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      one.sent += static_cast<std::size_t>(sent);
    }
    one.response = {};
    ::shutdown(one.socket.get(), SHUT_WR);
    one.state = Connection::State::kLinger;
    one.deadline = Clock::now() + kPageFarewell;
    return true;
  }

  // What a peer still sends; a socket that is closed with it unread would take the response back.
  static bool drain(Connection& one) {
    std::array<char, 2048> piece;
    constexpr int kPieces = 16;  // then it is the others' turn
    for (int i = 0; i < kPieces; ++i) {
      const ssize_t got = ::recv(one.socket.get(), piece.data(), piece.size(), 0);
      if (got == 0) return false;
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    }
    return true;
  }

  void accept_all(int listener) {
    constexpr int kAtOnce = 64;
    for (int i = 0; i < kAtOnce; ++i) {
      OwnedSocket socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.get() < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        if (errno == EINTR || errno == ECONNABORTED) continue;
        close_one();  // most likely there are too many open files
        accept_again_ = Clock::now() + kAcceptPause;
        return;
      }
      if (connections_.size() >= options_.most_connections) close_one();
      Connection& one = connections_.emplace_back();
      one.socket = std::move(socket);
      one.deadline = Clock::now() + options_.patience;
      if (!keep(one, POLLIN)) connections_.pop_back();
    }
  }

  // The oldest that is not being answered, or else the oldest.
  void close_one() {
    if (connections_.empty()) return;
    const auto waiting = std::ranges::find_if(
        connections_, [](const Connection& one) { return one.state != Connection::State::kResponse; });
    connections_.erase(waiting == connections_.end() ? connections_.begin() : waiting);
  }

  std::vector<OwnedSocket> listeners_;
  OwnedSocket wakeup_;
  std::uint16_t port_;
  Page page_;
  PageOptions options_;
  Connections connections_;  // oldest first
  Clock::time_point accept_again_{};
  std::thread thread_;  // last: it uses the others
};

}  // namespace

Result<std::unique_ptr<PageServer>> PageServer::start(const Address& address, Page page,
                                                      PageOptions options) {
  MFL_TRY(std::vector<SocketAddress> places, resolve(address));
  OwnedSocket wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::vector<OwnedSocket> listeners;
  std::uint16_t port = address.port;
  int error = wakeup.get() < 0 ? errno : 0;
  for (SocketAddress& place : places) {
    if (error == EADDRINUSE || wakeup.get() < 0) break;
    set_port(place, port);
    OwnedSocket socket = listen_at(place);
    if (socket.get() < 0) {
      error = errno;
      continue;
    }
    port = port_of(socket.get());
    listeners.push_back(std::move(socket));
  }
  if (listeners.empty() || error == EADDRINUSE)
    return fail(ErrorCode::kNetwork, std::strerror(error),
                "the port may be in use, or the address may not belong to this machine");
  return std::make_unique<Server>(std::move(listeners), std::move(wakeup), port, std::move(page),
                                  std::move(options));
}

}  // namespace mfl
