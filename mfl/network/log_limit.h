// Keeps one peer from filling the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mfl {

// Lets one line of a kind through a second and counts the others. Not thread-safe.
class LogLimit {
 public:
  using Time = std::chrono::milliseconds;

  // How many lines of this kind were left out before this one; nothing when this one is to be left out as well.
  std::optional<std::uint64_t> pass(const std::string& kind, Time now);

 private:
  struct Seen {
    Time last;
    std::uint64_t left_out = 0;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace mfl
