// What a run may use, and how long its rounds are because of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/algorithm/rounds.h"
#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/devices/virtual_time.h"
#include "mfl/theory/adaptive_tau.h"

namespace mfl {

struct BudgetRule {
  std::optional<double> seconds;       // virtual where the run has virtual time, else of a clock
  std::optional<std::uint64_t> bytes;  // up and down
  std::optional<TauRule> adaptive;     // nothing: rounds of the algorithm's tau

  bool limits() const { return seconds || bytes; }
};

BudgetRule make_budget_rule(const Config& config, const Algorithm& algorithm);

// Seconds and bytes: of the run so far, or of a round.
struct Spent {
  double seconds = 0;
  std::uint64_t bytes = 0;
};

// Whether a round of this cost may follow.
bool allows(const BudgetRule& rule, const Spent& spent, const Spent& round);

// What nodes do in a round of this many steps; an adaptive tau has gradients of its own.
RoundWork work_of_round(const BudgetRule& rule, std::uint64_t steps, const RoundBytes& node_bytes,
                        const Population& population);

// kBadConfig if the budget does not allow the first round with one step.
Result<void> require_a_round(const BudgetRule& rule, const RoundBytes& node_bytes,
                             const Population& population);

// What rounds have been measured to cost.
struct RoundCosts {
  double step_seconds = 0, round_seconds = 0;  // of a step, and of a round beside its steps
  double round_bytes = 0;
};
std::vector<Resource> resources_of(const BudgetRule& rule, const RoundCosts& costs);

// "budget used: 14.8 of 15 s of virtual time, 1200 of 2000 bytes"
std::string budget_text(const BudgetRule& rule, const Spent& spent, bool virtual_time);

}  // namespace mfl
