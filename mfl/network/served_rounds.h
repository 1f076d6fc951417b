// The rounds of a served run that has a budget: as RoundPlanner plans those of a simulation with the same
// nodes.
#pragma once

#include <chrono>
#include <memory>

#include "mfl/experiment/experiment.h"
#include "mfl/federation/round_terms.h"

namespace mfl {

// What rounds of a server cost by its clock, from how long each of them took as a whole: nodes are not asked.
// A line of least squares through the rounds, with a share for every step and the rest for the round. A
// value. Not thread-safe.
class RoundCosts {
 public:
  void add(std::uint64_t steps, double seconds);
  std::uint64_t rounds() const { return rounds_; }
  std::uint64_t steps() const { return steps_; }
  // Of all rounds together: half of it where they had equally many steps.
  double seconds_of_steps() const;
  double seconds() const { return seconds_; }

 private:
  std::uint64_t rounds_ = 0, steps_ = 0;
  double seconds_ = 0, squared_steps_ = 0, products_ = 0;
};

// Empty for a run without a budget. A run with virtual time, or a budget of bytes alone, has the rounds of a
// simulation, whenever the server is restarted. Otherwise seconds are those of a clock: `wall_seconds`
// earlier ones, and those of this process. The experiment may settle its step size until the first round.
RoundPolicy round_policy(std::shared_ptr<const Experiment> experiment, double wall_seconds);

}  // namespace mfl
