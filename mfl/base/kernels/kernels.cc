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

#include "mfl/base/kernels/losses-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {
namespace {

// Rows worked on at once: independent sums hide the latency of the multiply-add. Does not change any bit.
constexpr std::size_t kTile = 8;

template <std::size_t kCount, class T, class X>
HWY_INLINE void dense_margins(const X* x, std::size_t columns, T scale, const T* w, double* z) {
  Lanes<T> sums[kCount];
  for (auto& sum : sums) sum = Lanes<T>::all(0);
  for_lanes<T>(
      columns,
      [&](std::size_t j) HWY_ATTR {
        const auto weights = Lanes<T>::load(w + j);
        for (std::size_t r = 0; r < kCount; ++r)
          sums[r].accumulate(Lanes<T>::load(x + r * columns + j), weights);
      },
      [&](std::size_t j, std::size_t n) HWY_ATTR {
        const auto weights = Lanes<T>::load_first(w + j, n);
        for (std::size_t r = 0; r < kCount; ++r)
          sums[r].accumulate(Lanes<T>::load_first(x + r * columns + j, n), weights);
      });
  for (std::size_t r = 0; r < kCount; ++r) z[r] = static_cast<double>(scale * tree(sums[r]));
}

template <class T, class X>
HWY_INLINE void dense_tile_margins(const X* x, std::size_t count, std::size_t columns, T scale, const T* w,
                                   double* z) {
  if (count == kTile) return dense_margins<kTile>(x, columns, scale, w, z);
  for (std::size_t r = 0; r < count; ++r) dense_margins<1>(x + r * columns, columns, scale, w, z + r);
}

template <class T, class X>
HWY_INLINE void dense_tile_gradient(const X* x, std::size_t count, std::size_t columns, const T* c, T* g) {
  const X* rows[kTile];
  Lanes<T> factors[kTile];
  std::size_t active = 0;
  for (std::size_t r = 0; r < count; ++r) {
    if (c[r] == 0) continue;
    rows[active] = x + r * columns;
    factors[active++] = Lanes<T>::all(c[r]);
  }
  if (active == 0) return;
  for_lanes<T>(
      columns,
      [&](std::size_t j) HWY_ATTR {
        auto sum = Lanes<T>::load(g + j);
        for (std::size_t r = 0; r < active; ++r) sum.accumulate(factors[r], Lanes<T>::load(rows[r] + j));
        sum.store(g + j);
      },
      [&](std::size_t j, std::size_t n) HWY_ATTR {
        auto sum = Lanes<T>::load_first(g + j, n);
        for (std::size_t r = 0; r < active; ++r)
          sum.accumulate(factors[r], Lanes<T>::load_first(rows[r] + j, n));
        sum.store_first(g + j, n);
      });
}

template <class T>
HWY_INLINE T sparse_margin(const T* values, const std::uint32_t* positions, std::size_t n, const T* w) {
  HWY_ALIGN T sums[kLanes<T>] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t j = positions[i];
    T& sum = sums[j % kLanes<T>];
    sum = fused_scalar(values[i], w[j], sum);
  }
  return tree(Lanes<T>::load(sums));
}

template <class T>
HWY_INLINE void tile_margins(const RowBlock<T>& block, std::size_t first, std::size_t count, const T* w,
                             double* z) {
  const std::size_t at = first * block.columns;
  switch (block.kind) {
    case RowKind::kBytes:
      return dense_tile_margins(block.bytes + at, count, block.columns, block.scale, w, z);
    case RowKind::kDense:
      return dense_tile_margins(block.values + at, count, block.columns, block.scale, w, z);
    case RowKind::kSparse:
      for (std::size_t r = 0; r < count; ++r) {
        const std::uint64_t begin = block.starts[first + r], end = block.starts[first + r + 1];
        z[r] = static_cast<double>(
            block.scale * sparse_margin(block.values + begin, block.positions + begin, end - begin, w));
      }
  }
}

template <class T>
HWY_INLINE void tile_gradient(const RowBlock<T>& block, std::size_t first, std::size_t count, const T* c, T* g) {
  const std::size_t at = first * block.columns;
  switch (block.kind) {
    case RowKind::kBytes: return dense_tile_gradient(block.bytes + at, count, block.columns, c, g);
    case RowKind::kDense: return dense_tile_gradient(block.values + at, count, block.columns, c, g);
    case RowKind::kSparse:
      for (std::size_t r = 0; r < count; ++r) {
        if (c[r] == 0) continue;
        for (std::uint64_t i = block.starts[first + r]; i < block.starts[first + r + 1]; ++i) {
          T& sum = g[block.positions[i]];
          sum = fused_scalar(c[r], block.values[i], sum);
        }
      }
  }
}

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

template <class T>
void margins(const RowBlock<T>& block, const T* w, double* z) {
  for (std::size_t r = 0; r < block.rows; r += kTile)
    tile_margins(block, r, std::min(kTile, block.rows - r), w, z + r);
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
double loss_and_gradient(const RowBlock<T>& block, Loss loss, const T* y, const T* w, T* g) {
  double sum = 0;
  for (std::size_t r = 0; r < block.rows; r += kTile) {
    const std::size_t count = std::min(kTile, block.rows - r);
    double z[kTile];
    T c[kTile];
    tile_margins(block, r, count, w, z);
    sum += tile_losses(loss, count, z, y + r, c);
    tile_gradient(block, r, count, c, g);
  }
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
double squared_norm(std::size_t n, const T* x) {
  double sums[8] = {};
  for (std::size_t j = 0; j < n; ++j) {
    const auto value = static_cast<double>(x[j]);
    sums[j % 8] = fused_scalar(value, value, sums[j % 8]);
  }
  return tree(Lanes<double>::load(sums));
}

template <class T>
Kernels<T> kernels() {
  return {margins<T>,         losses<T>,       loss_and_gradient<T>, add<T>,
          finish_gradient<T>, descent_step<T>, momentum_step<T>,     squared_norm<T>};
}

}  // namespace

KernelSet kernel_set(std::string_view name) { return {name, kernels<float>(), kernels<double>()}; }

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
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const KernelSet& s) { return s.name == name; });
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
