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

// A word of columns of dense rows, of bytes or of numbers: `count` columns from `first` on.
template <class T>
struct WordOfRows {
  const RowBlock<T>& block;
  std::size_t first, count;

  WordOfRows(const RowBlock<T>& rows, std::size_t column)
      : block(rows), first(column), count(std::min(kWordColumns, rows.columns - column)) {}
};

// A bit for each of 64 bytes that is not zero in all of the rows, which are `stride` bytes apart.
HWY_INLINE std::uint64_t nonzero_bits(const std::uint8_t* rows, std::size_t count, std::size_t stride) {
  static_assert(std::endian::native == std::endian::little);
  using D = hn::CappedTag<std::uint8_t, kWordColumns>;
  std::uint64_t word = 0;
  if constexpr (hn::MaxLanes(D()) >= 8) {
    MFL_UNROLL
    for (std::size_t i = 0; i < kWordColumns; i += hn::MaxLanes(D())) {
      auto any = hn::Zero(D());
      for (std::size_t r = 0; r < count; ++r) any = hn::Or(any, hn::LoadU(D(), rows + r * stride + i));
      std::uint64_t bits = 0;  // a vector's bits are written with up to 8 bytes
      hn::StoreMaskBits(D(), hn::Ne(any, hn::Zero(D())), reinterpret_cast<std::uint8_t*>(&bits));
      word |= bits << i;
    }
  } else {
    std::uint8_t any[kWordColumns] = {};
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < kWordColumns; ++i) any[i] |= rows[r * stride + i];
    for (std::size_t i = 0; i < kWordColumns; ++i) word |= std::uint64_t{any[i] != 0} << i;
  }
  return word;
}

// The same for rows of fewer bytes than a word, and for numbers, by their chunks.
template <class T>
HWY_NOINLINE std::uint64_t nonzero_bits_of_others(const WordOfRows<T>& word, std::size_t first,
                                                  std::size_t rows) {
  const RowBlock<T>& block = word.block;
  const std::uint64_t all = ~std::uint64_t{0} >> (kWordColumns - word.count);
  std::uint64_t out = 0;
  if (block.kind == RowKind::kBytes) {
    std::uint8_t any[kWordColumns] = {};
    for (std::size_t r = first; r < first + rows; ++r)
      for (std::size_t i = 0; i < word.count; ++i) any[i] |= block.bytes[r * block.columns + i];
    return nonzero_bits(any, 1, 0);
  }
  if (block.chunks == nullptr) return all;
  constexpr std::uint64_t kChunkOnes = (std::uint64_t{1} << kChunk) - 1;
  const std::size_t words = chunk_words(block.columns);
  for (std::size_t i = 0; i < word.count; i += kChunk) {
    const std::size_t chunk = (word.first + i) / kChunk;
    std::uint64_t any = chunk < block.columns / kChunk ? 0 : 1;
    for (std::size_t r = first; r < first + rows && any == 0; ++r)
      any = block.chunks[r * words + chunk / 64] >> (chunk % 64) & 1;
    if (any != 0) out |= kChunkOnes << i;
  }
  return out & all;
}

// A bit for each column in which one of `rows` rows from `first` on may be other than zero.
template <class T>
HWY_INLINE std::uint64_t columns_of_rows(const WordOfRows<T>& word, std::size_t first, std::size_t rows) {
  const RowBlock<T>& block = word.block;
  if (block.kind != RowKind::kBytes || block.columns < kWordColumns)
    return nonzero_bits_of_others(word, first, rows);
  // A last word that is not full ends where the row ends.
  const std::uint8_t* end = block.bytes + first * block.columns + word.first + word.count;
  return nonzero_bits(end - kWordColumns, rows, block.columns) >> (kWordColumns - word.count);
}

// The numbers of `rows` rows from x on as rows of kWordColumns; what is behind the last is left as it is.
template <class T, class X>
HWY_NOINLINE void convert_numbers(const WordOfRows<T>& word, const X* x, std::size_t rows, T* to) {
  const std::size_t count = word.count, stride = word.block.columns;
  if (count < kLanes<T>) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < count; ++i) to[r * kWordColumns + i] = static_cast<T>(x[r * stride + i]);
    return;
  }
  for (std::size_t r = 0; r < rows; ++r, x += stride, to += kWordColumns) {
    for (std::size_t i = 0; i + kLanes<T> <= count; i += kLanes<T>) Lanes<T>::load(x + i).store(to + i);
    const std::size_t last = count - kLanes<T>;
    if (count % kLanes<T> != 0) Lanes<T>::load(x + last).store(to + last);
  }
}

