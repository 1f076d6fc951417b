#include "mfl/network/transport/sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mfl {
namespace {

constexpr int kUserTimeoutMs = 10'000;

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

// Waits for the connection in progress. An empty string when it is made, else why not.
std::string wait_connected(int socket, std::chrono::steady_clock::time_point until,
                           const std::function<bool()>& stop) {
  constexpr int kBeatMs = 50;
  for (;;) {
    pollfd wait{socket, POLLOUT, 0};
    const int ready = ::poll(&wait, 1, kBeatMs);
    if (ready > 0) break;
    if (stop && stop()) return "stopped";
    if (std::chrono::steady_clock::now() >= until) return "no answer";
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace

OwnedSocket& OwnedSocket::operator=(OwnedSocket&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

OwnedSocket::~OwnedSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OwnedSocket listen_at(const SocketAddress& where) {
  OwnedSocket socket(::socket(where.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return socket;
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (where.get()->sa_family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  if (::bind(socket.get(), where.get(), where.size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0)
    return socket;
  const int error = errno;
  socket = OwnedSocket();
  errno = error;
  return socket;
}

Result<ListeningSockets> listen_on(const std::string& address) {
  MFL_TRY(const Address parsed, parse_address("--listen", address, PortZero::kAnyFree));
  const std::string what = fmt::format("cannot listen on {}", address);
  auto found = resolve(parsed);
  if (!found) return fail_because(found.error(), what);
  ListeningSockets out;
  std::uint16_t real_port = 0;
  int error = 0;
  for (SocketAddress& at : *found) {
    if (real_port != 0) set_port(at, real_port);
    OwnedSocket socket = listen_at(at);
    if (socket.get() < 0) {
      error = errno;
      continue;
    }
    out.loopback = out.loopback && is_loopback(at.get());
    real_port = port_of(socket.get());
    out.sockets.push_back(std::move(socket));
  }
  if (out.sockets.empty())
    return fail(ErrorCode::kNetwork, fmt::format("{}: {}", what, std::strerror(error)),
                "the port may be in use, or the address may not belong to this machine; choose another with "
                "--listen");
  out.address = address.substr(0, address.rfind(':') + 1) + fmt::to_string(real_port);
  return out;
}

Result<OwnedSocket> connect_to(const std::string& address, std::chrono::milliseconds patience,
                               bool loopback_only, const std::function<bool()>& stop) {
  const auto until = std::chrono::steady_clock::now() + patience;
  MFL_TRY(const Address parsed, parse_address("--server", address, PortZero::kRefused));
  const std::string what = fmt::format("cannot connect to {}", address);
  const auto found = resolve(parsed);
  if (!found) return fail_because(found.error(), what);
  std::string why;
  for (const SocketAddress& at : *found) {
    if (loopback_only && !is_loopback(at.get())) {
      why = "it is not loopback, and only loopback may be plaintext";
      continue;
    }
    OwnedSocket socket(::socket(at.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) {
      why = std::strerror(errno);
      continue;
    }
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
    if (::connect(socket.get(), at.get(), at.size) == 0) return socket;
    why = errno == EINPROGRESS ? wait_connected(socket.get(), until, stop) : std::strerror(errno);
    if (why.empty()) return socket;
  }
  return fail(ErrorCode::kNetwork, fmt::format("{}: {}", what, why), "check the server and its address");
}

std::size_t available_files() {
  constexpr rlim_t kSpare = 64, kMost = 1U << 20U;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  if (limit.rlim_cur != limit.rlim_max) {
    const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (next >= 0) ::close(next);
  const rlim_t allowed = std::min(limit.rlim_cur, kMost), used = static_cast<rlim_t>(std::max(next, 0));
  return static_cast<std::size_t>(allowed - std::min(allowed, used + std::min(kSpare, allowed / 4)));
}

}  // namespace mfl
