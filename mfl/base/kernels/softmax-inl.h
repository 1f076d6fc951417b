// The loss of softmax regression and its derivatives, in f64; the functions are those of mfl/base/math.h bit for bit.
#if defined(MFL_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_SOFTMAX_INL_H
#undef MFL_SOFTMAX_INL_H
#else
#define MFL_SOFTMAX_INL_H
#endif

#include <algorithm>
#include <limits>

#include "mfl/base/kernels/losses-inl.h"
#include "mfl/base/kernels/panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

// log(1 + t) for 0 <= t < 2^52; NaN stays NaN.
HWY_INLINE Doubles log1p_nonnegative(Doubles t) {
  const DoubleTag doubles;
  const DoubleBits integers;
  const Doubles one = constant(1);
  const auto bits =
      hn::BitCast(integers, hn::Add(one, t));  // 1 + t = 2^exponent * m, sqrt(1/2) <= m < sqrt(2)
  const auto fraction = hn::And(bits, hn::Set(integers, 0x000FFFFFFFFFFFFF));
  const Doubles half_to_one = hn::BitCast(doubles, hn::Or(fraction, hn::Set(integers, 0x3FE0000000000000)));
  const auto low = hn::Lt(half_to_one, constant(kSqrtHalf));
  const Doubles m = hn::IfThenElse(low, hn::Mul(half_to_one, constant(2)), half_to_one);
  const auto biased = hn::Add(hn::ShiftRight<52>(bits), hn::BitCast(integers, constant(kLastBitOne)));
  const Doubles above_half = hn::Sub(hn::BitCast(doubles, biased), constant(kLastBitOne + 1022));
  const auto unit = hn::Le(t, one);
  const Doubles exponent = hn::IfThenZeroElse(unit, hn::Sub(above_half, hn::IfThenElseZero(low, one)));
  const Doubles s = hn::Div(hn::IfThenElse(unit, t, hn::Sub(m, one)),
                            hn::IfThenElse(unit, hn::Add(constant(2), t), hn::Add(m, one)));
  const Doubles log = fused(exponent, constant(kLn2High), fused(exponent, constant(kLn2Low), twice_atanh(s)));
  return hn::IfThenElse(hn::Eq(t, t), log, t);
}

// Eight logits of a row, from class k on; those that the row lacks are -infinity and have no effect. They are read from the
// rows behind it if there are `readable` numbers from z on.
template <class T>
HWY_INLINE Lanes<double> logits_from(const T* z, std::size_t readable, std::size_t classes, std::size_t k) {
  if (k + kLanes<double> <= classes) return Lanes<double>::load_wider(z + k);
  const std::size_t n = classes - k;
  HWY_ALIGN T padded[kLanes<double>] = {};
  const T* from = z + k;
  if (readable < k + kLanes<double>) {
    copy_rows<kLanes<double>>(1, n, Strided<const T>{from, 0}, Strided<T>{padded, 0});
    from = padded;
  }
  auto out = Lanes<double>::load_wider(from);
  MFL_UNROLL
  for (std::size_t p = 0; p < Lanes<double>::kParts; ++p) {
    const Doubles index = hn::Iota(DoubleTag(), static_cast<double>(p * Lanes<double>::kStep));
    out.part[p] = hn::IfThenElse(hn::Lt(index, constant(static_cast<double>(n))), out.part[p],
                                 constant(-std::numeric_limits<double>::infinity()));
  }
  return out;
}

// The same for coefficients that are stored.
template <class T>
HWY_INLINE void store_from(const Lanes<double>& numbers, std::size_t classes, std::size_t k, T* row) {
  HWY_ALIGN T padded[kLanes<double>];
  const bool whole = k + kLanes<double> <= classes;
  T* to = whole ? row + k : padded;
  MFL_UNROLL
  for (std::size_t p = 0; p < Lanes<double>::kParts; ++p) {
    if constexpr (sizeof(T) == sizeof(double)) {
      hn::StoreU(numbers.part[p], DoubleTag(), to + p * Lanes<double>::kStep);
    } else {
      const hn::Rebind<float, DoubleTag> floats;
      hn::StoreU(hn::DemoteTo(floats, numbers.part[p]), floats, to + p * Lanes<double>::kStep);
    }
  }
  if (!whole) copy_rows<kLanes<double>>(1, classes - k, Strided<const T>{padded, 0}, Strided<T>{row + k, 0});
}

// Numbers that are kept of all rows that are worked on at a time; those of further classes are computed again.
inline constexpr std::size_t kKeptClasses = 1024;

// The logits of one row, and what is computed of them.
template <class T>
struct SoftmaxRow {
  const T* z;
  std::size_t readable;  // numbers from z on
  double* kept;          // logits, and then exp(z_k - largest), of the first kKeptClasses classes
  double largest;
  double others;  // the sum of exp(z_k - largest), one k with the largest logit left out
};