template <class T>
HWY_INLINE void convert_rows(const WordOfRows<T>& word, std::size_t first, std::size_t rows, T* to) {
  const std::size_t from = first * word.block.columns + word.first;
  if (word.block.kind == RowKind::kBytes) return convert_numbers(word, word.block.bytes + from, rows, to);
  convert_numbers(word, word.block.values + from, rows, to);
}

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

// The first n numbers of g[j] += sum_r x[r][j] * c[r] for the columns j whose bits are set; rows of c have the panel's width. With
// `finish`, whose w belongs to the first column of the word, writes all numbers of the sums from zero on, finished.
template <class P, std::size_t kRows, class T>
HWY_NOINLINE void add_tile(std::uint64_t columns, const T* x, const T* c, std::size_t n, Strided<T> g,
                           const SoftmaxFinish<T>* finish) {
  using D = typename P::D;
  P factors[kRows];
  MFL_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) factors[r] = P::load(c + r * P::kWidth);
  for (; columns != 0; columns &= columns - 1) {
    const auto j = static_cast<std::size_t>(std::countr_zero(columns));
    T* to = g.numbers + j * g.stride;
    P sum = finish == nullptr ? P::load(to) : P::zero();
    MFL_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) sum.accumulate(hn::Set(D(), x[r * kWordColumns + j]), factors[r]);
    if (finish == nullptr) {
      sum.store_first(to, n);
    } else {
      P out = P::load(finish->w + j * g.stride);
      out.finish(hn::Set(D(), finish->factor), hn::Set(D(), finish->lambda), sum);
      out.store(to);
    }
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
template <class P, class T, class F>
HWY_INLINE void for_tiles(const WordOfRows<T>& word, std::size_t first_row, std::size_t rows, F body) {
  HWY_ALIGN T x[P::kTileRows * kWordColumns];
  for_equal_parts(rows, kUnitRows, [&](std::size_t unit, std::size_t unit_rows) HWY_ATTR {
    const std::uint64_t columns = columns_of_rows(word, first_row + unit, unit_rows);
    if (columns == 0) return;
    for_equal_parts(unit_rows, P::kTileRows, [&](std::size_t tile, std::size_t n) HWY_ATTR {
      const std::size_t first = unit + tile;
      convert_rows(word, first_row + first, n, x);
      with_rows<P::kTileRows>(n,
                              [&](auto constant_rows) HWY_ATTR { body(first, constant_rows, columns, x); });
    });
  });
}

