#include "mfl/reproduce/claims_figure_4.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mfl {
namespace {

constexpr std::string_view kFederatedAndMgd[] = {"fl", "mfl", "mgd"};

struct PaperModel {
  std::string_view name, title, figure;
};
constexpr PaperModel kPaperModels[] = {{"svm", "SVM", "4a"},
                                       {"squared-svm", "Squared SVM", "4a"},
                                       {"linear", "Linear regression", "4c"},
                                       {"logistic", "Logistic regression", "4d"}};

// The loss at the last round that ended at or before the step.
double loss_at(const RunEvidence& run, std::uint64_t step) {
  double loss = run.start_loss;
  for (const RoundEvidence& round : run.rounds)
    if (round.step <= step) loss = round.loss;
  return loss;
}

double drop(const RunEvidence& run) { return run.start_loss - run.final_loss; }

Claim convergence(const Evidence& evidence, const PaperModel& model) {
  Claim claim{.id = fmt::format("{}-converges-{}", model.figure, model.name),
              .figure = std::string(model.figure),
              .text = fmt::format("{}: the loss converges under FL, MFL and MGD.", model.title),
              .test =
                  "The share of the whole drop of the loss that the last tenth of the steps still brings, "
                  "largest over algorithms and seeds; converged is at most 1 %.",
              .measured = {},
              .limit = {}};
  double largest = -std::numeric_limits<double>::infinity(), smallest = -largest;
  bool failed = false;
  std::string_view slowest;
  for (const std::string_view algorithm : kFederatedAndMgd)
    for (const RunEvidence* run : select(evidence, figure_4_query(evidence, model.name, algorithm))) {
      failed = failed || run->diverged || !(drop(*run) > 0);
      const double share = (loss_at(*run, run->steps - run->steps / 10) - run->final_loss) / drop(*run);
      if (share > largest) slowest = algorithm;
      largest = std::max(largest, share);
      smallest = std::min(smallest, share);
    }
  if (slowest.empty() && !failed) return claim;
  claim.measured = failed ? "a run diverged or did not lower the loss"
                          : fmt::format("at most {:.3g} % (slowest: {})", 100 * largest,
                                        slowest == "fl"    ? "FL"
                                        : slowest == "mfl" ? "MFL"
                                                           : "MGD");
  claim.verdict = failed || smallest < -kSmallShare ? ClaimVerdict::kDoesNotHold
                  : largest <= kSmallShare          ? ClaimVerdict::kHolds
                                                    : ClaimVerdict::kHoldsWithLimit;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit)
    claim.limit =
        fmt::format("The loss falls all the way, but at T = {} it is still on its way down.", evidence.steps);
  return claim;
}

Claim accuracy_convergence(const Evidence& evidence) {
  Claim claim{
      .id = "4b-accuracy-converges-svm",
      .figure = "4b",
      .text = "SVM: the test accuracy rises until it converges.",
      .test =
          "How much the accuracy moves in the last tenth of the steps, largest over FL, MFL, MGD and seeds; "
          "converged is at most half a point.",
      .measured = {},
      .limit = {}};
  double moved = 0, lowest_rise = std::numeric_limits<double>::infinity();
  for (const std::string_view algorithm : kFederatedAndMgd)
    for (const RunEvidence* run : select(evidence, figure_4_query(evidence, "svm", algorithm))) {
      if (run->accuracy.empty()) continue;
      const double last = run->accuracy.back().accuracy;
      lowest_rise = std::min(lowest_rise, run->diverged ? -1 : last - run->accuracy.front().accuracy);
      for (const AccuracyEvidence& at : run->accuracy)
        if (at.step >= run->steps - run->steps / 10) moved = std::max(moved, std::abs(at.accuracy - last));
    }
  if (!std::isfinite(lowest_rise)) return claim;
  claim.measured = fmt::format("moves by at most {:.2f} points; rises by at least {:.1f} points in all",
                               100 * moved, 100 * lowest_rise);
  claim.verdict = lowest_rise <= 0          ? ClaimVerdict::kDoesNotHold
                  : moved <= kSmallAccuracy ? ClaimVerdict::kHolds
                                            : ClaimVerdict::kHoldsWithLimit;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit)
    claim.limit = "It still moves by more than half a point at the end.";
  return claim;
}

// How often and how far one curve is above another, over the rounds that both have after the start.
struct LossCrossing {
  std::size_t points = 0, above = 0, equal = 0;
  double largest = 0;  // largest amount by which it is above
  double share = 0;    // that amount as a share of the drop
  bool diverged = false;
};

void compare(const RunEvidence& lower, const RunEvidence& upper, LossCrossing& crossing) {
  crossing.diverged = crossing.diverged || lower.diverged || upper.diverged;
  auto other = upper.rounds.begin();
  for (const RoundEvidence& round : lower.rounds) {
    while (other != upper.rounds.end() && other->step < round.step) ++other;
    if (other == upper.rounds.end()) return;
    if (other->step != round.step || round.step == 0) continue;
    ++crossing.points;
    const double above = round.loss - other->loss;
    if (above == 0) ++crossing.equal;
    if (!(above > 0)) continue;
    ++crossing.above;
    crossing.largest = std::max(crossing.largest, above);
    crossing.share = std::max(crossing.share, above / drop(upper));
  }
}

