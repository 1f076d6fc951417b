#include "mfl/reproduce/claims_figure_5.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mfl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFastest = 0.9;                     // where the paper sees the best gamma
constexpr double kTurning = 0.95;                    // from where it sees the loss rise
constexpr double kNearLow = 0.85, kNearHigh = 0.97;  // what counts as "around 0.9 to 0.95"

RunQuery mfl_query(const Evidence& evidence) {
  RunQuery query{"svm", "mfl"};
  query.tau = evidence.tau;
  query.steps = evidence.steps;
  return query;
}

// One run per seed for each gamma, and FL.
struct GammaSweep {
  std::vector<double> gammas;
  std::vector<std::vector<const RunEvidence*>> runs;  // by gamma, then seed
  std::vector<const RunEvidence*> fl;                 // by seed
};

GammaSweep gamma_sweep(const Evidence& evidence) {
  GammaSweep sweep;
  sweep.fl = select(evidence, figure_4_query(evidence, "svm", "fl"));
  for (const double gamma : gammas_of(evidence, mfl_query(evidence))) {
    RunQuery query = mfl_query(evidence);
    query.gamma = gamma;
    auto runs = select(evidence, query);
    if (runs.size() != sweep.fl.size()) continue;
    sweep.gammas.push_back(gamma);
    sweep.runs.push_back(std::move(runs));
  }
  return sweep;
}

double final_loss(const RunEvidence& run) {
  if (run.diverged) return kInfinity;
  return run.final_loss;
}

Claim zero_is_fl(const GammaSweep& sweep) {
  Claim claim{
      .id = "5a-gamma-0-is-fl",
      .figure = "5a",
      .text = "With gamma = 0 the curves of MFL overlap those of FL.",
      .test =
          "The largest difference of the losses at any aggregation, and whether the final weights have "
          "the same digest, seed by seed.",
      .measured = {},
      .limit = {}};
  if (sweep.gammas.empty() || sweep.gammas.front() != 0) return claim;
  double largest = 0, share = 0;
  bool same_bits = true;
  for (std::size_t seed = 0; seed < sweep.fl.size(); ++seed) {
    const RunEvidence& mfl = *sweep.runs.front()[seed];
    const RunEvidence& fl = *sweep.fl[seed];
    same_bits = same_bits && mfl.digest == fl.digest && mfl.rounds.size() == fl.rounds.size();
    for (std::size_t i = 0; i < std::min(mfl.rounds.size(), fl.rounds.size()); ++i)
      largest = std::max(largest, std::abs(mfl.rounds[i].loss - fl.rounds[i].loss));
    share = std::max(share, largest / (fl.start_loss - fl.final_loss));
  }
  claim.measured = fmt::format("largest difference {:.3g}; {}", largest,
                               same_bits ? "final weights equal bit for bit" : "final weights differ");
  claim.verdict = largest == 0 && same_bits ? ClaimVerdict::kHolds
                  : share <= kCrossingShare ? ClaimVerdict::kHoldsWithLimit
                                            : ClaimVerdict::kDoesNotHold;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit) claim.limit = "The curves overlap, the bits differ.";
  return claim;
}

// The mean over seeds of the steps to FL's final loss; a run that never gets there counts infinite.
double steps_to_fl(const GammaSweep& sweep, std::size_t gamma) {
  double sum = 0;
  for (std::size_t seed = 0; seed < sweep.fl.size(); ++seed) {
    const auto there = first_at(*sweep.runs[gamma][seed], final_loss(*sweep.fl[seed]));
    if (!there) return kInfinity;
    sum += static_cast<double>(there->step);
  }
  return sum / static_cast<double>(sweep.fl.size());
}

double mean_accuracy(const GammaSweep& sweep, std::size_t gamma) {
  double sum = 0;
  std::size_t count = 0;
  for (const RunEvidence* run : sweep.runs[gamma])
    for (const AccuracyEvidence& at : run->accuracy) {
      sum += at.accuracy;
      ++count;
    }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
}

// values[i] belongs to gammas[i] <= kFastest; `better` is what a larger gamma should bring.
struct Trend {
  std::size_t gammas = 0, wrong = 0;
  double worst = 0;  // the largest step in the wrong direction
  double first = 0, last = 0, last_gamma = 0;
};

template <class Value>
Trend trend_to_fastest(const GammaSweep& sweep, const Value& value, double direction) {
  Trend trend;
  double before = 0;
  for (std::size_t i = 0; i < sweep.gammas.size() && sweep.gammas[i] <= kFastest; ++i) {
    const double now = value(i);
    if (trend.gammas == 0) trend.first = now;
    const double gain = trend.gammas == 0 ? 1 : direction * (now - before);
    if (!(gain >= 0)) {
      ++trend.wrong;
      if (std::isnan(gain)) trend.worst = kInfinity;
      trend.worst = std::max(trend.worst, -gain);
    }
    before = trend.last = now;
    trend.last_gamma = sweep.gammas[i];
    ++trend.gammas;
  }
  return trend;
}

