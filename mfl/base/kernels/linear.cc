// Linear models: margins, losses and gradients of dense and sparse rows.
#include <algorithm>

#include "mfl/base/kernels/targets-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/linear.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/batched-inl.h"
#include "mfl/base/kernels/dense-inl.h"
#include "mfl/base/kernels/losses-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {
namespace {

// The position of number j of a setting in packed weights; the weights of a single setting are not packed.
template <class T>
HWY_INLINE std::size_t packed_place(std::size_t j, std::size_t columns, std::size_t settings,
                                    std::size_t setting) {
  if (settings == 1) return j;
  const std::size_t first = setting / kPackedGroup<T> * kPackedGroup<T>;
  const std::size_t size = std::min(kPackedGroup<T>, settings - first);
  return first * padded_columns(columns) + (j / kChunk * size + setting - first) * kChunk + j % kChunk;
}

template <class T>
HWY_INLINE T sparse_margin(const T* values, const std::uint32_t* positions, std::size_t n, const T* w,
                           std::size_t columns, std::size_t settings, std::size_t setting) {
  HWY_ALIGN T sums[kLanes<T>] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t j = positions[i];
    T& sum = sums[j % kLanes<T>];
    sum = fused_scalar(values[i], w[packed_place<T>(j, columns, settings, setting)], sum);
  }
  return tree(Lanes<T>::load(sums));
}

// Up to kTile rows of a sparse block.
template <class T>
struct SparseTile {
  const RowBlock<T>& block;
  std::size_t first, count;

  std::uint64_t begin(std::size_t r) const { return block.starts[first + r]; }
  std::uint64_t end(std::size_t r) const { return block.starts[first + r + 1]; }
};

template <class T>
HWY_INLINE void sparse_tile_margins(const SparseTile<T>& tile, std::size_t settings, const T* w, double* z) {
  for (std::size_t s = 0; s < settings; ++s)
    for (std::size_t r = 0; r < tile.count; ++r)
      z[s * kTile + r] = static_cast<double>(
          tile.block.scale * sparse_margin(tile.block.values + tile.begin(r),
                                           tile.block.positions + tile.begin(r), tile.end(r) - tile.begin(r),
                                           w, tile.block.columns, settings, s));
}

template <class T>
HWY_INLINE void sparse_tile_gradient(const SparseTile<T>& tile, std::size_t settings, const T* c,
                                     T* const* g) {
  for (std::size_t s = 0; s < settings; ++s)
    for (std::size_t r = 0; r < tile.count; ++r) {
      if (c[s * kTile + r] == 0) continue;
      for (std::uint64_t i = tile.begin(r); i < tile.end(r); ++i) {
        T& sum = g[s][tile.block.positions[i]];
        sum = fused_scalar(c[s * kTile + r], tile.block.values[i], sum);
      }
    }
}

