// Losses and their derivatives over a few samples at a time, in f64. Elementwise, so the width does not
// matter; the functions are those of mfl/base/math.h bit for bit.
#if defined(MFL_LOSSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_LOSSES_INL_H
#undef MFL_LOSSES_INL_H
#else
#define MFL_LOSSES_INL_H
#endif

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/kernels/lanes-inl.h"
#include "mfl/base/math_constants.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

using DoubleTag = Tag<double>;
using Doubles = hn::Vec<DoubleTag>;

HWY_INLINE Doubles constant(double x) { return hn::Set(DoubleTag(), x); }

using DoubleBits = hn::RebindToUnsigned<DoubleTag>;

// Numbers of this size have 1 as their last bit: in a sum with them, the lowest bits are those of an integer.
inline constexpr double kLastBitOne = 0x1.8p52;

// 2^-n for 0 <= n <= 1022.
HWY_INLINE Doubles power_of_half(hn::Vec<DoubleBits> n) {
  return hn::BitCast(DoubleTag(), hn::ShiftLeft<52>(hn::Sub(hn::Set(DoubleBits(), 1023), n)));
}

// exp(x) for x <= 0; NaN stays NaN.
HWY_INLINE Doubles exp_nonpositive(Doubles x) {
  const auto underflow = hn::Lt(x, constant(kExpLowest));
  const Doubles inside = hn::IfThenZeroElse(underflow, x);  // subnormal numbers would be slow
  const Doubles k = hn::Round(hn::Mul(inside, constant(kLog2E)));
  const Doubles r = fused(k, constant(-kLn2Low), fused(k, constant(-kLn2High), inside));
  Doubles sum = constant(kExpTerms[kExpCount - 1]);
  MFL_UNROLL
  for (int i = kExpCount - 2; i >= 0; --i) sum = fused(sum, r, constant(kExpTerms[i]));
  const auto minus_k = hn::Sub(hn::BitCast(DoubleBits(), constant(kLastBitOne)),
                               hn::BitCast(DoubleBits(), hn::Add(k, constant(kLastBitOne))));
  const auto half = hn::ShiftRight<1>(minus_k);
  const Doubles y = hn::Mul(hn::Mul(sum, power_of_half(half)), power_of_half(hn::Sub(minus_k, half)));
  return hn::IfThenElse(underflow, hn::Zero(DoubleTag()), y);
}

// 2 atanh(s) for |s| <= 1/3.
HWY_INLINE Doubles twice_atanh(Doubles s) {
  const Doubles s2 = hn::Mul(s, s);
  Doubles sum = constant(kAtanhTerms[kAtanhCount - 1]);
  MFL_UNROLL
  for (int i = kAtanhCount - 2; i >= 0; --i) sum = fused(sum, s2, constant(kAtanhTerms[i]));
  const Doubles twice = hn::Mul(constant(2), s);
  return fused(hn::Mul(twice, s2), sum, twice);
}

// log(1 + u) for 0 <= u <= 1.
HWY_INLINE Doubles log1p_unit(Doubles u) { return twice_atanh(hn::Div(u, hn::Add(constant(2), u))); }

struct LossValues {
  Doubles loss;
  Doubles derivative;
};

HWY_INLINE LossValues hinge(Doubles z, Doubles y) {
  const Doubles margin = hn::Mul(y, z);
  const auto outside = hn::Ge(margin, constant(1));  // a NaN is not outside: it must show
  const Doubles half = constant(0.5);
  return {hn::IfThenZeroElse(outside, hn::Mul(half, hn::Sub(constant(1), margin))),
          hn::IfThenZeroElse(outside, hn::Neg(hn::Mul(half, y)))};
}

HWY_INLINE LossValues squared_hinge(Doubles z, Doubles y) {
  const Doubles margin = hn::Mul(y, z);
  const auto outside = hn::Ge(margin, constant(1));
  const Doubles lack = hn::Sub(constant(1), margin);
  return {hn::IfThenZeroElse(outside, hn::Mul(constant(0.5), hn::Mul(lack, lack))),
          hn::IfThenZeroElse(outside, hn::Neg(hn::Mul(y, lack)))};
}

