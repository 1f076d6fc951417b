#include "mfl/reproduce/cost.h"

#include <gtest/gtest.h>

#include "made_evidence.h"

namespace mfl::test {
namespace {

const CostRow* find(const std::vector<CostRow>& rows, const std::string& algorithm, std::uint64_t tau,
                    bool d_alone) {
  for (const CostRow& row : rows)
    if (row.model == "svm" && row.algorithm == algorithm && row.tau == tau && row.d_alone == d_alone)
      return &row;
  return nullptr;
}

TEST(Cost, CountsStepsRoundsAndBytesToFlsFinalLoss) {
  const auto rows = cost_rows(made_evidence());
  const CostRow* fl = find(rows, "fl", 4, false);
  const CostRow* mfl = find(rows, "mfl", 4, false);
  const CostRow* gd = find(rows, "gd", 0, false);
  ASSERT_TRUE(fl != nullptr && mfl != nullptr && gd != nullptr);
  EXPECT_EQ(fl->steps, 1000);
  EXPECT_EQ(fl->rounds, 250);
  EXPECT_EQ(fl->bytes_up, 25000);
  EXPECT_EQ(fl->bytes_to_fl, 1);
  // exp(-rate(0.5) s) <= exp(-rate(0) 1000): s >= 0.004 / 0.00804 * 1000 = 497.5, the next round ends at 500.
  EXPECT_EQ(mfl->steps, 500);
  EXPECT_EQ(mfl->rounds, 125);
  EXPECT_EQ(mfl->bytes_up, 25000) << "half the rounds, twice the bytes";
  EXPECT_EQ(mfl->bytes_to_fl, 1);
  EXPECT_EQ(gd->rounds, 0);
  EXPECT_EQ(gd->bytes_up, 0);
  EXPECT_FALSE(gd->bytes_to_fl);
}

TEST(Cost, WithTauOneSendingOnlyDHalvesTheBytes) {
  const auto rows = cost_rows(made_evidence());
  const CostRow* both = find(rows, "mfl", 1, false);
  const CostRow* alone = find(rows, "mfl", 1, true);
  const CostRow* fl = find(rows, "fl", 1, false);
  ASSERT_TRUE(both != nullptr && alone != nullptr && fl != nullptr);
  EXPECT_EQ(alone->steps, both->steps);
  EXPECT_EQ(2 * alone->bytes_up, both->bytes_up);
  EXPECT_EQ(alone->bytes_up / alone->rounds, fl->bytes_up / fl->rounds) << "as many per round as FL";
}

TEST(Cost, BreakEvenIsWhereMomentumHalvesTheRounds) {
  const auto rows = gamma_cost_rows(made_evidence());
  ASSERT_EQ(rows.size(), std::size(kGammas));
  EXPECT_EQ(rows.front().bytes_to_fl, 2) << "gamma 0: FL's rounds with twice the bytes";
  EXPECT_EQ(break_even_gamma(rows), 0.5);
  EXPECT_FALSE(break_even_gamma({}));
}

TEST(Cost, ARunThatMissesTheTargetIsCountedAsSuch) {
  Evidence evidence = made_evidence();
  for (RunEvidence& run : evidence.runs)
    if (run.gamma == 0.9 && run.seed == 1)
      for (RoundEvidence& round : run.rounds) round.loss += 1;
  for (const CostRow& row : gamma_cost_rows(evidence)) {
    EXPECT_EQ(row.seeds, 2U);
    EXPECT_EQ(row.reached, row.gamma == 0.9 ? 1U : 2U);
  }
}

TEST(Cost, ABaselineThatDivergedSetsNoTarget) {
  Evidence evidence = made_evidence(1);
  for (RunEvidence& run : evidence.runs) run.diverged = run.algorithm == "fl";
  EXPECT_TRUE(cost_rows(evidence).empty());
}

}  // namespace
}  // namespace mfl::test
