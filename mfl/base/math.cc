#include "mfl/base/math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mfl/base/math_constants.h"

namespace mfl {
namespace {

double power_of_two(int exponent) {  // -1022 <= exponent <= 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// 2 atanh(s) for |s| <= 1/3.
double twice_atanh(double s) {
  const double s2 = s * s;
  double sum = kAtanhTerms[kAtanhCount - 1];
  for (int i = kAtanhCount - 2; i >= 0; --i) sum = std::fma(sum, s2, kAtanhTerms[i]);
  return std::fma(2 * s * s2, sum, 2 * s);
}

}  // namespace

double portable_exp(double x) {
  if (std::isnan(x)) return x;
  if (x < kExpLowest) return 0;
  if (x > kExpHighest) return std::numeric_limits<double>::infinity();
  const double k = std::nearbyint(x * kLog2E);
  const double r = std::fma(k, -kLn2Low, std::fma(k, -kLn2High, x));
  double sum = kExpTerms[kExpCount - 1];
  for (int i = kExpCount - 2; i >= 0; --i) sum = std::fma(sum, r, kExpTerms[i]);
  const int half = static_cast<int>(k) / 2;  // two factors, so that neither leaves the range
  return sum * power_of_two(half) * power_of_two(static_cast<int>(k) - half);
}

SinCos portable_sin_cos(double degrees) {
  const double quarters = std::nearbyint(degrees / 90);
  const double x = std::fma(-90, quarters, degrees) * kRadiansPerDegree;
  const double x2 = x * x;
  double s = kSinTerms[kSinCosCount - 1], c = kCosTerms[kSinCosCount - 1];
  for (int i = kSinCosCount - 2; i >= 0; --i) {
    s = std::fma(s, x2, kSinTerms[i]);
    c = std::fma(c, x2, kCosTerms[i]);
  }
  s = std::fma(x * x2, s, x);
  c = std::fma(x2, c, 1.0);
  switch (static_cast<std::int64_t>(quarters) & 3) {
    case 0: return {s, c};
    case 1: return {c, -s};
    case 2: return {-s, -c};
    default: return {-c, s};
  }
}

double portable_log1p_unit(double u) { return twice_atanh(u / (2 + u)); }

double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // [1/2, 1)
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double k = exponent;
  return std::fma(k, kLn2High, std::fma(k, kLn2Low, twice_atanh((m - 1) / (m + 1))));
}

}  // namespace mfl
