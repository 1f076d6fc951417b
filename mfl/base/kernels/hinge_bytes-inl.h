// The gradient of the hinge on bytes, in integers. With targets of +1 and -1 every coefficient is 0, 1/2 or -1/2, so
// the sum over a block of rows is half a sum of bytes, and every partial sum of the multiply-add chain is exact in f32
// and f64 alike. Integer additions, twice as many to a vector and without conversions, thus give the same bits.
#if defined(MFL_HINGE_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_HINGE_BYTES_INL_H
#undef MFL_HINGE_BYTES_INL_H
#else
#define MFL_HINGE_BYTES_INL_H
#endif

#include <cstring>

#include "mfl/base/kernels/dense-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

template <class T>
class HingeBytesGradient {
 public:
  // Sums of 16 bits for all settings must fit a small place on the stack.
  static bool fits(std::size_t columns, std::size_t settings) { return settings * padded(columns) <= kPlace; }

  HingeBytesGradient(std::size_t columns, std::size_t settings) : columns_(columns), settings_(settings) {
    clear();
  }

  // c as for dense_tile_gradient, each 0, 1/2 or -1/2. g is complete after flush().
  HWY_INLINE void add(const DenseTile<std::uint8_t>& tile, const T* c, T* const* g) {
    if (pending_ + tile.count > kMostRows) flush(g);
    pending_ += tile.count;
    Signs signs;
    const std::uint8_t* rows[kTile];  // rows that the tile lacks count with sign 0
    for (std::size_t r = 0; r < kTile; ++r) {
      const bool there = r < tile.count;
      rows[r] = tile.rows + (there ? r : 0) * tile.columns;
      for (std::size_t s = 0; s < settings_; ++s)
        signs[s][r] =
            there ? static_cast<std::int16_t>(c[s * kTile + r] + c[s * kTile + r]) : std::int16_t{0};
    }
    if (settings_ == 1) {
      add_alone(tile, rows, signs[0], sums_);
    } else {
      add_together(tile, rows, settings_, padded(columns_), signs, sums_);
    }
    for (std::size_t s = 0; s < settings_; ++s)
      for (std::size_t j = columns_ / kChunk * kChunk; j < columns_; ++j) {
        int sum = sums_[s * padded(columns_) + j];
        for (std::size_t r = 0; r < kTile; ++r) sum += signs[s][r] * rows[r][j];
        sums_[s * padded(columns_) + j] = static_cast<std::int16_t>(sum);
      }
  }

  HWY_INLINE void flush(T* const* g) {
    const std::size_t end = columns_ / kChunk * kChunk;
    const auto half = Lanes<T>::all(static_cast<T>(0.5));
    for (std::size_t s = 0; s < settings_; ++s) {
      T* to = g[s];
      const std::int16_t* sums = sums_ + s * padded(columns_);
      for (std::size_t j = 0; j < end; j += kLanes<T>) {
        auto sum = Lanes<T>::load(to + j);
        sum.accumulate(half, Lanes<T>::load(sums + j));
        sum.store(to + j);
      }
      for (std::size_t j = end; j < columns_; ++j) to[j] += static_cast<T>(0.5) * static_cast<T>(sums[j]);
    }
    clear();
  }

 private:
  static constexpr std::size_t kPlace = 32768;
  static constexpr std::size_t kMostRows = 128;  // 128 * 255 fits 16 bits
  using Shorts = hn::CappedTag<std::int16_t, kChunk>;
  using Signs = std::int16_t[kMaxBatch][kTile];
  static constexpr std::size_t kStep = hn::MaxLanes(Shorts());

  static constexpr std::size_t padded(std::size_t columns) {
    return (columns + kChunk - 1) / kChunk * kChunk;
  }
  static HWY_INLINE hn::Vec<Shorts> widened(const std::uint8_t* bytes) {
    return hn::PromoteTo(Shorts(), hn::LoadU(hn::Rebind<std::uint8_t, Shorts>(), bytes));
  }

  // A multiplication by -1, 0 or 1 costs less than a branch that nobody can foresee.
  static HWY_INLINE void add_alone(const DenseTile<std::uint8_t>& tile, const std::uint8_t* const* rows,
                                   const std::int16_t* signs, std::int16_t* sums) {
    hn::Vec<Shorts> sign[kTile];
    MFL_UNROLL
    for (std::size_t r = 0; r < kTile; ++r) sign[r] = hn::Set(Shorts(), signs[r]);
    for_chunks(tile, [&](std::size_t first) HWY_ATTR {
      MFL_UNROLL
      for (std::size_t j = first; j < first + kChunk; j += kStep) {
        auto sum = hn::Load(Shorts(), sums + j);
        MFL_UNROLL
        for (std::size_t r = 0; r < kTile; ++r) sum = hn::Add(sum, hn::Mul(sign[r], widened(rows[r] + j)));
        hn::Store(sum, Shorts(), sums + j);
      }
    });
  }

  static HWY_INLINE void add_together(const DenseTile<std::uint8_t>& tile, const std::uint8_t* const* rows,
                                      std::size_t settings, std::size_t stride, const Signs& signs,
                                      std::int16_t* sums) {
    for_chunks(tile, [&](std::size_t first) HWY_ATTR {
      for (std::size_t j = first; j < first + kChunk; j += kStep) {
        hn::Vec<Shorts> x[kTile];
        MFL_UNROLL
        for (std::size_t r = 0; r < kTile; ++r) x[r] = widened(rows[r] + j);
        for (std::size_t s = 0; s < settings; ++s) {
          auto sum = hn::Load(Shorts(), sums + s * stride + j);
          MFL_UNROLL
          for (std::size_t r = 0; r < kTile; ++r)
            sum = hn::Add(sum, hn::Mul(x[r], hn::Set(Shorts(), signs[s][r])));
          hn::Store(sum, Shorts(), sums + s * stride + j);
        }
      }
    });
  }

  void clear() {
    std::memset(sums_, 0, settings_ * padded(columns_) * sizeof(std::int16_t));
    pending_ = 0;
  }

  std::size_t columns_, settings_;
  std::size_t pending_ = 0;
  HWY_ALIGN std::int16_t sums_[kPlace];
};

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
