// Which nodes take part in a round. A draw depends only on (seed, round, attempt) and the number of nodes, so it is the
// same on every engine and after a resume, and needs no pass over the nodes.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mfl {

struct Participation {
  std::uint64_t seed = 0;
  double fraction = 1;     // of the nodes, in (0, 1]
  std::size_t quorum = 0;  // a round chooses at least this many, or all if there are fewer; 0: no lower bound
};

// The number of nodes that a round chooses out of `nodes` >= 1: fraction x nodes, rounded half up, at least one and at least
// the quorum, at most all.
inline std::size_t participant_count(const Participation& participation, std::size_t nodes) {
  assert(nodes >= 1 && participation.fraction > 0 && participation.fraction <= 1);
  const auto wanted =
      static_cast<std::size_t>(std::floor(participation.fraction * static_cast<double>(nodes) + 0.5));
  return std::min(nodes, std::max({std::size_t{1}, wanted, participation.quorum}));
}

// The nodes of a round, ascending. `round` and `attempt` count from 1; `attempt` increases when a round is retried.
// Time and memory are proportional to the number of chosen nodes. If all take part, nothing is drawn.
std::vector<std::uint32_t> choose_participants(const Participation& participation, std::uint64_t round,
                                               std::uint64_t attempt, std::size_t nodes);

}  // namespace mfl
