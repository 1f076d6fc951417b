// The exact mean over zeros, extremes, denormals and weights up to the maximum, against arithmetic on integers of any size; the
// same for sums that were merged, packed, cleared before, or cut into slices.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "tests/base/bits.h"
#include "tests/base/precisions.h"

namespace mfl {
namespace {

using test::Bits;
using test::bits;

using BigInteger = boost::multiprecision::cpp_int;

constexpr int kUnit = 1074;  // every finite number is a whole multiple of 2^-1074

BigInteger in_units(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  const BigInteger mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53 + kUnit;
  return shift >= 0 ? BigInteger(mantissa << shift)
                    : BigInteger(mantissa >> -shift);  // no bit of a denormal is lost
}

// sum / weight of units, rounded to nearest, ties to even.
template <class T>
T rounded(const BigInteger& sum, const BigInteger& weight) {
  if (sum == 0) return 0;
  const BigInteger size = abs(sum);
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits + kUnit;
  const BigInteger whole = size / weight;
  const int bits = whole == 0 ? 0 : static_cast<int>(msb(whole)) + 1;
  const int position =
      std::max(kLeast, bits - std::numeric_limits<T>::digits);  // of the last bit that is kept
  const BigInteger divisor = weight << position;
  BigInteger quotient = size / divisor;
  const BigInteger twice_rest = 2 * (size % divisor);
  if (twice_rest > divisor || (twice_rest == divisor && quotient % 2 != 0)) ++quotient;
  const double magnitude = std::ldexp(static_cast<double>(quotient), position - kUnit);
  return static_cast<T>(sum < 0 ? -magnitude : magnitude);
}

template <class T>
struct WeightedVector {
  std::vector<T> x;
  std::uint64_t weight;
};

template <class T>
std::vector<T> mean_by_integers(const std::vector<WeightedVector<T>>& updates) {
  std::vector<T> out(updates.front().x.size());
  for (std::size_t j = 0; j < out.size(); ++j) {
    BigInteger sum = 0, weight = 0;
    for (const WeightedVector<T>& update : updates) {
      sum += in_units(update.x[j]) * update.weight;
      weight += update.weight;
    }
    out[j] = rounded<T>(sum, weight);
  }
  return out;
}

template <class T>
std::vector<T> mean_of_sum(ExactMean& sum) {
  std::vector<T> out(sum.size());
  sum.mean(std::span<T>(out));
  return out;
}

// What training and attackers make of numbers: mostly zeros, the ends of the range, and what cancels.
template <class T>
T extreme_number(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  const T sign = random() % 2 == 0 ? T{1} : T{-1};
  switch (random() % 9) {
    case 0:
    case 1: return T{0};
    case 2: return -T{0};
    case 3: return sign * Limits::max();
    case 4: return sign * Limits::denorm_min();
    case 5: return sign * Limits::denorm_min() * static_cast<T>(random() % (1U << 20U));
    case 6: return sign * Limits::min();
    case 7: return sign;
    default: {
      const T any = std::bit_cast<T>(static_cast<Bits<T>>(random()));
      return std::isfinite(any) ? any : T{0};
    }
  }
}

std::uint64_t extreme_weight(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0: return 1;
    case 1: return ExactMean::kMaxWeight;
    case 2: return 1 + random() % 1000;
    default: return 1 + random() % ExactMean::kMaxWeight;
  }
}

// Some coordinates are zero in every update; some updates are followed by their opposites.
template <class T>
std::vector<WeightedVector<T>> extreme_updates(std::size_t size, std::mt19937_64& random) {
  std::vector<bool> unused(size);
  for (std::size_t j = 0; j < size; ++j) unused[j] = random() % 3 == 0;
  std::vector<WeightedVector<T>> updates;
  const std::size_t count = 1 + random() % 4;
  while (updates.size() < count) {
    WeightedVector<T> update{std::vector<T>(size), extreme_weight(random)};
    for (std::size_t j = 0; j < size; ++j) update.x[j] = unused[j] ? T{0} : extreme_number<T>(random);
    updates.push_back(update);
    if (random() % 3 != 0) continue;
    for (T& value : update.x) value = -value;
    updates.push_back(std::move(update));
  }
  return updates;
}

template <class T>
class Extremes : public ::testing::Test {};
TYPED_TEST_SUITE(Extremes, test::Precisions);

TYPED_TEST(Extremes, MeanIsThatOfIntegers) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    const std::size_t size = 1 + random() % 12;
    ExactMean sum(size);
    for (int round = 0; round < 3; ++round) {  // one accumulator, as a run has
      sum.clear();
      const auto updates = extreme_updates<T>(size, random);
      for (const auto& update : updates) RC_ASSERT(!sum.add(std::span<const T>(update.x), update.weight));
      RC_ASSERT(bits<T>(mean_of_sum<T>(sum)) == bits<T>(mean_by_integers(updates)));
    }
  }));
}

