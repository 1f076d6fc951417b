// HOST:PORT as it is written in flags, and the socket addresses that it means.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct Address {
  std::string host;  // a name or an address, without brackets; empty means every interface, where one listens
  std::uint16_t port = 0;
};

enum class PortZero { kAnyFree, kRefused };

// HOST:PORT, IPv6 addresses in brackets. Errors are kBadConfig and start with `flag` and the text.
Result<Address> parse_address(std::string_view flag, std::string_view text, PortZero zero);

// An address that sockets take.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// For addresses of IPv4 and IPv6.
void set_port(SocketAddress& address, std::uint16_t port);
// The port that a socket is bound to; 0 if it is not bound.
std::uint16_t port_of(int socket);

// Whether the text is an IPv4 or IPv6 address, without brackets, and not a name.
bool is_ip_address(const std::string& text);

// All stream addresses of HOST:PORT, at least one, as the system resolves them; those of every interface for an empty host. Blocks as
// long as the name service does. kNetwork when the name is not known.
Result<std::vector<SocketAddress>> resolve(const Address& address);

// Whether bytes to or from this address stay on this machine: 127.0.0.0/8, ::1, and 127.0.0.0/8 mapped into IPv6. A text such as
// "127.example.org" or "localhost" proves nothing: a server asks this of the address that its socket is bound to
// (getsockname), a client of the peer of its connected socket (getpeername).
bool is_loopback(const sockaddr* address);

// Whether every address of HOST:PORT is loopback, for a decision before there is a socket; it may resolve differently the next time.
// Errors are those of the resolver.
using Resolver = std::function<Result<std::vector<SocketAddress>>(const Address&)>;
Result<bool> resolves_to_loopback(const Address& address, const Resolver& resolver = resolve);

}  // namespace mfl
