// The mean of a round does not depend on slices, workers or passes.
#include "mfl/federation/round_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "mfl/federation/payload.h"
#include "tests/base/precisions.h"

namespace mfl {
namespace {

constexpr std::size_t kVectors = 2, kSumColumns = 10'007;  // some slices, the last one short
const VectorLayout kLayout({averaged("w"), averaged("d")});

template <class T>
std::vector<Vector<T>> numbers(unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<T> normal(0, T(0.1));
  std::vector<Vector<T>> out(kVectors, Vector<T>(kSumColumns));
  for (auto& vector : out)
    for (T& x : vector) x = normal(random);
  return out;
}

template <class T>
class RoundSumOf : public ::testing::Test {};
TYPED_TEST_SUITE(RoundSumOf, test::Precisions);

TYPED_TEST(RoundSumOf, TheMeanIsThatOfWholeVectors) {
  using T = TypeParam;
  std::vector<ExactMean> whole(kVectors, ExactMean(kSumColumns));
  for (unsigned i = 0; i < 7; ++i)
    for (std::size_t v = 0; v < kVectors; ++v) whole[v].add(std::span<const T>(numbers<T>(i)[v]), 100 + i);
  std::vector<Vector<T>> expected(kVectors, Vector<T>(kSumColumns));
  for (std::size_t v = 0; v < kVectors; ++v) whole[v].mean(std::span<T>(expected[v]));
  for (const unsigned threads : {1U, 2U, 5U})
    for (const std::size_t held : {1, 3, 100}) {
      const auto workers = thread_workers(threads);
      RoundSum<T> sum(kLayout, kSumColumns, *workers, nullptr, held);
      std::vector<Vector<T>> mean;
      sum.add("node", to_payload(numbers<T>(99)), 5);
      sum.clear();  // a round that was abandoned
      for (int round = 0; round < 2; ++round) {
        for (unsigned i = 7; i-- > 0;) sum.add("node", to_payload(numbers<T>(i)), 100 + i);
        sum.finish(State<T>{}, mean);
        EXPECT_EQ(mean, expected) << threads << " threads, " << held << " held";
        sum.clear();
      }
    }
}

// A slice of 4,096 coordinates that no node uses, beside numbers at the ends of the range.
TYPED_TEST(RoundSumOf, SlicesOfZerosHaveAZeroMean) {
  using T = TypeParam;
  auto update = numbers<T>(1);
  for (auto& vector : update) std::fill(vector.begin() + 4096, vector.begin() + 9000, T{0});
  update[0][0] = std::numeric_limits<T>::max();
  update[1][9001] = -std::numeric_limits<T>::max();
  update[1][1] = std::numeric_limits<T>::denorm_min();
  const std::vector<Vector<T>> zeros(kVectors, Vector<T>(kSumColumns));
  const auto workers = thread_workers(2);
  RoundSum<T> sum(kLayout, kSumColumns, *workers);
  std::vector<Vector<T>> mean;
  for (int round = 0; round < 2; ++round) {
    for (const auto* one : {&zeros, &std::as_const(update)}) {
      sum.add("node", to_payload(*one), ExactMean::kMaxWeight);
      sum.finish(State<T>{}, mean);
      EXPECT_EQ(mean, *one);
      sum.clear();
    }
  }
}

template <class T>
State<T> state_of(std::vector<Vector<T>> vectors) {
  State<T> state;
  state.vectors = {{"w", std::move(vectors[0])}, {"d", std::move(vectors[1])}};
  return state;
}

TYPED_TEST(RoundSumOf, NamesTheFirstNumberThatIsNotFinite) {
  using T = TypeParam;
  const auto workers = thread_workers(2);
  RoundSum<T> sum(kLayout, kSumColumns, *workers);
  const auto from = state_of(numbers<T>(1));
  auto bad = numbers<T>(2);
  EXPECT_FALSE(sum.measure(to_payload(bad), from).not_finite);
  bad[1][9000] = std::numeric_limits<T>::infinity();
  bad[1][42] = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(sum.measure(to_payload(bad), from).not_finite, kSumColumns + 42);
  EXPECT_EQ(sum.name_of(kSumColumns + 42), "d[42]");
  bad[0][4096] = -std::numeric_limits<T>::infinity();
  EXPECT_EQ(sum.measure(to_payload(bad), from).not_finite, 4096U);
}

TYPED_TEST(RoundSumOf, MeasuresEachVectorAloneWithTheSameBitsOnAnyWorkers) {
  using T = TypeParam;
  const auto from = numbers<T>(1), to = numbers<T>(2);
  const auto serial = serial_workers();
  const auto moves = RoundSum<T>(kLayout, kSumColumns, *serial).measure(to_payload(to), state_of(from)).moves;
  for (std::size_t v = 0; v < kVectors; ++v) {
    double square = 0;
    for (std::size_t j = 0; j < kSumColumns; ++j) {
      const double move = static_cast<double>(to[v][j]) - static_cast<double>(from[v][j]);
      square += move * move;
    }
    EXPECT_NEAR(moves[v], std::sqrt(square), 1e-9);
  }
  for (const unsigned threads : {2U, 5U}) {
    const auto workers = thread_workers(threads);
    EXPECT_EQ(RoundSum<T>(kLayout, kSumColumns, *workers).measure(to_payload(to), state_of(from)).moves,
              moves);
  }
  auto far = to;
  far[1][5] = std::numeric_limits<T>::max();
  const auto measured = RoundSum<T>(kLayout, kSumColumns, *serial).measure(to_payload(far), state_of(from));
  EXPECT_FALSE(measured.not_finite) << "large is not infinite";
  EXPECT_GE(measured.moves[1], static_cast<double>(std::numeric_limits<T>::max()));
}

TYPED_TEST(RoundSumOf, FewerLargeUpdatesAreHeld) {
  using T = TypeParam;
  const auto workers = serial_workers();
  constexpr std::size_t kBytes = kVectors * kSumColumns * sizeof(T);
  const auto held = [&](std::size_t most_bytes) {
    return RoundSum<T>(kLayout, kSumColumns, *workers, nullptr, 8, most_bytes).most_held();
  };
  EXPECT_EQ(held(100 * kBytes), 8U);
  EXPECT_EQ(held(3 * kBytes), 3U);
  EXPECT_EQ(held(kBytes / 2), 1U);
  RoundSum<T> sum(kLayout, kSumColumns, *workers, nullptr, 8, kBytes / 2);
  sum.add("node", to_payload(numbers<T>(1)), 3);
  EXPECT_EQ(sum.spare_buffer().capacity(), std::string().capacity())
      << "an update beyond the limit is not kept";
}

TYPED_TEST(RoundSumOf, MemoryOfAddedUpdatesIsUsedAgain) {
  using T = TypeParam;
  const auto workers = serial_workers();
  RoundSum<T> sum(kLayout, kSumColumns, *workers, nullptr, 1);
  EXPECT_EQ(sum.spare_buffer().capacity(), std::string().capacity());
  std::string payload = to_payload(numbers<T>(1));
  const char* const memory = payload.data();
  sum.add("node", std::move(payload), 3);
  const std::string buffer = sum.spare_buffer();
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(sum.spare_buffer().capacity(), std::string().capacity());
}

}  // namespace
}  // namespace mfl
