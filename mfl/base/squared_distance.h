// The squared distance of two vectors, coordinate by coordinate: the order of summation behind clip and
// behind what an algorithm estimates, on which digests depend. Everywhere else Kernels::squared_distance, in
// lanes, is the function to call.
#pragma once

#include <cstddef>
#include <span>

namespace mfl {

// sum + (a_0 - b_0)^2 + (a_1 - b_1)^2 + ... in f64, from left to right. a.size() == b.size().
template <class T>
double add_squared_distance(double sum, std::span<const T> a, std::span<const T> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double change = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += change * change;
  }
  return sum;
}

}  // namespace mfl
