// Whole numbers only: the same bytes from every set. Plain loops, which the compiler turns into vectors for each target.
// Included once per target by kernels.cc only.
#if defined(MFL_ROWS_OF_NOISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MFL_ROWS_OF_NOISE_INL_H
#undef MFL_ROWS_OF_NOISE_INL_H
#else
#define MFL_ROWS_OF_NOISE_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "mfl/base/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {

inline constexpr std::size_t kCounters = 16;                   // of Philox, side by side
inline constexpr std::size_t kNoiseGroup = kCounters * 4 * 4;  // bytes that they give

// Philox4x32-10 (Salmon et al., 2011) of the counters group * kCounters .. + kCounters - 1: all first words, then all
// second ones, and so on.
HWY_INLINE void noise_group(std::uint64_t key, std::uint64_t group, std::uint32_t* words) {
  constexpr std::uint32_t kFactor0 = 0xD2511F53, kFactor1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  std::uint32_t x0[kCounters], x1[kCounters], x2[kCounters], x3[kCounters];
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::uint64_t counter = group * kCounters + i;
    x0[i] = static_cast<std::uint32_t>(counter);
    x1[i] = static_cast<std::uint32_t>(counter >> 32U);
    x2[i] = 0;
    x3[i] = 0;
  }
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kCounters; ++i) {
      const std::uint64_t a = std::uint64_t{kFactor0} * x0[i], b = std::uint64_t{kFactor1} * x2[i];
      x0[i] = static_cast<std::uint32_t>(b >> 32U) ^ x1[i] ^ key0;
      x1[i] = static_cast<std::uint32_t>(b);
      x2[i] = static_cast<std::uint32_t>(a >> 32U) ^ x3[i] ^ key1;
      x3[i] = static_cast<std::uint32_t>(a);
    }
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  std::copy_n(x0, kCounters, words);
  std::copy_n(x1, kCounters, words + kCounters);
  std::copy_n(x2, kCounters, words + 2 * kCounters);
  std::copy_n(x3, kCounters, words + 3 * kCounters);
}

inline void noise(std::uint64_t key, std::size_t n, std::uint8_t* out) {
  std::uint32_t words[4 * kCounters];
  for (std::size_t at = 0; at < n; at += kNoiseGroup) {
    noise_group(key, at / kNoiseGroup, words);
    std::memcpy(out + at, words, std::min(kNoiseGroup, n - at));
  }
}

inline void blend_into_noise(std::size_t n, const std::uint8_t* mine, const std::uint8_t* theirs,
                             unsigned share, const std::uint8_t* canvas, std::uint8_t* out) {
  const auto own = static_cast<std::uint16_t>(share), other = static_cast<std::uint16_t>(256 - share);
  for (std::size_t j = 0; j < n; ++j) {
    const auto both = static_cast<std::uint16_t>(own * mine[j] + other * theirs[j]);
    const auto value = static_cast<std::int16_t>(both >> 8U);
    const auto drawn = static_cast<std::int16_t>(out[j]);
    const auto lit = static_cast<std::int16_t>(value + (drawn >> 1) - kNoiseReach);
    const auto speckle =
        static_cast<std::int16_t>(drawn < kSpeckleOdds ? (drawn * kSpeckleStep) & canvas[j] : 0);
    const auto clamped = static_cast<std::int16_t>(lit < 0 ? 0 : lit > 255 ? 255 : lit);
    out[j] = static_cast<std::uint8_t>(value > 0 ? clamped : speckle);
  }
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
