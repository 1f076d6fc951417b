#include "mfl/reproduce/claims_figure_6.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace mfl {
namespace {

constexpr std::uint64_t kTurningTau = 100;  // to where the paper sees tau make no difference
constexpr double kFewShares = 5;            // flat with a limit: up to this many times kSmallShare

RunQuery tau_query(const Evidence& evidence, std::string_view algorithm, std::uint64_t steps) {
  RunQuery query{"svm", algorithm};
  query.steps = steps;
  if (algorithm == "mfl") query.gamma = evidence.gamma;
  return query;
}

struct TauSweep {
  std::vector<std::uint64_t> taus;
  std::vector<double> losses;  // mean over seeds
  double drop = 0;             // at the smallest tau, mean over seeds

  double spread(std::uint64_t up_to) const {
    double low = losses.front(), high = low;
    for (std::size_t i = 0; i < taus.size() && taus[i] <= up_to; ++i) {
      low = std::min(low, losses[i]);
      high = std::max(high, losses[i]);
    }
    return (high - low) / drop;
  }
};

TauSweep tau_sweep(const Evidence& evidence, std::string_view algorithm, std::uint64_t steps) {
  TauSweep sweep;
  for (const std::uint64_t tau : taus_of(evidence, tau_query(evidence, algorithm, steps))) {
    RunQuery query = tau_query(evidence, algorithm, steps);
    query.tau = tau;
    const auto runs = select(evidence, query);
    if (sweep.taus.empty())
      for (const RunEvidence* run : runs)
        sweep.drop += (run->start_loss - run->final_loss) / static_cast<double>(runs.size());
    sweep.taus.push_back(tau);
    sweep.losses.push_back(*mean_final_loss(runs));
  }
  return sweep;
}

void judge_flat(Claim& claim, double spread) {
  claim.verdict = spread <= kSmallShare                ? ClaimVerdict::kHolds
                  : spread <= kFewShares * kSmallShare ? ClaimVerdict::kHoldsWithLimit
                                                       : ClaimVerdict::kDoesNotHold;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit) claim.limit = "Little, but to be seen.";
}

Claim below_fl_for_every_tau(const Evidence& evidence) {
  Claim claim{
      .id = "6-mfl-below-fl",
      .figure = "6",
      .text = fmt::format("At T = {} the loss of MFL is below that of FL for every tau.", evidence.steps),
      .test = "The final losses, seed by seed, for every tau that was run.",
      .measured = {},
      .limit = {}};
  std::size_t pairs = 0, wrong = 0;
  std::uint64_t largest = 0;
  for (const RunEvidence* fl : select(evidence, tau_query(evidence, "fl", evidence.steps))) {
    RunQuery query = tau_query(evidence, "mfl", evidence.steps);
    query.tau = fl->tau;
    query.seed = fl->seed;
    for (const RunEvidence* mfl : select(evidence, query)) {
      ++pairs;
      largest = std::max(largest, fl->tau);
      if (fl->diverged || mfl->diverged || !(mfl->final_loss < fl->final_loss)) ++wrong;
    }
  }
  if (largest <= evidence.tau) return claim;
  claim.measured = fmt::format("{} of {} pairs, tau up to {}", pairs - wrong, pairs, largest);
  claim.verdict = wrong == 0 ? ClaimVerdict::kHolds : ClaimVerdict::kDoesNotHold;
  return claim;
}

Claim flat_short(const Evidence& evidence, std::string_view algorithm, std::string_view name) {
  Claim claim{
      .id = fmt::format("6-flat-{}", algorithm),
      .figure = "6",
      .text = fmt::format("At T = {} tau makes little difference to {}.", evidence.steps, name),
      .test =
          "Largest less least mean final loss over all tau, as a share of the drop of the loss; little is "
          "at most 1 %.",
      .measured = {},
      .limit = {}};
  const TauSweep sweep = tau_sweep(evidence, algorithm, evidence.steps);
  if (sweep.taus.size() < 3) return claim;
  const double spread = sweep.spread(sweep.taus.back());
  claim.measured =
      fmt::format("{:.3g} % of the drop, tau {} to {}", 100 * spread, sweep.taus.front(), sweep.taus.back());
  judge_flat(claim, spread);
  return claim;
}

Claim flat_long(const Evidence& evidence, const TauSweep& sweep) {
  Claim claim{.id = "6-long-flat-to-100",
              .figure = "6",
              .text = "At T = 60,000 tau makes little difference to MFL up to about 100.",
              .test =
                  "Largest less least mean final loss over tau up to 100, as a share of the drop; little is "
                  "at most 1 %.",
              .measured = {},
              .limit = {}};
  const auto below = std::ranges::count_if(sweep.taus, [](std::uint64_t tau) { return tau <= kTurningTau; });
  if (evidence.long_steps == 0 || below < 2) return claim;
  const double spread = sweep.spread(kTurningTau);
  claim.measured = fmt::format("{:.3g} % of the drop at T = {}", 100 * spread, evidence.long_steps);
  judge_flat(claim, spread);
  return claim;
}

Claim rises_long(const Evidence& evidence, const TauSweep& sweep) {
  Claim claim{.id = "6-long-rises-beyond-100",
              .figure = "6",
              .text = "At T = 60,000 the loss of MFL gets markedly worse with tau beyond about 100.",
              .test =
                  "The mean final loss from each tau of 100 or more to the next, and the whole rise as a "
                  "share of the drop and against the spread below 100; markedly is 1 % or more.",
              .measured = {},
              .limit = {}};
  const auto from = std::ranges::find_if(sweep.taus, [](std::uint64_t tau) { return tau >= kTurningTau; });
  if (evidence.long_steps == 0 || sweep.taus.end() - from < 2 || from == sweep.taus.begin()) return claim;
  const auto first = sweep.losses.begin() + (from - sweep.taus.begin());
  const bool monotone = std::is_sorted(first, sweep.losses.end());
  const double rise = (sweep.losses.back() - *first) / sweep.drop;
  const double below = sweep.spread(kTurningTau);
  claim.measured = fmt::format(
      "rises by {:.3g} % of the drop from tau {} to {}{}; the spread below 100 is {:.3g} %", 100 * rise,
      *from, sweep.taus.back(), monotone ? ", without a break" : ", with breaks", 100 * below);
  claim.verdict = !(rise > 2 * below)               ? ClaimVerdict::kDoesNotHold
                  : monotone && rise >= kSmallShare ? ClaimVerdict::kHolds
                                                    : ClaimVerdict::kHoldsWithLimit;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit)
    claim.limit =
        rise < kSmallShare
            ? "The rise is real, far above the spread before it, but small compared with the whole drop."
            : "It rises, not from each tau to the next.";
  return claim;
}

}  // namespace

std::vector<Claim> judge_figure_6(const Evidence& evidence) {
  const TauSweep long_sweep =
      evidence.long_steps > 0 ? tau_sweep(evidence, "mfl", evidence.long_steps) : TauSweep{};
  return {below_fl_for_every_tau(evidence), flat_short(evidence, "fl", "FL"),
          flat_short(evidence, "mfl", "MFL"), flat_long(evidence, long_sweep),
          rises_long(evidence, long_sweep)};
}

}  // namespace mfl
