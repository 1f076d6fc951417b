// Numbers into digits of base 2^32, every step exact, and sums of digits divided by a weight, rounded once.
#include <algorithm>
#include <bit>
#include <limits>

#include "mfl/base/kernels/targets-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/digits.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/kernels/losses-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {
namespace {

void products(std::size_t n, const double* x, double weight, double* high, double* low) {
  for (std::size_t j = 0; j < n; ++j) high[j] = x[j] * weight;
  for (std::size_t j = 0; j < n; ++j) low[j] = __builtin_fma(x[j], weight, -high[j]);
}

constexpr double kLastBitIsOne = 0x1.8p52;
constexpr double kDigitBase = 0x1p32;

// A number so large that its last bit is the unit, added and taken away again, leaves the nearest multiple of the unit;
// meanwhile the multiple is in the low bits of the sum.
bool take_digits(std::size_t n, double unit, double* HWY_RESTRICT rest, std::int64_t* HWY_RESTRICT digits) {
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

void add_products(std::size_t n, const float* HWY_RESTRICT x, double weight, double unit, std::size_t planes,
                  std::int64_t* const* HWY_RESTRICT digits) {
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

using DoubleMask = hn::Mask<DoubleTag>;

// Sums as unevaluated pairs of doubles, relative error below 2^-98.
struct PairsOfDoubles {
  Doubles high, low;
  DoubleMask exact;  // the pair is the sum itself
  DoubleMask empty;  // all digits are zero
};

// From the top down, so that a digit that cancels does so before anything is rounded. A digit of at most 2^51 becomes a double in
// the low bits of the anchor.
HWY_INLINE PairsOfDoubles pairs_of(std::size_t planes, const std::int64_t* const* digits, std::size_t j,
                                   const double* units) {
  const DoubleTag doubles;
  const hn::RebindToSigned<DoubleTag> integers;
  const Doubles zero = constant(0), anchor = constant(kLastBitIsOne);
  Doubles sum = zero, errors = zero, inexact = zero;
  auto any = hn::Zero(integers);
  for (std::size_t k = 0; k < planes; ++k) {
    const auto digit = hn::LoadU(integers, digits[k] + j);
    any = hn::Or(any, digit);
    const Doubles whole =
        hn::Sub(hn::BitCast(doubles, hn::Add(digit, hn::BitCast(integers, anchor))), anchor);
    const Doubles term = hn::Mul(whole, constant(units[k]));
    const Doubles next = hn::Add(sum, term);  // Knuth's two-sum
    const Doubles added = hn::Sub(next, sum);
    const Doubles error = hn::Add(hn::Sub(sum, hn::Sub(next, added)), hn::Sub(term, added));
    sum = next;
    errors = hn::Add(errors, error);
    inexact = hn::Add(inexact, hn::IfThenZeroElse(hn::Eq(error, zero), constant(1)));
  }
  const Doubles high = hn::Add(sum, errors);
  return {high, hn::Sub(errors, hn::Sub(high, sum)), hn::Le(inexact, constant(1)),
          hn::RebindMask(doubles, hn::Eq(any, hn::Zero(integers)))};
}

// Doubles that have the precision of T.
template <class T>
HWY_INLINE Doubles rounded_to(Doubles x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return hn::PromoteTo(DoubleTag(), hn::DemoteTo(hn::Rebind<float, DoubleTag>(), x));
  } else {
    return x;
  }
}

struct Quotients {
  Doubles values;
  DoubleMask decided;
};

// A quotient is decided if the bounds around it round to the same number.
template <class T>
HWY_INLINE Quotients quotients_of(const PairsOfDoubles& sum, double weight) {
  constexpr bool kSingle = sizeof(T) == sizeof(float);
  constexpr double kMost = kSingle ? 0x1p127 : 0x1p1000;
  const Doubles divisor = constant(weight), size = hn::Abs(sum.high);
  const Doubles q = hn::Div(sum.high, divisor);
  const Doubles residual = hn::Add(fused(hn::Neg(q), divisor, sum.high), sum.low);
  const Doubles correction = hn::Div(residual, divisor);
  const Doubles doubt = hn::Mul(hn::Abs(q), constant(kSingle ? 0x1p-50 : 0x1p-90));
  const Doubles below = rounded_to<T>(hn::Add(q, hn::Sub(correction, doubt)));
  const Doubles above = rounded_to<T>(hn::Add(q, hn::Add(correction, doubt)));
  const DoubleMask whole =
      hn::And(sum.exact, hn::And(hn::Eq(sum.low, constant(0)), hn::Eq(residual, constant(0))));
  const DoubleMask within =
      hn::And(hn::And(hn::Gt(size, constant(0x1p-900)), hn::Lt(size, constant(0x1p1000))),
              hn::Lt(hn::Abs(q), constant(kMost)));
  const DoubleMask normal =
      hn::Ge(hn::Abs(below), constant(static_cast<double>(std::numeric_limits<T>::min())));
  const DoubleMask agreed = hn::And(hn::Eq(below, above), normal);
  const Doubles value = hn::IfThenElse(whole, q, below);
  return {hn::IfThenZeroElse(sum.empty, value), hn::Or(sum.empty, hn::And(within, hn::Or(whole, agreed)))};
}

HWY_INLINE void store_doubles(Doubles x, double* to) { hn::StoreU(x, DoubleTag(), to); }
HWY_INLINE void store_doubles(Doubles x, float* to) {
  const hn::Rebind<float, DoubleTag> floats;
  hn::StoreU(hn::DemoteTo(floats, x), floats, to);
}

template <class T>
std::size_t divide_digits(std::size_t n, std::size_t planes, const std::int64_t* const* digits,
                          const double* units, double weight, T* out, std::uint32_t* undecided) {
  constexpr std::size_t kStep = hn::MaxLanes(DoubleTag());
  std::size_t count = 0;
  const auto divide = [&](const std::int64_t* const* from, std::size_t j, T* to) HWY_ATTR {
    const Quotients quotients = quotients_of<T>(pairs_of(planes, from, j, units), weight);
    store_doubles(quotients.values, to);
    return quotients.decided;
  };
  const auto note = [&](DoubleMask decided, std::size_t j, std::size_t lanes) HWY_ATTR {
    if (hn::AllTrue(DoubleTag(), decided)) return;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(DoubleTag(), decided, bits);
    for (std::size_t i = 0; i < lanes; ++i)
      if ((bits[0] >> i & 1) == 0) undecided[count++] = static_cast<std::uint32_t>(j + i);
  };
  std::size_t j = 0;
  for (; j + kStep <= n; j += kStep) note(divide(digits, j, out + j), j, kStep);
  if (j == n) return count;
  std::int64_t last[kMostPlanes][kStep];
  const std::int64_t* padded[kMostPlanes];
  T quotients[kStep];
  for (std::size_t k = 0; k < planes; ++k) {
    std::fill_n(std::copy_n(digits[k] + j, n - j, last[k]), kStep - (n - j), 0);
    padded[k] = last[k];
  }
  note(divide(padded, 0, quotients), j, n - j);
  std::copy_n(quotients, n - j, out + j);
  return count;
}

}  // namespace

void put_digits(KernelSet& set) {
  set.digits = {products, take_digits, add_products};
  set.f32.divide_digits = divide_digits<float>;
  set.f64.divide_digits = divide_digits<double>;
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
