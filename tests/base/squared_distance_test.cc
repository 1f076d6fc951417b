#include "mfl/base/squared_distance.h"

#include <gtest/gtest.h>

#include <vector>

namespace mfl {
namespace {

// 2^54 + 1 rounds to 2^54, and 2^54 + 16 does not: the result tells in which order the squares were added.
TEST(SquaredDistance, AddsTheSquaresFromLeftToRight) {
  constexpr double kLarge = 0x1p27, kLargeSquare = 0x1p54;
  std::vector<double> a(17, 3), b(17, 2);
  a[0] = kLarge, b[0] = 0;
  EXPECT_EQ(add_squared_distance<double>(0, a, b), kLargeSquare);
  std::swap(a[0], a[16]);
  std::swap(b[0], b[16]);
  EXPECT_EQ(add_squared_distance<double>(0, a, b), kLargeSquare + 16);
}

TEST(SquaredDistance, ContinuesASumAndWidensBeforeItSubtracts) {
  const std::vector<float> a = {1, 0x1p-30F}, b = {0, -1};
  const double second = 1 + 0x1p-30;
  EXPECT_EQ(add_squared_distance<float>(5, a, b), 5 + 1 + second * second);
}

}  // namespace
}  // namespace mfl
