// The Euclidean norm in the kernels' order of summation, so that every kernel set gives the same bits.
#pragma once

#include <cmath>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/vectors.h"

namespace mfl {

inline double norm(const Kernels<double>& kernels, const Vector<double>& x) {
  return std::sqrt(kernels.squared_norm(x.size(), x.data()));
}

}  // namespace mfl
