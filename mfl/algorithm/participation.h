// Who takes part in a round. A draw depends on (seed, round, attempt) and on the number of nodes alone, so it is the
// same on every engine and after a resume, and needs no pass over the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mfl {

struct Participation {
  std::uint64_t seed = 0;
  double fraction = 1;     // of the nodes, in (0, 1]
  std::size_t quorum = 0;  // a round chooses no fewer, if there are as many; 0: no such bound
};

// How many of `nodes` >= 1 nodes a round chooses: fraction x nodes to the nearest (half up), at least one and at least
// the quorum, at most all.
std::size_t participant_count(const Participation& participation, std::size_t nodes);

// The nodes of a round, ascending. `round` counts from 1, as does `attempt`, which grows when a round is tried again.
// Time and memory are in proportion to how many are chosen. Nothing is drawn where all take part.
std::vector<std::uint32_t> choose_participants(const Participation& participation, std::uint64_t round,
                                               std::uint64_t attempt, std::size_t nodes);

}  // namespace mfl