TYPED_TEST(Extremes, MergedPackedAndSlicedSumsAgree) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    const std::size_t size = 1 + random() % 600;  // several blocks of 256
    const std::size_t cut = random() % size;
    ExactMean merged(size), below(cut + 1), above(std::max<std::size_t>(1, size - cut - 1));
    for (int round = 0; round < 2; ++round) {
      for (ExactMean* sum : {&merged, &below, &above}) sum->clear();
      const auto updates = extreme_updates<T>(size, random);
      std::vector<std::uint32_t> buffer;
      for (const auto& update : updates) {
        ExactMean one(size);
        RC_ASSERT(!one.add(std::span<const T>(update.x), update.weight));
        merged.merge(one);
        below.merge_packed(one.pack(0, cut + 1, buffer), update.weight);
        if (cut + 1 < size) above.merge_packed(one.pack(cut + 1, size - cut - 1, buffer), update.weight);
      }
      const auto expected = mean_by_integers(updates);
      RC_ASSERT(bits<T>(mean_of_sum<T>(merged)) == bits<T>(expected));
      auto parts = mean_of_sum<T>(below);
      if (cut + 1 < size) {
        const auto rest = mean_of_sum<T>(above);
        parts.insert(parts.end(), rest.begin(), rest.end());
      }
      RC_ASSERT(bits<T>(parts) == bits<T>(expected));
    }
  }));
}

TYPED_TEST(Extremes, ZerosInAFreshAccumulatorHaveAZeroMean) {
  using T = TypeParam;
  for (const std::size_t size : {1, 2, 256, 257, 5000}) {
    const std::vector<T> zeros(size), negative(size, -T{0});
    ExactMean sum(size);
    sum.add(std::span<const T>(zeros), 1);
    sum.add(std::span<const T>(negative), ExactMean::kMaxWeight);
    EXPECT_EQ(bits<T>(mean_of_sum<T>(sum)), bits<T>(zeros));
    std::vector<std::uint32_t> buffer;
    ExactMean packed(size);
    packed.merge_packed(sum.pack(0, size, buffer), sum.total_weight());
    EXPECT_EQ(bits<T>(mean_of_sum<T>(packed)), bits<T>(zeros));
  }
}

TEST(Extremes, AZeroBesideTheLargestNumberIsZero) {
  const std::vector<double> x = {1.7e308, 0, -1.7e308, -0.0};
  ExactMean sum(x.size());
  sum.add(std::span<const double>(x), ExactMean::kMaxWeight);
  EXPECT_EQ(mean_of_sum<double>(sum), x);
  sum.clear();
  const std::vector<double> small = {0, 1, 0, 0};
  sum.add(std::span<const double>(small), 3);
  EXPECT_EQ(mean_of_sum<double>(sum), small);
}

TEST(Extremes, LargeNumbersThatCancelLeaveZero) {
  const double most = std::numeric_limits<double>::max();
  ExactMean sum(2);
  for (const double x : {most, -most})
    sum.add(std::span<const double>(std::vector{x, x}), ExactMean::kMaxWeight);
  EXPECT_EQ(mean_of_sum<double>(sum), std::vector<double>(2));
}

TEST(Extremes, PackedSumsOfAnotherShapeAreRefused) {
  ExactMean sum(3), other(4);
  const std::vector<float> x = {1, 2, 3};
  sum.add(std::span<const float>(x), 1);
  std::vector<std::uint32_t> buffer;
  const auto words = sum.pack(0, 3, buffer);
  EXPECT_THROW(other.merge_packed(words, 1), std::invalid_argument);
  EXPECT_THROW(sum.merge_packed(words.first(words.size() - 1), 1), std::invalid_argument);
  EXPECT_THROW(sum.merge_packed({}, 1), std::invalid_argument);
  const std::vector<std::uint32_t> outside = {70, 1, 0, 0, 0};
  EXPECT_THROW(sum.merge_packed(outside, 1), std::invalid_argument);
}

}  // namespace
}  // namespace mfl
