// Margins and gradients of dense rows for several weight vectors in one pass.
#if defined(MFL_BATCHED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_BATCHED_INL_H
#undef MFL_BATCHED_INL_H
#else
#define MFL_BATCHED_INL_H
#endif

#include <algorithm>

#include "mfl/base/kernels/dense-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

// Margins of exactly kRows rows for exactly kSettings settings of a packed group of `size`; z[s * kTile + r].
// Returns whether they are finite.
template <std::size_t kRows, std::size_t kSettings, class T, class X>
HWY_INLINE bool margins_of_settings(const DenseTile<X>& rows, T scale, const T* group, std::size_t size,
                                    double* z) {
  Lanes<T> sums[kSettings * kRows];
  MFL_UNROLL
  for (auto& sum : sums) sum = Lanes<T>::all(0);
  const auto accumulate = [&](const Lanes<T>* x, const auto& weights) HWY_ATTR {
    MFL_UNROLL
    for (std::size_t s = 0; s < kSettings; ++s) {
      const Lanes<T> w = weights(s);
      MFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) sums[s * kRows + r].accumulate(x[r], w);
    }
  };
  for_chunks(rows, [&](std::size_t first) HWY_ATTR {
    const T* w = group + first * size;
    MFL_UNROLL
    for (std::size_t k = 0; k < kChunk; k += kLanes<T>) {
      Lanes<T> x[kRows];
      MFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) x[r] = Lanes<T>::load(rows.rows + r * rows.columns + first + k);
      accumulate(x, [&](std::size_t s) HWY_ATTR {
        if constexpr (kRows > 1) return Lanes<T>::load_held(w + s * kChunk + k);
        return Lanes<T>::load(w + s * kChunk + k);
      });
    }
  });
  for_rest<T>(rows.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    Lanes<T> x[kRows];
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) x[r] = Lanes<T>::load_first(rows.rows + r * rows.columns + j, n);
    const T* w = group + j / kChunk * kChunk * size + j % kChunk;
    accumulate(x, [&](std::size_t s) HWY_ATTR { return Lanes<T>::load(w + s * kChunk); });
  });
  double margins[kSettings * kRows];
  const bool finite = write_margins<kSettings * kRows>(sums, scale, margins);
  for (std::size_t s = 0; s < kSettings; ++s)
    for (std::size_t r = 0; r < kRows; ++r) z[s * kTile + r] = margins[s * kRows + r];
  return finite;
}

// The settings of a group from `first` on, as many at once as are left. Rows that share their chunks count
// alone where a margin is not finite, because a zero adds nothing only to a finite weight.
template <std::size_t kRows, std::size_t kSettings, class T, class X>
HWY_INLINE void margins_of_packed_group(const DenseTile<X>& rows, T scale, const T* group, std::size_t size,
                                        std::size_t first, double* z) {
  for (; first + kSettings <= size; first += kSettings) {
    const T* w = group + first * kChunk;
    if (!margins_of_settings<kRows, kSettings>(rows, scale, w, size, z + first * kTile) && kRows > 1)
      for (std::size_t r = 0; r < kRows; ++r)
        margins_of_settings<1, kSettings>(rows.part(r, 1), scale, w, size, z + first * kTile + r);
  }
  if constexpr (kSettings > 1)
    margins_of_packed_group<kRows, kSettings / 2>(rows, scale, group, size, first, z);
}

// Margins of several settings, packed: z[s * kTile + r], tile after tile.
template <class T, class X>
HWY_NOINLINE void margins_together(const DenseTile<X>& tile, T scale, std::size_t settings, const T* w,
                                   double* z) {
  constexpr std::size_t kSettings = std::min(kSettingsAtOnce, kPackedGroup<T>);
  for (std::size_t s = 0; s < settings; s += kPackedGroup<T>) {
    const T* group = w + s * padded_columns(tile.columns);
    const std::size_t size = std::min(kPackedGroup<T>, settings - s);
    std::size_t r = 0;
    for (; r + kRowsAtOnce <= tile.count; r += kRowsAtOnce)
      margins_of_packed_group<kRowsAtOnce, kSettings>(tile.part(r, kRowsAtOnce), scale, group, size, 0,
                                                      z + (r / kTile * settings + s) * kTile + r % kTile);
    if constexpr (kRowsAtOnce > 1)
      for (; r < tile.count; ++r)
        margins_of_packed_group<1, kSettings>(tile.part(r, 1), scale, group, size, 0,
                                              z + (r / kTile * settings + s) * kTile + r % kTile);
  }
}

