// The laws of the exact mean: correctly rounded against integer arithmetic, and blind to order and grouping.
#include "mfl/aggregate/exact_mean.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/base/bits.h"
#include "tests/base/precisions.h"

namespace mfl {
namespace {

using test::Bits;
using test::bits;

__extension__ using Int128 = __int128;

// Any of [0, bound), equally likely.
template <class I>
rc::Gen<I> below(I bound) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<I>(0, bound));
}

// Any finite number, every exponent equally likely, -0 made +0.
template <class T>
rc::Gen<T> any_finite() {
  constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  constexpr auto kExponents = static_cast<Bits<T>>(2 * std::numeric_limits<T>::max_exponent - 1);
  return rc::gen::map(
      rc::gen::tuple(below<Bits<T>>(2), below<Bits<T>>(kExponents), below<Bits<T>>(Bits<T>{1} << kFraction)),
      [](const auto& parts) {
        const auto& [sign, exponent, fraction] = parts;
        return std::bit_cast<T>(
                   static_cast<Bits<T>>(sign << (8 * sizeof(T) - 1) | exponent << kFraction | fraction)) +
               T{0};
      });
}

template <class T>
struct Term {
  T x;
  std::uint64_t weight;
};

template <class T>
rc::Gen<std::vector<Term<T>>> any_terms() {
  return rc::gen::nonEmpty(rc::gen::container<std::vector<Term<T>>>(rc::gen::build<Term<T>>(
      rc::gen::set(&Term<T>::x, any_finite<T>()),
      rc::gen::set(&Term<T>::weight,
                   rc::gen::map(below<std::uint64_t>(1 << 20), [](std::uint64_t n) { return n + 1; })))));
}

template <class T>
T mean_of_terms(const std::vector<Term<T>>& terms) {
  ExactMean sum(1);
  for (const auto& term : terms) EXPECT_FALSE(sum.add(std::span<const T>(&term.x, 1), term.weight));
  T out{};
  sum.mean(std::span<T>(&out, 1));
  return out;
}

template <class T>
class ExactMeanOf : public ::testing::Test {};
TYPED_TEST_SUITE(ExactMeanOf, test::Precisions);

TYPED_TEST(ExactMeanOf, OneVectorComesBackBitForBit) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    const T x = *any_finite<T>();
    const std::uint64_t weight = 1 + *below<std::uint64_t>(ExactMean::kMaxWeight);
    RC_ASSERT(bits(mean_of_terms<T>({{x, weight}})) == bits(x));
  }));
}

TYPED_TEST(ExactMeanOf, EqualVectorsComeBackBitForBit) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    auto terms = *any_terms<T>();
    for (auto& term : terms) term.x = terms.front().x;
    RC_ASSERT(bits(mean_of_terms<T>(terms)) == bits(terms.front().x));
  }));
}

TYPED_TEST(ExactMeanOf, OrderAndGroupingDoNotMatter) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    auto terms = *any_terms<T>();
    const T expected = mean_of_terms<T>(terms);
    const auto workers = 1 + *below<std::size_t>(4);
    std::mt19937_64 shuffle(*rc::gen::arbitrary<std::uint32_t>());
    std::shuffle(terms.begin(), terms.end(), shuffle);
    std::vector<ExactMean> sums(workers, ExactMean(1));
    for (const auto& term : terms) sums[shuffle() % workers].add(std::span<const T>(&term.x, 1), term.weight);
    std::shuffle(sums.begin(), sums.end(), shuffle);
    ExactMean total(1);
    for (const auto& sum : sums) total.merge(sum);
    T out{};
    total.mean(std::span<T>(&out, 1));
    RC_ASSERT(bits(out) == bits(expected));
  }));
}

// What a process packs and others merge is what it holds: for any values, any coordinates of it, and after a clear.
TYPED_TEST(ExactMeanOf, PackedSumsMergeAsTheSumsThemselves) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    const auto size = 1 + *below<std::size_t>(5);
    const auto first = *below<std::size_t>(size);
    const auto count = 1 + *below<std::size_t>(size - first);
    const auto processes = 1 + *below<std::size_t>(4);
    ExactMean total(size), part(count);
    std::vector<std::uint32_t> buffer;
    for (std::size_t process = 0; process < processes; ++process) {
      ExactMean sum(size);
      if (*rc::gen::arbitrary<bool>()) {
        sum.add(std::span<const T>(*rc::gen::container<std::vector<T>>(size, any_finite<T>())), 3);
        sum.clear();
      }
      const auto terms = *below<std::size_t>(3);
      for (std::size_t i = 0; i < terms; ++i)
        sum.add(std::span<const T>(*rc::gen::container<std::vector<T>>(size, any_finite<T>())),
                1 + *below<std::uint64_t>(ExactMean::kMaxWeight));
      const auto words = sum.pack(first, count, buffer);
      RC_ASSERT(words.size() <= sum.most_packed_words(count));
      part.merge_packed(words, sum.total_weight());
      total.merge(sum);
    }
    RC_ASSERT(part.total_weight() == total.total_weight());
    RC_PRE(total.total_weight() > 0);
    std::vector<T> expected(size), got(count);
    total.mean(std::span<T>(expected));
    part.mean(std::span<T>(got));
    for (std::size_t j = 0; j < count; ++j) RC_ASSERT(bits(got[j]) == bits(expected[first + j]));
  }));
}

