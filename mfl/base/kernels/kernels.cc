#include "mfl/base/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#define HWY_COMPILE_ALL_ATTAINABLE  // the portable set too
// Kept: AVX-512, AVX2, NEON and the portable emulation. The others lack a fused multiply-add or a fixed width.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/class_products-inl.h"
#include "mfl/base/kernels/dense-inl.h"
#include "mfl/base/kernels/digits-inl.h"
#include "mfl/base/kernels/hinge_bytes-inl.h"
#include "mfl/base/kernels/losses-inl.h"
#include "mfl/base/kernels/quotients-inl.h"
#include "mfl/base/kernels/rows_of_noise-inl.h"
#include "mfl/base/kernels/softmax-inl.h"

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
HWY_INLINE double tile_losses(Loss loss, std::size_t n, const double* z, const T* y, T* coefficients) {
  double margin[kTile] = {}, target[kTile] = {}, value[kTile], derivative[kTile];
  for (std::size_t i = 0; i < n; ++i) {
    margin[i] = z[i];
    target[i] = static_cast<double>(y[i]);
  }
  losses_8(loss, margin, target, value, derivative);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += value[i];
    if (coefficients != nullptr) coefficients[i] = static_cast<T>(derivative[i]);
  }
  return sum;
}

template <class T, class X>
DenseTile<X> dense_tile(const RowBlock<T>& block, const X* rows, std::size_t first) {
  return DenseTile<X>{rows, block.rows, block.columns, block.chunks}.part(
      first, std::min(kTile, block.rows - first));
}

// Asks for the rows of a tile while the one before it is worked on.
template <class T, class X>
HWY_INLINE void prefetch_tile(const RowBlock<T>& block, const X* rows, std::size_t first) {
  if (first >= block.rows) return;
  const auto* begin = reinterpret_cast<const char*>(rows + first * block.columns);
  const std::size_t size = std::min(kTile, block.rows - first) * block.columns * sizeof(X);
  for (std::size_t at = 0; at < size; at += 64) __builtin_prefetch(begin + at, 0, 2);
}

// The loop over the tiles of a block. `margins_of(first, z)` and `add_gradient(first, c)` know the form of the rows.
template <class T, class MarginsOf, class AddGradient>
HWY_INLINE void block_pass(const RowBlock<T>& block, Loss loss, const T* y, std::size_t settings,
                           double* loss_sums, MarginsOf margins_of, AddGradient add_gradient) {
  for (std::size_t s = 0; s < settings; ++s) loss_sums[s] = 0;
  for (std::size_t first = 0; first < block.rows; first += kTile) {
    const std::size_t count = std::min(kTile, block.rows - first);
    double z[kMaxBatch * kTile];
    T c[kMaxBatch * kTile];
    margins_of(first, z);
    for (std::size_t s = 0; s < settings; ++s)
      loss_sums[s] += tile_losses(loss, count, z + s * kTile, y + first, c + s * kTile);
    add_gradient(first, c);
  }
}

template <class T, class X>
HWY_INLINE void dense_pass(const RowBlock<T>& block, const X* rows, Loss loss, const T* y,
                           std::size_t settings, const T* w, T* const* g, double* loss_sums) {
  const auto margins_of = [&](std::size_t first, double* z) HWY_ATTR {
    if (block.chunks == nullptr) prefetch_tile(block, rows, first + kTile);
    dense_tile_margins(dense_tile(block, rows, first), block.scale, settings, w, z);
  };
  block_pass(block, loss, y, settings, loss_sums, margins_of, [&](std::size_t first, const T* c) HWY_ATTR {
    dense_tile_gradient(dense_tile(block, rows, first), settings, c, g);
  });
}

template <class T>
void loss_and_gradient(const RowBlock<T>& block, Loss loss, const T* y, std::size_t settings, const T* w,
                       T* const* g, double* loss_sums) {
  switch (block.kind) {
    case RowKind::kBytes: return dense_pass(block, block.bytes, loss, y, settings, w, g, loss_sums);
    case RowKind::kDense: return dense_pass(block, block.values, loss, y, settings, w, g, loss_sums);
    case RowKind::kSparse: {
      const auto tile = [&](std::size_t first) {
        return SparseTile<T>{block, first, std::min(kTile, block.rows - first)};
      };
      block_pass(
          block, loss, y, settings, loss_sums,
          [&](std::size_t first, double* z) HWY_ATTR { sparse_tile_margins(tile(first), settings, w, z); },
          [&](std::size_t first, const T* c) HWY_ATTR { sparse_tile_gradient(tile(first), settings, c, g); });
    }
  }
}