Claim faster(const Evidence& evidence, const GammaSweep& sweep) {
  Claim claim{.id = "5a-faster-with-gamma",
              .figure = "5a",
              .text = "The loss falls the faster the larger gamma is, from 0 to 0.9.",
              .test = "Steps to FL's final loss, mean over seeds, from each gamma to the next.",
              .measured = {},
              .limit = {}};
  const Trend trend = trend_to_fastest(
      sweep, [&](std::size_t i) { return steps_to_fl(sweep, i); }, -1);
  if (trend.gammas < 3) return claim;
  claim.measured = fmt::format(
      "{:.0f} steps at gamma {}, {:.0f} at gamma {}; {} of {} steps from gamma to gamma "
      "in the wrong direction",
      trend.first, sweep.gammas.front(), trend.last, trend.last_gamma, trend.wrong, trend.gammas - 1);
  const bool faster_in_all = trend.last < trend.first;
  claim.verdict = trend.wrong == 0 && faster_in_all ? ClaimVerdict::kHolds
                  : faster_in_all && trend.worst <= static_cast<double>(evidence.tau)
                      ? ClaimVerdict::kHoldsWithLimit
                      : ClaimVerdict::kDoesNotHold;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit)
    claim.limit = "Some neighbours differ by an interval or less.";
  return claim;
}

Claim more_accurate(const GammaSweep& sweep) {
  Claim claim{.id = "5b-accuracy-with-gamma",
              .figure = "5b",
              .text = "The test accuracy rises the faster the larger gamma is, from 0 to 0.9.",
              .test =
                  "The mean accuracy over all recorded steps (the area under the curve), from each gamma to "
                  "the next.",
              .measured = {},
              .limit = {}};
  const Trend trend = trend_to_fastest(
      sweep, [&](std::size_t i) { return mean_accuracy(sweep, i); }, 1);
  if (trend.gammas < 3 || std::isnan(trend.first)) return claim;
  claim.measured = fmt::format("{:.2f} % at gamma {}, {:.2f} % at gamma {}; {} of {} in the wrong direction",
                               100 * trend.first, sweep.gammas.front(), 100 * trend.last, trend.last_gamma,
                               trend.wrong, trend.gammas - 1);
  const bool more_in_all = trend.last > trend.first;
  claim.verdict = trend.wrong == 0 && more_in_all                ? ClaimVerdict::kHolds
                  : more_in_all && trend.worst <= kSmallAccuracy ? ClaimVerdict::kHoldsWithLimit
                                                                 : ClaimVerdict::kDoesNotHold;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit)
    claim.limit =
        fmt::format("Neighbours differ in the wrong direction by up to {:.2f} points.", 100 * trend.worst);
  return claim;
}

Claim below_fl_for_every_gamma(const Evidence& evidence, const GammaSweep& sweep) {
  Claim claim{.id = "5c-below-fl",
              .figure = "5c",
              .text = fmt::format("At T = {} the loss of MFL is below that of FL for every 0 < gamma < 1.",
                                  evidence.steps),
              .test = "The final losses, seed by seed, for every gamma that was run.",
              .measured = {},
              .limit = {}};
  std::size_t pairs = 0, wrong = 0;
  double largest_gamma = 0;
  for (std::size_t i = 0; i < sweep.gammas.size(); ++i)
    for (std::size_t seed = 0; sweep.gammas[i] > 0 && seed < sweep.fl.size(); ++seed) {
      ++pairs;
      largest_gamma = sweep.gammas[i];
      if (!(final_loss(*sweep.runs[i][seed]) < final_loss(*sweep.fl[seed]))) ++wrong;
    }
  if (pairs == 0) return claim;
  claim.measured = fmt::format("{} of {} runs below FL, gamma up to {}", pairs - wrong, pairs, largest_gamma);
  claim.verdict = wrong == 0 ? ClaimVerdict::kHolds : ClaimVerdict::kDoesNotHold;
  return claim;
}

struct Valley {
  std::size_t best = 0;        // the gamma with the least mean loss
  double monotone_to = 0;      // the last gamma up to which the mean loss falls
  std::vector<double> losses;  // mean over seeds, by gamma
  double drop = 0;             // the drop of FL, mean over seeds
};

