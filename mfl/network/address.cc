#include "mfl/network/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>

namespace mfl {

Result<Address> parse_address(std::string_view flag, std::string_view text, PortZero zero) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::kBadConfig, fmt::format("{} {}: {}", flag, text, why),
                "write HOST:PORT, such as fl.example.org:7443 or [::1]:7443");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) return bad("has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return bad("an IPv6 address must be in brackets");

  std::uint64_t port = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool parsed = error == std::errc{} && stop == digits.data() + digits.size();
  const unsigned least = zero == PortZero::kAnyFree ? 0 : 1;
  if (!parsed || port < least || port > std::numeric_limits<std::uint16_t>::max())
    return bad(fmt::format("the port must be a number from {} to 65535", least));
  return Address{std::string(host), static_cast<std::uint16_t>(port)};
}

void set_port(SocketAddress& address, std::uint16_t port) {
  if (address.storage.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = htons(port);
}

std::uint16_t port_of(int socket) {
  SocketAddress bound;
  bound.size = sizeof bound.storage;
  if (::getsockname(socket, bound.get(), &bound.size) != 0) return 0;
  return ntohs(bound.storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(bound.storage).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(bound.storage).sin_port);
}

bool is_ip_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

Result<std::vector<SocketAddress>> resolve(const Address& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = fmt::to_string(address.port);
  const int error =
      ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(), &wanted, &found);
  if (error != 0)
    return fail(ErrorCode::kNetwork,
                fmt::format("cannot resolve {}: {}", address.host, ::gai_strerror(error)),
                "check the name, and that the name service answers");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  std::vector<SocketAddress> out;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    SocketAddress& one = out.emplace_back();
    one.size = at->ai_addrlen;
    std::memcpy(&one.storage, at->ai_addr, at->ai_addrlen);
  }
  return out;
}

bool is_loopback(const sockaddr* address) {
  constexpr unsigned kLoopbackNet = 127;
  if (address->sa_family == AF_INET) {
    in_addr plain{};
    std::memcpy(&plain, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, sizeof plain);
    return ntohl(plain.s_addr) >> 24U == kLoopbackNet;
  }
  if (address->sa_family != AF_INET6) return false;
  const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  constexpr int kMappedNet = 12;  // the first byte of the IPv4 address
  return IN6_IS_ADDR_LOOPBACK(&six) ||
         (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[kMappedNet] == kLoopbackNet);
}

Result<bool> resolves_to_loopback(const Address& address, const Resolver& resolver) {
  MFL_TRY(const std::vector<SocketAddress> found, resolver(address));
  return !found.empty() &&
         std::ranges::all_of(found, [](const SocketAddress& one) { return is_loopback(one.get()); });
}

}  // namespace mfl
