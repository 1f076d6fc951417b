// Margins and gradients of dense rows, of bytes or of numbers, for one or several weight vectors at a time.
#if defined(MFL_DENSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_DENSE_INL_H
#undef MFL_DENSE_INL_H
#else
#define MFL_DENSE_INL_H
#endif

#include <algorithm>
#include <bit>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

// Rows whose losses are added up together (part of the contract), and that share a pass over the weights.
inline constexpr std::size_t kTile = 8;

// Independent sums that fit the registers and hide the latency of the multiply-add: rows of one setting, or settings of
// one row; and rows that go through their chunks side by side, each by its own. They change no bit. The portable set calls a
// function for each multiply-add, which leaves no registers.
#if HWY_TARGET == HWY_AVX3
inline constexpr std::size_t kRowsAtOnce = 8, kSettingsAtOnce = 8, kRowsByChunks = 2;
#elif HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
inline constexpr std::size_t kRowsAtOnce = 1, kSettingsAtOnce = 1, kRowsByChunks = 1;
#else
inline constexpr std::size_t kRowsAtOnce = 4, kSettingsAtOnce = 4, kRowsByChunks = 2;
#endif

// Up to kTile rows of a block.
template <class X>
struct DenseTile {
  const X* rows;
  std::size_t count;
  std::size_t columns;
  const std::uint64_t* chunks;  // null: every chunk is looked at

  DenseTile part(std::size_t first, std::size_t n) const {
    return {rows + first * columns, n, columns,
            chunks == nullptr ? nullptr : chunks + first * chunk_words(columns)};
  }
};

template <class T, class X>
DenseTile<X> dense_tile(const RowBlock<T>& block, const X* rows, std::size_t first) {
  return DenseTile<X>{rows, block.rows, block.columns, block.chunks}.part(
      first, std::min(kTile, block.rows - first));
}

// body(j) for the first column of every chunk that is not zero in all the rows, ascending.
template <class X, class F>
HWY_INLINE void for_chunks(const DenseTile<X>& tile, F body) {
  if (tile.chunks == nullptr) {
    const std::size_t whole = tile.columns / kChunk;
    for (std::size_t c = 0; c < whole; ++c) body(c * kChunk);
    return;
  }
  const std::size_t words = chunk_words(tile.columns);
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t any = 0;
    for (std::size_t r = 0; r < tile.count; ++r) any |= tile.chunks[r * words + word];
    for (; any != 0; any &= any - 1)
      body((word * 64 + static_cast<std::size_t>(std::countr_zero(any))) * kChunk);
  }
}

// The columns after the last whole chunk: rest(j, n) for groups of lanes, the last of them not full.
template <class T, class F>
HWY_INLINE void for_rest(std::size_t columns, F rest) {
  for (std::size_t j = columns / kChunk * kChunk; j < columns; j += kLanes<T>)
    rest(j, columns - j < kLanes<T> ? columns - j : kLanes<T>);
}

// sums[r] += row r * w over the whole chunks of the rows, all of them.
template <std::size_t kRows, class T, class X>
HWY_INLINE void multiply_all_chunks(const DenseTile<X>& tile, const T* w, Lanes<T>* sums) {
  for (std::size_t j = 0; j < tile.columns / kChunk * kChunk; j += kLanes<T>) {
    const auto weights = Lanes<T>::load(w + j);
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      sums[r].accumulate(Lanes<T>::load(tile.rows + r * tile.columns + j), weights);
  }
}

// The same over those chunks of each row that are not zero.
template <std::size_t kRows, class T, class X>
HWY_INLINE void multiply_own_chunks(const DenseTile<X>& tile, const T* w, Lanes<T>* sums) {
  const std::size_t words = chunk_words(tile.columns);
  Lanes<T> own[kRows];
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) own[r] = sums[r];
  for (std::size_t word = 0; word < words; ++word, w += 64 * kChunk) {
    std::uint64_t left[kRows];
    const X* x[kRows];
    int common = 64;
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      x[r] = tile.rows + r * tile.columns + word * 64 * kChunk;
      left[r] = tile.chunks[r * words + word];
      common = std::min(common, std::popcount(left[r]));
    }
    const auto take_chunk = [&](std::size_t r) HWY_ATTR {
      const std::size_t first = static_cast<std::size_t>(std::countr_zero(left[r])) * kChunk;
      left[r] &= left[r] - 1;
      MFL_UNROLL
      for (std::size_t k = 0; k < kChunk; k += kLanes<T>)
        own[r].accumulate(Lanes<T>::load(x[r] + first + k), Lanes<T>::load(w + first + k));
    };
    for (; common > 0; --common) {
      MFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) take_chunk(r);
    }
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      while (left[r] != 0) take_chunk(r);
  }
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) sums[r] = own[r];
}

