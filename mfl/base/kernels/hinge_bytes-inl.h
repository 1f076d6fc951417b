// The gradient of the hinge on bytes as a sum of integers that follows the rows as they change sides; see HingeSums.
#if defined(MFL_HINGE_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_HINGE_BYTES_INL_H
#undef MFL_HINGE_BYTES_INL_H
#else
#define MFL_HINGE_BYTES_INL_H
#endif

#include <bit>
#include <cmath>

#include "mfl/base/kernels/dense-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

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

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