// sums += products of `count` dense rows of a block, from row `first` on.
template <class P, class T>
HWY_NOINLINE void multiply_rows(const RowBlock<T>& block, std::size_t first, std::size_t count,
                                const PanelOfMatrix<const T>& panel, T* sums) {
  HWY_ALIGN T copy[kWordColumns * P::kWidth];
  for (std::size_t column = 0; column < block.columns; column += kWordColumns) {
    const WordOfRows<T> word(block, column);
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

// What a gradient has where all rows are zero.
template <class T>
HWY_NOINLINE void write_zeros(std::size_t size, const SoftmaxFinish<T>& finish, T* g) {
  const Tag<T> tag;
  constexpr std::size_t kStep = hn::MaxLanes(tag);
  const auto zero = hn::Set(tag, finish.factor * T{0}), lambda = hn::Set(tag, finish.lambda);
  std::size_t at = 0;
  for (; at + kStep <= size; at += kStep)
    hn::StoreU(fused(lambda, hn::LoadU(tag, finish.w + at), zero), tag, g + at);
  for (; at < size; ++at) g[at] = fused_scalar(finish.lambda, finish.w[at], finish.factor * T{0});
}

// gradient += the sum of `count` dense rows of a block, from row `first` on, times their coefficients: rows of the panel's width.
// With `finish`, writes that sum, finished: only for rows and classes that fits_one_tile accepts. What add_tile then writes behind
// the classes of a column is what the next one has where all rows are zero, and columns ascend.
template <class P, class T>
HWY_NOINLINE void add_rows_of_panel(const RowBlock<T>& block, std::size_t first, std::size_t count,
                                    const T* c, const PanelOfMatrix<T>& gradient,
                                    const SoftmaxFinish<T>* finish) {
  HWY_ALIGN T copy[kWordColumns * P::kWidth];
  for (std::size_t column = 0; column < block.columns; column += kWordColumns) {
    const WordOfRows<T> word(block, column);
    const Strided<T> there = gradient.at(column);
    const bool copied = count > kUnitRows || column + word.count > gradient.readable;
    if (copied)
      pad_rows<P>(word.count, gradient.classes, Strided<const T>{there.numbers, there.stride}, copy);
    const Strided<T> g = copied ? Strided<T>{copy, P::kWidth} : there;
    const std::size_t classes = copied ? P::kWidth : gradient.classes;
    SoftmaxFinish<T> from_here{};
    if (finish != nullptr) {
      from_here = *finish;
      from_here.w += column * gradient.stride;
      write_zeros(word.count * gradient.stride, from_here, g.numbers);
    }
    for_tiles<P>(word, first, count,
                 [&](std::size_t r, auto tile_rows, std::uint64_t columns, const T* x) HWY_ATTR {
                   add_tile<P, decltype(tile_rows)::value>(columns, x, c + r * P::kWidth, classes, g,
                                                           finish == nullptr ? nullptr : &from_here);
                 });
    if (copied) unpad_rows<P>(word.count, gradient.classes, copy, there);
  }
}

// Whether add_rows_of_panel can finish a gradient: rows of bytes, which are finite, that fit one tile, classes that fit one panel,
// and an intercept, which leaves room for a panel behind the last column.
template <class T>
bool fits_one_tile(const RowBlock<T>& block, std::size_t classes, bool intercept) {
  bool fits = false;
  for_panels<T>(classes, [&](auto chosen, std::size_t first_class) {
    using P = decltype(chosen);
    fits = first_class == 0 && classes <= P::kWidth && P::kWidth <= 2 * classes && intercept &&
           block.kind == RowKind::kBytes && block.rows <= P::kTileRows;
  });
  return fits;
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
      if (block.kind == RowKind::kSparse) {
        multiply_sparse_rows<P>(block, first, count, panel, sums);
      } else {
        multiply_rows<P>(block, first, count, panel, sums);
      }
      const auto scale = hn::Set(D(), block.scale);
      for (std::size_t i = 0; i < count * P::kWidth; i += P::kStep) {
        const auto chain = hn::Load(D(), sums + i), bias = hn::Load(D(), intercepts + i % P::kWidth);
        hn::Store(intercept ? fused(scale, chain, bias) : hn::Mul(scale, chain), D(), sums + i);
      }
      unpad_rows<P>(count, panel.classes, sums, Strided<T>{z + first * classes + first_class, classes});
    });
  });
}

template <class T>
void add_rows_of_classes(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c,
                         const SoftmaxFinish<T>* finish, T* g) {
  for_panels<T>(classes, [&](auto chosen, std::size_t first_class) HWY_ATTR {
    using P = decltype(chosen);
    const auto panel = PanelOfMatrix<T>::template of<P>(g, block.columns, classes, intercept, first_class);
    for_groups<P>(block.rows, classes, [&](std::size_t first, std::size_t count) HWY_ATTR {
      HWY_ALIGN T factors[kGroupRows * P::kWidth], intercepts[P::kWidth];
      pad_rows<P>(count, panel.classes, Strided<const T>{c + first * classes + first_class, classes},
                  factors);
      if (block.kind == RowKind::kSparse) {
        add_sparse_rows<P>(block, first, count, factors, panel);
      } else {
        add_rows_of_panel<P>(block, first, count, factors, panel, finish);
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

template <class T>
void softmax_add_rows(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c, T* g) {
  add_rows_of_classes<T>(block, classes, intercept, c, nullptr, g);
}

template <class T>
void softmax_gradient(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c,
                      const SoftmaxFinish<T>& finish, T* g) {
  const std::size_t weights = softmax_size(block.columns, classes, false);
  const bool at_once = fits_one_tile(block, classes, intercept);
  std::fill(g + (at_once ? weights : 0), g + softmax_size(block.columns, classes, intercept), T{0});
  add_rows_of_classes(block, classes, intercept, c, at_once ? &finish : nullptr, g);
  if (!at_once) finish_numbers(weights, finish.factor, finish.lambda, finish.w, g);
  if (intercept) finish_numbers(classes, finish.intercept_factor, T{0}, finish.w + weights, g + weights);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