// Margins of exactly kRows rows for one setting.
template <std::size_t kRows, bool kOwnChunks, class T, class X>
HWY_INLINE void margins_of_rows(const DenseTile<X>& tile, T scale, const T* w, double* z) {
  Lanes<T> sums[kRows];
  MFL_UNROLL
  for (auto& sum : sums) sum = Lanes<T>::all(0);
  if constexpr (kOwnChunks) {
    multiply_own_chunks<kRows>(tile, w, sums);
  } else {
    multiply_all_chunks<kRows>(tile, w, sums);
  }
  for_rest<T>(tile.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    const auto weights = Lanes<T>::load_first(w + j, n);
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      sums[r].accumulate(Lanes<T>::load_first(tile.rows + r * tile.columns + j, n), weights);
  });
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) z[r] = static_cast<double>(scale * tree(sums[r]));
}

// Margins of the rows of a tile from `first` on, as many at once as are left.
template <std::size_t kRows, bool kOwnChunks, class T, class X>
HWY_INLINE void margins_from(const DenseTile<X>& tile, std::size_t first, T scale, const T* w, double* z) {
  for (; first + kRows <= tile.count; first += kRows)
    margins_of_rows<kRows, kOwnChunks>(tile.part(first, kRows), scale, w, z + first);
  if constexpr (kRows > 1)
    margins_from<kRows == kRowsAtOnce ? kRowsByChunks : 1, kOwnChunks>(tile, first, scale, w, z);
}

// Margins of one row for exactly kSettings settings of a packed group of `size`; z[s * kTile].
template <std::size_t kSettings, class T, class X>
HWY_INLINE void margins_of_settings(const DenseTile<X>& row, T scale, const T* group, std::size_t size,
                                    double* z) {
  Lanes<T> sums[kSettings];
  MFL_UNROLL
  for (auto& sum : sums) sum = Lanes<T>::all(0);
  for_chunks(row, [&](std::size_t first) HWY_ATTR {
    const T* w = group + first * size;
    MFL_UNROLL
    for (std::size_t k = 0; k < kChunk; k += kLanes<T>) {
      const auto x = Lanes<T>::load(row.rows + first + k);
      MFL_UNROLL
      for (std::size_t s = 0; s < kSettings; ++s) sums[s].accumulate(x, Lanes<T>::load(w + s * kChunk + k));
    }
  });
  for_rest<T>(row.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    const auto x = Lanes<T>::load_first(row.rows + j, n);
    const T* w = group + j / kChunk * kChunk * size + j % kChunk;
    MFL_UNROLL
    for (std::size_t s = 0; s < kSettings; ++s) sums[s].accumulate(x, Lanes<T>::load(w + s * kChunk));
  });
  MFL_UNROLL
  for (std::size_t s = 0; s < kSettings; ++s) z[s * kTile] = static_cast<double>(scale * tree(sums[s]));
}

// The settings of a group from `first` on, as many at once as are left.
template <std::size_t kSettings, class T, class X>
HWY_INLINE void margins_of_group(const DenseTile<X>& row, T scale, const T* group, std::size_t size,
                                 std::size_t first, double* z) {
  for (; first + kSettings <= size; first += kSettings)
    margins_of_settings<kSettings>(row, scale, group + first * kChunk, size, z + first * kTile);
  if constexpr (kSettings > 1) margins_of_group<kSettings / 2>(row, scale, group, size, first, z);
}

// Margins of one setting.
template <class T, class X>
HWY_NOINLINE void margins_alone(const DenseTile<X>& tile, T scale, const T* w, double* z) {
  if (tile.chunks == nullptr) return margins_from<kRowsAtOnce, false>(tile, 0, scale, w, z);
  margins_from<kRowsByChunks, true>(tile, 0, scale, w, z);
}

