#include "mfl/theory/bounds.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mfl {
namespace {

TEST(Bounds, DescentFactor) {
  EXPECT_DOUBLE_EQ(descent_factor({0.1, 4, 0.5}, 0, 0), 0.1 * (1 - 0.2));
  EXPECT_DOUBLE_EQ(descent_factor({0.1, 4, 0.5}, 2, 3), 0.08 + 0.1 * 0.5 * 0.6 * 2 - 4 * 0.01 * 0.25 * 9 / 2);
  EXPECT_LT(descent_factor({0.1, 4, 0.9}, 0, 10), 0);
}

TEST(Bounds, ConvergenceBoundWithoutDriftIsOneOverT) {
  const BoundConstants c{0.5, 0.02, 3, 0, 4};
  EXPECT_DOUBLE_EQ(convergence_bound(100, c), 1 / (100 * 0.5 * 0.02));
  EXPECT_EQ(convergence_bound(100, {0.5, -0.1, 3, 0, 4}), std::numeric_limits<double>::infinity());
}

TEST(Bounds, ConvergenceBoundHasAFloor) {
  const BoundConstants c{0.5, 0.02, 3, 1e-4, 4};
  const double floor = std::sqrt(3 * 1e-4 / (0.5 * 0.02 * 4)) + 3 * 1e-4;
  EXPECT_NEAR(convergence_bound(1e15, c), floor, 1e-9);
  EXPECT_GT(convergence_bound(10, c), convergence_bound(20, c));
}

TEST(Bounds, TheCrossingIsWhereTheBoundsAreEqual) {
  const BoundConstants fast{0.5, 0.04, 3, 1e-3, 4}, slow{0.5, 0.02, 3, 1e-5, 4};
  const Crossing crossing = cross(fast, slow);
  EXPECT_TRUE(crossing.first_lower_at_start);
  EXPECT_FALSE(crossing.first_lower_at_end);
  ASSERT_TRUE(crossing.steps);
  EXPECT_NEAR(convergence_bound(*crossing.steps, fast) / convergence_bound(*crossing.steps, slow), 1, 1e-9);
  EXPECT_LT(convergence_bound(*crossing.steps / 2, fast), convergence_bound(*crossing.steps / 2, slow));
  EXPECT_FALSE(cross({0.5, 0.04, 3, 1e-6, 4}, slow).steps) << "one is lower throughout";
  EXPECT_FALSE(cross(slow, slow).steps);
}

// alpha is above FL's exactly below the limit.
TEST(Bounds, TheGammaLimitIsWhereAlphaEqualsThatOfFl) {
  const double eta = 0.05, beta = 6, cosine = 0.4, ratio = 1.7;
  const double limit = gamma_limit({eta, beta, 0}, cosine, ratio);
  const double plain = descent_factor({eta, beta, 0}, cosine, ratio);
  EXPECT_NEAR(descent_factor({eta, beta, limit}, cosine, ratio), plain, 1e-15);
  EXPECT_GT(descent_factor({eta, beta, 0.9 * limit}, cosine, ratio), plain);
  EXPECT_LT(descent_factor({eta, beta, 1.1 * limit}, cosine, ratio), plain);
}

TEST(Bounds, APosterioriSolvesItsQuadratic) {
  const PathSums sums{20, 0.3, 0.01};
  const double eps = a_posteriori_bound(sums) - 0.01;
  EXPECT_NEAR(20 * eps * eps - eps - 0.3, 0, 1e-12);
  EXPECT_EQ(a_posteriori_bound({0, 0, 0}), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace mfl
