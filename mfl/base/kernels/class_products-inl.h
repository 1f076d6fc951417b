// Products of rows with the weights of several classes, and sums of rows times the coefficients of several classes. Vectors
// hold different classes, so each output is one chain of multiply-adds whatever the width of a vector, and whatever is
// kept in registers. Dense rows go through 64 columns at a time.
#if defined(MFL_CLASS_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_CLASS_PRODUCTS_INL_H
#undef MFL_CLASS_PRODUCTS_INL_H
#else
#define MFL_CLASS_PRODUCTS_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/kernels/panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

// Columns that are taken together, a bit of a word each.
inline constexpr std::size_t kWordColumns = 64;
// Rows that share what is copied of weights and gradients; what is kept of them fits the first-level cache.
inline constexpr std::size_t kGroupRows = 96;
// Dense rows that leave out the columns in which all of them are zero. Every target leaves out the same ones, so that they
// agree even on weights that are not finite.
inline constexpr std::size_t kUnitRows = kMostTileRows;

// A bit for each of 64 bytes that is not zero.
HWY_INLINE std::uint64_t nonzero_bits(const std::uint8_t* x) {
  static_assert(std::endian::native == std::endian::little);
  using D = hn::CappedTag<std::uint8_t, kWordColumns>;
  std::uint64_t word = 0;
  if constexpr (hn::MaxLanes(D()) >= 8) {
    std::uint8_t bits[2 * sizeof(word)];  // a vector's bits are written with up to 8 bytes
    MFL_UNROLL
    for (std::size_t i = 0; i < kWordColumns; i += hn::MaxLanes(D()))
      hn::StoreMaskBits(D(), hn::Ne(hn::LoadU(D(), x + i), hn::Zero(D())), bits + i / 8);
    std::memcpy(&word, bits, sizeof(word));
  } else {
    for (std::size_t i = 0; i < kWordColumns; ++i) word |= std::uint64_t{x[i] != 0} << i;
  }
  return word;
}

// A word of columns of dense rows: `count` columns from `first` on.
template <class T, class X>
struct WordOfRows {
  const RowBlock<T>& block;
  const X* rows;
  std::size_t first, count;

  const X* row(std::size_t r) const { return rows + r * block.columns + first; }

  // A bit for each number of a row that may be other than zero.
  HWY_INLINE std::uint64_t bits(std::size_t r) const {
    if constexpr (sizeof(X) == 1) {
      if (block.columns >= kWordColumns)  // a last word that is not full ends where the row ends
        return nonzero_bits(row(r) + count - kWordColumns) >> (kWordColumns - count);
      std::uint8_t padded[kWordColumns] = {};
      std::copy_n(row(r), count, padded);
      return nonzero_bits(padded);
    } else {
      const std::uint64_t all = ~std::uint64_t{0} >> (kWordColumns - count);
      if (block.chunks == nullptr) return all;
      constexpr std::uint64_t kChunkOnes = (std::uint64_t{1} << kChunk) - 1;
      std::uint64_t out = 0;
      for (std::size_t i = 0; i < count; i += kChunk) {
        const std::size_t chunk = (first + i) / kChunk;
        if (chunk >= block.columns / kChunk ||
            (block.chunks[r * chunk_words(block.columns) + chunk / 64] >> (chunk % 64) & 1) != 0)
          out |= kChunkOnes << i;
      }
      return out & all;
    }
  }

  // The numbers of a row as T; what is behind the last is left as it is.
  HWY_INLINE void convert(std::size_t r, T* to) const {
    const X* x = row(r);
    std::size_t i = 0;
    for (; i + kLanes<T> <= count; i += kLanes<T>) Lanes<T>::load(x + i).store(to + i);
    if (i == count) return;
    if (count > kLanes<T>) return Lanes<T>::load(x + count - kLanes<T>).store(to + count - kLanes<T>);
    for (; i < count; ++i) to[i] = static_cast<T>(x[i]);
  }
};