HWY_INLINE LossValues squared(Doubles z, Doubles y) {
  const Doubles off = hn::Sub(z, y);
  return {hn::Mul(constant(0.5), hn::Mul(off, off)), off};
}

HWY_INLINE LossValues logistic(Doubles z, Doubles y) {
  const auto positive = hn::Ge(z, hn::Zero(DoubleTag()));
  const Doubles e = exp_nonpositive(hn::Neg(hn::Abs(z)));
  const Doubles softplus = hn::Add(hn::IfThenElseZero(positive, z), log1p_unit(e));
  const Doubles one = constant(1);
  const Doubles sigmoid = hn::Div(hn::IfThenElse(positive, one, e), hn::Add(one, e));
  return {hn::Sub(softplus, hn::Mul(y, z)), hn::Sub(sigmoid, y)};
}

// Losses of the hinge for 8 samples; bit i of the result tells that sample i counts in the gradient.
HWY_INLINE std::uint32_t hinge_8(const double* z, const double* y, double* loss) {
  constexpr std::size_t kStep = hn::MaxLanes(DoubleTag());
  std::uint32_t active = 0;
  for (std::size_t i = 0; i < 8; i += kStep) {
    const LossValues values = hinge(hn::LoadU(DoubleTag(), z + i), hn::LoadU(DoubleTag(), y + i));
    hn::StoreU(values.loss, DoubleTag(), loss + i);
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(DoubleTag(), hn::Ne(values.derivative, hn::Zero(DoubleTag())), bits);
    active |= static_cast<std::uint32_t>(bits[0]) << i;
  }
  return active;
}

HWY_INLINE Doubles load_doubles(const double* from) { return hn::LoadU(DoubleTag(), from); }
HWY_INLINE Doubles load_doubles(const float* from) {
  return hn::PromoteTo(DoubleTag(), hn::LoadU(hn::Rebind<float, DoubleTag>(), from));
}

HWY_INLINE void store_rounded(Doubles x, double* to) { hn::StoreU(x, DoubleTag(), to); }
HWY_INLINE void store_rounded(Doubles x, float* to) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  HWY_ALIGN double numbers[hn::MaxLanes(
      DoubleTag())];  // what is too large for a float must become infinity, not its largest number
  hn::Store(x, DoubleTag(), numbers);
  for (std::size_t i = 0; i < hn::MaxLanes(DoubleTag()); ++i) to[i] = static_cast<float>(numbers[i]);
#else
  const hn::Rebind<float, DoubleTag> floats;
  hn::StoreU(hn::DemoteTo(floats, x), floats, to);
#endif
}

// 8 samples; z, y and both results are arrays of 8. The derivatives are rounded to T.
template <class T, class F>
HWY_INLINE void apply_8(F f, const double* z, const T* y, double* loss, T* derivative) {
  MFL_UNROLL
  for (std::size_t i = 0; i < 8; i += hn::MaxLanes(DoubleTag())) {
    const LossValues values = f(load_doubles(z + i), load_doubles(y + i));
    hn::StoreU(values.loss, DoubleTag(), loss + i);
    store_rounded(values.derivative, derivative + i);
  }
}

template <class T>
HWY_INLINE void losses_8(Loss loss, const double* z, const T* y, double* value, T* derivative) {
  switch (loss) {
    case Loss::kHinge:
      return apply_8([](auto a, auto b) HWY_ATTR { return hinge(a, b); }, z, y, value, derivative);
    case Loss::kSquaredHinge:
      return apply_8([](auto a, auto b) HWY_ATTR { return squared_hinge(a, b); }, z, y, value, derivative);
    case Loss::kSquared:
      return apply_8([](auto a, auto b) HWY_ATTR { return squared(a, b); }, z, y, value, derivative);
    case Loss::kLogistic: break;
  }
  apply_8([](auto a, auto b) HWY_ATTR { return logistic(a, b); }, z, y, value, derivative);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
