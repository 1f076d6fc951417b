// Margins and gradients of dense rows, of bytes or of numbers, for one weight vector.
#if defined(MFL_DENSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_DENSE_INL_H
#undef MFL_DENSE_INL_H
#else
#define MFL_DENSE_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cmath>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

// Rows whose losses are added up together (part of the contract), and that share a pass over the weights.
inline constexpr std::size_t kTile = 8;

// Independent sums that fit the registers and hide the latency of the multiply-add: rows of one setting
// (kGroup), or settings of one row. They change no bit. The portable set calls a function for each
// multiply-add, which leaves no registers.
// Several settings: vectors of the gradient that share a coefficient (kVectorsAtOnce), each with a vector of
// all rows of a tile, and rows that share what is read of weights and gradients from the second-level cache
// (kRowsTogether).
#if HWY_TARGET == HWY_AVX3
inline constexpr std::size_t kGroup = 8, kSettingsAtOnce = 8, kRowsAtOnce = 2, kVectorsAtOnce = 2,
                             kRowsTogether = 4 * kTile;
#elif HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
inline constexpr std::size_t kGroup = 1, kSettingsAtOnce = 1, kRowsAtOnce = 1, kVectorsAtOnce = 1,
                             kRowsTogether = kTile;
#else
inline constexpr std::size_t kGroup = 4, kSettingsAtOnce = 4, kRowsAtOnce = 1, kVectorsAtOnce = 2,
                             kRowsTogether = 4 * kTile;
#endif

// Up to kTile rows of a block, or up to kRowsTogether for several settings.
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
DenseTile<X> dense_tile(const RowBlock<T>& block, const X* rows, std::size_t first,
                        std::size_t most = kTile) {
  return DenseTile<X>{rows, block.rows, block.columns, block.chunks}.part(first,
                                                                          std::min(most, block.rows - first));
}

// Bit c of word i: whether chunk 64 i + c is not zero in all the rows, as far as is known.
template <class X>
HWY_INLINE std::uint64_t chunks_of(const DenseTile<X>& tile, std::size_t word) {
  if (tile.chunks == nullptr) {
    const std::size_t whole = tile.columns / kChunk - word * 64;
    return ~std::uint64_t{0} >> (whole < 64 ? 64 - whole : 0);
  }
  std::uint64_t any = 0;
  for (std::size_t r = 0; r < tile.count; ++r) any |= tile.chunks[r * chunk_words(tile.columns) + word];
  return any;
}

template <class F>
HWY_INLINE void for_bits(std::uint64_t bits, std::size_t word, F body) {
  for (; bits != 0; bits &= bits - 1)
    body((word * 64 + static_cast<std::size_t>(std::countr_zero(bits))) * kChunk);
}

// body(j) for the first column of every chunk that is not zero in all the rows, ascending.
template <class X, class F>
HWY_INLINE void for_chunks(const DenseTile<X>& tile, F body) {
  if (tile.chunks == nullptr) {
    const std::size_t whole = tile.columns / kChunk;
    for (std::size_t c = 0; c < whole; ++c) body(c * kChunk);
    return;
  }
  for (std::size_t word = 0; word < chunk_words(tile.columns); ++word)
    for_bits(chunks_of(tile, word), word, body);
}

// The same for those chunks that are zero in all the rows of a part of the tile.
template <class X, class F>
HWY_INLINE void for_chunks_missing(const DenseTile<X>& tile, const DenseTile<X>& part, F body) {
  if (tile.chunks == nullptr) return;
  for (std::size_t word = 0; word < chunk_words(tile.columns); ++word)
    for_bits(chunks_of(tile, word) & ~chunks_of(part, word), word, body);
}

// The columns after the last whole chunk: rest(j, n) for groups of lanes, the last of them not full.
template <class T, class F>
HWY_INLINE void for_rest(std::size_t columns, F rest) {
  for (std::size_t j = columns / kChunk * kChunk; j < columns; j += kLanes<T>)
    rest(j, columns - j < kLanes<T> ? columns - j : kLanes<T>);
}

// The chunks of a whole tile of bytes, converted once: the margins leave them to the gradient. They are
// floats in both precisions, because a float holds every byte and 64 chunks of floats fit the first-level
// cache.
struct KeptTile {
  static constexpr std::size_t kMostChunks = 64;

  HWY_ALIGN float values[kMostChunks * kTile * kChunk];

  // Row r of the chunk that begins at column `first`.
  HWY_INLINE float* at(std::size_t first, std::size_t r) { return values + first * kTile + r * kChunk; }
  HWY_INLINE const float* at(std::size_t first, std::size_t r) const {
    return values + first * kTile + r * kChunk;
  }
};

