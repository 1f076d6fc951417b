// Consecutive classes side by side in vectors, and the matrices that hold a row of numbers per class. Included once per target by
// other kernels only.
#if defined(MFL_PANELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_PANELS_INL_H
#undef MFL_PANELS_INL_H
#else
#define MFL_PANELS_INL_H
#endif

#include <algorithm>

#include "mfl/base/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

// Vectors of sums or coefficients that fit the registers, vectors side by side, and rows that share a vector of weights.
#if HWY_TARGET == HWY_AVX3
inline constexpr std::size_t kVectorsHeld = 24, kVectorsAbreast = 2;
#elif HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kVectorsHeld = 12, kVectorsAbreast = 2;
#elif HWY_TARGET == HWY_NEON
inline constexpr std::size_t kVectorsHeld = 24, kVectorsAbreast = 4;
#else
inline constexpr std::size_t kVectorsHeld = 4, kVectorsAbreast = 2;
#endif
inline constexpr std::size_t kMostTileRows = 12;

// Stores the first n lanes, fewer than there are, and touches nothing behind them: a load from there need not wait, as it
// does for a masked store.
template <class D>
HWY_INLINE void store_lanes([[maybe_unused]] hn::Vec<D> v, [[maybe_unused]] std::size_t n,
                            [[maybe_unused]] hn::TFromD<D>* to) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    if (n < hn::MaxLanes(half)) return store_lanes<hn::Half<D>>(hn::LowerHalf(half, v), n, to);
    hn::StoreU(hn::LowerHalf(half, v), half, to);
    store_lanes<hn::Half<D>>(hn::UpperHalf(half, v), n - hn::MaxLanes(half), to + hn::MaxLanes(half));
  }
#endif
}

// Consecutive classes that are worked on together: kVectors vectors.
template <class DVector, std::size_t kCount>
struct Panel {
  using D = DVector;
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kVectors = kCount;
  static constexpr std::size_t kStep = hn::MaxLanes(D());
  static constexpr std::size_t kWidth = kVectors * kStep;
  static constexpr std::size_t kTileRows = std::min(kMostTileRows, kVectorsHeld / kVectors);

  V part[kVectors];

  static HWY_INLINE Panel load(const T* from) {
    Panel out;
    MFL_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) out.part[v] = hn::LoadU(D(), from + v * kStep);
    return out;
  }
  HWY_INLINE void store(T* to) const {
    MFL_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(part[v], D(), to + v * kStep);
  }
  HWY_INLINE void store_first(T* to, std::size_t n) const {
    MFL_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      if (n < (v + 1) * kStep) return store_lanes<D>(part[v], n - v * kStep, to + v * kStep);
      hn::StoreU(part[v], D(), to + v * kStep);
    }
  }
  // *this = x * factor + *this
  HWY_INLINE void accumulate(V x, const Panel& factor) {
    MFL_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) part[v] = fused(x, factor.part[v], part[v]);
  }
};

template <std::size_t kVectors, class T, class F>
HWY_INLINE void with_vectors(std::size_t classes, F body) {
  if constexpr (kVectors > 1)
    if (classes <= (kVectors - 1) * hn::MaxLanes(Tag<T>()))
      return with_vectors<kVectors - 1, T>(classes, body);
  body(Panel<Tag<T>, kVectors>());
}

// body(panel, first) for panels that cover all classes; the last of them may be too wide.
template <class T, class F>
HWY_INLINE void for_panels(std::size_t classes, F body) {
  constexpr std::size_t kWidest = kVectorsAbreast * hn::MaxLanes(Tag<T>());
  for (std::size_t first = 0; first < classes; first += kWidest) {
    const std::size_t left = classes - first;
#if HWY_TARGET == HWY_AVX3
    using Narrow = hn::CappedTag<T, kLanes<T> / 2>;  // half the time on some processors, no more on others
    if (left <= hn::MaxLanes(Narrow())) {
      body(Panel<Narrow, 1>(), first);
      continue;
    }
#endif
    with_vectors<kVectorsAbreast, T>(left, [&](auto panel) HWY_ATTR { body(panel, first); });
  }
}

// body(first, count) for consecutive parts of n things, as few and as equal as possible, none larger than `most`.
template <class F>
HWY_INLINE void for_equal_parts(std::size_t n, std::size_t most, F body) {
  if (n <= most) return body(std::size_t{0}, n);
  const std::size_t parts = (n + most - 1) / most, size = n / parts, larger = n % parts;
  for (std::size_t p = 0, first = 0; p < parts; ++p) {
    const std::size_t count = size + (p < larger ? 1 : 0);
    body(first, count);
    first += count;
  }
}

// A matrix in memory: the start of each row is `stride` numbers after that of the one before.
template <class T>
struct Strided {
  T* numbers;
  std::size_t stride;
};

// Copies n < 2 kPiece numbers of each of the rows, and touches no others.
template <std::size_t kPiece, class T>
HWY_INLINE void copy_rows(std::size_t rows, std::size_t n, Strided<const T> from, Strided<T> to) {
  if constexpr (kPiece > 1)
    if (n < kPiece) return copy_rows<kPiece / 2>(rows, n, from, to);
  using D = hn::CappedTag<T, kPiece>;
  const auto copy_piece = [](const T* source, T* target) HWY_ATTR {
    MFL_UNROLL
    for (std::size_t i = 0; i < kPiece; i += hn::MaxLanes(D()))
      hn::StoreU(hn::LoadU(D(), source + i), D(), target + i);
  };
  for (std::size_t r = 0; r < rows; ++r) {
    const T* source = from.numbers + r * from.stride;
    T* target = to.numbers + r * to.stride;
    copy_piece(source, target);
    if (n > kPiece) copy_piece(source + n - kPiece, target + n - kPiece);
  }
}

// Copies n numbers of each of the rows and puts zeros behind them: rows of the panel's width.
template <class P, class T>
HWY_INLINE void pad_rows(std::size_t rows, std::size_t n, Strided<const T> from, T* to) {
  if (n < P::kWidth)
    for (std::size_t i = 0; i < rows * P::kWidth; i += P::kStep)
      hn::Store(hn::Zero(typename P::D()), typename P::D(), to + i);
  copy_rows<P::kWidth>(rows, n, from, Strided<T>{to, P::kWidth});
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
