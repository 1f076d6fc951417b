#include "mfl/network/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "mfl/network/address.h"

namespace mfl {
namespace {

constexpr const char* kHint =
    "the port may be in use, or the address may not belong to this machine; choose another with --listen";

struct AddressList {
  addrinfo* first = nullptr;
  AddressList() = default;
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  ~AddressList() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

void set_port(sockaddr* address, std::uint16_t port) {
  if (address->sa_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
}

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

// A listening socket, or -1 with errno. Connections inherit its options.
int listen_at(const addrinfo& where) {
  constexpr int kUserTimeoutMs = 10'000;
  const int socket = ::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (where.ai_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  if (::bind(socket, where.ai_addr, where.ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0) return socket;
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const std::string& address) {
  const auto cannot = [&](const std::string& why) {
    return fail(ErrorCode::kNetwork, fmt::format("cannot listen on {}: {}", address, why), kHint);
  };
  MFL_TRY(const Address parsed, parse_address("--listen", address, PortZero::kAnyFree));
  const std::string& host = parsed.host;
  const std::string port = fmt::to_string(parsed.port);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  AddressList found;
  if (const int error =
          ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &wanted, &found.first);
      error != 0)
    return cannot(::gai_strerror(error));
  auto listener = std::unique_ptr<Listener>(new Listener);
  listener->wakeup_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener->wakeup_ < 0)
    return fail(ErrorCode::kNetwork, fmt::format("cannot make an eventfd: {}", std::strerror(errno)),
                "raise the limit on open files (ulimit -n)");
  std::uint16_t real_port = 0;
  int error = 0;
  for (const addrinfo* at = found.first; at != nullptr; at = at->ai_next) {
    if (real_port != 0) set_port(at->ai_addr, real_port);
    const int socket = listen_at(*at);
    if (socket < 0) {
      error = errno;
      continue;
    }
    listener->sockets_.push_back(socket);
    real_port = port_of(socket);
  }
  if (listener->sockets_.empty()) return cannot(std::strerror(error));
  listener->address_ = address.substr(0, address.rfind(':') + 1) + fmt::to_string(real_port);
  return listener;
}

Listener::~Listener() {
  stop();
  if (wakeup_ >= 0) ::close(wakeup_);
}

void Listener::serve(int most_files, std::function<void(int, int)> take) {
  thread_ = std::thread([this, most_files, take = std::move(take)] {
    std::vector<pollfd> waits{{wakeup_, POLLIN, 0}};
    for (const int socket : sockets_) waits.push_back({socket, POLLIN, 0});
    while (!stopping_) {
      if (::poll(waits.data(), waits.size(), -1) < 0) continue;
      for (std::size_t i = 1; i < waits.size() && !stopping_; ++i)
        if (waits[i].revents != 0) accept_all(waits[i].fd, most_files, take);
    }
  });
}

void Listener::accept_all(int socket, int most_files, const std::function<void(int, int)>& take) {
  constexpr std::chrono::milliseconds kPause{20};
  while (!stopping_) {
    const int connection = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= most_files) {
      ::close(connection);
      ++turned_away_;
    } else if (connection >= 0) {
      take(socket, connection);
    } else if (errno != ECONNABORTED && errno != EINTR) {
      // Nobody waits, or there is no descriptor or memory: then somebody still does, and poll says so after a while.
      if (errno != EAGAIN) std::this_thread::sleep_for(kPause);
      return;
    }
  }
}

void Listener::stop() {
  if (stopping_.exchange(true)) return;
  const std::uint64_t one = 1;
  (void)!::write(wakeup_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  for (const int socket : sockets_) ::close(socket);
  sockets_.clear();
}

int raise_file_limit() {
  constexpr rlim_t kSpare = 64, kMost = std::numeric_limits<int>::max();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  if (limit.rlim_cur != limit.rlim_max) {
    const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return static_cast<int>(std::min(limit.rlim_cur, kMost) - std::min(kSpare, limit.rlim_cur / 4));
}

int open_files() {
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (next >= 0) ::close(next);
  return next;
}

}  // namespace mfl
