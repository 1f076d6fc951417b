// Laws of the aggregators: equal bits on any number of threads, order of nodes, scale, identities and definitions.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>

#include "mfl/aggregate/aggregator.h"
#include "mfl/aggregate/exact_mean.h"
#include "mfl/aggregate/rules.h"
#include "mfl/base/digest.h"
#include "mfl/engine/workers.h"
#include "tests/aggregate/updates.h"
#include "tests/base/precisions.h"

namespace mfl {
namespace {

using test::aggregated;
using test::bits;
using test::distance;
using test::exact_mean_of;
using test::hard_updates;
using test::norm;
using test::random_updates;
using test::spec_of;
using test::specs_of_all;
using test::Updates;
using test::Vectors;
using test::views;

template <class T>
class RobustLaws : public ::testing::Test {
 protected:
  std::mt19937_64 random_{42};
};
TYPED_TEST_SUITE(RobustLaws, test::Precisions);

TYPED_TEST(RobustLaws, ThreadsAndOrderOfWorkChangeNoBit) {
  using T = TypeParam;
  const ForEach backwards = [](std::size_t n, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = n; i-- > 0;) work(i);
  };
  const auto workers = thread_workers(4);
  const ForEach threads = [&](std::size_t n, const std::function<void(std::size_t)>& work) {
    workers->for_each(n, [&](unsigned, std::size_t i) { work(i); });
  };
  for (const std::size_t nodes : {7, 40}) {
    const auto updates =
        random_updates<T>(nodes, 3 * kAggregateSlice + 5, kAggregateSlice + 1, this->random_);
    for (const std::string& spec : specs_of_all()) {
      const auto expected = bits(aggregated(spec, updates));
      EXPECT_EQ(bits(aggregated(spec, updates, backwards)), expected) << spec;
      EXPECT_EQ(bits(aggregated(spec, updates, threads)), expected) << spec;
    }
  }
}

// The bits of every built-in rule, the same for all instruction sets (MFL_KERNEL), compilers and machines.
TYPED_TEST(RobustLaws, BitsArePinned) {
  using T = TypeParam;
  const auto updates = random_updates<T>(9, 2 * kAggregateSlice + 77, 333, this->random_);
  Sha256 digest;
  for (const std::string_view spec :
       {"mean", "median", "trimmed-mean(0.2)", "krum(2)", "multi-krum(2)", "multi-krum(f=1, m=4)",
        "geometric-median", "geometric-median(20, 1e-3)", "centred-clipping(20)", "centred-clipping(1, 5)",
        "centred-clipping(1e6, 2)"})
    for (const auto& vector : aggregated(spec, updates))
      for (const T x : vector) digest.update(static_cast<double>(x));
  EXPECT_EQ(digest.finish_hex(), sizeof(T) == sizeof(float)
                                     ? "7c19e996e4f9de953f1a314020cb27c11ed70b47af21a286e16de276e4b7ed58"
                                     : "69d1f780dfafc582dd026626363c54a2c64c3a7de6c4c2c0916bcf63013a2f95");
}

TYPED_TEST(RobustLaws, CoordinateRulesAreTheMeanOfTheMiddle) {
  using T = TypeParam;
  for (const std::size_t nodes : {1, 2, 3, 4, 5, 8, 13, 32, 63, 100, 300, 2048, 2049, 2100}) {
    const auto updates = hard_updates<T>(nodes, nodes < 2000 ? 300 : 40, this->random_);
    const auto expected = [&](std::size_t trimmed) {
      Vectors<T> out = updates.broadcast;
      for (std::size_t v = 0; v < out.size(); ++v) {
        for (std::size_t j = 0; j < out[v].size(); ++j) {
          std::vector<T> column;
          for (const auto& node : updates.nodes) column.push_back(node[v][j]);
          std::ranges::sort(column);
          ExactMean sum(1);
          for (std::size_t i = trimmed; i < nodes - trimmed; ++i)
            sum.add(std::span<const T>(&column[i], 1), 1);
          sum.mean(std::span<T>(&out[v][j], 1));
        }
      }
      return bits(out);
    };
    EXPECT_EQ(bits(aggregated("median", updates)), expected((nodes - 1) / 2)) << nodes;
    EXPECT_EQ(bits(aggregated("trimmed-mean(0.25)", updates)), expected(nodes / 4)) << nodes;
    EXPECT_EQ(bits(aggregated("trimmed-mean(0)", updates)), expected(0)) << nodes;
  }
}

TYPED_TEST(RobustLaws, CoordinateRulesAreBlindToNodeNumbers) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    auto updates = hard_updates<T>(1 + random() % 20, 1 + random() % 70, random);
    std::vector<std::pair<std::string_view, decltype(bits(updates.broadcast))>> before;
    for (const std::string_view spec : {"median", "trimmed-mean(0.2)", "trimmed-mean(0.4)"})
      before.emplace_back(spec, bits(aggregated(spec, updates)));
    std::shuffle(updates.nodes.begin(), updates.nodes.end(), random);
    for (const auto& [spec, expected] : before) RC_ASSERT(bits(aggregated(spec, updates)) == expected);
  }));
}

