#include "mfl/base/dirichlet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mfl {
namespace {

std::vector<double> draw_shares(std::uint64_t seed, double alpha, std::size_t parts) {
  Stream stream(seed, Purpose::kPartition);
  std::vector<double> logs(parts);
  draw_log_gammas(stream, alpha, logs);
  make_shares(logs);
  return logs;
}

TEST(LogGammas, HaveTheMomentsOfTheDistribution) {
  for (const double shape : {0.1, 0.5, 1.0, 2.5, 40.0}) {
    Stream stream(5, Purpose::kPartition);
    std::vector<double> logs(200000);
    draw_log_gammas(stream, shape, logs);
    double sum = 0, squares = 0;
    for (const double log : logs) {
      sum += std::exp(log);
      squares += std::exp(2 * log);
    }
    const auto count = static_cast<double>(logs.size());
    const double mean = sum / count, variance = squares / count - mean * mean;
    // Five standard errors; the fourth central moment of a gamma number is 3 k^2 + 6 k.
    EXPECT_NEAR(mean, shape, 5 * std::sqrt(shape / count));
    EXPECT_NEAR(variance, shape, 5 * std::sqrt((2 * shape * shape + 6 * shape) / count));
  }
}

// The share of one part is Beta(alpha, (n - 1) alpha).
TEST(Shares, HaveTheMomentsOfTheBetaDistribution) {
  constexpr std::size_t kParts = 5;
  constexpr int kDraws = 40000;
  for (const double alpha : {0.05, 0.3, 1.0, 10.0}) {
    double sum = 0, squares = 0, fourth = 0;
    const double mean = 1.0 / kParts;
    for (int seed = 0; seed < kDraws; ++seed) {
      const double x = draw_shares(static_cast<std::uint64_t>(seed), alpha, kParts)[2];
      sum += x;
      squares += (x - mean) * (x - mean);
      fourth += std::pow(x - mean, 4);
    }
    const double variance = mean * (1 - mean) / (kParts * alpha + 1);
    EXPECT_NEAR(sum / kDraws, mean, 5 * std::sqrt(variance / kDraws)) << alpha;
    const double error = std::sqrt((fourth / kDraws - variance * variance) / kDraws);
    EXPECT_NEAR(squares / kDraws, variance, 5 * error) << alpha;
  }
}

TEST(Shares, AddUpToOneForEveryAlpha) {
  for (const double alpha : {1e-300, 1e-6, 0.01, 1.0, 1e6, 1e300})
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const auto shares = draw_shares(seed, alpha, 100);
      EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12) << alpha;
      for (const double share : shares) EXPECT_TRUE(share >= 0 && share <= 1) << alpha;
    }
}

TEST(Shares, AreAllOfOnePartForATinyAlphaAndEqualForAHugeOne) {
  EXPECT_EQ(std::ranges::max(draw_shares(3, 1e-6, 10)), 1);
  for (const double share : draw_shares(3, 1e12, 10)) EXPECT_NEAR(share, 0.1, 1e-5);
}

TEST(Shares, AreZeroForAClosedPart) {
  const double closed = -std::numeric_limits<double>::infinity();
  std::vector<double> logs = {closed, -2000.0, closed, -2000.0};
  make_shares(logs);
  EXPECT_EQ(logs, (std::vector<double>{0, 0.5, 0, 0.5}));
}

// The same bits on every machine: the digits of every bit.
TEST(Shares, AreTheSameEverywhere) {
  EXPECT_EQ(fmt::format("{::a}", draw_shares(1, 0.3, 3)),
            "[0x1.418a64fd0f1ep-12, 0x1.fea625a605609p-1, 0x1.31a90d5afd922p-9]");
}

}  // namespace
}  // namespace mfl
