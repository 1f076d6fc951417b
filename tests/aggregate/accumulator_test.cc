// What an accumulator makes of updates depends neither on slices, workers, passes and processes, nor on their order.
#include "mfl/aggregate/accumulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mfl/aggregate/aggregator.h"
#include "mfl/engine/workers.h"
#include "tests/aggregate/updates.h"
#include "tests/base/precisions.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kFirst = 10'007, kSecond = 300,
                      kNodes = 7;  // three slices, the last one short; and one
const std::vector<SentVector> kLayout = {{"w", kFirst}, {"d", kSecond, false}};

template <class T>
SentUpdate<T> update_of(const Updates<T>& updates, std::size_t node) {
  SentUpdate<T> out{.node = {node}, .samples = updates.samples[node]};
  for (const auto& vector : updates.nodes[node]) out.vectors.emplace_back(vector);
  out.numbers = {1.0 / static_cast<double>(node + 3)};
  return out;
}

template <class T>
VectorViews<T> origin_of(const Updates<T>& updates) {
  return {updates.broadcast.begin(), updates.broadcast.end()};
}

template <class T>
Updates<T> some_updates() {
  std::mt19937_64 random(11);
  return random_updates<T>(kNodes, kFirst, kSecond, random);
}

template <class T>
Vectors<T> finished(Accumulator<T>& sums, const Updates<T>& updates, const ForEach& run = for_each_in_order) {
  EXPECT_FALSE(sums.failure());
  std::vector<Vector<T>> out;
  sums.finish(origin_of(updates), out, run);
  Vectors<T> plain;
  for (const auto& vector : out) plain.emplace_back(vector.begin(), vector.end());
  return plain;
}

// The second vector counts all nodes alike.
template <class T>
Vectors<T> expected_mean(const Updates<T>& updates, std::span<const std::size_t> nodes) {
  Vectors<T> out = {std::vector<T>(kFirst), std::vector<T>(kSecond)};
  for (std::size_t v = 0; v < out.size(); ++v) {
    ExactMean sum(out[v].size());
    for (const std::size_t node : nodes)
      sum.add(std::span<const T>(updates.nodes[node][v]), v == 0 ? updates.samples[node] : 1);
    sum.mean(std::span<T>(out[v]));
  }
  return out;
}

template <class T>
Vectors<T> expected_of(const std::string& spec, const Updates<T>& updates) {
  if (spec != "mean()") return aggregated(spec, updates);
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6};
  return expected_mean(updates, all);
}

template <class T>
class AccumulatorOf : public ::testing::Test {};
TYPED_TEST_SUITE(AccumulatorOf, Precisions);

TYPED_TEST(AccumulatorOf, EveryAggregatorGivesOneResultForAllOrdersWorkersAndProcesses) {
  using T = TypeParam;
  const auto updates = some_updates<T>();
  const auto threads = thread_workers(3);
  for (const std::string& spec : specs_of_all()) {
    const auto aggregator = make_aggregator(spec).value();
    const auto expected = bits(expected_of(spec, updates));
    const auto alone = aggregator->template accumulator<T>(kLayout);
    for (std::size_t node = kNodes; node-- > 0;) alone->add(update_of(updates, node));
    EXPECT_EQ(bits(finished(*alone, updates)), expected) << spec;
    const auto shared = aggregator->template accumulator<T>(kLayout, {.workers = 3});
    threads->for_each(
        kNodes, [&](unsigned worker, std::size_t node) { shared->add(update_of(updates, node), worker); });
    EXPECT_EQ(bits(finished(*shared, updates, for_each_of(*threads))), expected) << spec << " by workers";
    const auto first = aggregator->template accumulator<T>(kLayout, {.workers = 2});
    const auto second = aggregator->template accumulator<T>(kLayout);
    for (std::size_t node = 0; node < kNodes; ++node)
      if (node % 3 == 0)
        second->add(update_of(updates, node));
      else
        first->add(update_of(updates, node), node % 2);
    ASSERT_TRUE(first->merge(second->pack()));
    EXPECT_EQ(first->mean(0), alone->mean(0)) << "numbers travel with the vectors";
    EXPECT_EQ(bits(finished(*first, updates)), expected) << spec << " merged";
  }
}

TYPED_TEST(AccumulatorOf, UpdatesThatAreHeldGiveTheSameMean) {
  using T = TypeParam;
  const auto updates = some_updates<T>();
  const auto workers = thread_workers(2);
  const auto expected = bits(expected_of("mean()", updates));
  for (const std::size_t held : {1, 3, 100}) {
    const auto sums =
        mean_aggregator().accumulator<T>(kLayout, {.most_held = held, .run = for_each_of(*workers)});
    for (int round = 0; round < 2; ++round) {
      sums->add(update_of(updates, 0));  // a round that was abandoned
      sums->clear();
      for (std::size_t node = 0; node < kNodes; ++node) {
        SentUpdate<T> update = update_of(updates, node);
        const auto memory = std::make_shared<const Vectors<T>>(updates.nodes[node]);
        update.vectors = {memory->begin(), memory->end()};
        update.memory = memory;
        sums->add(update);
        EXPECT_LE(memory.use_count(), held == 1 ? 2 : 3) << "an update that was added is let go";
      }
      EXPECT_EQ(bits(finished(*sums, updates)), expected) << held;
      sums->clear();
    }
  }
}

