// Nodes with different mixtures of labels: what each promises, over many seeds and sizes.
#include "mfl/partition/label_skew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "mfl/base/rng.h"
#include "mfl/partition/partitions.h"
#include "refusal.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

std::vector<double> labels_of(std::size_t samples, std::size_t classes) {
  std::vector<double> labels;
  for (std::size_t i = 0; i < samples; ++i) labels.push_back(static_cast<double>(i % classes));
  return labels;
}

std::map<double, std::size_t> counts_of(const Partition& partition, std::size_t node,
                                        std::span<const double> labels) {
  std::map<double, std::size_t> counts;
  for (const std::uint32_t row : partition.node(node)) ++counts[labels[row]];
  return counts;
}

void expect_every_sample_once(const Partition& partition, std::size_t samples) {
  std::vector<std::uint32_t> rows = partition.order;
  std::ranges::sort(rows);
  ASSERT_EQ(rows.size(), samples);
  for (std::size_t i = 0; i < samples; ++i) ASSERT_EQ(rows[i], i);
}

TEST(DirichletPartition, GivesEverySampleToOneNodeAndNoNodeTooFew) {
  for (const std::size_t samples : {200, 1001})
    for (const std::size_t nodes : {1, 2, 5, 10})
      for (const double alpha : {0.3, 1.0, 100.0})
        for (const bool balancing : {false, true})
          for (std::uint64_t seed = 0; seed < 5; ++seed) {
            const auto labels = labels_of(samples, 10);
            const auto partition =
                dirichlet(labels, nodes, {.alpha = alpha, .self_balancing = balancing}, seed);
            ASSERT_TRUE(partition) << partition.error().text();
            expect_every_sample_once(*partition, samples);
            for (std::size_t i = 0; i < nodes; ++i) EXPECT_GE(partition->node(i).size(), 10U);
          }
}

// Of one class with many samples, the share of a node is Beta(alpha, (N - 1) alpha): mean 1/N, variance (N - 1) / (N^2 (N alpha + 1)). The
// draws are redrawn for empty nodes only, which have next to no chance here.
TEST(DirichletPartition, SharesOfAClassMatchTheDistribution) {
  constexpr std::size_t kNodes = 5, kClasses = 4, kSamples = 8000;
  constexpr int kSeeds = 300;
  const auto labels = labels_of(kSamples, kClasses);
  for (const double alpha : {0.5, 1.0, 5.0}) {
    double sum = 0, squares = 0, fourth = 0, count = 0;
    const double mean = 1.0 / kNodes;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto partition =
          dirichlet(labels, kNodes, {.alpha = alpha, .min_partition_size = 1}, seed).value();
      // One node per class: the classes are independent, the nodes are not.
      for (std::size_t c = 0; c < kClasses; ++c) {
        auto counts = counts_of(partition, c, labels);
        const double share =
            static_cast<double>(counts[static_cast<double>(c)]) * kClasses / static_cast<double>(kSamples);
        sum += share;
        squares += (share - mean) * (share - mean);
        fourth += std::pow(share - mean, 4);
        ++count;
      }
    }
    const double variance = mean * (1 - mean) / (kNodes * alpha + 1);
    EXPECT_NEAR(sum / count, mean, 4 * std::sqrt(variance / count)) << alpha;
    const double error = std::sqrt((fourth / count - variance * variance) / count);
    EXPECT_NEAR(squares / count, variance, 4 * error) << alpha;
  }
}

// Kolmogorov and Smirnov: alpha = 1 and two nodes make the share uniform on [0, 1].
TEST(DirichletPartition, SharesOfTwoNodesAreUniformForAlphaOne) {
  constexpr std::size_t kSamples = 10000;
  constexpr int kSeeds = 600;
  const std::vector<double> labels(kSamples, 7.0);
  std::vector<double> shares;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    shares.push_back(static_cast<double>(
                         dirichlet(labels, 2, {.alpha = 1, .min_partition_size = 1}, seed)->node(0).size()) /
                     static_cast<double>(kSamples));
  std::ranges::sort(shares);
  double distance = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    distance = std::max({distance, std::abs(shares[i] - static_cast<double>(i) / kSeeds),
                         std::abs(shares[i] - static_cast<double>(i + 1) / kSeeds)});
  EXPECT_LT(distance, 1.95 / std::sqrt(kSeeds));  // exceeded by chance once in a thousand
}

// A part of a class is unbiased even if classes have one sample each.
TEST(DirichletPartition, ClassesOfOneSampleFavourNoNode) {
  constexpr std::size_t kNodes = 4;
  std::vector<double> sizes(kNodes);
  const auto labels = labels_of(400, 400);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto partition = dirichlet(labels, kNodes, {.alpha = 1}, seed).value();
    for (std::size_t i = 0; i < kNodes; ++i) sizes[i] += static_cast<double>(partition.node(i).size());
  }
  for (const double size : sizes) EXPECT_NEAR(size, 5000, 5 * std::sqrt(20000 * 0.25 * 0.75));
}

TEST(DirichletPartition, SelfBalancingNarrowsTheSizes) {
  const auto labels = labels_of(5000, 10);
  const auto largest = [&](bool balancing, std::uint64_t seed) {
    const auto partition =
        dirichlet(labels, 10, {.alpha = 0.3, .min_partition_size = 1, .self_balancing = balancing}, seed);
    std::size_t most = 0;
    for (std::size_t i = 0; i < 10; ++i) most = std::max(most, partition->node(i).size());
    return most;
  };
  double free = 0, balanced = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    free += static_cast<double>(largest(false, seed));
    balanced += static_cast<double>(largest(true, seed));
    EXPECT_LT(largest(true, seed), 500U + 500U);  // the share, and a whole class at most
  }
  EXPECT_LT(balanced, 0.85 * free);
}

