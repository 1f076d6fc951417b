// Addresses of this machine, for tests that open sockets themselves.
#pragma once

#include <netinet/in.h>

#include <cstdint>

namespace mfl::test {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

}  // namespace mfl::test
