#include "mfl/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace mfl {
namespace {

// Known answer of Philox4x64-10 for an all-zero counter and key, from the Random123 distribution: a changed
// generator would change every seeded result.
TEST(Stream, DrawsPhilox) {
  Stream stream(0, static_cast<Purpose>(0));
  EXPECT_EQ(stream.next(), 0x16554d9eca36314cULL);
  EXPECT_EQ(stream.next(), 0xdb20fe9d672d0fdcULL);
  EXPECT_EQ(stream.next(), 0xd7e772cee186176bULL);
  EXPECT_EQ(stream.next(), 0x7e68b68aec7ba23bULL);
}

TEST(Stream, EveryPartOfTheKeyMatters) {
  std::set<std::uint64_t> firsts;
  for (const std::uint64_t seed : {1, 2})
    for (const Purpose purpose : {Purpose::kTakeTrain, Purpose::kPartition})
      for (const std::uint64_t round : {0, 7})
        for (const std::uint64_t node : {0, 7}) firsts.insert(Stream(seed, purpose, round, node).next());
  EXPECT_EQ(firsts.size(), 16U);
}

TEST(Stream, BelowIsInRangeAndEven) {
  Stream stream(3, Purpose::kSynthetic);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(stream.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(stream.below(1), 0U);
}

TEST(Stream, NormalHasMeanZeroAndVarianceOne) {
  Stream stream(4, Purpose::kSynthetic);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.03);
}

TEST(Permutation, HoldsEveryIndexOnceAndDependsOnTheSeed) {
  auto first = permutation(1000, Stream(1, Purpose::kPartition));
  const auto second = permutation(1000, Stream(2, Purpose::kPartition));
  EXPECT_EQ(first, permutation(1000, Stream(1, Purpose::kPartition)));
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(first, all);
  EXPECT_TRUE(permutation(0, Stream(1, Purpose::kPartition)).empty());
}

}  // namespace
}  // namespace mfl
