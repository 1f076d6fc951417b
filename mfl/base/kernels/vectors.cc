// Vectors: steps, sums and the range of their numbers.
#include <bit>
#include <limits>
#include <type_traits>

#include "mfl/base/kernels/targets-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/vectors.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {
namespace {

template <class T>
void add(std::size_t n, const T* part, T* total) {
  for (std::size_t j = 0; j < n; ++j) total[j] += part[j];
}

template <class T>
void finish_gradient(std::size_t n, T factor, T lambda, const T* w, T* g) {
  for (std::size_t j = 0; j < n; ++j) g[j] = fused_scalar(lambda, w[j], factor * g[j]);
}

template <class T>
void descent_step(std::size_t n, T eta, const T* g, T* w) {
  for (std::size_t j = 0; j < n; ++j) w[j] = fused_scalar(-eta, g[j], w[j]);
}

template <class T>
void momentum_step(std::size_t n, T eta, T gamma, const T* g, T* d, T* w) {
  for (std::size_t j = 0; j < n; ++j) {
    d[j] = fused_scalar(gamma, d[j], g[j]);
    w[j] = fused_scalar(-eta, d[j], w[j]);
  }
}

// The tree of 8 lanes over the squares of at(j), the doubles from j on; the last of them are asked for one by one.
template <class AtEight, class AtOne>
HWY_INLINE double sum_of_squares(std::size_t n, AtEight at_eight, AtOne at_one) {
  auto sums = Lanes<double>::all(0);
  const std::size_t end = n / kLanes<double> * kLanes<double>;
  for (std::size_t j = 0; j < end; j += kLanes<double>) {
    const Lanes<double> x = at_eight(j);
    sums.accumulate(x, x);
  }
  HWY_ALIGN double lanes[kLanes<double>];
  sums.store(lanes);
  for (std::size_t j = end; j < n; ++j) lanes[j - end] = fused_scalar(at_one(j), at_one(j), lanes[j - end]);
  return tree(Lanes<double>::load(lanes));
}

template <class T>
double squared_norm(std::size_t n, const T* x) {
  return sum_of_squares(
      n, [&](std::size_t j) HWY_ATTR { return Lanes<double>::load_wider(x + j); },
      [&](std::size_t j) HWY_ATTR { return static_cast<double>(x[j]); });
}

template <class T>
double squared_distance(std::size_t n, const T* a, const T* b) {
  return sum_of_squares(
      n,
      [&](std::size_t j) HWY_ATTR {
        auto off = Lanes<double>::load_wider(a + j);
        off.accumulate(Lanes<double>::all(-1), Lanes<double>::load_wider(b + j));
        return off;
      },
      [&](std::size_t j) HWY_ATTR { return static_cast<double>(a[j]) - static_cast<double>(b[j]); });
}

// By the numbers' bits, which are in the order of their sizes: whole numbers have a minimum and a maximum that a compiler
// finds by vectors.
template <class T>
Extent<T> extent(std::size_t n, const T* x) {
  using Bits = std::conditional_t<sizeof(T) == sizeof(float), std::int32_t, std::int64_t>;
  constexpr Bits kSize = std::numeric_limits<Bits>::max();  // all but the sign
  Bits least_less_one = kSize, most = 0;                    // a zero less one is the largest of all
  for (std::size_t j = 0; j < n; ++j) {
    const Bits size = std::bit_cast<Bits>(x[j]) & kSize;
    const Bits less_one = (size - 1) & kSize;
    least_less_one = less_one < least_less_one ? less_one : least_less_one;
    most = size > most ? size : most;
  }
  return {most == 0 ? std::numeric_limits<T>::infinity() : std::bit_cast<T>(least_less_one + 1),
          std::bit_cast<T>(most)};
}

template <class T>
void put(Kernels<T>& kernels) {
  kernels.add = add<T>;
  kernels.finish_gradient = finish_gradient<T>;
  kernels.descent_step = descent_step<T>;
  kernels.momentum_step = momentum_step<T>;
  kernels.squared_norm = squared_norm<T>;
  kernels.squared_distance = squared_distance<T>;
  kernels.extent = extent<T>;
}

}  // namespace

void put_vectors(KernelSet& set) {
  put(set.f32);
  put(set.f64);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