TEST(DirichletPartition, FewSamplesPerNodeLowerTheUsualMinimum) {
  const auto labels = labels_of(40, 4);
  const auto partition = dirichlet(labels, 5, {.alpha = 10}, 1);
  ASSERT_TRUE(partition) << partition.error().text();
  for (std::size_t i = 0; i < 5; ++i) EXPECT_GE(partition->node(i).size(), 4U);
  EXPECT_FALSE(dirichlet(labels, 5, {.alpha = 10, .min_partition_size = 10}, 1));
}

TEST(DirichletPartition, ErrorsNameTheNumbersAndWhatToChange) {
  const auto labels = labels_of(1000, 10);
  for (const char* alpha : {"0", "-1", "nan", "inf", "1e-7"})
    EXPECT_THAT(refusal(fmt::format("dirichlet({})", alpha), labels, 5).text(),
                HasSubstr("\"alpha\" must be a number in [1e-6, 1e6]"));
  EXPECT_THAT(refusal("dirichlet", labels, 5).text(), HasSubstr("missing parameter \"alpha\""));
  EXPECT_THAT(refusal("dirichlet(1, self_balancing=2)", labels, 5).text(),
              HasSubstr("a whole number in [0, 1]"));
  EXPECT_THAT(refusal("dirichlet(1, 0)", labels, 5).text(), HasSubstr("a whole number >= 1"));
  const Error impossible = refusal("dirichlet(1, min_partition_size=300)", labels, 5);
  EXPECT_EQ(impossible.message, "dirichlet: 1000 samples cannot give 5 nodes 300 samples each");
  EXPECT_EQ(impossible.hint, "set min_partition_size to at most 200, or lower nodes");
  const Error unlucky = refusal("dirichlet(0.001)", labels, 20);
  EXPECT_THAT(unlucky.message, HasSubstr("no draw of 1000 gave each of 20 nodes 10 of 1000 samples"));
  EXPECT_THAT(unlucky.hint, HasSubstr("raise alpha (it is 0.001)"));
}

TEST(ShardPartition, NodesHoldTheirShardsOfTheSortedSamples) {
  for (const std::size_t samples : {100, 997})
    for (const std::size_t nodes : {1, 7, 10})
      for (const std::size_t each : {1, 2, 5})
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
          const auto labels = labels_of(samples, 10);
          const auto partition = shard(labels, nodes, each, seed);
          ASSERT_TRUE(partition) << partition.error().text();
          expect_every_sample_once(*partition, samples);
          const std::size_t least = samples / (nodes * each);
          for (std::size_t i = 0; i < nodes; ++i) {
            EXPECT_GE(partition->node(i).size(), each * least);
            EXPECT_LE(partition->node(i).size(), each * (least + 1));
          }
        }
}

TEST(ShardPartition, AsManyShardsAsClassesGiveWholeClasses) {
  const auto labels = labels_of(100, 10);
  std::set<std::vector<std::uint32_t>> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto partition = shard(labels, 5, 2, seed).value();
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(counts_of(partition, i, labels).size(), 2U);
    different.insert(partition.order);
  }
  EXPECT_EQ(different.size(), 20U);
  EXPECT_EQ(refusal("shard(21)", labels, 5).message,
            "shard: 5 nodes with 21 shards each need more than 100 samples");
  EXPECT_THAT(refusal("shard(1e15)", labels, 5).hint, HasSubstr("at most 20"));
}

TEST(PathologicalPartition, EveryNodeHoldsExactlyThatManyClasses) {
  for (const std::size_t nodes : {5, 10, 23})
    for (const std::size_t each : {2, 3, 10})
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto labels = labels_of(1003, 10);
        const auto partition = pathological(labels, nodes, each, seed);
        ASSERT_TRUE(partition) << partition.error().text();
        expect_every_sample_once(*partition, labels.size());
        std::map<double, std::size_t> holders;
        for (std::size_t i = 0; i < nodes; ++i) {
          const auto counts = counts_of(*partition, i, labels);
          EXPECT_EQ(counts.size(), each);
          for (const auto& [label, count] : counts) ++holders[label];
        }
        for (std::size_t i = 0; i < nodes; ++i)  // a class is divided equally
          for (const auto& [label, count] : counts_of(*partition, i, labels))
            EXPECT_NEAR(static_cast<double>(count), 100.3 / static_cast<double>(holders[label]), 1.01);
        EXPECT_EQ(holders.size(), 10U);
        const auto [fewest, most] =
            std::ranges::minmax_element(holders, {}, [](const auto& entry) { return entry.second; });
        EXPECT_LE(most->second - fewest->second, 1U);
      }
}

TEST(PathologicalPartition, ErrorsNameTheNumbersAndWhatToChange) {
  const auto labels = labels_of(100, 10);
  const Error many = refusal("pathological(11)", labels, 5);
  EXPECT_EQ(many.message, "pathological: classes_per_node is 11, and the data has 10 classes");
  EXPECT_EQ(many.hint, "set classes_per_node to at most 10");
  EXPECT_EQ(refusal("pathological(2)", labels, 4).message,
            "pathological: 4 nodes with 2 classes each cannot hold all 10 classes");
  EXPECT_THAT(refusal("pathological(10)", labels, 11).message, HasSubstr("has 10 samples for 11 nodes"));
  EXPECT_THAT(refusal("pathological(0)", labels, 4).message, HasSubstr("a whole number >= 1"));
  EXPECT_THAT(refusal("pathological(1.5)", labels, 4).message, HasSubstr("a whole number >= 1"));
}

}  // namespace
}  // namespace mfl::test
