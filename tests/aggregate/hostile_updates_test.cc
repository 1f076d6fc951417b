// What hostile updates and the ends of the range of numbers do to the aggregators.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "mfl/aggregate/aggregator.h"
#include "tests/aggregate/updates.h"
#include "tests/base/precisions.h"

namespace mfl {
namespace {

using test::aggregated;
using test::distance;
using test::hard_number;
using test::hard_updates;
using test::norm;
using test::random_updates;
using test::specs_of_all;
using test::Updates;
using test::Vectors;

template <class T>
class HostileUpdates : public ::testing::Test {
 protected:
  std::mt19937_64 random_{42};
};
TYPED_TEST_SUITE(HostileUpdates, test::Precisions);

template <class T>
Updates<T> with_outliers(std::size_t nodes, std::size_t hostile, T size, std::mt19937_64& random) {
  auto updates = random_updates<T>(nodes, 20, 10, random);
  for (std::size_t k = 0; k < hostile; ++k)
    for (auto& vector : updates.nodes[nodes - 1 - k])
      for (T& x : vector) x = size;
  return updates;
}

// Hostile updates, the last ones, leave every coordinate between the smallest and the largest number of the others.
TYPED_TEST(HostileUpdates, OutliersStayOutside) {
  using T = TypeParam;
  const std::size_t nodes = 11, hostile = 2;
  for (const T size : {T(1e4), T(1e30), std::numeric_limits<T>::max()}) {
    auto updates = with_outliers<T>(nodes, hostile, size, this->random_);
    for (const std::string_view spec :
         {"median", "trimmed-mean(0.2)", "krum(2)", "multi-krum(2)", "multi-krum(2, 4)"}) {
      const auto out = aggregated(spec, updates);
      for (std::size_t v = 0; v < out.size(); ++v) {
        for (std::size_t j = 0; j < out[v].size(); ++j) {
          T least = std::numeric_limits<T>::max(), most = -least;
          for (std::size_t i = 0; i < nodes - hostile; ++i) {
            least = std::min(least, updates.nodes[i][v][j]);
            most = std::max(most, updates.nodes[i][v][j]);
          }
          ASSERT_GE(out[v][j], least) << spec;
          ASSERT_LE(out[v][j], most) << spec;
        }
      }
    }
  }
}

// The geometric median stays within 2 (n - f) / (n - 2 f) times the largest good update, once it has converged.
TYPED_TEST(HostileUpdates, GeometricMedianForgetsOutliers) {
  using T = TypeParam;
  const std::size_t nodes = 11, hostile = 2;
  for (const T size : {T(1e4), T(1e30), std::numeric_limits<T>::max()}) {
    const auto updates = with_outliers<T>(nodes, hostile, size, this->random_);
    double largest = 0;
    for (std::size_t i = 0; i < nodes - hostile; ++i) largest = std::max(largest, norm(updates.nodes[i]));
    EXPECT_LT(norm(aggregated("rfa(1000)", updates)), 2.0 * 9 / 7 * largest) << size;
  }
  // Each step divides what one far update of eleven contributes by about ten.
  const auto updates = with_outliers<T>(nodes, 1, T(1e6), this->random_);
  EXPECT_NEAR(norm(aggregated("rfa", updates)), norm(updates.nodes.back()) / 1e5,
              norm(updates.nodes.back()) / 1e6);
}

TYPED_TEST(HostileUpdates, ClippingMovesByNoMoreThanTheRadius) {
  using T = TypeParam;
  for (const T size : {T(1e4), T(1e30), std::numeric_limits<T>::max()}) {
    const auto updates = with_outliers<T>(11, 1, size, this->random_);
    const auto without = with_outliers<T>(11, 0, size, this->random_);
    for (const double radius : {0.01, 1.0, 100.0}) {
      for (const int steps : {1, 4}) {
        const std::string spec =
            "centred-clipping(" + std::to_string(radius) + ", " + std::to_string(steps) + ")";
        EXPECT_LE(distance(aggregated(spec, updates), updates.broadcast), radius * steps * (1 + 1e-5))
            << spec;
      }
      // One hostile node of n in one step: at most radius / n away from where an update of no change would leave it.
      auto idle = updates;
      idle.nodes.back() = idle.broadcast;
      const std::string spec = "centred-clipping(" + std::to_string(radius) + ")";
      EXPECT_LE(distance(aggregated(spec, updates), aggregated(spec, idle)), radius / 11 * (1 + 1e-4))
          << spec;
    }
    EXPECT_GT(distance(aggregated("mean", updates), aggregated("mean", without)), 1) << size;
  }
}

TYPED_TEST(HostileUpdates, FiniteUpdatesHaveFiniteAggregates) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    auto updates = hard_updates<T>(7 + random() % 5, 1 + random() % 40, random);
    for (auto& vector : updates.broadcast)
      for (T& x : vector) x = hard_number<T>(random);
    auto specs = specs_of_all();
    for (const char* more : {"rfa(3, 5e-324)", "rfa(3, 1e308)", "centred-clipping(1e308)",
                             "centred-clipping(1e-300, 2)", "centred-clipping(1e155, 5)"})
      specs.emplace_back(more);
    for (const std::string& spec : specs)
      for (const auto& vector : aggregated(spec, updates))
        for (const T x : vector) RC_ASSERT(std::isfinite(x));
  }));
}

TYPED_TEST(HostileUpdates, NumbersThatAreNotFiniteAreRefused) {
  using T = TypeParam;
  auto updates = random_updates<T>(7, 20, 3, this->random_);
  for (auto& node : updates.nodes) node[0][3] = std::numeric_limits<T>::infinity();
  for (const std::string_view spec : {"mean", "median", "trimmed-mean(0.2)", "rfa"})
    EXPECT_THROW(aggregated(spec, updates), std::invalid_argument) << spec;
}

// A node at distance zero while others are too far to be squared, with the smallest nu.
TYPED_TEST(HostileUpdates, GeometricMedianDividesByNoZero) {
  using T = TypeParam;
  const T most = std::numeric_limits<T>::max();
  const auto updates = Updates<T>::of({{T{0}}, {most}, {-most}});
  for (const std::string_view spec : {"rfa(1, 5e-324)", "rfa(5, 5e-324)", "rfa(3)"})
    EXPECT_EQ(aggregated(spec, updates), (Vectors<T>{{T{0}}})) << spec;
  EXPECT_EQ(aggregated("rfa(3, 5e-324)", Updates<T>::of({{T{3}}, {T{3}}})), (Vectors<T>{{T{3}}}));
}

// The mean of what is clipped, where the difference of two numbers is not finite.
TYPED_TEST(HostileUpdates, ClippingFollowsHugeNumbers) {
  using T = TypeParam;
  const T most = std::numeric_limits<T>::max(), radius = most / 2;
  auto updates = Updates<T>::of({{most}, {most}});
  updates.broadcast = {{-most}};
  std::array<char, 64> spec{};
  std::snprintf(spec.data(), spec.size(), "centred-clipping(%.17g)", static_cast<double>(radius));
  const auto out = aggregated(spec.data(), updates);
  EXPECT_NEAR(out[0][0] / most, -0.5, 1e-6);
}

}  // namespace
}  // namespace mfl
