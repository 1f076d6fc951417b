// The fixed number of virtual lanes over whatever vectors the target has. Included once per target, with no
// include guard that would outlive a target, by kernels.cc only.
#if defined(MFL_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_LANES_INL_H
#undef MFL_LANES_INL_H
#else
#define MFL_LANES_INL_H
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

// Before a loop of constant count over vectors: they stay in registers only when it is unrolled.
#ifndef MFL_UNROLL
#if HWY_COMPILER_CLANG
#define MFL_UNROLL _Pragma("unroll")
#else
#define MFL_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr std::size_t kLanes = 64 / sizeof(T);

template <class T>
using Tag = hn::CappedTag<T, kLanes<T>>;

// a * b + c, rounded once. Highway's MulAdd is fused only where the instruction set is.
template <class V>
HWY_INLINE V fused(V a, V b, V c) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  const hn::DFromV<V> tag;
  using T = hn::TFromV<V>;
  HWY_ALIGN T x[hn::MaxLanes(tag)], y[hn::MaxLanes(tag)], z[hn::MaxLanes(tag)];
  hn::Store(a, tag, x);
  hn::Store(b, tag, y);
  hn::Store(c, tag, z);
  for (std::size_t i = 0; i < hn::MaxLanes(tag); ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(tag, z);
#else
  return hn::MulAdd(a, b, c);
#endif
}

// Has v loaded once: GCC would read it from memory again for every use, and loads then bind a loop of
// multiply-adds.
template <class V>
HWY_INLINE V held(V v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL && (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2)
  asm("" : "+v"(v.raw));
#endif
  return v;
}

template <class T>
HWY_INLINE T fused_scalar(T a, T b, T c) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return __builtin_fmaf(a, b, c);
  } else {
    return __builtin_fma(a, b, c);
  }
}

template <class T>
HWY_INLINE void finish_numbers(std::size_t n, T factor, T lambda, const T* w, T* g) {
  for (std::size_t j = 0; j < n; ++j) g[j] = fused_scalar(lambda, w[j], factor * g[j]);
}

// kLanes<T> numbers in one, two or more vectors.
template <class T>
struct Lanes {
  using D = Tag<T>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kStep = hn::MaxLanes(D());
  static constexpr std::size_t kParts = kLanes<T> / kStep;
  V part[kParts];

  static HWY_INLINE Lanes all(T x) {
    Lanes out;
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) out.part[p] = hn::Set(D(), x);
    return out;
  }
  static HWY_INLINE Lanes load(const T* from) {
    Lanes out;
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) out.part[p] = hn::LoadU(D(), from + p * kStep);
    return out;
  }
  static HWY_INLINE Lanes load_held(const T* from) {
    Lanes out;
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) out.part[p] = held(hn::LoadU(D(), from + p * kStep));
    return out;
  }
  // Doubles from floats.
  template <class F>
  requires(sizeof(F) < sizeof(T)) static HWY_INLINE Lanes load_wider(const F* from) {
    Lanes out;
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p)
      out.part[p] = hn::PromoteTo(D(), hn::LoadU(hn::Rebind<F, D>(), from + p * kStep));
    return out;
  }
  static HWY_INLINE Lanes load_wider(const T* from) { return load(from); }
  // Small integers, converted; also stores them as floats.
  template <class X>
  static HWY_INLINE Lanes load_and_keep(const X* from, float* to) {
    Lanes out;
    const hn::Rebind<std::int32_t, D> words;
    const hn::Rebind<float, D> floats;
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) {
      const auto word = hn::PromoteTo(words, hn::LoadU(hn::Rebind<X, D>(), from + p * kStep));
      const auto number = hn::ConvertTo(floats, word);
      hn::StoreU(number, floats, to + p * kStep);
      if constexpr (sizeof(T) == sizeof(float)) {
        out.part[p] = number;
      } else {
        out.part[p] = hn::PromoteTo(D(), word);
      }
    }
    return out;
  }
  // Small integers (8 or 16 bits), converted.
  template <class X>
  static HWY_INLINE Lanes load(const X* from) {
    Lanes out;
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) out.part[p] = load_vector(from + p * kStep);
    return out;
  }
  // One vector of them.
  template <class X>
  static HWY_INLINE V load_vector(const X* from) {
    const auto word = hn::PromoteTo(hn::Rebind<std::int32_t, D>(), hn::LoadU(hn::Rebind<X, D>(), from));
    if constexpr (sizeof(T) == sizeof(float)) {
      return hn::ConvertTo(D(), word);
    } else {
      return hn::PromoteTo(D(), word);
    }
  }
  static HWY_INLINE V load_vector(const T* from) { return hn::LoadU(D(), from); }
  // The first n numbers, zeros after them.
  template <class X>
  static HWY_INLINE Lanes load_first(const X* from, std::size_t n) {
    HWY_ALIGN X padded[kLanes<T>] = {};
    for (std::size_t i = 0; i < n; ++i) padded[i] = from[i];
    return load(padded);
  }
  HWY_INLINE void store(T* to) const {
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) hn::StoreU(part[p], D(), to + p * kStep);
  }
  HWY_INLINE void store_first(T* to, std::size_t n) const {
    HWY_ALIGN T padded[kLanes<T>];
    store(padded);
    for (std::size_t i = 0; i < n; ++i) to[i] = padded[i];
  }
  // *this = a * b + *this
  HWY_INLINE void accumulate(const Lanes& a, const Lanes& b) {
    MFL_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) part[p] = fused(a.part[p], b.part[p], part[p]);
  }
};

