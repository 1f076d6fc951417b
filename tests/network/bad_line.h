// A faulty TCP proxy on loopback.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace mfl::test {

// Probabilities per forwarded piece of at most 16 KiB.
struct LineFaults {
  double reset = 0;        // both sides get a TCP reset
  double stall = 0;        // the connection silently forwards nothing more
  double delay = 0;        // the piece waits up to 200 ms
  double throttled = 0.5;  // of connections: 2 MB/s at most
};

// One thread; the fault of the n-th connection at its k-th piece depends only on the seed.
class BadLine {
 public:
  struct Seen {
    std::uint64_t connections = 0, resets = 0, stalls = 0, delays = 0;
  };

  BadLine(std::uint16_t server_port, const LineFaults& faults, std::uint64_t seed);
  BadLine(const BadLine&) = delete;
  BadLine& operator=(const BadLine&) = delete;
  ~BadLine();

  std::string address() const;  // to connect to
  Seen seen() const;

 private:
  class Relay;
  std::unique_ptr<Relay> relay_;
  std::thread thread_;
};

}  // namespace mfl::test