template <class T>
HWY_INLINE void find_largest(std::size_t classes, SoftmaxRow<T>& row) {
  const auto larger = [](auto a, auto b)
                          HWY_ATTR { return hn::IfThenElse(hn::Gt(b, a), b, a); };  // skips NaN
  auto largest = Lanes<double>::all(-std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < classes; k += kLanes<double>) {
    const Lanes<double> logits = logits_from(row.z, row.readable, classes, k);
    MFL_UNROLL
    for (std::size_t p = 0; p < Lanes<double>::kParts; ++p)
      largest.part[p] = larger(largest.part[p], logits.part[p]);
    if (k < kKeptClasses) logits.store(row.kept + k);
  }
  row.largest = tree(largest, larger);
}

// What the row keeps of the classes from k on, or their logits where it keeps nothing.
template <class T>
HWY_INLINE Lanes<double> kept_or_logits(const SoftmaxRow<T>& row, std::size_t classes, std::size_t k) {
  return k < kKeptClasses ? Lanes<double>::load(row.kept + k) : logits_from(row.z, row.readable, classes, k);
}

template <class T>
HWY_INLINE void add_exponentials(std::size_t classes, SoftmaxRow<T>& row) {
  const Doubles largest = constant(row.largest);
  auto rest = Lanes<double>::all(0), ties = Lanes<double>::all(0);
  for (std::size_t k = 0; k < classes; k += kLanes<double>) {
    const bool kept = k < kKeptClasses;
    Lanes<double> numbers = kept_or_logits(row, classes, k);
    MFL_UNROLL
    for (std::size_t p = 0; p < Lanes<double>::kParts; ++p) {
      const auto top = hn::Eq(numbers.part[p], largest);
      numbers.part[p] = exp_nonpositive(hn::Sub(numbers.part[p], largest));
      rest.part[p] = hn::Add(rest.part[p], hn::IfThenZeroElse(top, numbers.part[p]));
      ties.part[p] = hn::Add(ties.part[p], hn::IfThenElseZero(top, constant(1)));
    }
    if (kept) numbers.store(row.kept + k);
  }
  row.others = (tree(ties) - 1) + tree(rest);
}

template <class T>
HWY_INLINE void write_coefficients(std::size_t classes, const SoftmaxRow<T>& row, double target,
                                   T* coefficients) {
  const Doubles total = constant(1 + row.others), largest = constant(row.largest);
  for (std::size_t k = 0; k < classes; k += kLanes<double>) {
    const bool kept = k < kKeptClasses;
    Lanes<double> numbers = kept_or_logits(row, classes, k);
    MFL_UNROLL
    for (std::size_t p = 0; p < Lanes<double>::kParts; ++p) {
      if (!kept) numbers.part[p] = exp_nonpositive(hn::Sub(numbers.part[p], largest));
      const Doubles index = hn::Iota(DoubleTag(), static_cast<double>(k + p * Lanes<double>::kStep));
      const Doubles hit = hn::IfThenElseZero(hn::Eq(index, constant(target)), constant(1));
      numbers.part[p] = hn::Sub(hn::Div(numbers.part[p], total), hit);
    }
    store_from(numbers, classes, k, coefficients);
  }
}

// One step after the other for as many rows as fit: the steps of one row wait for each other, those of several do not.
template <class T>
double softmax_losses(std::size_t n, std::size_t classes, const T* z, const T* y, T* coefficients) {
  HWY_ALIGN double kept[kKeptClasses];
  const std::size_t padded = (classes + kLanes<double> - 1) / kLanes<double> * kLanes<double>;
  const std::size_t together = padded * kLanes<double> <= kKeptClasses ? kLanes<double> : 1;
  double total = 0;
  for (std::size_t first = 0; first < n; first += kLanes<double>) {
    const std::size_t count = std::min(kLanes<double>, n - first);
    HWY_ALIGN double others[kLanes<double>] = {}, lacks[kLanes<double>] = {}, losses[kLanes<double>];
    for (std::size_t begin = 0; begin < count; begin += together) {
      const std::size_t end = std::min(begin + together, count);
      SoftmaxRow<T> rows[kLanes<double>];
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t r = first + i;
        rows[i] = {z + r * classes, (n - r) * classes, kept + (i - begin) * padded, 0, 0};
        find_largest(classes, rows[i]);
        lacks[i] = rows[i].largest - static_cast<double>(rows[i].z[static_cast<std::size_t>(y[r])]);
      }
      for (std::size_t i = begin; i < end; ++i) {
        add_exponentials(classes, rows[i]);
        others[i] = rows[i].others;
      }
      if (coefficients != nullptr)
        for (std::size_t i = begin; i < end; ++i)
          write_coefficients(classes, rows[i], static_cast<double>(y[first + i]),
                             coefficients + (first + i) * classes);
    }
    for (std::size_t i = 0; i < kLanes<double>; i += Lanes<double>::kStep)
      hn::Store(
          hn::Add(log1p_nonnegative(hn::Load(DoubleTag(), others + i)), hn::Load(DoubleTag(), lacks + i)),
          DoubleTag(), losses + i);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += losses[i];
    total += sum;
  }
  return total;
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
