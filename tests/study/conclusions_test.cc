#include "mfl/study/conclusions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_study.h"

namespace mfl {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string conclusion(const StudyEvidence& evidence, std::string_view id) {
  for (const Conclusion& one : conclusions_of(evidence, results_of(evidence)))
    if (one.id == id) return one.text;
  return "(none)";
}

std::vector<StudyRun> around(double end) {
  return {falling_run(end - 0.001), falling_run(end), falling_run(end + 0.001)};
}

// mfl wins on the first split, loses on the second, and ties on the third.
StudyEvidence mixed() {
  return made_evidence({{around(0.5), around(0.3)},
                        {around(0.4), around(0.5)},
                        {around(0.4), {falling_run(0.3), falling_run(0.42), falling_run(0.5)}}});
}

TEST(Conclusions, EveryLossOfTheFocusIsNamedWithItsSize) {
  EXPECT_THAT(conclusion(mixed(), "focus"),
              HasSubstr("mfl is better than fl in 1 of 3 cells, worse in 1 and tied in 1."));
  EXPECT_EQ(conclusion(mixed(), "focus-losses"), "mfl loses to fl on made, split2 by 0.1 (25.0 %).");
  const StudyEvidence winning = made_evidence({{around(0.5), around(0.3)}});
  EXPECT_EQ(conclusion(winning, "focus-losses"), "mfl loses to fl nowhere.");
}

TEST(Conclusions, ADivergedFocusLoses) {
  const StudyEvidence evidence =
      made_evidence({{around(0.5), {diverged_run(), falling_run(0.1), falling_run(0.1)}}});
  EXPECT_EQ(conclusion(evidence, "focus-losses"), "mfl loses to fl on made, split1 because it diverged.");
  EXPECT_THAT(cautions_of(evidence, results_of(evidence)),
              Contains(HasSubstr("mfl diverged on made, split1 with 1 of 3 seeds")));
}

TEST(Conclusions, WinnersOfASplitAndThoseWithinTheUncertainty) {
  EXPECT_THAT(conclusion(mixed(), "split-1"), HasSubstr("mfl in 1 of 1 problem"));
  EXPECT_THAT(conclusion(mixed(), "split-1"), Not(HasSubstr("Within the uncertainty")));
  EXPECT_THAT(conclusion(mixed(), "split-2"), HasSubstr("fl in 1 of 1 problem"));
  EXPECT_THAT(conclusion(mixed(), "split-3"), HasSubstr("Within the uncertainty as good: mfl in 1"));
}

TEST(Conclusions, ARankingWithinItsUncertaintyIsLabelled) {
  EXPECT_THAT(conclusion(mixed(), "ranking"), HasSubstr("not significant"));
  const StudyEvidence clear = made_evidence({{around(0.5), around(0.3)}, {around(0.6), around(0.3)}});
  EXPECT_THAT(conclusion(clear, "ranking"), HasSubstr("mfl 1.00 [1.00, 1.00] and fl 2.00 [2.00, 2.00]"));
  EXPECT_THAT(conclusion(clear, "ranking"), HasSubstr("mfl is first beyond the uncertainty"));
}

TEST(Conclusions, OneSeedClaimsNoCertainty) {
  const StudyEvidence evidence = made_evidence({{{falling_run(0.5)}, {falling_run(0.3)}}});
  EXPECT_THAT(conclusion(evidence, "ranking"), HasSubstr("One seed"));
  EXPECT_THAT(conclusion(evidence, "focus"), HasSubstr("One seed"));
  EXPECT_THAT(cautions_of(evidence, results_of(evidence)),
              Contains(HasSubstr("no number here has an uncertainty")));
}

TEST(Conclusions, TheCostSaysWhereTheTargetWasNeverReached) {
  EXPECT_THAT(conclusion(mixed(), "costs"), HasSubstr("relative to fl"));
  EXPECT_THAT(conclusion(mixed(), "costs"), HasSubstr("(4 of 9 runs; every seed in 1 cell)"));
  const StudyEvidence never = made_evidence({{around(0.4), around(0.9)}});
  EXPECT_THAT(conclusion(never, "costs"),
              HasSubstr("mfl reached it in 0 of 3 runs and in no cell with every seed"));
}

TEST(Conclusions, EdgesOfTheGridAndTheQuickFormAreCautions) {
  StudyEvidence evidence = mixed();
  const auto before = cautions_of(evidence, results_of(evidence));
  EXPECT_TRUE(before.empty()) << before.front();
  evidence.tuned[1][1].at_high_edge = true;
  evidence.tuned[0][0].at_low_edge = true;
  evidence.tuned[2][1].all_diverged = true;
  evidence.plan.quick = true;
  const auto cautions = cautions_of(evidence, results_of(evidence));
  EXPECT_THAT(cautions, Contains(HasSubstr("quick form")));
  EXPECT_THAT(
      cautions,
      Contains("fl was selected at the lowest step size of the grid, and a smaller one may be better: on "
               "made, split1."));
  EXPECT_THAT(
      cautions,
      Contains("mfl was selected at the highest step size of the grid, and a larger one may be better: on "
               "made, split2."));
  EXPECT_THAT(
      cautions,
      Contains(
          "mfl was selected nowhere on the grid without divergence for a tuning seed: on made, split3."));
}

TEST(Conclusions, TheMethodSaysHowItWasMadeFair) {
  const auto methods = methods_of(mixed());
  EXPECT_THAT(methods, Contains(HasSubstr("the same grid of step sizes")));
  EXPECT_THAT(methods, Contains(HasSubstr("mfl: gamma in 0.5, 0.9")));
  EXPECT_THAT(methods, Contains(HasSubstr("with fewer settings tried: fl")));
  EXPECT_THAT(methods, Contains(HasSubstr("the final training loss of fl with the same seed")));
  EXPECT_THAT(methods, Not(Contains(HasSubstr("start ahead"))));
  StudyEvidence ahead = mixed();
  ahead.plan.algorithms[0].spec = "fedacg";
  EXPECT_THAT(methods_of(ahead), Contains(HasSubstr("Nodes of fl start ahead of the server's model")));
}

}  // namespace
}  // namespace mfl
