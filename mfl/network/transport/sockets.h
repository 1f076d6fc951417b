// Sockets by address.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/network/address.h"

namespace mfl {

// A descriptor that is closed with its owner.
class OwnedSocket {
 public:
  explicit OwnedSocket(int descriptor = -1) : descriptor_(descriptor) {}
  OwnedSocket(OwnedSocket&& other) noexcept : descriptor_(other.release()) {}
  OwnedSocket& operator=(OwnedSocket&& other) noexcept;
  ~OwnedSocket();
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

// A listening socket that does not block; -1 with errno. Connections inherit its options. One for [::] takes IPv4 as well.
OwnedSocket listen_at(const SocketAddress& where);

struct ListeningSockets {
  std::vector<OwnedSocket> sockets;  // do not block
  std::string address;               // with the real port
  bool loopback = true;              // all of them
};

// HOST:PORT, with port 0 for any free one. HOST is a name or an address; IPv6 addresses are in brackets, and [::] includes IPv4.
// kNetwork when the address is not available.
Result<ListeningSockets> listen_on(const std::string& address);

// A connected socket that does not block. Tries all addresses of the host. `loopback_only`: fails for a host that is elsewhere.
// `stop` is polled; kNetwork.
Result<OwnedSocket> connect_to(const std::string& address, std::chrono::milliseconds patience,
                               bool loopback_only, const std::function<bool()>& stop);

// Raises the limit on open files as far as this process may. Returns how many it may still open, less what files and logs need.
std::size_t available_files();

}  // namespace mfl
