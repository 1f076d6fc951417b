// h by the recurrence against the closed form of the paper in 200 decimal digits.
#include "mfl/theory/drift.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

namespace mfl {
namespace {

using Real = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<200>>;

// Equation (10), with a gradient divergence of 1; gamma = 0 is FL's h, which Wang et al. give.
Real closed_form(double eta_, double beta_, double gamma_, std::uint64_t steps) {
  const Real eta = eta_, beta = beta_, gamma = gamma_, x = steps, eb = eta * beta;
  const auto n = static_cast<int>(steps);
  if (gamma == 0) return (pow(1 + eb, n) - 1) / beta - eta * x;
  const Real root = sqrt((1 + gamma + eb) * (1 + gamma + eb) - 4 * gamma);
  const Real a = (1 + gamma + eb + root) / (2 * gamma), b = (1 + gamma + eb - root) / (2 * gamma);
  const Real e = a / ((a - b) * (gamma * a - 1)), f = b / ((a - b) * (1 - gamma * b));
  return eta * (e * pow(gamma * a, n) + f * pow(gamma * b, n) - 1 / eb -
                (gamma * (pow(gamma, n) - 1) - (gamma - 1) * x) / ((gamma - 1) * (gamma - 1)));
}

TEST(Drift, AgreesWithTheClosedFormInManyDigits) {
  for (const double eta_beta : {1e-10, 1e-6, 1e-3, 0.07, 0.5, 0.9})
    for (const double gamma : {0.0, 1e-6, 0.1, 0.5, 0.9, 0.99, 0.999})
      for (const double beta : {1.0, 37.5}) {
        const double eta = eta_beta / beta;
        const auto table = drift_table({eta, beta, gamma}, 1000);
        for (const std::uint64_t x : {2, 3, 4, 7, 10, 50, 100, 333, 1000}) {
          const Real expected = closed_form(eta, beta, gamma, x);
          const Real ratio =
              Real(table[x].w.value) * pow(Real(2), static_cast<int>(table[x].w.exponent)) / expected;
          EXPECT_LT(abs(ratio - 1).convert_to<double>(), 1e-12)
              << "eta beta " << eta_beta << " gamma " << gamma << " x " << x;
          EXPECT_NEAR(table[x].w.log_times(3), log(3 * expected).convert_to<double>(),
                      1e-12 * (1 + std::abs(table[x].w.log_times(3))));
        }
      }
}

TEST(Drift, TheClosedFormInDoublesWouldNotDo) {
  const double eta = 1e-6, beta = 1, gamma = 0.5, eb = eta * beta, x = 2;
  const double root = std::sqrt((1 + gamma + eb) * (1 + gamma + eb) - 4 * gamma);
  const double a = (1 + gamma + eb + root) / (2 * gamma), b = (1 + gamma + eb - root) / (2 * gamma);
  const double e = a / ((a - b) * (gamma * a - 1)), f = b / ((a - b) * (1 - gamma * b));
  const double h = eta * (e * std::pow(gamma * a, x) + f * std::pow(gamma * b, x) - 1 / eb -
                          (gamma * (std::pow(gamma, x) - 1) - (gamma - 1) * x) / ((gamma - 1) * (gamma - 1)));
  EXPECT_GT(std::abs(h / (eta * eta * beta) - 1), 0.01);
  EXPECT_NEAR(drift_at({eta, beta, gamma}, 2).w.times(1) / (eta * eta * beta), 1, 1e-15);
}

TEST(Drift, FirstValuesAreTheKnownOnes) {
  const double eta = 0.01, beta = 7, gamma = 0.6, delta = 2.5;
  const auto table = drift_table({eta, beta, gamma}, 3);
  EXPECT_EQ(table[0].w.times(delta), 0);
  EXPECT_EQ(table[1].w.times(delta), 0);
  EXPECT_NEAR(table[2].w.times(delta), eta * eta * beta * delta, 1e-18);
  EXPECT_NEAR(table[3].w.times(delta), eta * eta * beta * delta * (3 + 2 * gamma + eta * beta), 1e-17);
  EXPECT_NEAR(table[1].node_w.times(1), eta, 1e-18);
  EXPECT_EQ(table[1].node_d.times(1), 1);
  EXPECT_EQ(table[0].w.log_times(delta), -std::numeric_limits<double>::infinity());
}

// At extreme parameters it still equals the step-by-step definition.
TEST(Drift, EndsOfTheRange) {
  EXPECT_EQ(drift_at({0.1, 0, 0.5}, 50).w.times(1), 0) << "a linear loss does not drift apart in the mean";
  EXPECT_GT(drift_at({0.1, 0, 0.5}, 50).node_w.times(1), 0);
  EXPECT_EQ(drift_at({0.1, 1, 0.5}, 50).w.times(0), 0);
  const double at_zero = drift_at({0.01, 5, 0}, 40).w.times(1);
  EXPECT_NEAR(drift_at({0.01, 5, 1e-12}, 40).w.times(1) / at_zero, 1, 1e-9);
  EXPECT_TRUE(std::isfinite(drift_at({0.01, 5, 1}, 100).w.times(1)));
}

TEST(Drift, LargeStepCountsDoNotOverflow) {
  const auto far = drift_at({0.9, 1, 0.999}, 20000);
  EXPECT_EQ(far.w.times(1), std::numeric_limits<double>::infinity()) << "no double holds it";
  const double log_h = far.w.log_times(1);
  EXPECT_TRUE(std::isfinite(log_h));
  EXPECT_NEAR(log_h / log(closed_form(0.9, 1, 0.999, 20000)).convert_to<double>(), 1, 1e-12);
  EXPECT_GT(far.w.times(std::ldexp(1.0, -1000)), 0);
}

TEST(Drift, GrowsWithEveryParameter) {
  const auto h = [](double eta, double beta, double gamma, std::uint64_t x) {
    return drift_at({eta, beta, gamma}, x).w.times(1);
  };
  EXPECT_LT(h(0.01, 5, 0.5, 10), h(0.02, 5, 0.5, 10));
  EXPECT_LT(h(0.01, 5, 0.5, 10), h(0.01, 6, 0.5, 10));
  EXPECT_LT(h(0.01, 5, 0.5, 10), h(0.01, 5, 0.6, 10));
  EXPECT_LT(h(0.01, 5, 0.5, 10), h(0.01, 5, 0.5, 11));
}

}  // namespace
}  // namespace mfl
