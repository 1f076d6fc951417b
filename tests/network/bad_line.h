// A TCP proxy on loopback that treats what passes through it badly.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace mfl::test {

// Chances at every piece of at most 16 KiB that passes.
struct LineFaults {
  double reset = 0;        // both sides get a TCP reset
  double stall = 0;        // the connection passes nothing more, without a word
  double delay = 0;        // the piece waits up to 200 ms
  double throttled = 0.5;  // of connections: 2 MB/s at most
};

// One thread; what happens to the n-th connection at its k-th piece depends on the seed alone.
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
