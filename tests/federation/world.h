// A federation in a box: virtual clock, network and disk, all driven by one seed, around the real coordinator,
// participants, trainers and codecs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/trainer.h"

namespace mfl::testing {

// The nodes' data and the reference that needs no network. Shared by all worlds of a process.
class Reference {
 public:
  Reference(const Algorithm& algorithm, std::size_t nodes, std::uint64_t steps);
  ~Reference();

  std::size_t nodes() const;
  std::uint64_t steps() const;
  const Algorithm& algorithm() const;
  std::string name(std::size_t node) const;
  Trainer& trainer(std::size_t node);

  // The digest of the state after a round from `before` in which exactly these nodes took part.
  std::string after(const State<float>& before, const std::vector<std::string>& nodes);
  // The digest of the final weights when all take part in every round.
  const std::string& final_digest();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

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

// Runs a federation under faults for a while, then without faults to its end.
Outcome simulate(Reference& reference, const Faults& faults, std::size_t min_available_nodes,
                 std::size_t quorum, std::uint64_t seed);

}  // namespace mfl::testing
