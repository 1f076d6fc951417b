// Transcendental functions made of IEEE operations in a fixed order. Those of libm differ between versions
// and processors; these give the same bits everywhere. The relative error is below 4e-16.
#pragma once

namespace mfl {

double portable_exp(double x);  // 0 below -745, infinity above 709.75
double portable_log(double x);  // x > 0 and finite
struct SinCos {
  double sin, cos;
};
// Sine and cosine of an angle in degrees, |degrees| <= 1e9; exact for multiples of 90.
SinCos portable_sin_cos(double degrees);
double portable_log1p_unit(double u);  // log(1 + u) for 0 <= u <= 1

}  // namespace mfl
