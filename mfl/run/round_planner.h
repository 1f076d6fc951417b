// How long the rounds of a run are, who takes part in them and what they cost, for whoever runs them. A budget ends the run before a round
// that it does not allow; an adaptive tau divides what is left of it (theory/adaptive_tau.h).
//
//   RoundPlanner planner(experiment, experiment.population(nodes, parameters, samples_of));
//   MFL_CHECK(planner.require_a_round());
//   for (MFL_CHECK(planner.next(so_far)); planner.steps() > 0; MFL_CHECK(planner.next(so_far))) {
//     MFL_TRY(const RoundPlan* plan, planner.plan());
//     ...  // run the round
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "mfl/algorithm/estimating.h"
#include "mfl/algorithm/rounds.h"
#include "mfl/base/result.h"
#include "mfl/devices/virtual_time.h"
#include "mfl/experiment/experiment.h"

namespace mfl {

// Seconds and bytes: of a run so far, or of a round.
struct Spent {
  double seconds = 0;  // virtual where the run has virtual time, else of a clock
  std::uint64_t bytes = 0;
};

// Whether a round of this cost may follow.
bool allows(const BudgetRule& rule, const Spent& spent, const Spent& round);

// A run between two rounds.
struct RunSoFar {
  std::uint64_t round = 0, step = 0;
  Spent spent = {};
  std::optional<RoundEstimates> estimates = {};  // of the last round
  // What rounds took by a clock, in the engine and beside it, as far as this process has seen them.
  double engine_seconds = 0, other_seconds = 0;
  std::uint64_t engine_steps = 0, engine_rounds = 0;
};

// A value. Not thread-safe. The experiment must outlive it.
class RoundPlanner {
 public:
  RoundPlanner(const Experiment& experiment, Population population);

  // kBadConfig if the budget does not allow the first round with one step.
  Result<void> require_a_round() const;

  // Decides about the round after `so_far`. After an error steps() is 1.
  Result<void> next(const RunSoFar& so_far);
  // Of that round; 0: the run has all its steps, or the budget allows no other.
  std::uint64_t steps() const { return steps_; }
  const std::optional<RoundChoice>& choice() const { return choice_; }
  const RoundBytes& node_bytes() const;  // of one node
  // Who takes part in that round, also where steps() is 0: decided when it is asked for first.
  Result<const RoundPlan*> plan();

  const Population& population() const { return population_; }
  // "budget used: 14.8 of 15 s of virtual time, 1200 of 2000 bytes"
  std::string budget_text(const Spent& spent) const;

 private:
  struct Costs;  // what rounds have been measured to cost

  RoundWork work_of(std::uint64_t steps) const;
  Result<Spent> cost_of(const RunSoFar& so_far, std::uint64_t round, std::uint64_t steps) const;
  Result<Costs> measured_costs(const RunSoFar& so_far, std::uint64_t last_steps) const;
  Result<void> decide(const RunSoFar& so_far);
  Result<void> choose(const RunSoFar& so_far);  // the steps of the round, whatever is left of the budget
  // The most steps up to these that the budget allows.
  Result<std::uint64_t> affordable(const RunSoFar& so_far, std::uint64_t most) const;

  const Experiment* experiment_;
  Population population_;
  std::uint64_t round_ = 1;  // the one that steps() and plan() are about
  std::uint64_t steps_ = 0;
  std::optional<RoundChoice> choice_;
  std::optional<RoundPlan> plan_;
};

}  // namespace mfl
