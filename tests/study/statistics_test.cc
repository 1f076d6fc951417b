#include "mfl/study/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace mfl {
namespace {

using ::testing::ElementsAre;

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(Statistics, MeanAndStandardDeviationOfASample) {
  const Summary summary = summary_of(std::vector{2.0, 4.0, 9.0});
  EXPECT_EQ(summary.count, 3U);
  EXPECT_DOUBLE_EQ(summary.mean, 5);
  EXPECT_DOUBLE_EQ(summary.sd.value(), std::sqrt(13.0));  // (9 + 1 + 16) / 2
}

TEST(Statistics, OneValueHasNoDeviationAndNothingHasNoMean) {
  EXPECT_FALSE(summary_of(std::vector{3.0}).sd);
  EXPECT_DOUBLE_EQ(summary_of(std::vector{3.0}).mean, 3);
  EXPECT_EQ(summary_of({}).count, 0U);
  EXPECT_FALSE(summary_of(std::vector{1.0, kNever}).sd);
}

TEST(Statistics, EqualValuesShareTheirRanks) {
  EXPECT_THAT(ranks_of(std::vector{3.0, 1.0, 2.0}), ElementsAre(3, 1, 2));
  EXPECT_THAT(ranks_of(std::vector{1.0, 2.0, 2.0, 5.0}), ElementsAre(1, 2.5, 2.5, 4));
  EXPECT_THAT(ranks_of(std::vector{kNever, 7.0, std::nan("")}), ElementsAre(2.5, 1, 2.5));
}

TEST(Statistics, QuantilesAreThoseOfTheTables) {
  EXPECT_DOUBLE_EQ(student_t(1), 12.706);
  EXPECT_DOUBLE_EQ(student_t(2), 4.303);
  EXPECT_DOUBLE_EQ(student_t(4), 2.776);
  EXPECT_DOUBLE_EQ(student_t(30), 2.042);
  EXPECT_DOUBLE_EQ(student_t(1000), 2.042);
}

TEST(Statistics, ADifferenceBeyondItsIntervalIsAVerdict) {
  // Differences -1, -2, -3: mean -2, sd 1, margin 4.303 / sqrt(3) = 2.484: a tie.
  const auto tie = compare_paired(std::vector{1.0, 1.0, 1.0}, std::vector{2.0, 3.0, 4.0});
  EXPECT_DOUBLE_EQ(tie.mean, -2);
  EXPECT_NEAR(tie.margin.value(), 2.4843, 1e-4);
  EXPECT_EQ(tie.verdict, PairedVerdict::kTie);
  // Differences -2, -2.5, -3: sd 0.5, margin 1.242 below 2.5.
  const std::vector a = {1.0, 1.0, 1.0}, b = {3.0, 3.5, 4.0};
  EXPECT_EQ(compare_paired(a, b).verdict, PairedVerdict::kBetter);
  EXPECT_EQ(compare_paired(b, a).verdict, PairedVerdict::kWorse);
}

TEST(Statistics, PairingRemovesWhatSeedsHaveInCommon) {
  const std::vector a = {1.0, 5.0, 9.0}, b = {1.1, 5.1, 9.1};
  EXPECT_EQ(compare_paired(a, b).verdict, PairedVerdict::kBetter);
}

TEST(Statistics, OneSeedDecidesNothing) {
  EXPECT_EQ(compare_paired(std::vector{1.0}, std::vector{2.0}).verdict, PairedVerdict::kUnknown);
  EXPECT_EQ(compare_paired(std::vector{1.0}, std::vector{1.0}).verdict, PairedVerdict::kTie);
}

TEST(Statistics, AnAlgorithmThatDivergesIsWorse) {
  const std::vector fine = {1.0, 2.0}, once = {1.0, kNever}, always = {kNever, kNever};
  EXPECT_EQ(compare_paired(fine, once).verdict, PairedVerdict::kBetter);
  EXPECT_EQ(compare_paired(always, fine).verdict, PairedVerdict::kWorse);
  EXPECT_EQ(compare_paired(once, always).verdict, PairedVerdict::kTie);
}

TEST(Statistics, MeanRanksAreOverCells) {
  // First in one cell, second in the other, for every seed: the bootstrap has nothing to vary.
  const auto ranks = mean_ranks(
      {{{1, 1.1, 1.2}, {2, 2.1, 2.2}, {3, 3.1, 3.2}}, {{5, 5.1, 5.2}, {4, 4.1, 4.2}, {9, 9.1, 9.2}}});
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_DOUBLE_EQ(ranks[0].rank, 1.5);
  EXPECT_DOUBLE_EQ(ranks[1].rank, 1.5);
  EXPECT_DOUBLE_EQ(ranks[2].rank, 3);
  for (const MeanRank& rank : ranks) {
    EXPECT_DOUBLE_EQ(rank.interval.value().low, rank.rank);
    EXPECT_DOUBLE_EQ(rank.interval.value().high, rank.rank);
  }
}

TEST(Statistics, SeedsThatDisagreeGiveAnInterval) {
  const auto ranks = mean_ranks({{{1, 2, 3}, {2, 1, 4}}});  // means 2 and 7/3
  EXPECT_DOUBLE_EQ(ranks[0].rank, 1);
  EXPECT_DOUBLE_EQ(ranks[0].interval.value().low, 1);
  EXPECT_DOUBLE_EQ(ranks[0].interval.value().high, 2);
  EXPECT_FALSE(mean_ranks({{{1}, {2}}})[0].interval) << "one seed";
  EXPECT_TRUE(mean_ranks({}).empty());
}

TEST(Statistics, ADivergedAlgorithmIsLastInItsCell) {
  const auto ranks = mean_ranks({{{kNever, 1}, {2, 2}, {3, 3}}});
  EXPECT_DOUBLE_EQ(ranks[0].rank, 3);
}

}  // namespace
}  // namespace mfl
