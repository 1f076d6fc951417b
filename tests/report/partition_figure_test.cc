#include "mfl/report/partition_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mfl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PartitionFigure figure(std::size_t nodes, std::size_t labels) {
  PartitionFigure out;
  out.title = "a <title> & more";
  for (std::size_t c = 0; c < labels; ++c) out.labels.push_back(std::to_string(c));
  for (std::size_t i = 0; i < nodes; ++i) {
    out.nodes.push_back(std::to_string(i));
    out.counts.emplace_back();
    for (std::size_t c = 0; c < labels; ++c) out.counts.back().push_back((i + 1) * c);
  }
  return out;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(PartitionFigure, HasACellForEveryNodeAndLabel) {
  const std::string svg = partition_svg(figure(7, 5));
  EXPECT_EQ(count(svg, ", label "), 35U);
  EXPECT_THAT(svg, HasSubstr("node 6, label 4: 28 samples"));
  EXPECT_THAT(svg, HasSubstr("node 6: 70 samples"));
  EXPECT_THAT(svg, HasSubstr("a &lt;title&gt; &amp; more"));
  EXPECT_THAT(svg, Not(HasSubstr("are shown")));
  EXPECT_EQ(svg, partition_svg(figure(7, 5)));
}

TEST(PartitionFigure, SaysWhatItLeavesOut) {
  const std::string svg = partition_svg(figure(kMostNodesDrawn + 1, kMostLabelsDrawn + 2));
  EXPECT_EQ(count(svg, ", label "), kMostNodesDrawn * kMostLabelsDrawn);
  EXPECT_THAT(svg, HasSubstr("The first 400 of 401 nodes and 60 of 62 labels are shown."));
}

TEST(PartitionFigure, TakesOneNodeWithOneLabelAndNone) {
  EXPECT_THAT(partition_svg({"", {"0"}, {"x"}, {{3}}}), HasSubstr("label x: 3 samples"));
  EXPECT_THAT(partition_svg({"", {"0"}, {"x"}, {{0}}}), HasSubstr("label x: 0 samples"));
}

}  // namespace
}  // namespace mfl