// The margin of a row, from those of its chunks that are not zero.
template <class T, class X>
HWY_INLINE double margin_of_row(const DenseTile<X>& row, T scale, const T* w) {
  auto sum = Lanes<T>::all(0);
  for_chunks(row, [&](std::size_t first) HWY_ATTR {
    MFL_UNROLL
    for (std::size_t k = first; k < first + kChunk; k += kLanes<T>)
      sum.accumulate(Lanes<T>::load(row.rows + k), Lanes<T>::load(w + k));
  });
  for_rest<T>(row.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    sum.accumulate(Lanes<T>::load_first(row.rows + j, n), Lanes<T>::load_first(w + j, n));
  });
  return static_cast<double>(scale * tree(sum));
}

template <class T, class X>
HWY_NOINLINE void margins_by_row(const DenseTile<X>& tile, T scale, const T* w, double* z) {
  for (std::size_t r = 0; r < tile.count; ++r) z[r] = margin_of_row(tile.part(r, 1), scale, w);
}

// sums[r] += row r * w over the chunks that are not zero in at least one of kRows rows, the first of them row
// `row` of its tile. A row that has only zeros in such a chunk gains nothing, unless a weight is not finite.
// Keeps the converted chunks if kKeep.
template <bool kKeep, std::size_t kRows, class T, class X>
HWY_INLINE void multiply_group(const DenseTile<X>& group, std::size_t row, const T* w, Lanes<T>* sums,
                               KeptTile* kept) {
  const X* rows[kRows];
  Lanes<T> own[kRows];
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    rows[r] = group.rows + r * group.columns;
    own[r] = sums[r];
  }
  for_chunks(group, [&](std::size_t first) HWY_ATTR {
    [[maybe_unused]] float* to = kKeep ? kept->at(first, row) : nullptr;
    MFL_UNROLL
    for (std::size_t k = 0; k < kChunk; k += kLanes<T>) {
      const auto weights = Lanes<T>::load(w + first + k);
      MFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const X* x = rows[r] + first + k;
        if constexpr (kKeep) {
          own[r].accumulate(Lanes<T>::load_and_keep(x, to + r * kChunk + k), weights);
        } else {
          own[r].accumulate(Lanes<T>::load(x), weights);
        }
      }
    }
  });
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) sums[r] = own[r];
}

// Writes n margins and returns whether they are finite.
template <std::size_t n, class T>
HWY_INLINE bool write_margins(const Lanes<T>* sums, T scale, double* z) {
  bool finite = true;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const Tag<double> tag;
  static_assert(hn::MaxLanes(tag) == kGroup);
  if constexpr (n % kGroup == 0) {
    MFL_UNROLL
    for (std::size_t first = 0; first < n; first += kGroup) {
      hn::Vec<Tag<double>> margins;
      if constexpr (sizeof(T) == sizeof(float)) {
        using Floats = hn::Rebind<float, Tag<double>>;
        margins = hn::PromoteTo(tag, hn::Mul(hn::Set(Floats(), scale), trees<Floats>(sums + first)));
      } else {
        margins = hn::Mul(hn::Set(tag, scale), trees<Tag<double>>(sums + first));
      }
      hn::StoreU(margins, tag, z + first);
      finite &= hn::AllTrue(tag, hn::IsFinite(margins));
    }
    return finite;
  }
#endif
  for (std::size_t i = 0; i < n; ++i) {
    z[i] = static_cast<double>(scale * tree(sums[i]));
    finite &= std::isfinite(z[i]);
  }
  return finite;
}

// Margins of exactly kRows rows that share their chunks; keeps them as multiply_group does. Returns whether
// the margins are finite; if not, rows count alone, because a zero adds nothing only to a finite weight.
template <bool kKeep, std::size_t kRows, class T, class X>
HWY_INLINE bool margins_of_group(const DenseTile<X>& group, std::size_t row, T scale, const T* w, double* z,
                                 KeptTile* kept) {
  Lanes<T> sums[kRows];
  MFL_UNROLL
  for (auto& sum : sums) sum = Lanes<T>::all(0);
  multiply_group<kKeep, kRows>(group, row, w, sums, kept);
  for_rest<T>(group.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    const auto weights = Lanes<T>::load_first(w + j, n);
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      sums[r].accumulate(Lanes<T>::load_first(group.rows + r * group.columns + j, n), weights);
  });
  return write_margins<kRows>(sums, scale, z);
}

// Margins of a whole tile of bytes; fills `kept`.
template <class T>
HWY_NOINLINE void margins_of_tile(const DenseTile<std::uint8_t>& tile, T scale, const T* w, double* z,
                                  KeptTile* kept) {
  bool finite = true;
  for (std::size_t row = 0; row < kTile; row += kGroup) {
    const auto group = tile.part(row, kGroup);
    finite &= margins_of_group<true, kGroup>(group, row, scale, w, z + row, kept);
    for_chunks_missing(tile, group, [&](std::size_t first) HWY_ATTR {
      MFL_UNROLL
      for (std::size_t r = 0; r < kGroup; ++r) Lanes<float>::all(0).store(kept->at(first, row + r));
    });
  }
  if (!finite) margins_by_row(tile, scale, w, z);
}

