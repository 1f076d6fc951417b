// The sockets on which a server waits for connections. gRPC's own listener never accepts again once it has reached the limit on
// open files, so this one is used instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

// Safe to use from any thread.
class Listener {
 public:
  // HOST:PORT, with port 0 for any free one. HOST is a name or an address; IPv6 addresses are in brackets, and [::] includes
  // IPv4. kNetwork when the address is not available.
  static Result<std::unique_ptr<Listener>> open(const std::string& address);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();  // stops

  const std::string& address() const { return address_; }  // with the real port

  // Accepts, on its own thread, until stop(). `take` owns the descriptor in its second argument; the first is the listening
  // socket. A connection whose descriptor is `most_files` or above is closed at once: the kernel assigns the lowest free
  // number, so that many files are open.
  void serve(int most_files, std::function<void(int, int)> take);
  void stop();

  // Connections that were closed for that reason.
  std::uint64_t turned_away() const { return turned_away_; }

 private:
  Listener() = default;
  void accept_all(int socket, int most_files, const std::function<void(int, int)>& take);

  std::string address_;
  std::vector<int> sockets_;
  int wakeup_ = -1;  // an eventfd
  std::atomic<std::uint64_t> turned_away_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// Raises the limit on open files as far as this process may. Returns the largest useful `most_files`: the limit minus what files,
// logs and the transport need.
int raise_file_limit();

// A lower bound on the number of open files.
int open_files();

}  // namespace mfl
