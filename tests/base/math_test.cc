#include "mfl/base/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mfl {
namespace {

double relative_error(double got, double expected) { return std::abs(got - expected) / std::abs(expected); }

TEST(PortableMath, ExpAgreesWithTheLibrary) {
  for (double x = -700; x < 700; x += 0.37)
    EXPECT_LT(relative_error(portable_exp(x), std::exp(x)), 6e-16) << x;
  for (double x = -1e-3; x < 1e-3; x += 1.7e-6)
    EXPECT_LT(relative_error(portable_exp(x), std::exp(x)), 6e-16) << x;
}

TEST(PortableMath, ExpAtItsEnds) {
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-0.0), 1);
  EXPECT_EQ(portable_exp(-1e9), 0);
  EXPECT_EQ(portable_exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(portable_exp(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(portable_exp(std::nan(""))));
  EXPECT_GT(portable_exp(-744), 0);  // a subnormal number
}

TEST(PortableMath, LogAgreesWithTheLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 1.9)
    EXPECT_LT(relative_error(portable_log(x), std::log(x)), 6e-16) << x;
  for (double x = 0.5; x < 2; x += 0.00037)
    EXPECT_NEAR(portable_log(x), std::log(x), 3e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_LT(relative_error(portable_log(5e-324), std::log(5e-324)), 6e-16);
}

TEST(PortableMath, SinAndCosAgreeWithTheLibrary) {
  for (double degrees = -1000; degrees < 1000; degrees += 0.37) {
    const double x = std::fmod(degrees, 360) * 3.14159265358979323846 / 180;
    EXPECT_NEAR(portable_sin_cos(degrees).sin, std::sin(x), 2e-15) << degrees;
    EXPECT_NEAR(portable_sin_cos(degrees).cos, std::cos(x), 2e-15) << degrees;
  }
  for (int quarter = -8; quarter <= 8; ++quarter) {
    const auto [s, c] = portable_sin_cos(90.0 * quarter);
    EXPECT_EQ(std::abs(s) + std::abs(c), 1) << quarter;
    EXPECT_NEAR(s, std::sin(quarter * 1.57079632679489661923), 1e-14);
    EXPECT_NEAR(c, std::cos(quarter * 1.57079632679489661923), 1e-14);
  }
  EXPECT_NEAR(portable_sin_cos(30).sin, 0.5, 1.2e-16);
  EXPECT_NEAR(portable_sin_cos(60).cos, 0.5, 1.2e-16);
}

TEST(PortableMath, Log1pAgreesWithTheLibrary) {
  for (double u = 1; u > 1e-300; u *= 0.83)
    EXPECT_LT(relative_error(portable_log1p_unit(u), std::log1p(u)), 6e-16) << u;
  EXPECT_EQ(portable_log1p_unit(0), 0);
}

}  // namespace
}  // namespace mfl
