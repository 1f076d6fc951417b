#include "mfl/network/served_rounds.h"

#include <algorithm>
#include <utility>

#include "mfl/run/round_planner.h"

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;

class ServedRounds {
 public:
  ServedRounds(std::shared_ptr<const Experiment> experiment, double wall_seconds)
      : experiment_(std::move(experiment)), wall_before_(wall_seconds) {}

  Result<RoundTerms> next(const BetweenRounds& now) {
    const auto samples_of = [&](std::size_t node) { return now.samples[node]; };
    RoundPlanner planner(*experiment_,
                         experiment_->population(now.samples.size(), now.parameters, samples_of));
    if (now.round == 0) MFL_CHECK(planner.require_a_round());
    const RunSoFar so_far = so_far_at(now);
    MFL_CHECK(planner.next(so_far));
    RoundTerms terms{.steps = planner.steps(), .choice = planner.choice()};
    if (terms.steps == 0) {
      if (now.step < experiment_->steps) terms.end = planner.budget_text(so_far.spent);
      return terms;
    }
    MFL_TRY(const RoundPlan* const plan, planner.plan());
    terms.time = plan->time;
    if (terms.time) terms.time->total_seconds = so_far.spent.seconds + terms.time->seconds;
    begun_ = Clock::now();
    steps_ = terms.steps;
    return terms;
  }

 private:
  static double seconds_from(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  RunSoFar so_far_at(const BetweenRounds& now) {
    if (steps_ != 0) costs_.add(std::exchange(steps_, 0), seconds_from(begun_));
    RunSoFar out{.round = now.round, .step = now.step, .spent = {0, now.bytes}, .estimates = now.estimates};
    if (experiment_->time) {
      out.spent.seconds = now.time ? now.time->total_seconds : 0;
    } else {
      out.spent.seconds = wall_before_ + seconds_from(start_);
    }
    out.engine_seconds = costs_.seconds_of_steps();
    out.other_seconds = costs_.seconds() - out.engine_seconds;
    out.engine_steps = costs_.steps();
    out.engine_rounds = costs_.rounds();
    return out;
  }

  std::shared_ptr<const Experiment> experiment_;
  double wall_before_;
  Clock::time_point start_ = Clock::now(), begun_;
  std::uint64_t steps_ = 0;  // of the round in progress
  RoundCosts costs_;
};

}  // namespace

void RoundCosts::add(std::uint64_t steps, double seconds) {
  const auto x = static_cast<double>(steps);
  ++rounds_;
  steps_ += steps;
  seconds_ += seconds;
  squared_steps_ += x * x;
  products_ += x * seconds;
}

double RoundCosts::seconds_of_steps() const {
  const auto n = static_cast<double>(rounds_), steps = static_cast<double>(steps_);
  const double spread = n * squared_steps_ - steps * steps;
  if (!(spread > 0)) return seconds_ / 2;
  const double per_step = (n * products_ - steps * seconds_) / spread;
  return std::clamp(per_step * steps, 0.0, seconds_);
}

RoundPolicy round_policy(std::shared_ptr<const Experiment> experiment, double wall_seconds) {
  if (!experiment->budget.limits()) return {};
  return [rounds = ServedRounds(std::move(experiment), wall_seconds)](const BetweenRounds& now) mutable {
    return rounds.next(now);
  };
}

}  // namespace mfl