Valley valley_of(const GammaSweep& sweep) {
  Valley valley;
  for (const auto& runs : sweep.runs) valley.losses.push_back(*mean_final_loss(runs));
  const auto best = std::ranges::min_element(valley.losses);
  valley.best = static_cast<std::size_t>(best - valley.losses.begin());
  valley.monotone_to = sweep.gammas.front();
  for (std::size_t i = 1; i < valley.losses.size() && valley.losses[i] < valley.losses[i - 1]; ++i)
    valley.monotone_to = sweep.gammas[i];
  for (const RunEvidence* run : sweep.fl)
    valley.drop += (run->start_loss - run->final_loss) / static_cast<double>(sweep.fl.size());
  return valley;
}

Claim falls(const GammaSweep& sweep, const Valley& valley) {
  Claim claim{.id = "5c-falls-to-0.95",
              .figure = "5c",
              .text = "The loss at T falls monotonically with gamma to about 0.95.",
              .test = "The mean final loss over seeds, from each gamma to the next.",
              .measured = fmt::format("falls without a break to gamma {}", valley.monotone_to),
              .verdict = valley.monotone_to >= kTurning   ? ClaimVerdict::kHolds
                         : valley.monotone_to >= kFastest ? ClaimVerdict::kHoldsWithLimit
                                                          : ClaimVerdict::kDoesNotHold,
              .limit = {}};
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit)
    claim.limit = fmt::format("To {}; beyond it the losses of neighbours no longer differ in order.",
                              valley.monotone_to);
  if (sweep.gammas.back() < kFastest) claim.verdict = ClaimVerdict::kNotTested;
  return claim;
}

Claim best_gamma(const GammaSweep& sweep, const Valley& valley) {
  const double best = sweep.gammas[valley.best];
  Claim claim{
      .id = "5c-best-gamma",
      .figure = "5c",
      .text = "The best gamma is close to 1, around 0.9 to 0.95.",
      .test =
          fmt::format("The gamma with the least mean final loss; around is {} to {}.", kNearLow, kNearHigh),
      .measured = fmt::format("gamma {}, loss {:.8g}", best, valley.losses[valley.best]),
      .verdict = best >= kNearLow && best <= kNearHigh ? ClaimVerdict::kHolds : ClaimVerdict::kDoesNotHold,
      .limit = {}};
  if (sweep.gammas.back() < kNearHigh) claim.verdict = ClaimVerdict::kNotTested;
  return claim;
}

Claim rises(const GammaSweep& sweep, const Valley& valley) {
  const double rise = valley.losses.back() - valley.losses[valley.best];
  const double share = rise / valley.drop;
  Claim claim{.id = "5c-rises-near-1",
              .figure = "5c",
              .text = "Beyond gamma = 0.95 the loss at T rises and MFL does not stay convergent.",
              .test =
                  "The mean final loss at the largest gamma against the least, as a share of the drop of "
                  "FL's loss; a rise counts as one from 1 %.",
              .measured = fmt::format("at gamma {} the loss is {:.3g} above the least, {:.3g} % of the drop",
                                      sweep.gammas.back(), rise, 100 * share),
              .verdict = share >= kSmallShare ? ClaimVerdict::kHolds
                         : rise > 0           ? ClaimVerdict::kHoldsWithLimit
                                              : ClaimVerdict::kDoesNotHold,
              .limit = {}};
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit)
    claim.limit = "It rises, but so little that the run still converges and stays below FL.";
  if (sweep.gammas.back() <= kTurning) claim.verdict = ClaimVerdict::kNotTested;
  return claim;
}

Claim not_tested(const char* id, const char* text) {
  return {.id = id, .figure = "5c", .text = text, .test = {}, .measured = {}, .limit = {}};
}

}  // namespace

std::vector<Claim> judge_figure_5(const Evidence& evidence) {
  const GammaSweep sweep = gamma_sweep(evidence);
  std::vector<Claim> claims = {zero_is_fl(sweep), faster(evidence, sweep), more_accurate(sweep),
                               below_fl_for_every_gamma(evidence, sweep)};
  if (sweep.gammas.size() < 3) {
    claims.push_back(
        not_tested("5c-falls-to-0.95", "The loss at T falls monotonically with gamma to about 0.95."));
    claims.push_back(not_tested("5c-best-gamma", "The best gamma is close to 1, around 0.9 to 0.95."));
    claims.push_back(not_tested("5c-rises-near-1",
                                "Beyond gamma = 0.95 the loss at T rises and MFL does not stay convergent."));
    return claims;
  }
  const Valley valley = valley_of(sweep);
  for (const auto judged : {falls, best_gamma, rises}) claims.push_back(judged(sweep, valley));
  return claims;
}

}  // namespace mfl
