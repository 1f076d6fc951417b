#include "mfl/partition/heterogeneity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace mfl::test {
namespace {

using ::testing::ElementsAre;

TEST(Heterogeneity, CountsLabelsByNode) {
  const std::vector<double> labels = {7, 3, 7, 3, 5};
  const Partition partition{{0, 2, 4, 1}, {0, 3, 4}};  // row 3 is in no node
  const LabelCounts counts = count_labels(labels, partition);
  EXPECT_THAT(counts.labels, ElementsAre(3, 5, 7));
  EXPECT_THAT(counts.nodes[0], ElementsAre(0, 1, 2));
  EXPECT_THAT(counts.nodes[1], ElementsAre(1, 0, 0));
  EXPECT_THAT(counts.total(), ElementsAre(1, 1, 2));
  EXPECT_EQ(counts.size(0), 3U);
}

TEST(Heterogeneity, IsZeroForEqualNodes) {
  const LabelSkew skew = measure_skew({{0, 1}, {{5, 5}, {10, 10}}});
  EXPECT_DOUBLE_EQ(skew.entropy, 1);
  EXPECT_DOUBLE_EQ(skew.node_entropy, 1);
  EXPECT_EQ(skew.distance, 0);
}

// By hand: shares of all are 3/4, 1/4.
TEST(Heterogeneity, IsWeightedBySamples) {
  const LabelSkew skew = measure_skew({{0, 1}, {{4, 0}, {2, 2}}});
  EXPECT_EQ(skew.nodes[0].entropy, 0);
  EXPECT_DOUBLE_EQ(skew.nodes[1].entropy, 1);
  EXPECT_DOUBLE_EQ(skew.nodes[0].distance, 0.25);
  EXPECT_DOUBLE_EQ(skew.nodes[1].distance, 0.25);
  EXPECT_DOUBLE_EQ(skew.distance, 0.25);
  EXPECT_DOUBLE_EQ(skew.node_entropy, 0.5);
  EXPECT_NEAR(skew.entropy, -0.75 * std::log2(0.75) + 0.5, 1e-15);
  const LabelSkew uneven = measure_skew({{0, 1}, {{9, 0}, {0, 1}}});
  EXPECT_DOUBLE_EQ(uneven.distance, 0.9 * 0.1 + 0.1 * 0.9);
}

TEST(Heterogeneity, IsOneMinusTheShareOfTheClassForOneClassPerNode) {
  LabelCounts counts;
  for (std::size_t i = 0; i < 10; ++i) {
    counts.labels.push_back(static_cast<double>(i));
    counts.nodes.emplace_back(10)[i] = 50;
  }
  const LabelSkew skew = measure_skew(counts);
  EXPECT_NEAR(skew.distance, 0.9, 1e-15);
  EXPECT_EQ(skew.node_entropy, 0);
  EXPECT_NEAR(skew.entropy, std::log2(10), 1e-14);
}

}  // namespace
}  // namespace mfl::test
