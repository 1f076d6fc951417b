// The sockets on which a server waits for connections. They are ours and not gRPC's, whose listener never accepts again
// once it has met the limit on open files.
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
  // HOST:PORT, with port 0 for any that is free. HOST is a name or an address; IPv6 addresses stand in brackets, and [::] is
  // IPv4 as well. kNetwork when it cannot be had.
  static Result<std::unique_ptr<Listener>> open(const std::string& address);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();  // stops

  const std::string& address() const { return address_; }  // with the real port

  // Accepts, on a thread of its own, until stop(). `take` owns the descriptor that it is given as its second argument;
  // the first is the socket that it came from. A connection that would leave fewer than the spare descriptors is closed
  // at once: the kernel gives the lowest free number, so a number of `most_files` or above means that so many files are open.
  void serve(int most_files, std::function<void(int, int)> take);
  void stop();

  // Connections that were closed at once.
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

// Raises the limit on open files as far as this process may. Gives what `most_files` may be at most: the limit less what files,
// logs and the transport itself need.
int raise_file_limit();

// Files that are open now, at least.
int open_files();

}  // namespace mfl