TYPED_TEST(RobustLaws, OtherRulesDependOnNodeNumbersOnlyInRounding) {
  using T = TypeParam;
  auto updates = random_updates<T>(11, 50, 20, this->random_);
  std::vector<std::pair<std::string_view, Vectors<T>>> before;
  for (const std::string_view spec : {"krum(2)", "multi-krum(2)", "rfa", "centred-clipping(1, 2)"})
    before.emplace_back(spec, aggregated(spec, updates));
  std::shuffle(updates.nodes.begin(), updates.nodes.end(), this->random_);
  for (const auto& [spec, expected] : before)
    EXPECT_LT(distance(aggregated(spec, updates), expected), 16 * std::numeric_limits<T>::epsilon()) << spec;
}

// Krum on integers, whose distances are exact: the scores and the choice by their definition.
TYPED_TEST(RobustLaws, KrumChoosesByItsDefinition) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    const std::size_t f = random() % 4, nodes = 2 * f + 3 + random() % 20, m = 1 + random() % nodes;
    auto updates = random_updates<T>(nodes, 1 + random() % 5, random() % 3, random);
    for (auto& node : updates.nodes)
      for (auto& vector : node)
        for (T& x : vector) x = static_cast<T>(static_cast<int>(random() % 7) - 3);  // ties occur
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < nodes; ++i) {
      std::vector<double> squares;
      for (std::size_t j = 0; j < nodes; ++j)
        if (i != j) squares.push_back(std::round(std::pow(distance(updates.nodes[i], updates.nodes[j]), 2)));
      std::ranges::sort(squares);
      order.emplace_back(
          std::accumulate(squares.begin(), squares.end() - static_cast<std::ptrdiff_t>(f + 1), 0.0), i);
    }
    const auto scores = krum_scores<T>(views(updates), f, for_each_in_order);
    for (std::size_t i = 0; i < nodes; ++i) RC_ASSERT(scores[i] == order[i].first);
    std::ranges::sort(order);
    Updates<T> chosen = updates;
    chosen.nodes.clear();
    for (std::size_t k = 0; k < m; ++k) chosen.nodes.push_back(updates.nodes[order[k].second]);
    const std::string spec = "multi-krum(" + std::to_string(f) + ", " + std::to_string(m) + ")";
    RC_ASSERT(bits(aggregated(spec, updates)) == bits(exact_mean_of(chosen)));
  }));
}

// With so many pairs the sums of all slices do not fit the memory that Krum uses at a time.
TYPED_TEST(RobustLaws, KrumScoresOfManyNodesAreComplete) {
  using T = TypeParam;
  const std::size_t nodes = 1500, slices = 9, f = 40;
  Updates<T> updates;
  updates.broadcast.assign(slices, {T{0}});
  for (std::size_t i = 0; i < nodes; ++i) {
    updates.nodes.emplace_back();
    for (std::size_t s = 0; s < slices; ++s)
      updates.nodes.back().push_back({static_cast<T>(this->random_() % 100)});
  }
  const auto scores = krum_scores<T>(views(updates), f, for_each_in_order);
  for (const std::size_t i : {0, 1, 15, 16, 700, 1499}) {
    std::vector<double> squares;
    for (std::size_t j = 0; j < nodes; ++j)
      if (i != j) squares.push_back(std::round(std::pow(distance(updates.nodes[i], updates.nodes[j]), 2)));
    std::ranges::sort(squares);
    EXPECT_EQ(scores[i], std::accumulate(squares.begin(), squares.end() - (f + 1), 0.0)) << i;
  }
}

TYPED_TEST(RobustLaws, PowersOfTwoAndSignsScaleTheResultExactly) {
  using T = TypeParam;
  const auto updates = random_updates<T>(9, 100, 50, this->random_);
  const std::pair<std::string_view, std::string_view> pairs[] = {
      {"median", "median"},
      {"trimmed-mean(0.25)", "trimmed-mean(0.25)"},
      {"krum(3)", "krum(3)"},
      {"multi-krum(2)", "multi-krum(2)"},
      {"rfa(6, 0.25)", "rfa(6, 2)"},
      {"centred-clipping(2, 3)", "centred-clipping(16, 3)"},
      {"centred-clipping(100, 2)", "centred-clipping(800, 2)"},
  };
  for (const auto& [spec, scaled] : pairs) {
    Vectors<T> expected = aggregated(spec, updates);
    for (auto& vector : expected)
      for (T& x : vector) x = -8 * x + T{0};
    EXPECT_EQ(bits(aggregated(scaled, updates.mapped(-8, 0))), bits(expected)) << spec;
  }
}

