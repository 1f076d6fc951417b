// Keeps one peer from filling the log.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mfl {

// Passes `burst` lines of a kind at once, then one per second, and counts the others. Remembers at most kMostKinds kinds, by their first 200
// bytes; while there are more, all further ones count as one kind, to which the counts of forgotten kinds are added. Not thread-safe.
class LogLimit {
 public:
  using Time = std::chrono::milliseconds;
  static constexpr std::size_t kMostKinds = 10'000;

  explicit LogLimit(unsigned burst = 1) : burst_(burst) {}

  // How many lines of this kind were left out since the last one that passed; nothing when this one is left out too, which then counts
  // as `lines`.
  std::optional<std::uint64_t> pass(const std::string& kind, Time now, std::uint64_t lines = 1);

  std::size_t kinds() const { return seen_.size(); }

 private:
  struct Seen {
    Time filled;     // when it last gained a line
    unsigned lines;  // that may pass now
    std::uint64_t left_out = 0;
  };
  Seen& find(const std::string& kind, Time now);
  void gain(Seen& seen, Time now) const;

  unsigned burst_;
  std::map<std::string, Seen> seen_;
  Seen others_{Time(0), 0};
  std::optional<Time> swept_;
};

}  // namespace mfl
