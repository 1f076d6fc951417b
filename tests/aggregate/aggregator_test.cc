// Known values of every rule, what specs are refused, and an aggregator that is added from outside.
#include "mfl/aggregate/aggregator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/aggregate/rules.h"
#include "tests/aggregate/updates.h"
#include "tests/base/precisions.h"

namespace mfl {
namespace {

using test::aggregated;
using test::bits;
using test::spec_of;
using test::Updates;
using test::Vectors;
using test::views;

// The update of the node with the lowest number: a toy that another program would add.
class FirstNode final : public AggregatorOf<FirstNode> {
 public:
  using AggregatorOf::AggregatorOf;
  template <class T>
  void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>&, std::vector<Vector<T>>& out,
               const ForEach&) const {
    for (std::size_t v = 0; v < out.size(); ++v) std::ranges::copy(updates[0].vectors[v], out[v].begin());
  }
};

const bool kToyIsInTheCatalogue = [] {
  aggregators().add(
      {{.name = "first-node", .description = "a toy"},
       [](std::string spec, const ParameterValues&) -> Result<std::unique_ptr<const Aggregator>> {
         return std::make_unique<FirstNode>(std::move(spec));
       }});
  return true;
}();

template <class T>
Updates<T> seven_nodes() {
  return Updates<T>::of({{1, 2, 3}, {2, 1, 3}, {1, 1, 4}, {2, 2, 2}, {3, 1, 3}, {1, 3, 3}, {100, -50, 7}});
}

template <class T>
void expect_near(const Vectors<T>& actual, const std::vector<double>& expected, std::string_view what) {
  const double tolerance = sizeof(T) == sizeof(float) ? 3e-7 : 2e-10;
  ASSERT_EQ(actual.size(), 1U) << what;
  ASSERT_EQ(actual[0].size(), expected.size()) << what;
  for (std::size_t j = 0; j < expected.size(); ++j)
    EXPECT_NEAR(actual[0][j], expected[j], tolerance * std::max(1.0, std::abs(expected[j])))
        << what << ' ' << j;
}

template <class T>
class RulesOf : public ::testing::Test {};
TYPED_TEST_SUITE(RulesOf, test::Precisions);

TYPED_TEST(RulesOf, HaveTheKnownValues) {
  const auto updates = seven_nodes<TypeParam>();
  const std::pair<std::string_view, std::vector<double>> table[] = {
      {"mean", {110.0 / 7, -40.0 / 7, 25.0 / 7}},
      {"median", {2, 1, 3}},
      {"trimmed-mean(0.15)", {1.8, 1.4, 3.2}},
      {"trimmed-mean(0)", {110.0 / 7, -40.0 / 7, 25.0 / 7}},
      {"trimmed-mean(0.45)", {2, 1, 3}},
      {"krum(1)", {1, 2, 3}},
      {"multi-krum(1, 1)", {1, 2, 3}},
      {"multi-krum(1, 2)", {1.5, 1.5, 3}},
      {"multi-krum(1, 4)", {1.5, 1.5, 3}},
      {"multi-krum(1)", {10.0 / 6, 10.0 / 6, 18.0 / 6}},
      {"geometric-median", {2.004922251, 1.3072363502, 2.9790628264}},
      {"rfa(iterations=4, nu=1e-5)", {2.004922251, 1.3072363502, 2.9790628264}},
      {"centred-clipping(10)", {2.7038275014, 0.7909433922, 2.6606964965}},
      {"centered-clipping(radius=10, iterations=3)", {3.1326304989, 0.890838727, 3.0532017211}},
      {"first-node", {1, 2, 3}},
  };
  for (const auto& [spec, expected] : table) expect_near(aggregated(spec, updates), expected, spec);
}

TYPED_TEST(RulesOf, KrumScoresAreSumsOfTheSmallestSquaredDistances) {
  const auto updates = seven_nodes<TypeParam>();
  const std::vector<double> expected = {7, 7, 14, 10, 14, 14, 48991};
  EXPECT_EQ(krum_scores<TypeParam>(views(updates), 1, for_each_in_order), expected);
}

TYPED_TEST(RulesOf, KrumDecidesTiesForTheLowerNumber) {
  const auto updates = Updates<TypeParam>::of({{4, 0}, {0, 4}, {-4, 0}, {0, -4}});
  EXPECT_EQ(aggregated("krum(0)", updates), (Vectors<TypeParam>{{4, 0}}));
  EXPECT_EQ(aggregated("multi-krum(0, 3)", updates), (Vectors<TypeParam>{{0, TypeParam(4) / 3}}));
}

TYPED_TEST(RulesOf, MedianOfAnEvenNumberIsTheMiddleOfTheMiddle) {
  using T = TypeParam;
  const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::denorm_min();
  const auto updates = Updates<T>::of({{1, most, least, -most}, {4, most, 2 * least, most}});
  EXPECT_EQ(aggregated("median", updates), (Vectors<T>{{2.5, most, 2 * least, 0}}));
}

TYPED_TEST(RulesOf, MeanIsWeightedAndTheOthersAreNot) {
  using T = TypeParam;
  auto updates = seven_nodes<T>();
  for (const auto& entry : aggregators()) {
    const auto aggregator = make_aggregator(spec_of(entry)).value();
    EXPECT_EQ(aggregator->weighted(), entry.name == "mean");
    EXPECT_EQ(aggregator->accumulator<float>({{"w", 3}})->sliced() != nullptr, entry.name == "mean");
  }
  updates.samples = {1, 2, 3, 4, 5, 6, 7};
  ExactMean sum(3);
  for (std::size_t i = 0; i < 7; ++i) sum.add(std::span<const T>(updates.nodes[i][0]), updates.samples[i]);
  Vectors<T> expected = {std::vector<T>(3)};
  sum.mean(std::span<T>(expected[0]));
  EXPECT_EQ(bits(aggregated("mean", updates)), bits(expected));
  for (const auto& entry : aggregators()) {
    if (entry.name == "mean") continue;
    EXPECT_EQ(bits(aggregated(spec_of(entry), updates)), bits(aggregated(spec_of(entry), seven_nodes<T>())));
  }
}

TYPED_TEST(RulesOf, RefuseUpdatesThatDoNotFit) {
  using T = TypeParam;
  for (const auto& entry : aggregators()) {
    const auto aggregator = make_aggregator(spec_of(entry)).value();
    auto updates = seven_nodes<T>();
    updates.nodes[3][0].pop_back();
    EXPECT_THROW(aggregated(*aggregator, updates), std::invalid_argument) << entry.name;
    updates = seven_nodes<T>();
    updates.nodes[3].emplace_back();
    EXPECT_THROW(aggregated(*aggregator, updates), std::invalid_argument) << entry.name;
    updates.nodes.clear();
    EXPECT_THROW(aggregated(*aggregator, updates), std::invalid_argument) << entry.name;
  }
  auto updates = seven_nodes<T>();
  updates.nodes.resize(4);
  EXPECT_THROW(aggregated("krum(1)", updates), std::invalid_argument);
  updates.samples = {1, 0, 1, 1};
  EXPECT_THROW(aggregated("mean", updates), std::invalid_argument);
  updates.samples = {1, ExactMean::kMaxWeight + 1, 1, 1};
  EXPECT_THROW(aggregated("mean", updates), std::invalid_argument);
  EXPECT_EQ(aggregated("median", updates).size(), 1U);
}

TEST(Aggregators, CanonicalSpecsMakeTheSameAggregator) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"mean", "mean"},
      {"median()", "median"},
      {"trimmed-mean( 0.20 )", "trimmed-mean(fraction=0.2)"},
      {"krum(2)", "krum(f=2)"},
      {"multi-krum(2)", "multi-krum(f=2)"},
      {"multi-krum(m=4, f=2)", "multi-krum(f=2, m=4)"},
      {"rfa", "geometric-median(iterations=4, nu=1e-05)"},
      {"centered-clipping(inf)", "centred-clipping(radius=inf, iterations=1)"},
  };
  for (const auto& [text, canonical] : table) {
    const auto aggregator = make_aggregator(text);
    ASSERT_TRUE(aggregator) << aggregator.error().text();
    EXPECT_EQ((*aggregator)->spec(), canonical);
    EXPECT_EQ(make_aggregator(canonical).value()->spec(), canonical);
  }
  for (const auto& entry : aggregators()) EXPECT_FALSE(entry.description.empty()) << entry.name;
}