TYPED_TEST(RobustLaws, ShiftsMoveTheResult) {
  using T = TypeParam;
  const auto updates = random_updates<T>(9, 100, 50, this->random_);
  const T shift = 3;
  for (const std::string_view spec : {"mean", "median", "trimmed-mean(0.25)", "krum(3)", "multi-krum(2)",
                                      "rfa(10)", "centred-clipping(2, 3)"}) {
    auto expected = Updates<T>{{aggregated(spec, updates)}, {}, {}}.mapped(1, shift).nodes[0];
    EXPECT_LT(distance(aggregated(spec, updates.mapped(1, shift)), expected),
              400 * static_cast<double>(std::numeric_limits<T>::epsilon()))
        << spec;
  }
}

TYPED_TEST(RobustLaws, EqualNodesComeBackBitForBit) {
  using T = TypeParam;
  for (const std::size_t nodes : {1, 2, 5, 10}) {
    auto updates = random_updates<T>(1, 40, 3, this->random_);
    updates.nodes.resize(nodes, updates.nodes[0]);
    updates.samples.clear();
    updates.broadcast = updates.nodes[0];
    for (const auto& entry : aggregators()) {
      const auto aggregator = make_aggregator(spec_of(entry)).value();
      if (!aggregator->check(nodes)) continue;
      EXPECT_EQ(bits(aggregated(*aggregator, updates)), bits(updates.nodes[0])) << entry.name << ' ' << nodes;
    }
  }
}

TYPED_TEST(RobustLaws, OneNodeIsFollowedUpToTheRadius) {
  using T = TypeParam;
  const auto updates = random_updates<T>(1, 40, 3, this->random_);
  for (const std::string_view spec : {"mean", "median", "trimmed-mean(0.4)", "rfa", "centred-clipping(1000)",
                                      "centred-clipping(1000, 4)", "centred-clipping(inf)"})
    EXPECT_EQ(bits(aggregated(spec, updates)), bits(updates.nodes[0])) << spec;
  const auto clipped = aggregated("centred-clipping(0.5)", updates);
  EXPECT_NEAR(distance(clipped, updates.broadcast), 0.5, 1e-6);
  EXPECT_NEAR(distance(clipped, updates.nodes[0]), distance(updates.broadcast, updates.nodes[0]) - 0.5, 1e-5);
}

TYPED_TEST(RobustLaws, NoVectorsAndEmptyVectorsGiveTheSame) {
  using T = TypeParam;
  for (const std::string& spec : specs_of_all()) {
    Updates<T> updates;
    updates.nodes.resize(7);
    EXPECT_EQ(aggregated(spec, updates), Vectors<T>{}) << spec;
    updates.nodes.assign(7, {{}, {}});
    updates.broadcast = {{}, {}};
    EXPECT_EQ(aggregated(spec, updates), (Vectors<T>{{}, {}})) << spec;
    updates.nodes.assign(7, {{}, {T{2}}});
    updates.broadcast = {{}, {T{2}}};
    EXPECT_EQ(aggregated(spec, updates).at(0).size(), 0U) << spec;
    EXPECT_EQ(aggregated(spec, updates).at(1).size(), 1U) << spec;
  }
}

TYPED_TEST(RobustLaws, WithoutAnythingToDropTheRulesAreTheExactMean) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    const std::size_t nodes = 3 + random() % 10;
    const auto updates = hard_updates<T>(nodes, 1 + random() % 50, random);
    const auto expected = bits(exact_mean_of(updates));
    RC_ASSERT(bits(aggregated("trimmed-mean(0)", updates)) == expected);
    RC_ASSERT(bits(aggregated("centred-clipping(inf)", updates)) == expected);
    RC_ASSERT(bits(aggregated("centred-clipping(inf, 3)", updates)) == expected);
    RC_ASSERT(bits(aggregated("multi-krum(0, " + std::to_string(nodes) + ")", updates)) == expected);
    const auto small = random_updates<T>(nodes, 1 + random() % 50, 3, random);
    RC_ASSERT(bits(aggregated("centred-clipping(1000)", small)) == bits(exact_mean_of(small)));
    RC_ASSERT(bits(aggregated("centred-clipping(1000, 3)", small)) == bits(exact_mean_of(small)));
  }));
}