// Losses of n <= kTile samples, added up.
template <class T>
HWY_NOINLINE double tile_losses(Loss loss, std::size_t n, const double* z, const T* y, T* coefficients) {
  HWY_ALIGN double value[kTile];
  if (n == kTile) {
    losses_8(loss, z, y, value, coefficients);
  } else {
    double margin[kTile] = {};
    T target[kTile] = {}, derivative[kTile];
    std::copy_n(z, n, margin);
    std::copy_n(y, n, target);
    losses_8(loss, margin, target, value, derivative);
    std::copy_n(derivative, n, coefficients);
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += value[i];
  return sum;
}

// The loop over the tiles of a block, kRows rows of them at a time. `margins_of(first, z)` and
// `add_gradient(first, c)` know the form of the rows; tiles follow each other in z and c.
template <std::size_t kRows, class T, class MarginsOf, class AddGradient>
HWY_INLINE void block_pass(const RowBlock<T>& block, Loss loss, const T* y, std::size_t settings,
                           double* loss_sums, MarginsOf margins_of, AddGradient add_gradient) {
  for (std::size_t s = 0; s < settings; ++s) loss_sums[s] = 0;
  for (std::size_t first = 0; first < block.rows; first += kRows) {
    const std::size_t end = std::min(first + kRows, block.rows);
    double z[kMaxBatch * kRows];
    T c[kMaxBatch * kRows];
    margins_of(first, z);
    for (std::size_t tile = first; tile < end; tile += kTile)
      for (std::size_t s = 0; s < settings; ++s) {
        const std::size_t at = (tile - first) * settings + s * kTile;
        loss_sums[s] += tile_losses(loss, std::min(kTile, end - tile), z + at, y + tile, c + at);
      }
    add_gradient(first, c);
  }
}

template <class T, class X>
HWY_INLINE void dense_pass(const RowBlock<T>& block, const X* rows, Loss loss, const T* y,
                           std::size_t settings, const T* w, T* const* g, double* loss_sums) {
  if (settings == 1)
    return block_pass<kTile>(
        block, loss, y, 1, loss_sums,
        [&](std::size_t first, double* z)
            HWY_ATTR { margins_alone(dense_tile(block, rows, first), block.scale, w, z); },
        [&](std::size_t first, const T* c)
            HWY_ATTR { gradient_alone(dense_tile(block, rows, first), c, g[0]); });
  // Where each row goes alone, the branches over its chunks are predicted only if it is soon read again.
  constexpr std::size_t kRows = kRowsAtOnce > 1 ? kRowsTogether : kTile;
  block_pass<kRowsTogether>(
      block, loss, y, settings, loss_sums,
      [&](std::size_t first, double* z) HWY_ATTR {
        const std::size_t end = std::min(first + kRowsTogether, block.rows);
        for (std::size_t row = first; row < end; row += kRows)
          margins_together(dense_tile(block, rows, row, kRows), block.scale, settings, w,
                           z + (row - first) * settings);
      },
      [&](std::size_t first, const T* c) HWY_ATTR {
        const auto tile = dense_tile(block, rows, first, kRowsTogether);
        if constexpr (kSettingsAtOnce > 1) return gradient_together(tile, settings, c, g);
        for (std::size_t s = 0; s < settings; ++s) gradient_alone(tile, c + s * kTile, g[s]);
      });
}

// The same for bytes and one setting: a whole tile is converted once, and its gradient taken from there if
// half of its rows or more have a coefficient.
template <class T>
HWY_INLINE void bytes_pass(const RowBlock<T>& block, Loss loss, const T* y, const T* w, T* g,
                           double* loss_sum) {
  KeptTile kept;
  block_pass<kTile>(
      block, loss, y, 1, loss_sum,
      [&](std::size_t first, double* z) HWY_ATTR {
        const auto tile = dense_tile(block, block.bytes, first);
        if (!is_whole(tile)) return margins_alone(tile, block.scale, w, z);
        margins_of_tile(tile, block.scale, w, z, &kept);
      },
      [&](std::size_t first, const T* c) HWY_ATTR {
        const auto tile = dense_tile(block, block.bytes, first);
        if (!is_whole(tile) || 2 * std::count(c, c + kTile, T{0}) > std::ptrdiff_t{kTile})
          return gradient_alone(tile, c, g);
        gradient_of_kept(tile, kept, c, g);
      });
}

template <class T>
void loss_and_gradient(const RowBlock<T>& block, Loss loss, const T* y, std::size_t settings, const T* w,
                       T* const* g, double* loss_sums) {
  switch (block.kind) {
    case RowKind::kBytes: {
      if constexpr (kGroup > 1)
        if (settings == 1 && block.columns / kChunk <= KeptTile::kMostChunks)
          return bytes_pass(block, loss, y, w, g[0], loss_sums);
      return dense_pass(block, block.bytes, loss, y, settings, w, g, loss_sums);
    }
    case RowKind::kDense: return dense_pass(block, block.values, loss, y, settings, w, g, loss_sums);
    case RowKind::kSparse: {
      const auto tile = [&](std::size_t first) {
        return SparseTile<T>{block, first, std::min(kTile, block.rows - first)};
      };
      block_pass<kTile>(
          block, loss, y, settings, loss_sums,
          [&](std::size_t first, double* z) HWY_ATTR { sparse_tile_margins(tile(first), settings, w, z); },
          [&](std::size_t first, const T* c) HWY_ATTR { sparse_tile_gradient(tile(first), settings, c, g); });
    }
  }
}

template <class T>
void pack(std::size_t columns, std::size_t settings, const T* const* w, T* packed) {
  for (std::size_t group = 0; group < settings; group += kPackedGroup<T>)
    for (std::size_t first = 0; first < columns; first += kChunk) {
      const std::size_t count = std::min(kChunk, columns - first);
      for (std::size_t s = group; s < std::min(group + kPackedGroup<T>, settings); ++s, packed += kChunk) {
        std::copy_n(w[s] + first, count, packed);
        std::fill(packed + count, packed + kChunk, T{0});
      }
    }
}

template <class T, class X>
HWY_INLINE void dense_margins(const RowBlock<T>& block, const X* rows, const T* w, double* z) {
  for (std::size_t first = 0; first < block.rows; first += kTile)
    margins_alone(dense_tile(block, rows, first), block.scale, w, z + first);
}

template <class T>
void margins(const RowBlock<T>& block, const T* w, double* z) {
  switch (block.kind) {
    case RowKind::kBytes: return dense_margins(block, block.bytes, w, z);
    case RowKind::kDense: return dense_margins(block, block.values, w, z);
    case RowKind::kSparse: {
      for (std::size_t first = 0; first < block.rows; first += kTile)
        sparse_tile_margins(SparseTile<T>{block, first, std::min(kTile, block.rows - first)}, 1, w,
                            z + first);
    }
  }
}

template <class T>
void add_rows(const RowBlock<T>& block, const T* c, T* g) {
  for (std::size_t first = 0; first < block.rows; first += kTile) {
    const std::size_t count = std::min(kTile, block.rows - first);
    T tile[kTile] = {};
    std::copy_n(c + first, count, tile);
    switch (block.kind) {
      case RowKind::kBytes: gradient_alone(dense_tile(block, block.bytes, first), tile, g); break;
      case RowKind::kDense: gradient_alone(dense_tile(block, block.values, first), tile, g); break;
      case RowKind::kSparse: sparse_tile_gradient(SparseTile<T>{block, first, count}, 1, tile, &g);
    }
  }
}

template <class T>
double losses(Loss loss, std::size_t n, const double* z, const T* y, T* coefficients) {
  double sum = 0;
  T unused[kTile];
  for (std::size_t i = 0; i < n; i += kTile)
    sum += tile_losses(loss, std::min(kTile, n - i), z + i, y + i,
                       coefficients == nullptr ? unused : coefficients + i);
  return sum;
}

template <class T>
void put(Kernels<T>& kernels) {
  kernels.margins = margins<T>;
  kernels.losses = losses<T>;
  kernels.pack = pack<T>;
  kernels.loss_and_gradient = loss_and_gradient<T>;
  kernels.add_rows = add_rows<T>;
}

}  // namespace

void put_linear(KernelSet& set) {
  put(set.f32);
  put(set.f64);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
