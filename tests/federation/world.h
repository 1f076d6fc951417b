// A federation in a box: virtual clock, network and disk, all driven by one seed, around the real coordinator,
// participants, trainers and codecs.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "mfl/federation/coordinator.h"
#include "reference.h"

namespace mfl::test {

struct Faults {
  double drop = 0, duplicate = 0;     // of a message
  std::int64_t longest_delay_ms = 1;  // of a message; messages overtake each other
  double break_connection = 0;        // at a message
  double node_crash = 0;              // at a message that a node gets
  double server_crash = 0;            // at a message that the server gets
  double disk_crash = 0;              // at a commit
};

// What the last node does instead of its work, from the first round to the last.
enum class Hostility {
  kNone,
  kHuge,         // 1e38 everywhere
  kLarge,        // 1e10 everywhere: finite in every sum and square
  kNotFinite,    // NaN
  kZeros,        // vectors of zeros, which are in bounds
  kHeavy,        // 2^32 samples
  kImpossible,   // a loss of -1e308
  kAbsurdLoss,   // a loss of 1e308
  kAlternating,  // honest and huge, in turns
};

struct Outcome {
  std::string violation;  // empty: none
  std::string digest;     // of the final weights
  std::uint64_t rounds = 0, restarts = 0, node_crashes = 0, lost_writes = 0, refused = 0, abandoned = 0;
  std::set<std::string> failing;      // nodes that the status named for refused updates or missed deadlines
  std::uint64_t hostile_counted = 0;  // rounds with an update of the hostile node
};

// Runs a federation under faults for a while, then without faults until it ends.
Outcome simulate(Reference& reference, const Faults& faults, std::size_t min_available_nodes,
                 std::size_t quorum, std::uint64_t seed, Hostility hostility = Hostility::kNone);

}  // namespace mfl::test