// Rounded to f64 first, this mean would be half-way between two f32 and then round to the even one.
TEST(CentredClipping, UnclippedIsRoundedOnce) {
  const auto updates = Updates<float>::of({{1 + 0x1p-23F}, {1 + 0x1p-23F}, {2}, {0x1p-80F}});
  for (const std::string_view spec :
       {"centred-clipping(inf)", "centred-clipping(9)", "centred-clipping(9, 2)"})
    EXPECT_EQ(aggregated(spec, updates), (Vectors<float>{{1 + 0x1p-23F}})) << spec;
}

TYPED_TEST(RobustLaws, ZerosArePositive) {
  using T = TypeParam;
  auto updates = Updates<T>::of(Vectors<T>(7, {-T{0}, T{0}}));
  updates.broadcast = {{-T{0}, -T{0}}};
  for (const auto& entry : aggregators()) {
    if (entry.name == "first-node") continue;
    EXPECT_EQ(bits(aggregated(spec_of(entry), updates)), bits(Vectors<T>{{T{0}, T{0}}})) << entry.name;
  }
  // Clipped, and back where it was.
  updates.nodes = {{{1, -T{0}}}, {{-1, T{0}}}};
  EXPECT_EQ(bits(aggregated("centred-clipping(0.5)", updates)), bits(Vectors<T>{{T{0}, T{0}}}));
}

// Distances are over both vectors: neither alone is beyond the radius, together they are.
TYPED_TEST(RobustLaws, VectorsOfANodeCountTogether) {
  using T = TypeParam;
  Updates<T> updates;
  updates.nodes = {{{3}, {4}}, {{3}, {4}}};
  updates.broadcast = {{0}, {0}};
  EXPECT_EQ(aggregated("centred-clipping(5)", updates), (Vectors<T>{{3}, {4}}));
  const auto clipped = aggregated("centred-clipping(4)", updates);
  EXPECT_NEAR(clipped[0][0], 2.4, 1e-6);
  EXPECT_NEAR(clipped[1][0], 3.2, 1e-6);
  const auto apart = random_updates<T>(7, 30, 20, this->random_);
  Updates<T> joined;
  const auto join = [](const Vectors<T>& vectors) {
    std::vector<T> out = vectors[0];
    out.insert(out.end(), vectors[1].begin(), vectors[1].end());
    return Vectors<T>{out};
  };
  for (const auto& node : apart.nodes) joined.nodes.push_back(join(node));
  joined.broadcast = join(apart.broadcast);
  joined.samples = apart.samples;
  for (const std::string& spec : specs_of_all())
    EXPECT_LT(distance(join(aggregated(spec, apart)), aggregated(spec, joined)),
              16 * std::numeric_limits<T>::epsilon())
        << spec;
}

// At the geometric median the unit vectors towards the nodes cancel.
TEST(GeometricMedian, ConvergesToThePointOfLeastDistances) {
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    const std::size_t nodes = 4 + random() % 10;
    const auto updates = random_updates<double>(nodes, 5 + random() % 10, 3, random);
    const auto centre = aggregated("rfa(1000, 1e-9)", updates);
    Vectors<double> pull = {std::vector<double>(centre[0].size()), std::vector<double>(centre[1].size())};
    for (const auto& node : updates.nodes)
      for (std::size_t v = 0; v < 2; ++v)
        for (std::size_t j = 0; j < pull[v].size(); ++j)
          pull[v][j] += (node[v][j] - centre[v][j]) / distance(node, centre);
    RC_ASSERT(norm(pull) < 1e-6);
  }));
}

// Centred clipping by its formula, in plain loops.
TEST(CentredClipping, FollowsItsFormula) {
  EXPECT_TRUE(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint32_t>());
    const std::size_t nodes = 1 + random() % 10;
    const auto updates = random_updates<double>(nodes, 1 + random() % 30, random() % 20, random);
    Vectors<double> v = updates.broadcast;
    for (int step = 0; step < 3; ++step) {
      Vectors<double> next = v;
      for (const auto& node : updates.nodes) {
        const double off = distance(node, v);
        const double factor = off > 1.5 ? 1.5 / off : 1;
        for (std::size_t k = 0; k < 2; ++k)
          for (std::size_t j = 0; j < v[k].size(); ++j)
            next[k][j] += factor * (node[k][j] - v[k][j]) / static_cast<double>(nodes);
      }
      v = next;
    }
    RC_ASSERT(distance(aggregated("centred-clipping(1.5, 3)", updates), v) < 1e-13);
  }));
}

}  // namespace
}  // namespace mfl