// A panel of the parameters or of the gradient: `classes` numbers per column. In the first `readable` columns all of the
// panel's width can be read without leaving the array.
template <class T>
struct PanelOfMatrix {
  T* numbers;
  std::size_t stride, classes, readable;

  template <class P>
  static PanelOfMatrix of(T* all, std::size_t columns, std::size_t all_classes, bool intercept,
                          std::size_t first) {
    const std::size_t size = softmax_size(columns, all_classes, intercept), end = first + P::kWidth;
    return {all + first, all_classes, std::min(P::kWidth, all_classes - first),
            end > size ? 0 : std::min(columns, (size - end) / all_classes + 1)};
  }
  Strided<T> at(std::size_t column) const { return {numbers + column * stride, stride}; }
};

// sums += x * w over the columns of a word whose bits are set, for kRows rows. Rows of x have kWordColumns numbers, those of
// sums the panel's width.
template <class P, std::size_t kRows, class T>
HWY_NOINLINE void multiply_tile(std::uint64_t columns, const T* x, Strided<const T> w, T* sums) {
  P sum[kRows];
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) sum[r] = P::load(sums + r * P::kWidth);
  for (; columns != 0; columns &= columns - 1) {
    const auto j = static_cast<std::size_t>(std::countr_zero(columns));
    const P weights = P::load(w.numbers + j * w.stride);
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      sum[r].accumulate(hn::Set(typename P::D(), x[r * kWordColumns + j]), weights);
  }
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) sum[r].store(sums + r * P::kWidth);
}

// The first n numbers of g[j] += sum_r x[r][j] * c[r] for the columns j whose bits are set; rows of c have the panel's width.
template <class P, std::size_t kRows, class T>
HWY_NOINLINE void add_tile(std::uint64_t columns, const T* x, const T* c, std::size_t n, Strided<T> g) {
  P factors[kRows];
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) factors[r] = P::load(c + r * P::kWidth);
  for (; columns != 0; columns &= columns - 1) {
    const auto j = static_cast<std::size_t>(std::countr_zero(columns));
    P sum = P::load(g.numbers + j * g.stride);
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r)
      sum.accumulate(hn::Set(typename P::D(), x[r * kWordColumns + j]), factors[r]);
    sum.store_first(g.numbers + j * g.stride, n);
  }
}

// body(the number of rows as a constant)
template <std::size_t kRows, class F>
HWY_INLINE void with_rows(std::size_t rows, F body) {
  if constexpr (kRows > 1)
    if (rows < kRows) return with_rows<kRows - 1>(rows, body);
  body(std::integral_constant<std::size_t, kRows>());
}

// body(first row, rows as a constant, bits of the columns to add, x) for tiles of `rows` rows from `first_row` on.
template <class P, class T, class X, class F>
HWY_INLINE void for_tiles(const WordOfRows<T, X>& word, std::size_t first_row, std::size_t rows, F body) {
  HWY_ALIGN T x[P::kTileRows * kWordColumns];
  for_equal_parts(rows, kUnitRows, [&](std::size_t unit, std::size_t unit_rows) HWY_ATTR {
    std::uint64_t columns = 0;
    for (std::size_t r = 0; r < unit_rows; ++r) columns |= word.bits(first_row + unit + r);
    if (columns == 0) return;
    for_equal_parts(unit_rows, P::kTileRows, [&](std::size_t tile, std::size_t n) HWY_ATTR {
      const std::size_t first = unit + tile;
      for (std::size_t r = 0; r < n; ++r) word.convert(first_row + first + r, x + r * kWordColumns);
      with_rows<P::kTileRows>(n,
                              [&](auto constant_rows) HWY_ATTR { body(first, constant_rows, columns, x); });
    });
  });
}

