#include "mfl/study/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "made_study.h"

namespace mfl {
namespace {

using ::testing::ElementsAre;

TEST(Results, TheTargetIsWhatTheReferenceReachesWithTheSameSeed) {
  const StudyResults results = results_of(made_evidence(
      {{{falling_run(0.5), falling_run(0.6)}, {falling_run(0.0, 200), falling_run(0.2, 200)}}}));
  const CellResult& cell = results.cells.front();
  EXPECT_THAT(cell.targets, ElementsAre(0.5, 0.6));
  const AlgorithmResult &fl = cell.algorithms[0], &mfl = cell.algorithms[1];
  EXPECT_EQ(fl.reached, 2U);
  EXPECT_DOUBLE_EQ(fl.rounds.mean, 10);
  EXPECT_DOUBLE_EQ(fl.rounds.sd.value(), 0);
  EXPECT_EQ(mfl.reached, 2U);
  EXPECT_DOUBLE_EQ(mfl.rounds.mean, 5);    // 0.5 in round 5, 0.6 in round 5
  EXPECT_DOUBLE_EQ(mfl.bytes.mean, 1000);  // 200 per round
  EXPECT_DOUBLE_EQ(mfl.seconds.value().mean, 10);
  EXPECT_EQ(cell.best, 1U);
  EXPECT_DOUBLE_EQ(fl.loss.mean, 0.55);
  EXPECT_DOUBLE_EQ(fl.loss.sd.value(), std::sqrt(0.005));
}

TEST(Results, SeedsThatNeverReachTheTargetMakeTheCostALowerBound) {
  const StudyResults results = results_of(
      made_evidence({{{falling_run(0.5), falling_run(0.5)}, {falling_run(0.0), falling_run(0.9)}}}));
  const AlgorithmResult& mfl = results.cells.front().algorithms[1];
  EXPECT_EQ(mfl.reached, 1U);
  EXPECT_EQ(mfl.seeds, 2U);
  EXPECT_DOUBLE_EQ(mfl.rounds.mean, 7.5);  // 5, and 10 that were not enough
  EXPECT_FALSE(mfl.rounds.sd);
}

TEST(Results, ADivergedRunCountsWithTheWholeRun) {
  const StudyResults results =
      results_of(made_evidence({{{falling_run(0.5), falling_run(0.5)}, {falling_run(0.0), diverged_run()}}}));
  const AlgorithmResult& mfl = results.cells.front().algorithms[1];
  EXPECT_EQ(mfl.diverged, 1U);
  EXPECT_EQ(mfl.reached, 1U);
  EXPECT_DOUBLE_EQ(mfl.rounds.mean, 7.5);
  EXPECT_DOUBLE_EQ(mfl.bytes.mean, 750);  // 500, and 200 of two rounds as 1000 of ten
  EXPECT_DOUBLE_EQ(mfl.seconds.value().mean, 15);
  EXPECT_EQ(mfl.loss.count, 1U) << "the loss of a diverged run is no number to average";
  EXPECT_TRUE(std::isinf(mfl.scores[1]));
  EXPECT_EQ(results.cells.front().best, 0U);
}

TEST(Results, AReferenceThatDivergesGivesNoTarget) {
  const StudyResults results =
      results_of(made_evidence({{{diverged_run(), falling_run(0.5)}, {falling_run(0.0), falling_run(0.0)}}}));
  const CellResult& cell = results.cells.front();
  EXPECT_EQ(cell.algorithms[0].reached, 1U);
  EXPECT_EQ(cell.algorithms[1].reached, 1U);
}

TEST(Results, AGivenTargetIsTheSameForAllSeeds) {
  StudyEvidence evidence = made_evidence({{{falling_run(0.5)}, {falling_run(0.2)}}});
  evidence.plan.problems.front().target = 0.4;
  const CellResult cell = results_of(evidence).cells.front();
  EXPECT_THAT(cell.targets, ElementsAre(0.4));
  EXPECT_EQ(cell.algorithms[0].reached, 0U);
  EXPECT_DOUBLE_EQ(cell.algorithms[1].rounds.mean, 8);
}

TEST(Results, AnAccuracyIsReachedFromBelow) {
  StudyRun run;
  run.points = {{0, 0.1, 0}, {5, 0.8, 50}, {10, 0.7, 100}};
  EXPECT_EQ(first_at(run, 0.75, StudyMetric::kTestAccuracy).value().round, 5U);
  EXPECT_FALSE(first_at(run, 0.85, StudyMetric::kTestAccuracy));
  EXPECT_EQ(first_at(run, 0.75, StudyMetric::kTrainLoss).value().round, 0U);
  EXPECT_FALSE(first_at(run, std::nan(""), StudyMetric::kTestAccuracy));
}

TEST(Results, CostRatiosAreOverCellsThatBothReachedWithEverySeed) {
  const StudyResults results = results_of(made_evidence({
      {{falling_run(0.5)}, {falling_run(0.0, 200)}},  // 5 of 10 rounds
      {{falling_run(0.8)}, {falling_run(0.0, 200)}},  // 2 of 10 rounds
      {{falling_run(0.5)}, {falling_run(0.9, 200)}},  // never
  }));
  const CostRatio ratio = cost_ratio(results, 1, 0).value();
  EXPECT_EQ(ratio.cells, 2U);
  EXPECT_NEAR(ratio.rounds, std::sqrt(0.1), 1e-12);
  EXPECT_NEAR(ratio.bytes, 2 * std::sqrt(0.1), 1e-12);
  EXPECT_NEAR(ratio.seconds.value(), std::sqrt(0.1), 1e-12);
  EXPECT_FALSE(cost_ratio(results_of(made_evidence({{{falling_run(0.5)}, {falling_run(0.9)}}})), 1, 0));
}

StudyRun tuning_run(std::size_t algorithm, std::size_t candidate, std::uint64_t seed, double loss) {
  return {.key = {{0, 0}, algorithm, candidate, seed}, .final_loss = loss};
}

TEST(Selection, IsTheLeastMeanOverTheTuningSeeds) {
  StudyPlan plan = made_plan(1, 1);
  plan.algorithms.resize(1);
  plan.tuning_seeds = {101, 102};
  std::vector<StudyRun> runs = {tuning_run(0, 0, 101, 0.5), tuning_run(0, 0, 102, 0.9),
                                tuning_run(0, 1, 101, 0.6), tuning_run(0, 1, 102, 0.6),
                                tuning_run(0, 2, 101, 0.1), tuning_run(0, 2, 102, 0.1)};
  EXPECT_EQ(select_settings(plan, runs)[0][0].chosen, 2U);
  EXPECT_TRUE(select_settings(plan, runs)[0][0].at_high_edge);
  runs.back().diverged = true;  // for one seed is enough
  const TunedSetting tuned = select_settings(plan, runs)[0][0];
  EXPECT_EQ(tuned.chosen, 1U);
  EXPECT_FALSE(tuned.at_low_edge || tuned.at_high_edge);
  EXPECT_THAT(tuned.scores, ElementsAre(0.7, 0.6, std::numeric_limits<double>::infinity()));
}

TEST(Selection, WhereAllDivergeTheFirstIsTakenAndSaid) {
  StudyPlan plan = made_plan(1, 1);
  plan.algorithms.resize(1);
  std::vector<StudyRun> runs;
  for (std::size_t i = 0; i < 3; ++i) {
    runs.push_back(tuning_run(0, i, 101, 1));
    runs.back().diverged = true;
  }
  const TunedSetting tuned = select_settings(plan, runs)[0][0];
  EXPECT_TRUE(tuned.all_diverged);
  EXPECT_EQ(tuned.chosen, 0U);
}

TEST(Selection, AGridOfOneStepSizeHasNoEdge) {
  StudyPlan plan = made_plan(1, 1);
  plan.algorithms.resize(1);
  plan.problems.front().eta = {0.1};
  const TunedSetting tuned = select_settings(plan, std::vector{tuning_run(0, 0, 101, 1)})[0][0];
  EXPECT_FALSE(tuned.at_low_edge || tuned.at_high_edge);
}

}  // namespace
}  // namespace mfl