TYPED_TEST(AccumulatorOf, FewerLargeUpdatesAreHeld) {
  using T = TypeParam;
  const auto updates = some_updates<T>();
  constexpr std::size_t kBytes = (kFirst + kSecond) * sizeof(T);
  for (const auto& [most_bytes, expected] :
       {std::pair<std::size_t, std::size_t>{100 * kBytes, 8}, {3 * kBytes, 3}, {kBytes / 2, 1}}) {
    const auto sums = mean_aggregator().accumulator<T>(kLayout, {.most_bytes = most_bytes});
    const auto memory = std::make_shared<int>(0);
    std::size_t most = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      SentUpdate<T> update = update_of(updates, 0);
      update.memory = memory;
      sums->add(update);
      most = std::max(most, static_cast<std::size_t>(memory.use_count()) - 2);  // this one, and `update`
    }
    EXPECT_EQ(most, expected - 1);
  }
}

// Zeros of either sign have the mean +0.
TYPED_TEST(AccumulatorOf, TheMeanOfTheOnlyNodeIsItsUpdate) {
  using T = TypeParam;
  auto updates = some_updates<T>();
  updates.nodes[2][0][5] = -T{0};
  const std::vector<std::size_t> only = {2};
  const auto expected = bits(expected_mean(updates, only));
  const auto sums = mean_aggregator().accumulator<T>(kLayout, {.workers = 2, .nodes = 1});
  for (int round = 0; round < 2; ++round) {
    sums->clear();
    sums->add(update_of(updates, 2), 1);
    EXPECT_EQ(bits(finished(*sums, updates)), expected);
  }
  sums->clear();
  sums->add(update_of(updates, 2), 1);
  const auto other = mean_aggregator().accumulator<T>(kLayout);
  ASSERT_TRUE(other->merge(sums->pack()));
  EXPECT_EQ(bits(finished(*other, updates)), expected);
}

TYPED_TEST(AccumulatorOf, ARoundMayHaveTheFirstVectorsAlone) {
  using T = TypeParam;
  const auto updates = some_updates<T>();
  const auto sums = mean_aggregator().accumulator<T>(kLayout);
  sums->clear(1);
  for (std::size_t node = 0; node < kNodes; ++node) {
    SentUpdate<T> update = update_of(updates, node);
    update.vectors.pop_back();
    sums->add(update);
  }
  auto expected = expected_of("mean()", updates);
  expected.pop_back();
  EXPECT_EQ(bits(finished(*sums, updates)), bits(expected));
}

TYPED_TEST(AccumulatorOf, NumbersAndMetricsAreExactMeansAcrossProcesses) {
  using T = TypeParam;
  const auto one = mean_aggregator().accumulator<T>(kLayout), two = mean_aggregator().accumulator<T>(kLayout);
  const Metrics here = {{"auc", 0.5}, {"f1", 1}}, there = {{"auc", 0.75}};
  one->add({.samples = 1, .numbers = {0x1p60, std::nullopt, 3}, .metrics = &here});
  two->add({.samples = 1, .numbers = {1}, .metrics = &there});
  two->add({.samples = 2, .numbers = {-0x1p59}, .metrics = &there});
  ASSERT_TRUE(one->merge(two->pack(false)));
  EXPECT_EQ(one->mean(0), 0.25) << "nothing is lost between large numbers";
  EXPECT_EQ(one->mean(1), std::nullopt);
  EXPECT_EQ(one->mean(2), 3);
  EXPECT_EQ(one->metrics(), (Metrics{{"auc", 0.6875}})) << "f1 is missing at two nodes";
  one->add({.numbers = {std::numeric_limits<double>::infinity()}});
  EXPECT_TRUE(std::isnan(one->mean(0).value()));
  EXPECT_EQ(one->mean(2), 3);
  EXPECT_FALSE(one->failure()) << "whether a number may be so is the caller's to say";
}

TYPED_TEST(AccumulatorOf, TheFailureIsThatOfTheFirstNode) {
  using T = TypeParam;
  auto updates = some_updates<T>();
  updates.nodes[4][1][42] = std::numeric_limits<T>::quiet_NaN();
  updates.nodes[6][0][4096] = std::numeric_limits<T>::infinity();
  for (const std::string& spec : specs_of_all()) {
    const auto aggregator = make_aggregator(spec).value();
    const auto sums = aggregator->template accumulator<T>(kLayout, {.workers = 2});
    sums->add(update_of(updates, 6), 0);
    sums->add(update_of(updates, 4), 1);
    ASSERT_TRUE(sums->failure()) << spec;
    EXPECT_EQ(sums->failure()->node.number, 4U);
    EXPECT_EQ(sums->failure()->what, "d[42]");
    const auto other = aggregator->template accumulator<T>(kLayout);
    ASSERT_TRUE(other->merge(sums->pack(false)));
    EXPECT_EQ(other->failure()->what, "d[42]");
    sums->clear();
    EXPECT_FALSE(sums->failure());
  }
}

