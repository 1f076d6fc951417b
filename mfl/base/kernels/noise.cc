// Rows of bytes from a key. Whole numbers only: the same bytes from every set.
#include <algorithm>
#include <cstring>

#include "mfl/base/kernels/targets-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/noise.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kCounters = 16;                   // of Philox, side by side
constexpr std::size_t kNoiseGroup = kCounters * 4 * 4;  // bytes that they give

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

void noise(std::uint64_t key, std::size_t n, std::uint8_t* out) {
  std::uint32_t words[4 * kCounters];
  for (std::size_t at = 0; at < n; at += kNoiseGroup) {
    noise_group(key, at / kNoiseGroup, words);
    std::memcpy(out + at, words, std::min(kNoiseGroup, n - at));
  }
}

// A vector of pixels. load(0..3) gives patterns, canvas and noise, widened.
template <class Load, class Store>
HWY_INLINE void blend_pixels(std::uint16_t share, Load load, Store store) {
  const hn::CappedTag<std::uint16_t, 32> wide;
  const hn::Rebind<std::int16_t, decltype(wide)> wide_signed;
  const hn::Rebind<std::uint8_t, decltype(wide)> narrow;
  const auto both = hn::Add(hn::Mul(hn::Set(wide, share), load(0)),
                            hn::Mul(hn::Set(wide, static_cast<std::uint16_t>(256 - share)), load(1)));
  const auto value = hn::ShiftRight<8>(both);
  const auto drawn = load(3);
  const auto raised = hn::Add(value, hn::ShiftRight<1>(drawn));
  const auto lit = hn::Min(hn::SaturatedSub(raised, hn::Set(wide, kNoiseReach)), hn::Set(wide, 255));
  const auto spot = hn::And(hn::Mul(drawn, hn::Set(wide, kSpeckleStep)), load(2));
  const auto speckle = hn::IfThenElseZero(hn::Lt(drawn, hn::Set(wide, kSpeckleOdds)), spot);
  const auto pixel = hn::IfThenElse(hn::Gt(value, hn::Zero(wide)), lit, speckle);
  store(hn::DemoteTo(narrow, hn::BitCast(wide_signed, pixel)));
}

void blend_into_noise(std::size_t n, const std::uint8_t* mine, const std::uint8_t* theirs, unsigned share,
                      const std::uint8_t* canvas, std::uint8_t* out) {
  const hn::CappedTag<std::uint16_t, 32> wide;
  const hn::Rebind<std::uint8_t, decltype(wide)> narrow;
  constexpr std::size_t kStep = hn::MaxLanes(wide);
  const auto own = static_cast<std::uint16_t>(share);
  const std::uint8_t* const from[] = {mine, theirs, canvas, out};
  std::size_t j = 0;
  for (; j + kStep <= n; j += kStep)
    blend_pixels(
        own,
        [&](std::size_t which) HWY_ATTR { return hn::PromoteTo(wide, hn::LoadU(narrow, from[which] + j)); },
        [&](auto pixels) HWY_ATTR { hn::StoreU(pixels, narrow, out + j); });
  if (j == n) return;
  HWY_ALIGN std::uint8_t rest[4][kStep] = {}, last[kStep];
  for (std::size_t which = 0; which < 4; ++which) std::copy_n(from[which] + j, n - j, rest[which]);
  blend_pixels(
      own, [&](std::size_t which) HWY_ATTR { return hn::PromoteTo(wide, hn::Load(narrow, rest[which])); },
      [&](auto pixels) HWY_ATTR { hn::Store(pixels, narrow, last); });
  std::copy_n(last, n - j, out + j);
}

}  // namespace

void put_noise(KernelSet& set) { set.bytes = {noise, blend_into_noise}; }

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
