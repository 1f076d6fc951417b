#include "mfl/theory/adaptive_tau.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mfl::test {
namespace {

const std::vector<Resource> kBudget = {{15, .013015156, .131604348}};
const TauRule kRule{.eta = .01};

std::uint64_t chosen(const Smoothness& smoothness, std::uint64_t last) {
  return choose_tau(kRule, smoothness, kBudget, last).tau;
}

TEST(AdaptiveTau, CheckValues) {
  EXPECT_EQ(chosen({.rho = 1, .beta = 5, .delta = .5}, 1), 10U);
  EXPECT_EQ(chosen({.rho = 1, .beta = 5, .delta = .5}, 10), 17U);
  EXPECT_EQ(chosen({.rho = 1, .beta = 5, .delta = .05}, 10), 33U);
  EXPECT_EQ(chosen({.rho = .8, .beta = 35, .delta = 2}, 10), 5U);
  EXPECT_EQ(chosen({.rho = .8, .beta = 35, .delta = .25}, 10), 8U);
}

// The formula of the paper, with FL's h in its closed form.
TEST(AdaptiveTau, BoundIsTheFormula) {
  const Smoothness s{.rho = 1, .beta = 5, .delta = .5};
  for (const double tau : {1.0, 2.0, 17.0, 100.0}) {
    const double h =
        s.delta / s.beta * (std::pow(kRule.eta * s.beta + 1, tau) - 1) - kRule.eta * s.delta * tau;
    const auto& [budget, c, b] = kBudget[0];
    const double steps = (budget - c - b) * tau / (c * tau + b);
    const double rate = kRule.eta * kRule.phi;
    const double expected =
        (1 + std::sqrt(1 + 4 * steps * steps * rate * s.rho * h / tau)) / (2 * steps * rate) + s.rho * h;
    EXPECT_NEAR(budget_bound(kRule, s, kBudget, static_cast<std::uint64_t>(tau)), expected, 1e-10 * expected);
  }
}

TEST(AdaptiveTau, ChoiceIsTheSmallestBoundOfItsRange) {
  const Smoothness s{.rho = .8, .beta = 35, .delta = .25};
  const TauChoice choice = choose_tau(kRule, s, kBudget, 10);
  for (std::uint64_t tau = 1; tau <= 100; ++tau)
    EXPECT_LE(choice.bound, budget_bound(kRule, s, kBudget, tau)) << tau;
  EXPECT_EQ(choice.bound, budget_bound(kRule, s, kBudget, choice.tau));
}

TEST(AdaptiveTau, RangeIsTenTimesTheLastAndAtMostTauMax) {
  const Smoothness equal{.rho = 1, .beta = 5, .delta = 0};  // no drift: the longer the better
  EXPECT_EQ(chosen(equal, 3), 30U);
  EXPECT_EQ(chosen(equal, 10), 100U);
  EXPECT_EQ(chosen(equal, std::numeric_limits<std::uint64_t>::max()), 100U);
  TauRule narrow = kRule;
  narrow.tau_max = 7;
  EXPECT_EQ(choose_tau(narrow, equal, kBudget, 10).tau, 7U);
}

TEST(AdaptiveTau, TheScarcestResourceCounts) {
  const Smoothness s{.rho = 1, .beta = 5, .delta = .5};
  const Resource bytes{1000, 0, 10};  // a hundred rounds, which is fewer than the seconds allow
  const std::vector<Resource> both = {kBudget[0], bytes};
  for (const std::uint64_t tau : {1, 5, 40})
    EXPECT_EQ(budget_bound(kRule, s, both, tau), std::max(budget_bound(kRule, s, kBudget, tau),
                                                          budget_bound(kRule, s, std::span(&bytes, 1), tau)));
}

TEST(AdaptiveTau, MomentumDriftsFartherAndDescendsFaster) {
  TauRule momentum = kRule;
  momentum.gamma = .9;
  const Smoothness s{.rho = 1, .beta = 5, .delta = .5};
  EXPECT_LT(choose_tau(momentum, s, kBudget, 10).tau, chosen(s, 10));
  EXPECT_GT(descent_rate(momentum, 5), descent_rate(kRule, 5));
  momentum.gamma = 1e-9;
  EXPECT_NEAR(descent_rate(momentum, 5), descent_rate(kRule, 5), 1e-12);
  EXPECT_EQ(descent_rate({.eta = .5, .gamma = .9}, 5), 0);  // steps of 5 along the gradient, 2 / beta is .4
}

TEST(AdaptiveTau, WithoutMeasurementsChoosesOneStep) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(chosen({.rho = nan, .beta = 5, .delta = .5}, 10), 1U);
  EXPECT_EQ(chosen({.rho = 1, .beta = std::numeric_limits<double>::infinity(), .delta = .5}, 10), 1U);
  const Resource spent{.1, .2, .3};
  EXPECT_EQ(choose_tau(kRule, {1, 5, .5}, std::span(&spent, 1), 10).tau, 1U);
  EXPECT_TRUE(std::isinf(budget_bound(kRule, {1, 5, .5}, std::span(&spent, 1), 1)));
}

}  // namespace
}  // namespace mfl::test
