#include "bench/limits.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define MFL_EVERY_WIDTH __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), noinline))
#else
#define MFL_EVERY_WIDTH __attribute__((noinline))
#endif

namespace mfl::bench {
namespace {

using Floats = float __attribute__((vector_size(64)));
using Doubles = double __attribute__((vector_size(64)));
using Words = std::uint64_t __attribute__((vector_size(64)));

constexpr std::size_t kSums = 12;       // independent, to hide the latency
constexpr std::size_t kCached = 16384;  // bytes, half of a typical L1 cache
volatile double sink;                   // keeps the work from being optimised away
// All different and unknown to the compiler, so that it must compute every sum.
volatile float unknown[kSums] = {0.99F, 0.98F, 0.97F, 0.96F, 0.95F, 0.94F, 0.93F, 0.92F, 0.91F, 0.9F, 0.89F, 0.88F};

[[maybe_unused]] int load_word(const std::uint8_t* bytes) {
  int word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

#define MFL_FUSED(NAME, VECTOR, SCALAR)                                              \
  MFL_EVERY_WIDTH double NAME(std::size_t repeats) {                                 \
    VECTOR sums[kSums];                                                              \
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = VECTOR{} + SCALAR(unknown[k]); \
    const VECTOR factor = VECTOR{} + SCALAR(unknown[0]);                             \
    for (std::size_t i = 0; i < repeats; ++i)                                        \
      _Pragma("GCC unroll 12") for (auto& sum : sums) sum = sum * factor + factor;   \
    for (const auto& sum : sums) sink = sink + static_cast<double>(sum[0]);          \
    return static_cast<double>(repeats * kSums * sizeof(VECTOR) / sizeof(SCALAR));   \
  }
MFL_FUSED(fused_multiply_adds_f32, Floats, float)
MFL_FUSED(fused_multiply_adds_f64, Doubles, double)

// Compilers do not generate these conversions by themselves. Where there are no intrinsics for them below, the limit
// is that of the multiply-add alone.
#if defined(__x86_64__)
namespace {

alignas(64) std::uint8_t cached[kCached];
constexpr std::size_t kRows = 8, kRow = kCached / kRows;

#define MFL_CONVERTED(NAME, TARGET, VECTOR, ZERO, FACTOR, STEP, LOAD, FMA, FIRST)             \
  __attribute__((target(TARGET), noinline)) void NAME(std::size_t repeats) {                 \
    VECTOR sums[kRows];                                                                      \
    for (auto& sum : sums) sum = ZERO;                                                       \
    const VECTOR factor = FACTOR(unknown[0]);                                                \
    for (std::size_t i = 0; i < repeats; ++i)                                                \
      for (std::size_t j = 0; j < kRow; j += STEP)                                           \
        _Pragma("GCC unroll 8") for (std::size_t r = 0; r < kRows; ++r) {                    \
          const std::uint8_t* at = cached + r * kRow + j;                                    \
          sums[r] = FMA(LOAD, factor, sums[r]);                                              \
        }                                                                                    \
    for (const auto& sum : sums) sink = sink + static_cast<double>(FIRST(sum));              \
  }
MFL_CONVERTED(converted_f32_512, "avx512f,avx512bw", __m512, _mm512_setzero_ps(), _mm512_set1_ps, 16,
              _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)))),
              _mm512_fmadd_ps, _mm512_cvtss_f32)
MFL_CONVERTED(converted_f64_512, "avx512f,avx512bw,avx512vl", __m512d, _mm512_setzero_pd(), _mm512_set1_pd, 8,
              _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)))),
              _mm512_fmadd_pd, _mm512_cvtsd_f64)
MFL_CONVERTED(converted_f32_256, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_set1_ps, 8,
              _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)))),
              _mm256_fmadd_ps, _mm256_cvtss_f32)
MFL_CONVERTED(converted_f64_256, "avx2,fma", __m256d, _mm256_setzero_pd(), _mm256_set1_pd, 4,
              _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(load_word(at)))), _mm256_fmadd_pd,
              _mm256_cvtsd_f64)

