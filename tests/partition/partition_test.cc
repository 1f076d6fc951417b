#include "mfl/partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>

#include "mfl/base/files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void assert_laws(const Partition& partition, std::size_t samples, std::size_t nodes) {
  RC_ASSERT(partition.nodes() == nodes);
  std::vector<int> held(samples);
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto mine = partition.node(i);
    RC_ASSERT(mine.size() == samples / nodes + (i < samples % nodes ? 1 : 0));
    RC_ASSERT(std::is_sorted(mine.begin(), mine.end()));
    for (const std::uint32_t sample : mine) ++held.at(sample);
  }
  RC_ASSERT(std::all_of(held.begin(), held.end(), [](int times) { return times == 1; }));
}

struct Shape {
  std::size_t samples = *rc::gen::inRange<std::size_t>(1, 300);
  std::size_t nodes = *rc::gen::inRange<std::size_t>(1, samples + 1);
};

RC_GTEST_PROP(PartitionLaws, Iid, (std::uint64_t seed)) {
  const Shape shape;
  const auto partition = iid(shape.samples, shape.nodes, seed);
  RC_ASSERT(partition.has_value());
  assert_laws(*partition, shape.samples, shape.nodes);
  RC_ASSERT(iid(shape.samples, shape.nodes, seed)->order == partition->order);
}

RC_GTEST_PROP(PartitionLaws, Contiguous, ()) {
  const Shape shape;
  const auto partition = contiguous(shape.samples, shape.nodes);
  RC_ASSERT(partition.has_value());
  assert_laws(*partition, shape.samples, shape.nodes);
  RC_ASSERT(std::is_sorted(partition->order.begin(), partition->order.end()));
}

RC_GTEST_PROP(PartitionLaws, LabelSorted, ()) {
  const Shape shape;
  std::vector<double> labels;
  for (std::size_t i = 0; i < shape.samples; ++i) labels.push_back(*rc::gen::inRange(0, 5));
  const auto partition = label_sorted(labels, shape.nodes);
  RC_ASSERT(partition.has_value());
  assert_laws(*partition, shape.samples, shape.nodes);
  for (std::size_t i = 0; i + 1 < shape.nodes; ++i) {
    double most = 0, least = 5;
    for (const auto sample : partition->node(i)) most = std::max(most, labels[sample]);
    for (const auto sample : partition->node(i + 1)) least = std::min(least, labels[sample]);
    RC_ASSERT(most <= least);
  }
}

TEST(Partition, OneNodeIsTheWholeSetInItsOwnOrder) {
  const std::vector<double> labels = {3, 1, 2};
  EXPECT_THAT(iid(3, 1, 9)->order, ElementsAre(0, 1, 2));
  EXPECT_THAT(label_sorted(labels, 1)->order, ElementsAre(0, 1, 2));
}

TEST(Partition, TheSeedDecides) {
  EXPECT_NE(iid(100, 4, 1)->order, iid(100, 4, 2)->order);
  EXPECT_NE(iid(100, 4, 1)->order, contiguous(100, 4)->order);
}

TEST(Partition, FirstNodesHoldOneMore) {
  const auto partition = contiguous(10, 4);
  EXPECT_THAT(partition->starts, ElementsAre(0, 3, 6, 8, 10));
  EXPECT_THAT(partition->node(1), ElementsAre(3, 4, 5));
}

TEST(Partition, LabelSortIsStable) {
  const std::vector<double> labels = {1, 0, 1, 0, 1};
  const auto partition = label_sorted(labels, 2);
  EXPECT_THAT(partition->node(0), ElementsAre(0, 1, 3));
  EXPECT_THAT(partition->node(1), ElementsAre(2, 4));
}

TEST(Partition, NodesMustBeBetweenOneAndTheSamples) {
  const std::vector<double> labels = {1, 2};
  for (const std::size_t nodes : {std::size_t{0}, std::size_t{3}}) {
    for (const auto& partition : {iid(2, nodes, 0), contiguous(2, nodes), label_sorted(labels, nodes)}) {
      ASSERT_FALSE(partition);
      EXPECT_EQ(partition.error().code, ErrorCode::kBadConfig);
      EXPECT_FALSE(partition.error().hint.empty());
    }
  }
  EXPECT_THAT(iid(2, 3, 0).error().message, HasSubstr("3 nodes, 2 samples"));
  EXPECT_FALSE(contiguous(0, 1));
}

class PartitionFile : public ::testing::Test {
 protected:
  Result<Partition> read(const std::string& text, std::size_t samples = 10) {
    std::ofstream(path_, std::ios::binary) << text;
    return from_file(path_, samples);
  }
  TempFolder folder_ = *TempFolder::make();
  std::filesystem::path path_ = folder_.path() / "nodes.txt";
};

TEST_F(PartitionFile, OneLinePerNode) {
  const auto partition = read("# who holds what\n5 3\t0\r\n\n  9 # the last one\n");
  ASSERT_TRUE(partition) << partition.error().text();
  ASSERT_EQ(partition->nodes(), 2U);
  EXPECT_THAT(partition->node(0), ElementsAre(0, 3, 5));
  EXPECT_THAT(partition->node(1), ElementsAre(9));
}

TEST_F(PartitionFile, ErrorsNameFileAndLine) {
  struct Case {
    std::string text;
    std::vector<std::string> says;
  };
  const std::vector<Case> cases = {
      {"", {"no node"}},
      {"# only a comment\n", {"no node"}},
      {"1 2\n3 2\n", {"line 2", "sample 2", "first on line 1"}},
      {"1 1\n", {"line 1", "duplicate"}},
      {"1\n\n10\n", {"line 3", "sample 10", "out of range", "10"}},
      {"1 two\n", {"line 1", "'two'"}},
      {"-1\n", {"line 1", "'-1'"}},
      {"1.5\n", {"line 1", "'1.5'"}},
      {"1,2\n", {"line 1", "'1,2'"}},
  };
  for (const Case& bad : cases) {
    const auto partition = read(bad.text);
    ASSERT_FALSE(partition) << bad.text;
    EXPECT_EQ(partition.error().code, ErrorCode::kBadData);
    EXPECT_FALSE(partition.error().hint.empty());
    EXPECT_THAT(partition.error().message, HasSubstr(path_.string()));
    for (const std::string& part : bad.says) EXPECT_THAT(partition.error().message, HasSubstr(part));
  }
  EXPECT_EQ(from_file(folder_.path() / "none", 3).error().code, ErrorCode::kBadData);
}

RC_GTEST_PROP(PartitionLaws, FileRoundTrip, (std::uint64_t seed)) {
  const Shape shape;
  const Partition partition = *iid(shape.samples, shape.nodes, seed);
  const TempFolder folder = *TempFolder::make();
  {
    std::ofstream out(folder.path() / "p");
    for (std::size_t i = 0; i < partition.nodes(); ++i) {
      for (const auto sample : partition.node(i)) out << sample << ' ';
      out << '\n';
    }
  }
  const auto back = from_file(folder.path() / "p", shape.samples);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->order == partition.order);
  RC_ASSERT(back->starts == partition.starts);
}

}  // namespace
}  // namespace mfl::test