LossCrossing compare_all(const Evidence& evidence, std::string_view model, std::string_view lower,
                         std::string_view upper) {
  LossCrossing crossing;
  for (const RunEvidence* run : select(evidence, figure_4_query(evidence, model, lower))) {
    RunQuery query = figure_4_query(evidence, model, upper);
    query.seed = run->seed;
    for (const RunEvidence* other : select(evidence, query)) compare(*run, *other, crossing);
  }
  return crossing;
}

Claim order(const Evidence& evidence, const PaperModel& model, std::string_view lower, std::string_view upper,
            bool strictly) {
  Claim claim{.id = fmt::format("{}-order-{}-{}-{}", model.figure, lower, upper, model.name),
              .figure = std::string(model.figure),
              .text = fmt::format("{}: the loss of {} is {} that of {} at every step.", model.title,
                                  lower == "mgd" ? "MGD" : "MFL", strictly ? "below" : "at or below",
                                  upper == "mfl" ? "MFL" : "FL"),
              .test = "The two curves at every aggregation, seed by seed.",
              .measured = {},
              .limit = {}};
  const LossCrossing crossing = compare_all(evidence, model.name, lower, upper);
  if (crossing.points == 0) return claim;
  const std::size_t wrong = crossing.above + (strictly ? crossing.equal : 0);
  claim.measured = wrong == 0
                       ? fmt::format("so at all {} points", crossing.points)
                       : fmt::format("not so at {} of {} points; above by at most {:.2g}, {:.2g} of the drop",
                                     wrong, crossing.points, crossing.largest, crossing.share);
  claim.verdict = crossing.diverged ? ClaimVerdict::kDoesNotHold
                  : wrong == 0      ? ClaimVerdict::kHolds
                  : crossing.share <= kCrossingShare && 2 * wrong < crossing.points
                      ? ClaimVerdict::kHoldsWithLimit
                      : ClaimVerdict::kDoesNotHold;
  if (wrong > 0 && crossing.share < kVisibleShare)
    claim.limit = fmt::format(
        "No picture shows it: the curves are less than {} of the drop apart there{}.", kVisibleShare,
        model.name == "svm" ? ". The hinge as printed has kinks, at which no method descends at "
                              "every step, so the two take turns"
                            : "");
  return claim;
}

// How many times more steps FL needs for the loss at which it ends; 0 when MFL does not get there.
double speed_ratio(const RunEvidence& fl, const RunEvidence& mfl) {
  if (fl.diverged) return 0;
  const RoundEvidence own = first_at(fl, fl.final_loss).value_or(RoundEvidence{});
  const RoundEvidence there = first_at(mfl, fl.final_loss).value_or(RoundEvidence{});
  return there.step == 0 ? 0 : static_cast<double>(own.step) / static_cast<double>(there.step);
}

Claim speed(const Evidence& evidence, const PaperModel& model) {
  Claim claim{
      .id = fmt::format("{}-speed-{}", model.figure, model.name),
      .figure = std::string(model.figure),
      .text = fmt::format("{}: MFL converges significantly faster than FL.", model.title),
      .test =
          "Steps of FL to its own final loss over those of MFL to the same loss, smallest over seeds; "
          "significant is 1.5 or more.",
      .measured = {},
      .limit = {}};
  double least = std::numeric_limits<double>::infinity();
  bool any = false;
  for (const RunEvidence* fl : select(evidence, figure_4_query(evidence, model.name, "fl"))) {
    RunQuery query = figure_4_query(evidence, model.name, "mfl");
    query.seed = fl->seed;
    for (const RunEvidence* mfl : select(evidence, query)) {
      any = true;
      least = std::min(least, speed_ratio(*fl, *mfl));
    }
  }
  if (!any) return claim;
  claim.measured = fmt::format("at least {:.2f} times as fast", least);
  claim.verdict = least >= 1.5 ? ClaimVerdict::kHolds
                  : least > 1  ? ClaimVerdict::kHoldsWithLimit
                               : ClaimVerdict::kDoesNotHold;
  if (claim.verdict == ClaimVerdict::kHoldsWithLimit) claim.limit = "It is faster, by less than half.";
  return claim;
}

}  // namespace

std::vector<Claim> judge_figure_4(const Evidence& evidence) {
  std::vector<Claim> claims;
  for (const PaperModel& model : kPaperModels) {
    claims.push_back(convergence(evidence, model));
    if (model.name == "svm") claims.push_back(accuracy_convergence(evidence));
    claims.push_back(order(evidence, model, "mfl", "fl", true));
    claims.push_back(order(evidence, model, "mgd", "mfl", false));
    claims.push_back(speed(evidence, model));
  }
  return claims;
}

}  // namespace mfl