// sums += products of `count` dense rows of a block, from row `first` on.
template <class P, class T, class X>
HWY_NOINLINE void multiply_rows(const RowBlock<T>& block, const X* rows, std::size_t first, std::size_t count,
                                const PanelOfMatrix<const T>& panel, T* sums) {
  HWY_ALIGN T copy[kWordColumns * P::kWidth];
  for (std::size_t column = 0; column < block.columns; column += kWordColumns) {
    const WordOfRows<T, X> word{block, rows, column, std::min(kWordColumns, block.columns - column)};
    Strided<const T> w = panel.at(column);
    if (count > kUnitRows || column + word.count > panel.readable) {
      pad_rows<P>(word.count, panel.classes, w, copy);
      w = {copy, P::kWidth};
    }
    for_tiles<P>(word, first, count,
                 [&](std::size_t r, auto tile_rows, std::uint64_t columns, const T* x) HWY_ATTR {
                   multiply_tile<P, decltype(tile_rows)::value>(columns, x, w, sums + r * P::kWidth);
                 });
  }
}

// gradient += the sum of `count` dense rows of a block, from row `first` on, times their coefficients: rows of the panel's width.
template <class P, class T, class X>
HWY_NOINLINE void add_rows_of_panel(const RowBlock<T>& block, const X* rows, std::size_t first,
                                    std::size_t count, const T* c, const PanelOfMatrix<T>& gradient) {
  HWY_ALIGN T copy[kWordColumns * P::kWidth];
  for (std::size_t column = 0; column < block.columns; column += kWordColumns) {
    const WordOfRows<T, X> word{block, rows, column, std::min(kWordColumns, block.columns - column)};
    const Strided<T> there = gradient.at(column);
    const bool copied = count > kUnitRows || column + word.count > gradient.readable;
    if (copied)
      pad_rows<P>(word.count, gradient.classes, Strided<const T>{there.numbers, there.stride}, copy);
    const Strided<T> g = copied ? Strided<T>{copy, P::kWidth} : there;
    const std::size_t classes = copied ? P::kWidth : gradient.classes;
    for_tiles<P>(word, first, count,
                 [&](std::size_t r, auto tile_rows, std::uint64_t columns, const T* x) HWY_ATTR {
                   add_tile<P, decltype(tile_rows)::value>(columns, x, c + r * P::kWidth, classes, g);
                 });
    if (copied) copy_rows<P::kWidth>(word.count, gradient.classes, Strided<const T>{copy, P::kWidth}, there);
  }
}

// The same for sparse rows. In columns that are not readable a copy is read.
template <class P, class T>
HWY_NOINLINE void multiply_sparse_rows(const RowBlock<T>& block, std::size_t first, std::size_t count,
                                       const PanelOfMatrix<const T>& panel, T* sums) {
  HWY_ALIGN T copy[P::kWidth];
  for (std::size_t r = 0; r < count; ++r) {
    P sum = P::load(sums + r * P::kWidth);
    for (std::uint64_t i = block.starts[first + r]; i < block.starts[first + r + 1]; ++i) {
      const Strided<const T> there = panel.at(block.positions[i]);
      const bool readable = block.positions[i] < panel.readable;
      if (!readable) pad_rows<P>(1, panel.classes, there, copy);
      sum.accumulate(hn::Set(typename P::D(), block.values[i]), P::load(readable ? there.numbers : copy));
    }
    sum.store(sums + r * P::kWidth);
  }
}

template <class P, class T>
HWY_NOINLINE void add_sparse_rows(const RowBlock<T>& block, std::size_t first, std::size_t count, const T* c,
                                  const PanelOfMatrix<T>& gradient) {
  HWY_ALIGN T copy[P::kWidth];
  for (std::size_t r = 0; r < count; ++r) {
    const P factors = P::load(c + r * P::kWidth);
    for (std::uint64_t i = block.starts[first + r]; i < block.starts[first + r + 1]; ++i) {
      T* g = gradient.at(block.positions[i]).numbers;
      const bool readable = block.positions[i] < gradient.readable;
      if (!readable) pad_rows<P>(1, gradient.classes, Strided<const T>{g, 0}, copy);
      P sum = P::load(readable ? g : copy);
      sum.accumulate(hn::Set(typename P::D(), block.values[i]), factors);
      sum.store_first(g, gradient.classes);
    }
  }
}

