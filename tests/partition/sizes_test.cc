// Nodes of different sizes: what each promises, over many seeds and sizes.
#include "mfl/partition/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "mfl/partition/partitions.h"
#include "refusal.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::size_t> sizes_in(const Partition& partition) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < partition.nodes(); ++i) sizes.push_back(partition.node(i).size());
  return sizes;
}

std::vector<std::size_t> sizes_of(const std::string& spec, std::size_t samples, std::size_t nodes,
                                  std::uint64_t seed = 1) {
  const std::vector<double> labels(samples);
  const auto partition = make_partition(spec, {labels, nodes, seed});
  EXPECT_TRUE(partition) << partition.error().text();
  return partition ? sizes_in(*partition) : std::vector<std::size_t>{};
}

Error refusal(const std::string& spec, std::size_t samples, std::size_t nodes) {
  const std::vector<double> labels(samples);
  return test::refusal(spec, labels, nodes);
}

RC_GTEST_PROP(SizesOfWeights, AreInOrderAndNeverZero, ()) {
  const auto nodes = *rc::gen::inRange<std::size_t>(1, 40);
  const auto samples = nodes + *rc::gen::inRange<std::size_t>(0, 500);
  std::vector<double> weights;
  for (std::size_t i = 0; i < nodes; ++i) weights.push_back(*rc::gen::inRange(0, 1000));
  weights[0] += 1;
  const auto sizes = sizes_of_weights(weights, samples);
  RC_ASSERT(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) == samples);
  for (const std::size_t size : sizes) RC_ASSERT(size >= 1U);
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t k = 0; k < nodes; ++k) RC_ASSERT(weights[i] <= weights[k] || sizes[i] >= sizes[k]);
}

TEST(Sizes, LinearSquareAndExponentialFollowTheirFormulas) {
  EXPECT_THAT(sizes_of("linear", 600, 3), ElementsAre(100, 200, 300));
  EXPECT_THAT(sizes_of("square", 1400, 3), ElementsAre(100, 400, 900));
  EXPECT_THAT(sizes_of("exponential", 1000, 3), ElementsAre(90, 245, 665));
  EXPECT_THAT(sizes_of("linear", 60000, 1), ElementsAre(60000));
  for (const std::size_t samples : {100, 1234, 60000})
    for (const std::size_t nodes : {2, 5, 13}) {
      const auto sizes = sizes_of("linear", samples, nodes);
      const auto sum = static_cast<double>(nodes * (nodes + 1) / 2);
      for (std::size_t k = 0; k < nodes; ++k)
        EXPECT_NEAR(static_cast<double>(sizes[k]), static_cast<double>(samples * (k + 1)) / sum, 1);
    }
}

TEST(Sizes, AreNeverZero) {
  const auto sizes = sizes_of("exponential", 100, 50);
  EXPECT_EQ(sizes[0], 1U);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 100U);
  EXPECT_EQ(sizes_of("exponential", 50, 50), std::vector<std::size_t>(50, 1));
  EXPECT_EQ(sizes_of("lognormal(100)", 50, 50), std::vector<std::size_t>(50, 1));
  EXPECT_EQ(sizes_of("exponential", 10000, 2000).front(), 1U);  // exp(1999) has no place in a double
}

// The logarithms of two sizes differ by a normal number of variance 2 sigma^2.
TEST(Sizes, LognormalMatchesTheDistribution) {
  constexpr int kSeeds = 600;
  for (const double sigma : {0.5, 1.0}) {
    double sum = 0, squares = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto sizes = sizes_of(fmt::format("lognormal({})", sigma), 20000, 2, seed);
      const double x = std::log(static_cast<double>(sizes[0]) / static_cast<double>(sizes[1]));
      sum += x;
      squares += x * x;
    }
    const double variance = 2 * sigma * sigma;
    EXPECT_NEAR(sum / kSeeds, 0, 4 * std::sqrt(variance / kSeeds));
    EXPECT_NEAR(squares / kSeeds, variance, 4 * variance * std::sqrt(2.0 / kSeeds));
  }
  EXPECT_THAT(sizes_of("lognormal(0)", 10, 4), ElementsAre(3, 3, 2, 2));
}

TEST(Sizes, MayBeGivenAsCountsOrShares) {
  EXPECT_THAT(sizes_of("sizes:100,200,300", 600, 3), ElementsAre(100, 200, 300));
  EXPECT_THAT(sizes_of("sizes: 1 , 599", 600, 2), ElementsAre(1, 599));
  EXPECT_THAT(sizes_of("sizes:0.2,0.3,0.5", 1000, 3), ElementsAre(200, 300, 500));
  EXPECT_THAT(sizes_of("sizes:0.3333333,0.3333333,0.3333334", 10, 3), ElementsAre(3, 3, 4));
}

TEST(Sizes, ImpossibleSizesAreRefused) {
  EXPECT_EQ(refusal("sizes:100,200,300", 1000, 3).message,
            "sizes: the nodes hold 600 samples, there are 1000");
  EXPECT_EQ(refusal("sizes:100,200,300", 1000, 3).hint, "set train to 600, or give shares that add up to 1");
  EXPECT_EQ(refusal("sizes:100,200", 300, 3).message, "sizes has 2 numbers, nodes is 3");
  EXPECT_EQ(refusal("sizes:0.5,0.6", 300, 2).message, "sizes: the shares add up to 1.1, not to 1");
  for (const char* bad :
       {"sizes:1,,2", "sizes:1,2,", "sizes:0,300", "sizes:-1,301", "sizes:a,b", "sizes:nan,1", "sizes:inf,1"})
    EXPECT_THAT(refusal(bad, 300, 2).message, HasSubstr("is not a number > 0")) << bad;
  EXPECT_THAT(refusal("sizes", 300, 2).message, HasSubstr("missing N,N,..."));
  EXPECT_THAT(refusal("lognormal(-1)", 300, 2).message, HasSubstr("in [0, 100]"));
}

// Sizes take the order of iid, so equal sizes are iid.
TEST(Sizes, EqualSizesGiveIid) {
  const std::vector<double> labels(90);
  EXPECT_EQ(make_partition("lognormal(0)", {labels, 3, 7})->order, iid(90, 3, 7)->order);
}

}  // namespace
}  // namespace mfl::test