TEST(ExactMean, PackedNumbersOfOneKindAreNarrow) {
  constexpr std::size_t kSize = 3000;  // more than a block
  std::vector<float> x(kSize);
  for (std::size_t j = 0; j < kSize; ++j) x[j] = 0.01F * static_cast<float>(static_cast<int>(j) - 1500);
  ExactMean sum(kSize);
  std::vector<std::uint32_t> buffer;
  EXPECT_EQ(sum.pack(0, kSize, buffer).size(), 2U);  // nothing added: a header alone
  sum.add(std::span<const float>(x), 1250);
  const auto words = sum.pack(0, kSize, buffer);
  EXPECT_EQ(words.size(),
            2 + 3 * kSize);  // 24 bits of mantissa, 11 of weight and 12 of spread touch three digits
  ExactMean other(kSize);
  other.merge_packed(words, 1250);
  std::vector<float> out(kSize);
  other.mean(std::span<float>(out));
  EXPECT_EQ(out, x);
}

// Numbers as training has them go by kernels; one that a kernel cannot take sends its whole block the long way.
TEST(ExactMean, KernelsAndTheLongWayGiveTheSameSums) {
  constexpr std::size_t kSize = 700;  // blocks, and a rest
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_TRUE(rc::check([&] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    const double spread = std::ldexp(1.0, *below(600) - 300);
    std::normal_distribution<double> normal(0, spread);
    ExactMean quick(kSize), slow(kSize);
    for (int i = 0; i < 3; ++i) {
      std::vector<double> x(kSize);
      for (double& v : x) v = random() % 8 == 0 ? 0 : normal(random) * (random() % 5 == 0 ? 0x1p-40 : 1);
      const std::uint64_t weight = 1 + *below<std::uint64_t>(ExactMean::kMaxWeight);
      x[0] = x[256] = x[699] = 0;
      quick.add(std::span<const double>(x), weight);
      x[0] = x[256] = x[699] = tiny;
      slow.add(std::span<const double>(x), weight);
    }
    std::vector<double> one(kSize), other(kSize);
    quick.mean(std::span<double>(one));
    slow.mean(std::span<double>(other));
    for (const std::size_t j : {0, 256, 699}) one[j] = other[j] = 0;
    RC_ASSERT(one == other);
  }));
}

// The same for f32, where it is the weight that sends it the long way.
TEST(ExactMean, AWeightMayBeAddedInParts) {
  constexpr std::size_t kSize = 300;
  EXPECT_TRUE(rc::check([] {
    const auto x = *rc::gen::container<std::vector<float>>(kSize, any_finite<float>());
    const std::uint64_t part = 1 + *below<std::uint64_t>((std::uint64_t{1} << 29) - 1);
    const std::uint64_t weight = (std::uint64_t{1} << 29) + *below<std::uint64_t>(std::uint64_t{1} << 31);
    ExactMean whole(kSize), parts(kSize);
    whole.add(std::span<const float>(x), weight);
    parts.add(std::span<const float>(x), part);
    parts.add(std::span<const float>(x), weight - part);
    std::vector<std::uint32_t> words, other;
    RC_ASSERT(std::ranges::equal(whole.pack(0, kSize, words), parts.pack(0, kSize, other)));
  }));
}

// Numbers of few bits, whose weighted sum is an integer of 128 bits: the mean by integer division.
template <class T>
T rounded_ratio(Int128 numerator, Int128 denominator, int scale) {
  const bool negative = numerator < 0;
  Int128 n = negative ? -numerator : numerator;
  if (n == 0) return 0;
  int shift = 0;  // bring n / denominator to digits + 2 bits or more, keeping what falls off as sticky
  while (n / denominator < (Int128{1} << (std::numeric_limits<T>::digits + 1))) {
    n <<= 1;
    ++shift;
  }
  Int128 quotient = n / denominator;
  bool sticky = n % denominator != 0;
  while (quotient >= (Int128{1} << (std::numeric_limits<T>::digits + 1))) {
    sticky = sticky || (quotient & 1) != 0;
    quotient >>= 1;
    --shift;
  }
  const bool half = (quotient & 1) != 0;
  quotient >>= 1;
  if (half && (sticky || (quotient & 1) != 0)) ++quotient;
  const double magnitude = std::ldexp(static_cast<double>(quotient), 1 - shift + scale);
  return static_cast<T>(negative ? -magnitude : magnitude);
}

