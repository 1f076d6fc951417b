// Numbers into digits of base 2^32. Every step is exact. Included once per target by kernels.cc only.
#if defined(MFL_DIGITS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_DIGITS_INL_H
#undef MFL_DIGITS_INL_H
#else
#define MFL_DIGITS_INL_H
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "mfl/base/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

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
void products(std::size_t n, const T* x, double weight, double* high, double* low) {
  for (std::size_t j = 0; j < n; ++j) high[j] = static_cast<double>(x[j]) * weight;
  if constexpr (sizeof(T) == sizeof(double))
    for (std::size_t j = 0; j < n; ++j) low[j] = __builtin_fma(x[j], weight, -high[j]);
}

// A number so large that its last bit is the unit, added and taken away again, leaves the nearest multiple of the unit;
// meanwhile the multiple is in the low bits of the sum.
inline bool take_digits(std::size_t n, double unit, double* HWY_RESTRICT rest,
                        std::int64_t* HWY_RESTRICT digits) {
  constexpr double kLastBitIsOne = 0x1.8p52;
  const double anchor = kLastBitIsOne * unit;
  const auto anchor_bits = std::bit_cast<std::int64_t>(anchor);
  std::uint64_t left = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double sum = rest[j] + anchor;
    digits[j] += std::bit_cast<std::int64_t>(sum) - anchor_bits;
    rest[j] -= sum - anchor;
    left |= std::bit_cast<std::uint64_t>(rest[j]);
  }
  return (left << 1U) != 0;
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