// body(first, count) for groups of rows. If there are several panels, many rows share a copy of one; if not, nothing is copied,
// and a few rows at a time are read from end to end.
template <class P, class F>
HWY_INLINE void for_groups(std::size_t rows, std::size_t classes, F body) {
  for_equal_parts(rows, kGroupRows, [&](std::size_t first, std::size_t count) HWY_ATTR {
    if (classes > P::kWidth) return body(first, count);
    for_equal_parts(count, kUnitRows,
                    [&](std::size_t unit, std::size_t n) HWY_ATTR { body(first + unit, n); });
  });
}

template <class T>
void softmax_logits(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* w, T* z) {
  for_panels<T>(classes, [&](auto chosen, std::size_t first_class) HWY_ATTR {
    using P = decltype(chosen);
    using D = typename P::D;
    const auto panel =
        PanelOfMatrix<const T>::template of<P>(w, block.columns, classes, intercept, first_class);
    HWY_ALIGN T intercepts[P::kWidth] = {};
    if (intercept) std::copy_n(panel.at(block.columns).numbers, panel.classes, intercepts);
    for_groups<P>(block.rows, classes, [&](std::size_t first, std::size_t count) HWY_ATTR {
      HWY_ALIGN T sums[kGroupRows * P::kWidth];
      std::fill_n(sums, count * P::kWidth, T{0});
      switch (block.kind) {
        case RowKind::kBytes: multiply_rows<P>(block, block.bytes, first, count, panel, sums); break;
        case RowKind::kDense: multiply_rows<P>(block, block.values, first, count, panel, sums); break;
        case RowKind::kSparse: multiply_sparse_rows<P>(block, first, count, panel, sums); break;
      }
      const auto scale = hn::Set(D(), block.scale);
      for (std::size_t i = 0; i < count * P::kWidth; i += P::kStep) {
        const auto chain = hn::Load(D(), sums + i), bias = hn::Load(D(), intercepts + i % P::kWidth);
        hn::Store(intercept ? fused(scale, chain, bias) : hn::Mul(scale, chain), D(), sums + i);
      }
      copy_rows<P::kWidth>(count, panel.classes, Strided<const T>{sums, P::kWidth},
                           Strided<T>{z + first * classes + first_class, classes});
    });
  });
}

template <class T>
void softmax_add_rows(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c, T* g) {
  for_panels<T>(classes, [&](auto chosen, std::size_t first_class) HWY_ATTR {
    using P = decltype(chosen);
    const auto panel = PanelOfMatrix<T>::template of<P>(g, block.columns, classes, intercept, first_class);
    for_groups<P>(block.rows, classes, [&](std::size_t first, std::size_t count) HWY_ATTR {
      HWY_ALIGN T factors[kGroupRows * P::kWidth], intercepts[P::kWidth];
      pad_rows<P>(count, panel.classes, Strided<const T>{c + first * classes + first_class, classes},
                  factors);
      switch (block.kind) {
        case RowKind::kBytes: add_rows_of_panel<P>(block, block.bytes, first, count, factors, panel); break;
        case RowKind::kDense: add_rows_of_panel<P>(block, block.values, first, count, factors, panel); break;
        case RowKind::kSparse: add_sparse_rows<P>(block, first, count, factors, panel); break;
      }
      if (!intercept) return;
      T* last = panel.at(block.columns).numbers;
      pad_rows<P>(1, panel.classes, Strided<const T>{last, 0}, intercepts);
      P sum = P::load(intercepts);
      for (std::size_t r = 0; r < count; ++r)
        sum.accumulate(hn::Set(typename P::D(), T{1}), P::load(factors + r * P::kWidth));
      sum.store_first(last, panel.classes);
    });
  });
}

