// Numbers into digits of base 2^32. Every step is exact. Included once per target by other kernels only.
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

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/kernels/lanes-inl.h"

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

inline void products(std::size_t n, const double* x, double weight, double* high, double* low) {
  for (std::size_t j = 0; j < n; ++j) high[j] = x[j] * weight;
  for (std::size_t j = 0; j < n; ++j) low[j] = __builtin_fma(x[j], weight, -high[j]);
}

inline constexpr double kLastBitIsOne = 0x1.8p52;
inline constexpr double kDigitBase = 0x1p32;

// A number so large that its last bit is the unit, added and taken away again, leaves the nearest multiple of the unit;
// meanwhile the multiple is in the low bits of the sum.
inline bool take_digits(std::size_t n, double unit, double* HWY_RESTRICT rest,
                        std::int64_t* HWY_RESTRICT digits) {
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

inline void add_products(std::size_t n, const float* HWY_RESTRICT x, double weight, double unit,
                         std::size_t planes, std::int64_t* const* HWY_RESTRICT digits) {
  const Tag<double> doubles;
  const hn::RebindToSigned<decltype(doubles)> integers;
  constexpr std::size_t kStep = hn::MaxLanes(doubles);
  double anchors[kMostF32Planes];
  for (std::size_t k = 0; k < planes; ++k, unit /= kDigitBase) anchors[k] = kLastBitIsOne * unit;
  const auto factor = hn::Set(doubles, weight);
  std::size_t j = 0;
  for (; j + kStep <= n; j += kStep) {
    const hn::Rebind<float, decltype(doubles)> floats;
    auto rest = hn::Mul(hn::PromoteTo(doubles, hn::LoadU(floats, x + j)), factor);
    for (std::size_t k = 0; k < planes; ++k) {
      const auto anchor = hn::Set(doubles, anchors[k]);
      const auto sum = hn::Add(rest, anchor);
      const auto digit = hn::Sub(hn::BitCast(integers, sum), hn::BitCast(integers, anchor));
      hn::StoreU(hn::Add(hn::LoadU(integers, digits[k] + j), digit), integers, digits[k] + j);
      rest = hn::Sub(rest, hn::Sub(sum, anchor));
    }
  }
  for (; j < n; ++j) {
    double rest = static_cast<double>(x[j]) * weight;
    for (std::size_t k = 0; k < planes; ++k) {
      const double sum = rest + anchors[k];
      digits[k][j] += std::bit_cast<std::int64_t>(sum) - std::bit_cast<std::int64_t>(anchors[k]);
      rest -= sum - anchors[k];
    }
  }
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