// Margins of several settings, packed: z[s * kTile + r].
template <class T, class X>
HWY_NOINLINE void margins_together(const DenseTile<X>& tile, T scale, std::size_t settings, const T* w,
                                   double* z) {
  for (std::size_t s = 0; s < settings; s += kPackedGroup<T>)
    for (std::size_t r = 0; r < tile.count; ++r)
      margins_of_group<std::min(kSettingsAtOnce, kPackedGroup<T>)>(
          tile.part(r, 1), scale, w + s * padded_columns(tile.columns),
          std::min(kPackedGroup<T>, settings - s), 0, z + s * kTile + r);
}

template <class T, class X>
HWY_INLINE void dense_tile_margins(const DenseTile<X>& tile, T scale, std::size_t settings, const T* w,
                                   double* z) {
  if (settings == 1) return margins_alone(tile, scale, w, z);
  margins_together(tile, scale, settings, w, z);
}

// g += sum_r c[r] * row r, rows with a zero coefficient left out.
template <class T, class X>
HWY_NOINLINE void gradient_alone(const DenseTile<X>& tile, const T* c, T* g) {
  const X* rows[kTile];
  Lanes<T> factors[kTile];
  std::size_t active = 0;
  for (std::size_t r = 0; r < tile.count; ++r) {
    if (c[r] == 0) continue;
    rows[active] = tile.rows + r * tile.columns;
    factors[active++] = Lanes<T>::all(c[r]);
  }
  for_chunks(tile, [&](std::size_t first) HWY_ATTR {
    MFL_UNROLL
    for (std::size_t j = first; j < first + kChunk; j += kLanes<T>) {
      auto sum = Lanes<T>::load(g + j);
      for (std::size_t r = 0; r < active; ++r) sum.accumulate(factors[r], Lanes<T>::load(rows[r] + j));
      sum.store(g + j);
    }
  });
  for_rest<T>(tile.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    auto sum = Lanes<T>::load_first(g + j, n);
    for (std::size_t r = 0; r < active; ++r) sum.accumulate(factors[r], Lanes<T>::load_first(rows[r] + j, n));
    sum.store_first(g + j, n);
  });
}

// g[s] += sum_r c[s * kTile + r] * row r. A row is converted once for all settings; rows that the tile lacks count zero.
template <class T, class X>
HWY_NOINLINE void gradient_together(const DenseTile<X>& tile, std::size_t settings, const T* c, T* const* g) {
  T factors[kMaxBatch * kTile];
  const X* rows[kTile];
  for (std::size_t r = 0; r < kTile; ++r) {
    const bool there = r < tile.count;
    rows[r] = tile.rows + (there ? r : 0) * tile.columns;
    for (std::size_t s = 0; s < settings; ++s) factors[s * kTile + r] = there ? c[s * kTile + r] : T{0};
  }
  const auto add = [&](const Lanes<T>* x, std::size_t s, Lanes<T> sum) HWY_ATTR {
    MFL_UNROLL
    for (std::size_t r = 0; r < kTile; ++r) sum.accumulate(Lanes<T>::all(factors[s * kTile + r]), x[r]);
    return sum;
  };
  for_chunks(tile, [&](std::size_t first) HWY_ATTR {
    for (std::size_t j = first; j < first + kChunk; j += kLanes<T>) {
      Lanes<T> x[kTile];
      MFL_UNROLL
      for (std::size_t r = 0; r < kTile; ++r) x[r] = Lanes<T>::load(rows[r] + j);
      for (std::size_t s = 0; s < settings; ++s) add(x, s, Lanes<T>::load(g[s] + j)).store(g[s] + j);
    }
  });
  for_rest<T>(tile.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    Lanes<T> x[kTile];
    for (std::size_t r = 0; r < kTile; ++r) x[r] = Lanes<T>::load_first(rows[r] + j, n);
    for (std::size_t s = 0; s < settings; ++s)
      add(x, s, Lanes<T>::load_first(g[s] + j, n)).store_first(g[s] + j, n);
  });
}

template <class T, class X>
HWY_INLINE void dense_tile_gradient(const DenseTile<X>& tile, std::size_t settings, const T* c, T* const* g) {
  if constexpr (kSettingsAtOnce > 1)
    if (settings > 1) return gradient_together(tile, settings, c, g);
  for (std::size_t s = 0; s < settings; ++s) gradient_alone(tile, c + s * kTile, g[s]);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
