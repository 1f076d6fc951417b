// The gradient of the hinge on bytes as a sum of integers that follows the rows as they change sides; see HingeSums.
#include <bit>
#include <cmath>

#include "mfl/base/kernels/targets-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/hinge.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/batched-inl.h"
#include "mfl/base/kernels/dense-inl.h"
#include "mfl/base/kernels/losses-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

// In linear.cc.
extern template void margins_alone(const DenseTile<std::uint8_t>&, float, const float*, double*);
extern template void margins_alone(const DenseTile<std::uint8_t>&, double, const double*, double*);
extern template void margins_together(const DenseTile<std::uint8_t>&, float, std::size_t, const float*,
                                      double*);
extern template void margins_together(const DenseTile<std::uint8_t>&, double, std::size_t, const double*,
                                      double*);

namespace {

// sums += row, or sums -= row.
template <bool kAdd>
HWY_INLINE void add_row(const DenseTile<std::uint8_t>& row, std::int32_t* sums) {
  using Words = hn::CappedTag<std::int32_t, kChunk>;
  constexpr std::size_t kStep = hn::MaxLanes(Words());
  for_chunks(row, [&](std::size_t first) HWY_ATTR {
    MFL_UNROLL
    for (std::size_t j = first; j < first + kChunk; j += kStep) {
      const auto x = hn::PromoteTo(Words(), hn::LoadU(hn::Rebind<std::uint8_t, Words>(), row.rows + j));
      const auto sum = hn::LoadU(Words(), sums + j);
      hn::StoreU(kAdd ? hn::Add(sum, x) : hn::Sub(sum, x), Words(), sums + j);
    }
  });
  for (std::size_t j = row.columns / kChunk * kChunk; j < row.columns; ++j)
    kAdd ? sums[j] += row.rows[j] : sums[j] -= row.rows[j];
}

// Takes in or out the rows of a tile, the first of them row `first` of its block, that are active now and were not, or the
// other way.
template <class T>
HWY_INLINE void follow_active_rows(const DenseTile<std::uint8_t>& tile, std::size_t first, const T* y,
                                   std::uint32_t active, HingeSums sums) {
  std::uint32_t& word = sums.active[first / 32];
  const std::uint32_t changed = ((word >> (first % 32)) & ((1U << kTile) - 1)) ^ active;
  word ^= changed << (first % 32);
  for (std::uint32_t left = changed; left != 0; left &= left - 1) {
    const auto r = static_cast<std::size_t>(std::countr_zero(left));
    const bool enters = (active >> r & 1) != 0;
    if (enters == (y[r] < 0)) {
      add_row<true>(tile.part(r, 1), sums.twice_gradient);
    } else {
      add_row<false>(tile.part(r, 1), sums.twice_gradient);
    }
  }
}

// How far w may travel until this row can change sides, given the margin y z of the row at `travelled`. Not too far by
// rounding: a millionth is more than the few operations of f64 and the conversion lose.
HWY_INLINE float reach_of(double margin, float length, double travelled) {
  return static_cast<float>((travelled + std::abs(1 - margin) / static_cast<double>(length)) * (1 - 1e-6));
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
    if (settings == 1)
      margins_alone(tile, block.scale, w, z);
    else
      margins_together(tile, block.scale, settings, w, z);
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
      const double margin =
          static_cast<double>(y[first + r]) * margin_of_row(tile.part(r, 1), block.scale, w);
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
void put(Kernels<T>& kernels) {
  kernels.loss_and_hinge_sums = loss_and_hinge_sums<T>;
  kernels.follow_hinge_sums = follow_hinge_sums<T>;
  kernels.halve = halve<T>;
}

}  // namespace

void put_hinge(KernelSet& set) {
  put(set.f32);
  put(set.f64);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