template <class X>
HWY_INLINE bool is_whole(const DenseTile<X>& tile) {
  return kGroup > 1 && tile.count == kTile;
}

// kRows rows at once, and then as many as are left.
template <std::size_t kRows, class T, class X>
HWY_INLINE void margins_of_rows(const DenseTile<X>& tile, T scale, const T* w, double* z) {
  std::size_t row = 0;
  for (; row + kRows <= tile.count; row += kRows) {
    const auto group = tile.part(row, kRows);
    if (kRows == 1 || !margins_of_group<false, kRows>(group, 0, scale, w, z + row, nullptr))
      margins_by_row(group, scale, w, z + row);
  }
  if constexpr (kRows > 1) margins_of_rows<kRows / 2>(tile.part(row, tile.count - row), scale, w, z + row);
}

// Margins of one setting.
template <class T, class X>
HWY_NOINLINE void margins_alone(const DenseTile<X>& tile, T scale, const T* w, double* z) {
  margins_of_rows<kGroup>(tile, scale, w, z);
}

// g += sum_r c[r] * rows[r], for exactly kRows rows of a tile.
template <std::size_t kRows, class T, class X>
HWY_INLINE void add_scaled_rows(const DenseTile<X>& tile, const X* const* rows, const T* c, T* g) {
  Lanes<T> factors[kRows];
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) factors[r] = Lanes<T>::all(c[r]);
  for_chunks(tile, [&](std::size_t first) HWY_ATTR {
    MFL_UNROLL
    for (std::size_t j = first; j < first + kChunk; j += kLanes<T>) {
      auto sum = Lanes<T>::load(g + j);
      MFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) sum.accumulate(factors[r], Lanes<T>::load(rows[r] + j));
      sum.store(g + j);
    }
  });
  for_rest<T>(tile.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    auto sum = Lanes<T>::load_first(g + j, n);
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) sum.accumulate(factors[r], Lanes<T>::load_first(rows[r] + j, n));
    sum.store_first(g + j, n);
  });
}

// The same for n rows, as many at once as are left.
template <std::size_t kRows, class T, class X>
HWY_INLINE void add_active_rows(const DenseTile<X>& tile, const X* const* rows, const T* c, std::size_t n,
                                T* g) {
  for (; n >= kRows; n -= kRows, rows += kRows, c += kRows) add_scaled_rows<kRows>(tile, rows, c, g);
  if constexpr (kRows > 1) add_active_rows<kRows / 2>(tile, rows, c, n, g);
}

// g += sum_r c[r] * row r, rows with a zero coefficient left out.
template <class T, class X>
HWY_NOINLINE void gradient_alone(const DenseTile<X>& tile, const T* c, T* g) {
  const X* rows[kTile];
  T factors[kTile];
  std::size_t active = 0;
  for (std::size_t r = 0; r < tile.count; ++r) {
    if (c[r] == 0) continue;
    rows[active] = tile.rows + r * tile.columns;
    factors[active++] = c[r];
  }
  add_active_rows<kGroup == 1 ? 1 : kTile>(tile, rows, factors, active, g);
}

// The same from kept chunks. A zero coefficient counts as -0, which leaves every number as it is, -0
// included, because no byte is negative.
template <class T>
HWY_NOINLINE void gradient_of_kept(const DenseTile<std::uint8_t>& tile, const KeptTile& kept, const T* c,
                                   T* g) {
  Lanes<T> factors[kTile];
  MFL_UNROLL
  for (std::size_t r = 0; r < kTile; ++r) factors[r] = Lanes<T>::all(c[r] == 0 ? -T{0} : c[r]);
  for_chunks(tile, [&](std::size_t first) HWY_ATTR {
    const float* from = kept.at(first, 0);
    MFL_UNROLL
    for (std::size_t k = 0; k < kChunk; k += kLanes<T>) {
      auto sum = Lanes<T>::load(g + first + k);
      MFL_UNROLL
      for (std::size_t r = 0; r < kTile; ++r)
        sum.accumulate(factors[r], Lanes<T>::load_wider(from + r * kChunk + k));
      sum.store(g + first + k);
    }
  });
  for_rest<T>(tile.columns, [&](std::size_t j, std::size_t n) HWY_ATTR {
    auto sum = Lanes<T>::load_first(g + j, n);
    MFL_UNROLL
    for (std::size_t r = 0; r < kTile; ++r)
      sum.accumulate(factors[r], Lanes<T>::load_first(tile.rows + r * tile.columns + j, n));
    sum.store_first(g + j, n);
  });
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
