#include "mfl/run/budget.h"

#include <fmt/core.h>

#include "mfl/algorithm/estimating.h"
#include "mfl/config/factory.h"

namespace mfl {

BudgetRule make_budget_rule(const Config& config, const Algorithm& algorithm) {
  BudgetRule rule{config.run.budget_seconds, config.run.budget_bytes, std::nullopt};
  if (const auto descent = algorithm.method().descent(); descent && config.algorithm.adaptive_tau)
    rule.adaptive = TauRule{.eta = descent->eta,
                            .gamma = descent->gamma,
                            .phi = config.algorithm.phi,
                            .tau_max = config.algorithm.tau_max};
  return rule;
}

bool allows(const BudgetRule& rule, const Spent& spent, const Spent& round) {
  if (rule.seconds && spent.seconds + round.seconds > *rule.seconds) return false;
  return !rule.bytes || (spent.bytes <= *rule.bytes && round.bytes <= *rule.bytes - spent.bytes);
}

RoundWork work_of_round(const BudgetRule& rule, std::uint64_t steps, const RoundBytes& node_bytes,
                        const Population& population) {
  return {steps + (rule.adaptive ? kEstimateGradients : 0), node_bytes.down, node_bytes.up,
          population.batching};
}

Result<void> require_a_round(const BudgetRule& rule, const RoundBytes& node_bytes,
                             const Population& population) {
  if (!rule.limits()) return {};
  MFL_TRY(const RoundPlan plan, plan_round(population, 1, work_of_round(rule, 1, node_bytes, population)));
  const Spent cost{plan.time ? plan.time->seconds : 0,
                   plan.sent * node_bytes.down + plan.received * node_bytes.up};
  if (allows(rule, {}, cost)) return {};
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("the budget does not allow a round of one local step, which takes {:.4g} s and {} bytes",
                  cost.seconds, cost.bytes),
      "raise budget_seconds or budget_bytes");
}

std::vector<Resource> resources_of(const BudgetRule& rule, const RoundCosts& costs) {
  std::vector<Resource> out;
  if (rule.seconds) out.push_back({*rule.seconds, costs.step_seconds, costs.round_seconds});
  if (rule.bytes) out.push_back({static_cast<double>(*rule.bytes), 0, costs.round_bytes});
  return out;
}

std::string budget_text(const BudgetRule& rule, const Spent& spent, bool virtual_time) {
  std::string out = "budget used: ";
  if (rule.seconds)
    out += fmt::format("{:.6g} of {:g} s of {}", spent.seconds, *rule.seconds,
                       virtual_time ? "virtual time" : "measured time");
  if (rule.bytes) out += fmt::format("{}{} of {} bytes", rule.seconds ? ", " : "", spent.bytes, *rule.bytes);
  return out;
}

}  // namespace mfl