TYPED_TEST(ExactMeanOf, IsCorrectlyRounded) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    const auto count = 1 + *below<std::size_t>(8);
    const int scale = *below(160) - 100;
    std::vector<Term<T>> terms;
    Int128 numerator = 0;
    std::uint64_t denominator = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto integer = *below<std::int64_t>(1 << 23) - (1 << 22);
      const auto weight = 1 + *below<std::uint64_t>(2000);
      terms.push_back({static_cast<T>(std::ldexp(static_cast<double>(integer), scale)), weight});
      numerator += static_cast<Int128>(integer) * static_cast<Int128>(weight);
      denominator += weight;
    }
    RC_ASSERT(bits(mean_of_terms<T>(terms)) ==
              bits(rounded_ratio<T>(numerator, static_cast<Int128>(denominator), scale)));
  }));
}

TEST(ExactMean, TiesGoToEven) {
  const float one = 1, next = std::nextafter(1.0F, 2.0F), after = std::nextafter(next, 2.0F);
  EXPECT_EQ(mean_of_terms<float>({{one, 1}, {next, 1}}), one);
  EXPECT_EQ(mean_of_terms<float>({{next, 1}, {after, 1}}), after);
  const double e = std::nextafter(1.0, 2.0);
  EXPECT_EQ(mean_of_terms<double>({{1.0, 7}, {e, 7}}), 1.0);
  EXPECT_EQ(mean_of_terms<double>({{1.0, 7}, {e, 8}}), e);
}

TEST(ExactMean, EveryMagnitudeCounts) {
  constexpr double kMax = std::numeric_limits<double>::max(),
                   kTiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(mean_of_terms<double>({{kMax, 3}, {-kMax, 3}, {kTiny, 2}, {kTiny, 1}}),
            0.0);  // 3 tiny / 9 rounds to zero
  EXPECT_EQ(mean_of_terms<double>({{kMax, 3}, {-kMax, 3}, {kTiny * 9, 2}}),
            2 * kTiny);  // 18 tiny / 8 = 2.25 tiny
  EXPECT_EQ(mean_of_terms<double>({{kMax, 3}, {kMax, 4}}), kMax);
  EXPECT_EQ(mean_of_terms<double>({{1e308, 1}, {-1e308, 1}, {1e-300, 2}}), 5e-301);
  EXPECT_EQ(mean_of_terms<float>({{1e38F, 1}, {-1e38F, 1}, {1e-30F, 2}}), 5e-31F);
}

TEST(ExactMean, NotFiniteIsNamedAndNotAdded) {
  ExactMean sum(3);
  const std::vector<double> good = {1, 2, 3}, bad = {1, std::nan(""), 3},
                            worse = {1, 2, -std::numeric_limits<double>::infinity()};
  EXPECT_FALSE(sum.add(std::span<const double>(good), 5));
  EXPECT_EQ(sum.add(std::span<const double>(bad), 5), 1U);
  EXPECT_EQ(sum.add(std::span<const double>(worse), 5), 2U);
  EXPECT_EQ(sum.total_weight(), 5U);
  std::vector<double> out(3);
  sum.mean(std::span<double>(out));
  EXPECT_EQ(out, good);
}

TEST(ExactMean, ClearForgetsValuesAndWeight) {
  ExactMean sum(1);
  const float x = 3, y = -5;
  sum.add(std::span<const float>(&x, 1), 2);
  sum.clear();
  sum.add(std::span<const float>(&y, 1), 7);
  float out = 0;
  sum.mean(std::span<float>(&out, 1));
  EXPECT_EQ(out, -5.0F);
  EXPECT_EQ(sum.total_weight(), 7U);
}

// Doubling an accumulator into itself passes the point where digits must be carried, for sums of both signs.
TEST(ExactMean, ManyAdditionsDoNotOverflow) {
  const std::vector<double> x = {1.0 / 3, -1e-7 / 3, -4096.125, 1e200 / 7};
  ExactMean sum(x.size());
  sum.add(std::span<const double>(x), 1);
  for (int i = 0; i < 40; ++i) sum.merge(ExactMean(sum));
  std::vector<double> out(x.size());
  sum.mean(std::span<double>(out));
  EXPECT_EQ(out, x);
  sum.add(std::span<const double>(x), ExactMean::kMaxWeight);
  sum.mean(std::span<double>(out));
  EXPECT_EQ(out, x);
  std::vector<std::uint32_t> buffer;
  ExactMean packed(x.size());
  for (int i = 0; i < 3; ++i) packed.merge_packed(sum.pack(0, x.size(), buffer), sum.total_weight());
  packed.mean(std::span<double>(out));
  EXPECT_EQ(out, x);
}

}  // namespace
}  // namespace mfl
