#include "mfl/run/round_planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mfl {

struct RoundPlanner::Costs {
  double step_seconds = 0, round_seconds = 0;  // of a step, and of a round beside its steps
  double round_bytes = 0;

  std::vector<Resource> resources(const BudgetRule& rule) const {
    std::vector<Resource> out;
    if (rule.seconds) out.push_back({*rule.seconds, step_seconds, round_seconds});
    if (rule.bytes) out.push_back({static_cast<double>(*rule.bytes), 0, round_bytes});
    return out;
  }
};

RoundPlanner::RoundPlanner(const Experiment& experiment, Population population)
    : experiment_(&experiment), population_(std::move(population)) {}

const RoundBytes& RoundPlanner::node_bytes() const {
  return experiment_->algorithm.vectors().sends_all(round_) ? population_.bytes : population_.bytes_between;
}

// An adaptive tau has gradients of its own.
RoundWork RoundPlanner::work_of(std::uint64_t steps) const {
  const auto [down, up] = node_bytes();
  return {steps + (experiment_->budget.adaptive ? kEstimateGradients : 0), down, up, population_.batching};
}

bool allows(const BudgetRule& rule, const Spent& spent, const Spent& round) {
  if (rule.seconds && spent.seconds + round.seconds > *rule.seconds) return false;
  return !rule.bytes || (spent.bytes <= *rule.bytes && round.bytes <= *rule.bytes - spent.bytes);
}

// Exact under virtual time and of bytes; else as long as rounds have been so far.
Result<Spent> RoundPlanner::cost_of(const RunSoFar& so_far, std::uint64_t round, std::uint64_t steps) const {
  MFL_TRY(const RoundPlan plan, plan_round(population_, round, work_of(steps)));
  Spent cost{0, plan.sent * node_bytes().down + plan.received * node_bytes().up};
  if (plan.time) {
    cost.seconds = plan.time->seconds;
  } else if (so_far.engine_rounds > 0) {
    cost.seconds =
        so_far.engine_seconds / static_cast<double>(so_far.engine_steps) * static_cast<double>(steps) +
        so_far.other_seconds / static_cast<double>(so_far.engine_rounds);
  }
  return cost;
}

Result<void> RoundPlanner::require_a_round() const {
  if (!experiment_->budget.limits()) return {};
  MFL_TRY(const Spent cost, cost_of({}, 1, 1));
  if (allows(experiment_->budget, {}, cost)) return {};
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("the budget does not allow a round of one local step, which takes {:.4g} s and {} bytes",
                  cost.seconds, cost.bytes),
      "raise budget_seconds or budget_bytes");
}

Result<void> RoundPlanner::next(const RunSoFar& so_far) {
  plan_.reset();
  choice_.reset();
  round_ = so_far.round + 1;
  const auto decided = decide(so_far);
  if (!decided) steps_ = 1;
  return decided;
}

Result<void> RoundPlanner::decide(const RunSoFar& so_far) {
  const Experiment& experiment = *experiment_;
  steps_ = next_round_steps(experiment.algorithm, so_far.step, experiment.steps);
  if (!experiment.budget.limits() || steps_ == 0) return {};
  if (experiment.budget.adaptive) MFL_CHECK(choose(so_far));
  MFL_TRY(steps_, affordable(so_far, std::min(steps_, experiment.steps - so_far.step)));
  if (choice_) choice_->tau = steps_;
  return {};
}

// One step in the first round: there is nothing to go by.
Result<void> RoundPlanner::choose(const RunSoFar& so_far) {
  const BudgetRule& budget = experiment_->budget;
  choice_ = RoundChoice{.tau = 1};
  if (const auto& known = so_far.estimates) {
    MFL_TRY(const Costs costs, measured_costs(so_far, known->steps));
    const TauChoice best = choose_tau(*budget.adaptive, {known->rho, known->beta, known->delta},
                                      costs.resources(budget), known->steps);
    choice_ = RoundChoice{.tau = best.tau,
                          .rho = known->rho,
                          .beta = known->beta,
                          .delta = known->delta,
                          .bound = best.bound,
                          .step_seconds = costs.step_seconds,
                          .round_seconds = costs.round_seconds};
  }
  steps_ = choice_->tau;
  return {};
}

// Of the last round: what it would have cost with twice the steps is what a step costs.
Result<RoundPlanner::Costs> RoundPlanner::measured_costs(const RunSoFar& so_far,
                                                         std::uint64_t last_steps) const {
  MFL_TRY(const Spent once, cost_of(so_far, so_far.round, last_steps));
  MFL_TRY(const Spent twice, cost_of(so_far, so_far.round, 2 * last_steps));
  const auto steps = static_cast<double>(last_steps);
  const double per_step = std::max(0.0, (twice.seconds - once.seconds) / steps);
  return Costs{per_step, std::max(0.0, once.seconds - per_step * steps), static_cast<double>(once.bytes)};
}

Result<std::uint64_t> RoundPlanner::affordable(const RunSoFar& so_far, std::uint64_t most) const {
  const auto fits = [&](std::uint64_t steps) -> Result<bool> {
    MFL_TRY(const Spent cost, cost_of(so_far, round_, steps));
    return allows(experiment_->budget, so_far.spent, cost);
  };
  MFL_TRY(const bool all, fits(most));
  if (all) return most;
  std::uint64_t fitting = 0, too_many = most;
  while (too_many - fitting > 1) {
    const std::uint64_t middle = fitting + (too_many - fitting) / 2;
    MFL_TRY(const bool fit, fits(middle));
    (fit ? fitting : too_many) = middle;
  }
  return fitting;
}

Result<const RoundPlan*> RoundPlanner::plan() {
  if (!plan_) {
    MFL_TRY(plan_, plan_round(population_, round_, work_of(steps_)));
  }
  return &*plan_;
}

std::string RoundPlanner::budget_text(const Spent& spent) const {
  const BudgetRule& rule = experiment_->budget;
  std::string out = "budget used: ";
  if (rule.seconds)
    out += fmt::format("{:.6g} of {:g} s of {}", spent.seconds, *rule.seconds,
                       population_.time ? "virtual time" : "measured time");
  if (rule.bytes) out += fmt::format("{}{} of {} bytes", rule.seconds ? ", " : "", spent.bytes, *rule.bytes);
  return out;
}

}  // namespace mfl