// The sums of the rows of one tile and of one word of columns, from zero on, finished. `g` and `w` have room for a whole panel
// behind every column: what is written behind the classes of a column is what the next one has where all rows are zero, and
// columns ascend. So coefficients behind the classes are zero, and features finite.
template <class P, std::size_t kRows, class T>
HWY_NOINLINE void write_tile(std::uint64_t columns, std::size_t count, const T* x, const T* c,
                             const SoftmaxFinish<T>& finish, std::size_t first, std::size_t stride, T* g) {
  using D = typename P::D;
  const auto factor = hn::Set(D(), finish.factor), lambda = hn::Set(D(), finish.lambda);
  const T* w = finish.w + first * stride;
  T* to = g + first * stride;
  const auto finished = [&](typename P::V sum, std::size_t at)
                            HWY_ATTR { return fused(lambda, hn::LoadU(D(), w + at), hn::Mul(factor, sum)); };
  const auto zero = hn::Zero(D());
  const std::size_t size = count * stride;
  std::size_t at = 0;
  for (; at + P::kStep <= size; at += P::kStep) hn::StoreU(finished(zero, at), D(), to + at);
  for (; at < size; ++at) to[at] = fused_scalar(finish.lambda, w[at], finish.factor * T{0});
  P factors[kRows];
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) factors[r] = P::load(c + r * P::kWidth);
  for (; columns != 0; columns &= columns - 1) {
    const auto j = static_cast<std::size_t>(std::countr_zero(columns));
    P sum;
    MFL_UNROLL
    for (std::size_t v = 0; v < P::kVectors; ++v) sum.part[v] = zero;
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) sum.accumulate(hn::Set(D(), x[r * kWordColumns + j]), factors[r]);
    MFL_UNROLL
    for (std::size_t v = 0; v < P::kVectors; ++v)
      hn::StoreU(finished(sum.part[v], j * stride + v * P::kStep), D(), to + j * stride + v * P::kStep);
  }
}

// softmax_gradient for rows of bytes that fit one tile, classes that fit one panel, and an intercept, which leaves room for a panel
// behind the last column. Returns false, having written nothing, for others.
template <class T>
bool softmax_gradient_of_tile(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c,
                              const SoftmaxFinish<T>& finish, T* g) {
  bool written = false;
  for_panels<T>(classes, [&](auto chosen, std::size_t first_class) HWY_ATTR {
    using P = decltype(chosen);
    const auto panel = PanelOfMatrix<T>::template of<P>(g, block.columns, classes, intercept, first_class);
    if (first_class != 0 || classes > P::kWidth || block.kind != RowKind::kBytes || !intercept ||
        block.rows > P::kTileRows || panel.readable < block.columns)
      return;
    HWY_ALIGN T factors[P::kTileRows * P::kWidth];
    pad_rows<P>(block.rows, classes, Strided<const T>{c, classes}, factors);
    HWY_ALIGN T x[P::kTileRows * kWordColumns];
    for (std::size_t column = 0; column < block.columns; column += kWordColumns) {
      const WordOfRows<T, std::uint8_t> word{block, block.bytes, column,
                                             std::min(kWordColumns, block.columns - column)};
      std::uint64_t columns = 0;
      for (std::size_t r = 0; r < block.rows; ++r) columns |= word.bits(r);
      if (columns != 0)
        for (std::size_t r = 0; r < block.rows; ++r) word.convert(r, x + r * kWordColumns);
      with_rows<P::kTileRows>(block.rows, [&](auto rows) HWY_ATTR {
        write_tile<P, decltype(rows)::value>(columns, word.count, x, factors, finish, column, classes, g);
      });
    }
    P sum;
    MFL_UNROLL
    for (std::size_t v = 0; v < P::kVectors; ++v) sum.part[v] = hn::Zero(typename P::D());
    for (std::size_t r = 0; r < block.rows; ++r)
      sum.accumulate(hn::Set(typename P::D(), T{1}), P::load(factors + r * P::kWidth));
    HWY_ALIGN T sums[P::kWidth];
    sum.store(sums);
    const std::size_t weights = block.columns * classes;
    for (std::size_t k = 0; k < classes; ++k)
      g[weights + k] = fused_scalar(T{0}, finish.w[weights + k], finish.intercept_factor * sums[k]);
    written = true;
  });
  return written;
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