#define MFL_KEPT(NAME, TARGET, VECTOR, ZERO, FACTOR, STEP, LOAD, STORE, RELOAD, FMA, FIRST)             \
  __attribute__((target(TARGET), noinline)) void NAME(std::size_t repeats) {                             \
    alignas(64) static float kept[kRows * kRow];                                                         \
    VECTOR sums[kRows];                                                                                  \
    for (auto& sum : sums) sum = ZERO;                                                                   \
    const VECTOR factor = FACTOR(unknown[0]);                                                            \
    constexpr std::size_t kColumns = 784;                                                                \
    for (std::size_t i = 0; i < repeats; ++i) {                                                          \
      for (std::size_t j = 0; j < kColumns; j += STEP)                                                   \
        _Pragma("GCC unroll 8") for (std::size_t r = 0; r < kRows; ++r) {                                \
          const std::uint8_t* at = cached + r * kRow + j;                                                \
          const VECTOR x = LOAD;                                                                         \
          STORE(kept + j * kRows + r * STEP, x);                                                         \
          sums[r] = FMA(x, factor, sums[r]);                                                             \
        }                                                                                                \
      for (std::size_t j = 0; j < kColumns; j += STEP)                                                   \
        _Pragma("GCC unroll 8") for (std::size_t r = 0; r < kRows; ++r)                                  \
          sums[r] = FMA(RELOAD(kept + j * kRows + r * STEP), factor, sums[r]);                           \
    }                                                                                                    \
    for (const auto& sum : sums) sink = sink + static_cast<double>(FIRST(sum));                          \
  }
MFL_KEPT(kept_f32_512, "avx512f,avx512bw", __m512, _mm512_setzero_ps(), _mm512_set1_ps, 16,
         _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)))),
         _mm512_store_ps, _mm512_load_ps, _mm512_fmadd_ps, _mm512_cvtss_f32)
MFL_KEPT(kept_f32_256, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_set1_ps, 8,
         _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)))),
         _mm256_store_ps, _mm256_load_ps, _mm256_fmadd_ps, _mm256_cvtss_f32)

}  // namespace

double kept_multiply_adds_f32(std::size_t repeats) {
  (__builtin_cpu_supports("avx512bw") ? kept_f32_512 : kept_f32_256)(repeats);
  return static_cast<double>(repeats * 2 * kRows * 784);
}
double converted_multiply_adds_f32(std::size_t repeats) {
  (__builtin_cpu_supports("avx512bw") ? converted_f32_512 : converted_f32_256)(repeats);
  return static_cast<double>(repeats * kCached);
}
double converted_multiply_adds_f64(std::size_t repeats) {
  (__builtin_cpu_supports("avx512bw") ? converted_f64_512 : converted_f64_256)(repeats);
  return static_cast<double>(repeats * kCached);
}
#else
double converted_multiply_adds_f32(std::size_t repeats) { return fused_multiply_adds_f32(repeats); }
double converted_multiply_adds_f64(std::size_t repeats) { return fused_multiply_adds_f64(repeats); }
double kept_multiply_adds_f32(std::size_t repeats) { return fused_multiply_adds_f32(repeats); }
#endif

MFL_EVERY_WIDTH void write_all(std::span<std::uint64_t> words) {
  const Words line = {};
  auto* to = reinterpret_cast<char*>(words.data());
  for (std::size_t i = 0; i < words.size() / 8; ++i) {
    std::memcpy(to + i * sizeof line, &line, sizeof line);
    asm volatile("" : : "r"(to) : "memory");  // every store happens
  }
}

MFL_EVERY_WIDTH std::uint64_t read_all(std::span<const std::uint64_t> words) {
  Words sums[4] = {};
  const auto* from = reinterpret_cast<const char*>(words.data());
  const std::size_t lines = words.size() / 32;
  for (std::size_t i = 0; i < lines; ++i)
    _Pragma("GCC unroll 4") for (std::size_t k = 0; k < 4; ++k) {
      Words line;
      std::memcpy(&line, from + (i * 4 + k) * sizeof line, sizeof line);
      sums[k] ^= line;
    }
  return sums[0][0] ^ sums[1][1] ^ sums[2][2] ^ sums[3][3];
}

}  // namespace mfl::bench
