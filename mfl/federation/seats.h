// The nodes that take part in an attempt at a round, and the state of each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mfl {

// A node's part in the attempt.
struct Seat {
  enum class State { kAwaited, kCounted, kRefused, kGone };
  std::uint64_t weight = 0;
  State state = State::kAwaited;
};

// Seats by the names of their nodes. Counts by state take constant time.
class Seats {
 public:
  void add(const std::string& node, std::uint64_t weight);  // awaited; no node twice
  void clear();

  std::size_t size() const { return seats_.size(); }
  std::size_t count(Seat::State state) const { return counts_[static_cast<std::size_t>(state)]; }
  const Seat* find(const std::string& node) const;  // null where the node has none

  // The node has a seat.
  void put(const std::string& node, Seat::State state);

  // The node with the largest weight, the first of several, and its share of all weights. There must be one.
  std::pair<std::string, double> heaviest() const;

  // In the order of their names.
  std::vector<std::string> names(Seat::State state) const;

 private:
  std::map<std::string, Seat> seats_;
  std::array<std::size_t, 4> counts_ = {};
};

}  // namespace mfl