template <class T>
void loss_and_hinge_sums(const RowBlock<T>& block, const T* y, std::size_t settings, const T* w,
                         const HingeSums* hinge, double* loss_sums) {
  for (std::size_t s = 0; s < settings; ++s) loss_sums[s] = 0;
  double z[kMaxBatch * kTile] = {};  // a tile of few rows leaves the others at zero
  for (std::size_t first = 0; first < block.rows; first += kTile) {
    const DenseTile<std::uint8_t> tile = dense_tile(block, block.bytes, first);
    double targets[kTile] = {}, losses[kTile];
    for (std::size_t r = 0; r < tile.count; ++r) targets[r] = static_cast<double>(y[first + r]);
    dense_tile_margins(tile, block.scale, settings, w, z);
    for (std::size_t s = 0; s < settings; ++s) {
      const std::uint32_t active = hinge_8(z + s * kTile, targets, losses);
      double sum = 0;
      for (std::size_t r = 0; r < tile.count; ++r) sum += losses[r];
      loss_sums[s] += sum;
      follow_active_rows(tile, first, y + first, active, hinge[s]);
      for (std::size_t r = 0; r < tile.count; ++r)
        hinge[s].reach[first + r] =
            reach_of(targets[r] * z[s * kTile + r], block.lengths[first + r], hinge[s].travelled);
    }
  }
}

template <class T>
void follow_hinge_sums(const RowBlock<T>& block, const T* y, const T* w, const HingeSums& hinge,
                       double allowance) {
  const double limit = hinge.travelled + allowance;
  for (std::size_t first = 0; first < block.rows; first += kTile) {
    const DenseTile<std::uint8_t> tile = dense_tile(block, block.bytes, first);
    std::uint32_t look = 0;  // a reach or a limit that is NaN must be looked at
    for (std::size_t r = 0; r < tile.count; ++r)
      look |= static_cast<std::uint32_t>(!(static_cast<double>(hinge.reach[first + r]) > limit)) << r;
    if (look == 0) continue;
    std::uint32_t active = hinge.active[first / 32] >> (first % 32) & ((1U << kTile) - 1);
    for (; look != 0; look &= look - 1) {
      const auto r = static_cast<std::size_t>(std::countr_zero(look));
      double z = 0;
      dense_tile_margins(tile.part(r, 1), block.scale, 1, w, &z);
      const double margin = static_cast<double>(y[first + r]) * z;
      active = (active & ~(1U << r)) | static_cast<std::uint32_t>(!(margin >= 1)) << r;
      hinge.reach[first + r] = reach_of(margin, block.lengths[first + r], hinge.travelled);
    }
    follow_active_rows(tile, first, y + first, active, hinge);
  }
}