// Of every aggregator: any cut of what was packed, and bytes of another layout, are refused in one line.
TYPED_TEST(AccumulatorOf, BytesOfAnotherShapeAreRefused) {
  using T = TypeParam;
  std::mt19937_64 random(3);
  const std::vector<SentVector> layout = {{"w", 5}};
  auto updates = random_updates<T>(kNodes, 5, 1, random);
  for (const char* const spec : {"mean()", "median()"}) {
    const auto aggregator = make_aggregator(spec).value();
    const auto sums = aggregator->template accumulator<T>(layout);
    for (std::size_t node = 0; node < 2; ++node) {
      SentUpdate<T> update = update_of(updates, node);
      update.vectors.pop_back();
      sums->add(update);
    }
    const std::string packed = sums->pack();
    const auto merged = [&](std::string_view bytes) {
      return aggregator->template accumulator<T>(layout)->merge(bytes);
    };
    EXPECT_TRUE(merged(packed));
    for (std::size_t size = 0; size < packed.size(); ++size)
      ASSERT_FALSE(merged(std::string_view(packed).substr(0, size))) << spec << ' ' << size;
    const auto more = merged(packed + "x");
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::kBadData);
    EXPECT_THAT(more.error().message, HasSubstr("bytes after their end"));
    const std::vector<SentVector> longer = {{"w", 6}};
    EXPECT_FALSE(aggregator->template accumulator<T>(longer)->merge(packed)) << spec;
  }
}

// Names decide where numbers are equal; with lengths as numbers that is the order of a simulation's nodes.
TYPED_TEST(AccumulatorOf, RulesSeeNodesInTheOrderOfTheirPlaces) {
  using T = TypeParam;
  const auto updates = some_updates<T>();
  const auto krum = make_aggregator("multi-krum(1, 3)").value();
  const auto by_number = krum->template accumulator<T>(kLayout),
             by_name = krum->template accumulator<T>(kLayout);
  for (std::size_t i = kNodes; i-- > 0;) {
    SentUpdate<T> update = update_of(updates, i);
    by_number->add(update);
    const std::string name = std::string(i < 4 ? "b-" : "a-1") + std::to_string(i);
    update.node = {name.size(), name};
    by_name->add(update);
  }
  EXPECT_EQ(bits(finished(*by_name, updates)), bits(finished(*by_number, updates)));
}

TYPED_TEST(AccumulatorOf, MeasuringNamesTheFirstNumberThatIsNotFinite) {
  using T = TypeParam;
  const auto updates = some_updates<T>();
  auto bad = updates.nodes[1];
  const auto workers = thread_workers(2);
  const auto measured = [&] {
    return measure_update<T>(kLayout, {bad.begin(), bad.end()}, origin_of(updates), for_each_of(*workers));
  };
  EXPECT_FALSE(measured().not_finite);
  bad[1][42] = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(measured().not_finite, "d[42]");
  bad[0][9000] = -std::numeric_limits<T>::infinity();
  bad[0][4096] = std::numeric_limits<T>::infinity();
  EXPECT_EQ(measured().not_finite, "w[4096]");
}

TYPED_TEST(AccumulatorOf, MeasuresEachVectorAloneWithTheSameBitsOnAnyWorkers) {
  using T = TypeParam;
  const auto updates = some_updates<T>();
  const auto& node = updates.nodes[1];
  const VectorViews<T> views(node.begin(), node.end());
  const VectorViews<T> origin = {updates.broadcast[0], {}};  // the second starts at zero
  const auto moves = measure_update<T>(kLayout, views, origin, for_each_in_order).moves;
  EXPECT_NEAR(moves[0], distance<T>({node[0]}, {updates.broadcast[0]}), 1e-9);
  EXPECT_NEAR(moves[1], norm<T>({node[1]}), 1e-9);
  for (const unsigned threads : {2U, 5U}) {
    const auto workers = thread_workers(threads);
    EXPECT_EQ(measure_update<T>(kLayout, views, origin, for_each_of(*workers)).moves, moves);
  }
  auto far = node;
  far[1][5] = std::numeric_limits<T>::max();
  const auto measured = measure_update<T>(kLayout, {far.begin(), far.end()}, origin, for_each_in_order);
  EXPECT_FALSE(measured.not_finite) << "large is not infinite";
  EXPECT_GE(measured.moves[1], static_cast<double>(std::numeric_limits<T>::max()));
}

}  // namespace
}  // namespace mfl::test