// The tree inside one vector: upper half onto lower half until one lane is left.
template <class D, class F>
HWY_INLINE hn::TFromD<D> tree_of_vector(hn::Vec<D> v, [[maybe_unused]] F join) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return tree_of_vector<hn::Half<D>>(join(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), join);
  }
#endif
  return hn::GetLane(v);
}

template <class T, class F>
HWY_INLINE T tree(Lanes<T> lanes, F join) {
  MFL_UNROLL
  for (std::size_t n = Lanes<T>::kParts / 2; n > 0; n /= 2) MFL_UNROLL
  for (std::size_t p = 0; p < n; ++p) lanes.part[p] = join(lanes.part[p], lanes.part[p + n]);
  return tree_of_vector<Tag<T>>(lanes.part[0], join);
}

template <class T>
HWY_INLINE T tree(Lanes<T> lanes) {
  return tree(lanes, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// The first levels of the tree: until 16 bytes are left.
template <class D>
HWY_INLINE auto tree_to_block(hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    return tree_to_block<hn::Half<D>>(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return v;
  }
}

template <class T>
HWY_INLINE auto tree_to_block(Lanes<T> lanes) {
  MFL_UNROLL
  for (std::size_t n = Lanes<T>::kParts / 2; n > 0; n /= 2) MFL_UNROLL
  for (std::size_t p = 0; p < n; ++p) lanes.part[p] = hn::Add(lanes.part[p], lanes.part[p + n]);
  return tree_to_block<Tag<T>>(lanes.part[0]);
}

// The trees of consecutive numbers of lanes side by side: 2 of doubles, 4 of floats.
HWY_INLINE auto trees_of_block(const Lanes<double>* lanes) {
  const hn::Full128<double> tag;
  const auto a = tree_to_block(lanes[0]), b = tree_to_block(lanes[1]);
  return hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b));
}
// The trees of two numbers of lanes, as two halves each.
HWY_INLINE auto halves_of_trees(const Lanes<float>* lanes) {
  const hn::Full128<float> tag;
  const hn::Full128<double> pairs;
  const auto a = hn::BitCast(pairs, tree_to_block(lanes[0])), b = hn::BitCast(pairs, tree_to_block(lanes[1]));
  return hn::Add(hn::BitCast(tag, hn::InterleaveLower(pairs, a, b)),
                 hn::BitCast(tag, hn::InterleaveUpper(pairs, a, b)));
}
HWY_INLINE auto trees_of_block(const Lanes<float>* lanes) {
  const hn::Full128<float> tag;
  const auto first = halves_of_trees(lanes), second = halves_of_trees(lanes + 2);
  return hn::Add(hn::ConcatEven(tag, second, first), hn::ConcatOdd(tag, second, first));
}

// The trees of as many numbers of lanes as D has numbers, in one vector.
template <class D, class T>
HWY_INLINE hn::Vec<D> trees(const Lanes<T>* lanes) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    return trees_of_block(lanes);
  } else {
    using Half = hn::Half<D>;
    return hn::Combine(D(), trees<Half>(lanes + hn::MaxLanes(Half())), trees<Half>(lanes));
  }
}
#endif

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