template <class T>
void halve(std::size_t n, std::size_t parts, const std::int32_t* sums, T* g) {
  for (std::size_t j = 0; j < n; ++j) g[j] = static_cast<T>(sums[j]);
  for (std::size_t p = 1; p < parts; ++p)  // the sum and its parts are integers that T holds
    for (std::size_t j = 0; j < n; ++j) g[j] += static_cast<T>(sums[p * n + j]);
  for (std::size_t j = 0; j < n; ++j) g[j] *= static_cast<T>(0.5);
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

template <class T>
void margins(const RowBlock<T>& block, const T* w, double* z) {
  for (std::size_t first = 0; first < block.rows; first += kTile) switch (block.kind) {
      case RowKind::kBytes: {
        dense_tile_margins(dense_tile(block, block.bytes, first), block.scale, 1, w, z + first);
        break;
      }
      case RowKind::kDense: {
        dense_tile_margins(dense_tile(block, block.values, first), block.scale, 1, w, z + first);
        break;
      }
      case RowKind::kSparse:
        sparse_tile_margins(SparseTile<T>{block, first, std::min(kTile, block.rows - first)}, 1, w,
                            z + first);
    }
}

template <class T>
void add_rows(const RowBlock<T>& block, const T* c, T* g) {
  for (std::size_t first = 0; first < block.rows; first += kTile) {
    const std::size_t count = std::min(kTile, block.rows - first);
    T tile[kTile] = {};
    std::copy_n(c + first, count, tile);
    switch (block.kind) {
      case RowKind::kBytes: dense_tile_gradient(dense_tile(block, block.bytes, first), 1, tile, &g); break;
      case RowKind::kDense: dense_tile_gradient(dense_tile(block, block.values, first), 1, tile, &g); break;
      case RowKind::kSparse: sparse_tile_gradient(SparseTile<T>{block, first, count}, 1, tile, &g);
    }
  }
}

template <class T>
double losses(Loss loss, std::size_t n, const double* z, const T* y, T* coefficients) {
  double sum = 0;
  for (std::size_t i = 0; i < n; i += kTile)
    sum += tile_losses(loss, std::min(kTile, n - i), z + i, y + i,
                       coefficients == nullptr ? nullptr : coefficients + i);
  return sum;
}

template <class T>
void add(std::size_t n, const T* part, T* total) {
  for (std::size_t j = 0; j < n; ++j) total[j] += part[j];
}

template <class T>
void finish_gradient(std::size_t n, T factor, T lambda, const T* w, T* g) {
  for (std::size_t j = 0; j < n; ++j) g[j] = fused_scalar(lambda, w[j], factor * g[j]);
}

template <class T>
void descent_step(std::size_t n, T eta, const T* g, T* w) {
  for (std::size_t j = 0; j < n; ++j) w[j] = fused_scalar(-eta, g[j], w[j]);
}

template <class T>
void momentum_step(std::size_t n, T eta, T gamma, const T* g, T* d, T* w) {
  for (std::size_t j = 0; j < n; ++j) {
    d[j] = fused_scalar(gamma, d[j], g[j]);
    w[j] = fused_scalar(-eta, d[j], w[j]);
  }
}

template <class T>
void softmax_gradient(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c,
                      const SoftmaxFinish<T>& finish, T* g) {
  if (softmax_gradient_of_tile(block, classes, intercept, c, finish, g)) return;
  const std::size_t weights = softmax_size(block.columns, classes, false);
  std::fill_n(g, softmax_size(block.columns, classes, intercept), T{0});
  softmax_add_rows(block, classes, intercept, c, g);
  finish_gradient(weights, finish.factor, finish.lambda, finish.w, g);
  if (intercept) finish_gradient(classes, finish.intercept_factor, T{0}, finish.w + weights, g + weights);
}

// The tree of 8 lanes over the squares of at(j), the doubles from j on; the last of them are asked for one by one.
template <class AtEight, class AtOne>
HWY_INLINE double sum_of_squares(std::size_t n, AtEight at_eight, AtOne at_one) {
  auto sums = Lanes<double>::all(0);
  const std::size_t end = n / kLanes<double> * kLanes<double>;
  for (std::size_t j = 0; j < end; j += kLanes<double>) {
    const Lanes<double> x = at_eight(j);
    sums.accumulate(x, x);
  }
  HWY_ALIGN double lanes[kLanes<double>];
  sums.store(lanes);
  for (std::size_t j = end; j < n; ++j) lanes[j - end] = fused_scalar(at_one(j), at_one(j), lanes[j - end]);
  return tree(Lanes<double>::load(lanes));
}

template <class T>
double squared_norm(std::size_t n, const T* x) {
  return sum_of_squares(
      n, [&](std::size_t j) HWY_ATTR { return Lanes<double>::load_wider(x + j); },
      [&](std::size_t j) HWY_ATTR { return static_cast<double>(x[j]); });
}

template <class T>
double squared_distance(std::size_t n, const T* a, const T* b) {
  return sum_of_squares(
      n,
      [&](std::size_t j) HWY_ATTR {
        auto off = Lanes<double>::load_wider(a + j);
        off.accumulate(Lanes<double>::all(-1), Lanes<double>::load_wider(b + j));
        return off;
      },
      [&](std::size_t j) HWY_ATTR { return static_cast<double>(a[j]) - static_cast<double>(b[j]); });
}

template <class T>
Kernels<T> kernels() {
  return {margins<T>,
          losses<T>,
          pack<T>,
          loss_and_gradient<T>,
          loss_and_hinge_sums<T>,
          follow_hinge_sums<T>,
          halve<T>,
          add_rows<T>,
          softmax_logits<T>,
          softmax_losses<T>,
          softmax_add_rows<T>,
          softmax_gradient<T>,
          add<T>,
          finish_gradient<T>,
          descent_step<T>,
          momentum_step<T>,
          squared_norm<T>,
          squared_distance<T>,
          extent<T>,
          divide_digits<T>};
}

}  // namespace

KernelSet kernel_set(std::string_view name) {
  return {name,
          kernels<float>(),
          kernels<double>(),
          {noise, blend_into_noise},
          {products, take_digits, add_products}};
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mfl {

std::span<const KernelSet> kernel_sets() {
  static const std::vector<KernelSet> sets = [] {
    std::vector<KernelSet> out;
    [[maybe_unused]] const auto supported = hwy::SupportedTargets();
#if HWY_TARGETS & HWY_AVX3
    if (supported & HWY_AVX3) out.push_back(N_AVX3::kernel_set("avx512"));
#endif
#if HWY_TARGETS & HWY_AVX2
    if (supported & HWY_AVX2) out.push_back(N_AVX2::kernel_set("avx2"));
#endif
#if HWY_TARGETS & HWY_NEON
    if (supported & HWY_NEON) out.push_back(N_NEON::kernel_set("neon"));
#endif
#if HWY_TARGETS & HWY_EMU128
    out.push_back(N_EMU128::kernel_set("portable"));
#else
    out.push_back(N_SCALAR::kernel_set("portable"));
#endif
    return out;
  }();
  return sets;
}

const KernelSet* find_kernel_set(std::string_view name) {
  const auto sets = kernel_sets();
  const auto found =
      std::find_if(sets.begin(), sets.end(), [&](const KernelSet& s) { return s.name == name; });
  return found == sets.end() ? nullptr : &*found;
}

const KernelSet& default_kernel_set() {
  static const KernelSet* chosen = [] {
    const char* name = std::getenv("MFL_KERNEL");
    const KernelSet* named = name != nullptr ? find_kernel_set(name) : nullptr;
    return named != nullptr ? named : &kernel_sets().front();
  }();
  return *chosen;
}

}  // namespace mfl
#endif
