// Addresses of this machine, for tests that open sockets themselves.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace mfl::test {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

// A port for a server that must be told one: nobody else is given it as long as the object lives. A port that is
// free when it is looked for may be taken when it is used; this one stays bound, without listening and with
// SO_REUSEADDR, so that only a server that asks for this very port, with that option as mfl does, may listen on
// it, once or several times.
class HeldPort {
 public:
  HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    number_ = ntohs(at.sin_port);
  }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  ~HeldPort() { ::close(socket_); }

  std::uint16_t number() const { return number_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

}  // namespace mfl::test
