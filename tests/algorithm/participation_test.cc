#include "mfl/algorithm/participation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mfl {
namespace {

using Nodes = std::vector<std::uint32_t>;

TEST(Participation, CountsToTheNearestAndAtLeastOneAndTheQuorum) {
  const struct {
    double fraction;
    std::size_t quorum, nodes, count;
  } table[] = {{1, 0, 1, 1},      {0.01, 0, 1, 1},          {0.5, 0, 3, 2},   {0.5, 0, 5, 3},
               {0.1, 0, 30, 3},   {0.1, 0, 34, 3},          {0.1, 0, 35, 4},  {0.1, 7, 30, 7},
               {0.1, 40, 30, 30}, {1, 3, 30, 30},           {1e-9, 0, 10, 1}, {0.999, 0, 10, 10},
               {0.2, 2, 10, 2},   {0.01, 0, 1000000, 10000}};
  for (const auto& row : table)
    EXPECT_EQ(participant_count({1, row.fraction, row.quorum}, row.nodes), row.count)
        << row.fraction << " of " << row.nodes;
}

TEST(Participation, ChoosesDistinctNodesInAscendingOrder) {
  for (const std::size_t nodes : {1, 2, 3, 10, 1000})
    for (const double fraction : {0.001, 0.3, 0.5, 0.99, 1.0})
      for (std::uint64_t round = 1; round <= 20; ++round) {
        const Participation participation{7, fraction};
        const Nodes chosen = choose_participants(participation, round, 1, nodes);
        ASSERT_EQ(chosen.size(), participant_count(participation, nodes));
        ASSERT_TRUE(std::ranges::is_sorted(chosen, std::less_equal<>{}) || chosen.size() == 1);
        ASSERT_EQ(std::ranges::adjacent_find(chosen), chosen.end());
        ASSERT_LT(chosen.back(), nodes);
      }
}

// Part of the numerics contract: every engine and the federation must draw these.
TEST(Participation, TheDrawIsPinned) {
  EXPECT_EQ(choose_participants({1, 0.3}, 1, 1, 10), (Nodes{5, 6, 8}));
  EXPECT_EQ(choose_participants({1, 0.3}, 2, 1, 10), (Nodes{2, 4, 6}));
  EXPECT_EQ(choose_participants({1, 5e-9}, 1, 1, 1'000'000'000),
            (Nodes{15871490, 107069391, 368281281, 581848268, 700456097}));
}

TEST(Participation, DependsOnSeedRoundAndAttempt) {
  const Nodes first = choose_participants({1, 0.1}, 1, 1, 1000);
  EXPECT_NE(first, choose_participants({2, 0.1}, 1, 1, 1000));
  EXPECT_NE(first, choose_participants({1, 0.1}, 2, 1, 1000));
  EXPECT_NE(first, choose_participants({1, 0.1}, 1, 2, 1000));
}

TEST(Participation, EveryNodeAndEveryPairIsEquallyLikely) {
  constexpr std::size_t kNodes = 12, kRounds = 6000;
  std::vector<int> seen(kNodes);
  int pair = 0;  // nodes 0 and 11
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const Nodes chosen = choose_participants({3, 0.25}, round, 1, kNodes);
    for (const std::uint32_t node : chosen) ++seen[node];
    pair += chosen.front() == 0 && chosen.back() == kNodes - 1 ? 1 : 0;
  }
  for (const int count : seen) EXPECT_NEAR(count, 1500, 170);  // five standard deviations
  EXPECT_NEAR(pair, 6000 * (3.0 * 2) / (12 * 11), 83);
}

}  // namespace
}  // namespace mfl