// g[s] += sum_r factors[s * kTile + r] * rows[r] in kVectors vectors that begin at the columns first[v]. They
// share each load of a coefficient, which would bind otherwise.
template <std::size_t kVectors, class T, class X>
HWY_INLINE void add_vectors(const X* const* rows, std::size_t settings, const T* factors,
                            const std::size_t* first, T* const* g) {
  using D = Tag<T>;
  hn::Vec<D> x[kVectors * kTile];
  MFL_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) MFL_UNROLL
  for (std::size_t r = 0; r < kTile; ++r) x[v * kTile + r] = Lanes<T>::load_vector(rows[r] + first[v]);
  for (std::size_t s = 0; s < settings; ++s) {
    hn::Vec<D> sums[kVectors];
    MFL_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(D(), g[s] + first[v]);
    MFL_UNROLL
    for (std::size_t r = 0; r < kTile; ++r) {
      const auto factor = held(hn::Set(D(), factors[s * kTile + r]));
      MFL_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sums[v] = fused(factor, x[v * kTile + r], sums[v]);
    }
    MFL_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], D(), g[s] + first[v]);
  }
}

// The same for all vectors of the chunks of a word whose bits are set.
template <class T, class X>
HWY_INLINE void add_chunks(const X* const* rows, std::size_t settings, const T* factors, std::size_t word,
                           std::uint64_t bits, T* const* g) {
  static_assert(kVectorsAtOnce <= 2);
  std::size_t first[kVectorsAtOnce], count = 0;
  for_bits(bits, word, [&](std::size_t chunk) HWY_ATTR {
    for (std::size_t j = chunk; j < chunk + kChunk; j += Lanes<T>::kStep) {
      first[count++] = j;
      if (count < kVectorsAtOnce) continue;
      add_vectors<kVectorsAtOnce>(rows, settings, factors, first, g);
      count = 0;
    }
  });
  if (count > 0) add_vectors<1>(rows, settings, factors, first, g);
}

// g[s] += sum_r c[s * kTile + r] * row r for up to kRowsTogether rows, whose tiles follow each other in c. A
// vector of a tile is converted once for all settings; rows that the last tile lacks count zero. The
// gradients go through the first-level cache strip by strip.
template <class T, class X>
HWY_NOINLINE void gradient_together(const DenseTile<X>& rows, std::size_t settings, const T* c, T* const* g) {
  constexpr std::size_t kStrip = kRowsTogether > kTile ? 16 : 64;  // chunks
  constexpr std::uint64_t kStripBits = ~std::uint64_t{0} >> (64 - kStrip);
  const std::size_t tiles = (rows.count + kTile - 1) / kTile;
  T factors[kMaxBatch * kRowsTogether];
  const X* row[kRowsTogether];
  for (std::size_t r = 0; r < tiles * kTile; ++r) {
    const bool there = r < rows.count;
    row[r] = rows.rows + (there ? r : r / kTile * kTile) * rows.columns;
    const std::size_t at = r / kTile * settings * kTile + r % kTile;
    for (std::size_t s = 0; s < settings; ++s) factors[at + s * kTile] = there ? c[at + s * kTile] : T{0};
  }
  for (std::size_t word = 0; word < chunk_words(rows.columns); ++word) {
    std::uint64_t chunks[kRowsTogether / kTile];
    for (std::size_t t = 0; t < tiles; ++t)
      chunks[t] = chunks_of(rows.part(t * kTile, std::min(kTile, rows.count - t * kTile)), word);
    for (std::size_t strip = 0; strip < 64; strip += kStrip)
      for (std::size_t t = 0; t < tiles; ++t)
        add_chunks(row + t * kTile, settings, factors + t * settings * kTile, word,
                   chunks[t] & kStripBits << strip, g);
  }
  for_rest<T>(rows.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    for (std::size_t s = 0; s < settings; ++s) {
      auto sum = Lanes<T>::load_first(g[s] + j, n);
      for (std::size_t r = 0; r < tiles * kTile; ++r)
        sum.accumulate(Lanes<T>::all(factors[(r / kTile * settings + s) * kTile + r % kTile]),
                       Lanes<T>::load_first(row[r] + j, n));
      sum.store_first(g[s] + j, n);
    }
  });
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
