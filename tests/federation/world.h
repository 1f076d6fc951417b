// A federation in a box: virtual clock, network and disk, all driven by one seed, around the real coordinator,
// participants, trainers and codecs.
#pragma once

#include <cstdint>
#include <string>

#include "mfl/federation/coordinator.h"
#include "reference.h"

namespace mfl::testing {

struct Faults {
  double drop = 0, duplicate = 0;     // of a message
  std::int64_t longest_delay_ms = 1;  // of a message; messages overtake each other
  double break_connection = 0;        // at a message
  double node_crash = 0;              // at a message that a node gets
  double server_crash = 0;            // at a message that the server gets
  double disk_crash = 0;              // at a commit
};

struct Outcome {
  std::string violation;  // empty: none
  std::string digest;     // of the final weights
  std::uint64_t rounds = 0, restarts = 0, node_crashes = 0, lost_writes = 0, refused = 0, abandoned = 0;
};

// Runs a federation under faults for a while, then without faults until it ends.
Outcome simulate(Reference& reference, const Faults& faults, std::size_t min_available_nodes,
                 std::size_t quorum, std::uint64_t seed);

}  // namespace mfl::testing