TEST(Aggregators, BadSpecsAreRefused) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"medain", "unknown aggregator \"medain\"; did you mean \"median\"?"},
      {"krumm(1)", "unknown aggregator \"krumm\"; did you mean \"krum\"?"},
      {"fedavgm", "unknown aggregator \"fedavgm\""},
      {"", "missing aggregator"},
      {"mean(1)", "mean: takes no parameters"},
      {"trimmed-mean", "trimmed-mean: missing parameter \"fraction\" (share of nodes trimmed on each side)"},
      {"trimmed-mean(0.5)", "trimmed-mean: \"fraction\" must be a number in [0, 0.5), not \"0.5\""},
      {"trimmed-mean(-0.1)", "trimmed-mean: \"fraction\" must be a number in [0, 0.5), not \"-0.1\""},
      {"trimmed-mean(nan)", "trimmed-mean: \"fraction\" must be a number in [0, 0.5), not \"nan\""},
      {"krum", "krum: missing parameter \"f\" (hostile nodes to withstand)"},
      {"krum(f=1, m=2)", "krum: unknown parameter \"m\""},
      {"krum(1.5)", "krum: \"f\" must be a whole number >= 0, not \"1.5\""},
      {"krum(-1)", "krum: \"f\" must be a whole number >= 0, not \"-1\""},
      {"multi-krum(m=2)", "multi-krum: missing parameter \"f\" (hostile nodes to withstand)"},
      {"multi-krum(f=1, m=0)", "multi-krum: \"m\" must be a whole number >= 1, not \"0\""},
      {"multi-krum(inf)", "multi-krum: \"f\" must be a whole number >= 0, not \"inf\""},
      {"geometric-median(0)",
       "geometric-median: \"iterations\" must be a whole number in [1, 1000], not \"0\""},
      {"geometric-median(4, 0)", "geometric-median: \"nu\" must be a number > 0, not \"0\""},
      {"geometric-median(nu=inf)", "geometric-median: \"nu\" must be a number > 0, not \"inf\""},
      {"centred-clipping",
       "centred-clipping: missing parameter \"radius\" (largest distance from the last aggregate that counts "
       "in full)"},
      {"centred-clipping(0)", "centred-clipping: \"radius\" must be a number > 0, or inf, not \"0\""},
      {"centred-clipping(1, 1e9)",
       "centred-clipping: \"iterations\" must be a whole number in [1, 1000], not \"1e9\""},
  };
  for (const auto& [spec, message] : table) {
    const auto aggregator = make_aggregator(spec);
    ASSERT_FALSE(aggregator) << spec;
    EXPECT_EQ(aggregator.error().code, ErrorCode::kBadConfig) << spec;
    EXPECT_EQ(aggregator.error().text(), message) << spec;
  }
}

