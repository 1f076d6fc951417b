// Keeps one peer from filling the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mfl {

// Passes one line of each kind per second and counts the others. Not thread-safe.
class LogLimit {
 public:
  using Time = std::chrono::milliseconds;

  // How many lines of this kind were left out since the last one that passed; nothing when this one is left out too.
  std::optional<std::uint64_t> pass(const std::string& kind, Time now);

 private:
  struct Seen {
    Time last;
    std::uint64_t left_out = 0;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace mfl
