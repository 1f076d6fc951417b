// Coefficients of the portable functions, shared with the vector kernels.
#pragma once

namespace mfl {

inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 32 bits: k * kLn2High is exact for |k| < 2^21
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
inline constexpr double kExpLowest = -745.0;
inline constexpr double kExpHighest = 709.75;

// sin(x) = x + x^3 sum kSinTerms[i] x^(2 i), cos(x) = 1 + x^2 sum kCosTerms[i] x^(2 i) on |x| <= pi/4.
inline constexpr double kRadiansPerDegree = 0x1.1df46a2529d39p-6;
inline constexpr int kSinCosCount = 8;
inline constexpr double kSinTerms[kSinCosCount] = {
    -1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,          1.0 / 362880.0,
    -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0,
};
inline constexpr double kCosTerms[kSinCosCount] = {
    -1.0 / 2.0,       1.0 / 24.0,        -1.0 / 720.0,         1.0 / 40320.0,
    -1.0 / 3628800.0, 1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0,
};

// exp(r) = sum kExpTerms[i] r^i on |r| <= ln(2)/2.
inline constexpr int kExpCount = 15;
inline constexpr double kExpTerms[kExpCount] = {
    1.0 / 1.0,       1.0 / 1.0,        1.0 / 2.0,         1.0 / 6.0,          1.0 / 24.0,
    1.0 / 120.0,     1.0 / 720.0,      1.0 / 5040.0,      1.0 / 40320.0,      1.0 / 362880.0,
    1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0, 1.0 / 87178291200.0,
};

// 2 atanh(s) = 2 s + 2 s^3 sum kAtanhTerms[i] s^(2 i) on |s| <= 1/3.
inline constexpr int kAtanhCount = 16;
inline constexpr double kAtanhTerms[kAtanhCount] = {
    1.0 / 3.0,  1.0 / 5.0,  1.0 / 7.0,  1.0 / 9.0,  1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0,
    1.0 / 19.0, 1.0 / 21.0, 1.0 / 23.0, 1.0 / 25.0, 1.0 / 27.0, 1.0 / 29.0, 1.0 / 31.0, 1.0 / 33.0,
};

}  // namespace mfl