TEST(Aggregators, TooFewNodesAreNamed) {
  const auto problem = [](std::string_view spec, std::size_t nodes) -> std::string {
    const auto checked = make_aggregator(spec).value()->check(nodes);
    if (checked) return {};
    EXPECT_EQ(checked.error().code, ErrorCode::kBadConfig);
    return checked.error().text();
  };
  EXPECT_EQ(problem("krum(1)", 4), "krum(f=1) needs at least 5 nodes (2 f + 3), not 4");
  EXPECT_EQ(problem("krum(1)", 5), "");
  EXPECT_EQ(problem("multi-krum(0)", 2), "multi-krum(f=0) needs at least 3 nodes (2 f + 3), not 2");
  EXPECT_EQ(problem("multi-krum(f=1, m=6)", 5), "multi-krum(f=1, m=6) cannot choose 6 of 5 nodes");
  EXPECT_EQ(problem("multi-krum(f=1, m=6)", 6), "");
  EXPECT_EQ(problem("krum(9007199254740992)", 1000),
            "krum(f=9007199254740992) needs at least 18014398509481987 nodes (2 f + 3), not 1000");
  for (const auto& entry : aggregators()) EXPECT_NE(problem(spec_of(entry), 0), "") << entry.name;
  EXPECT_EQ(problem("median", 0), "median needs at least 1 node, not 0");
  for (const std::string_view spec : {"mean", "median", "trimmed-mean(0.4)", "rfa", "centred-clipping(1)"})
    EXPECT_EQ(problem(spec, 1), "") << spec;
}

TEST(Aggregators, NamesAreAddedOnce) {
  const AggregatorEntry again = *aggregators().find("first-node");
  EXPECT_THROW(aggregators().add(again), std::invalid_argument);
  EXPECT_EQ(make_aggregator("first-nod").error().text(),
            "unknown aggregator \"first-nod\"; did you mean \"first-node\"?");
}

// Of 100 nodes 29 are trimmed, although 0.29 * 100 is below 29 in f64; and something is always left.
TEST(Aggregators, TrimmedCountsFollowTheDecimalFraction) {
  struct Row {
    std::string_view spec;
    std::size_t nodes, trimmed;
  };
  for (const auto& [spec, nodes, trimmed] : {Row{"trimmed-mean(0.29)", 100, 29},
                                             {"trimmed-mean(0.2999)", 100, 29},
                                             {"trimmed-mean(0.1)", 10, 1},
                                             {"trimmed-mean(0.1)", 9, 0},
                                             {"trimmed-mean(0.07)", 300, 21},
                                             {"trimmed-mean(0.49999999999999994)", 2, 0},
                                             {"trimmed-mean(0.49999999999999994)", 300, 149}}) {
    Vectors<double> vectors;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
      vectors.push_back({static_cast<double>(i * i)});
      if (i >= trimmed && i < nodes - trimmed) sum += i * i;
    }
    const double expected = static_cast<double>(sum) / static_cast<double>(nodes - 2 * trimmed);
    EXPECT_EQ(aggregated(spec, Updates<double>::of(vectors))[0][0], expected) << spec << ' ' << nodes;
  }
}

}  // namespace
}  // namespace mfl
