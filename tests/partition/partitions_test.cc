// The table of partitions: laws that hold for every entry, and what is refused.
#include "mfl/partition/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>

#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "tests/base/sample_spec.h"

namespace mfl::test {
namespace {

using mfl::test::sample_spec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<double> kLabels = {2, 0, 1, 0, 2, 1, 0};

void write_round_robin(const std::filesystem::path& path, std::size_t samples, std::size_t nodes) {
  std::ofstream out(path);
  for (std::size_t i = 0; i < nodes; ++i, out << '\n')
    for (std::size_t row = i; row < samples; row += nodes) out << row << ' ';
}

// Counts of samples, one per node, for `sizes`.
std::string some_sizes(std::size_t samples, std::size_t nodes) {
  std::string text;
  for (std::size_t i = 1; i < nodes; ++i) text += "1,";
  return text + std::to_string(samples - nodes + 1);
}

// What labels and numbers of nodes may be too small for.
bool may_refuse(const PartitionEntry& entry) {
  return entry.name == "dirichlet" || entry.name == "shard" || entry.name == "pathological";
}

RC_GTEST_PROP(PartitionLaws, EveryEntryGivesEachSampleToOneNode, (std::uint64_t seed)) {
  const auto samples = *rc::gen::inRange<std::size_t>(1, 200);
  const auto nodes = *rc::gen::inRange<std::size_t>(1, samples + 1);
  std::vector<double> labels;
  for (std::size_t i = 0; i < samples; ++i) labels.push_back(*rc::gen::inRange(0, 5));
  std::vector<std::uint32_t> groups;
  for (std::size_t i = 0; i < samples; ++i) groups.push_back(static_cast<std::uint32_t>(3 * (i % nodes)));
  const TempFolder folder = *TempFolder::make();
  write_round_robin(folder.path() / "nodes.txt", samples, nodes);
  for (const PartitionEntry& entry : partitions()) {
    const std::string text =
        entry.name == "sizes" ? some_sizes(samples, nodes) : (folder.path() / "nodes.txt").string();
    const std::string spec = sample_spec(entry, text);
    const PartitionInput input{labels, nodes, seed, groups};
    const auto partition = make_partition(spec, input);
    if (!partition && may_refuse(entry)) {
      RC_ASSERT(partition.error().code == ErrorCode::kBadConfig);
      RC_ASSERT(!partition.error().hint.empty());
      continue;
    }
    if (!partition) RC_FAIL(spec + ": " + partition.error().text());
    RC_ASSERT(partition->nodes() == nodes);
    std::vector<int> held(samples);
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto rows = partition->node(i);
      RC_ASSERT(!rows.empty());
      RC_ASSERT(std::ranges::is_sorted(rows));
      for (const std::uint32_t row : rows) RC_ASSERT(++held.at(row) == 1);
    }
    RC_ASSERT(std::ranges::count(held, 1) == static_cast<std::ptrdiff_t>(samples));
    const auto again = make_partition(spec, input);
    RC_ASSERT(again->order == partition->order);
    RC_ASSERT(again->starts == partition->starts);
  }
}

std::string digest_of(const Partition& partition) {
  Sha256 digest;
  for (const std::size_t start : partition.starts) digest.update(std::uint64_t{start});
  for (const std::uint32_t row : partition.order) digest.update(std::uint64_t{row});
  return digest.finish_hex().substr(0, 16);
}

// Rows that a change of the sampling, of rounding or of a machine would move.
TEST(Partitions, GiveTheSameRowsOnEveryMachineAndInEveryVersion) {
  std::vector<double> labels;
  for (unsigned i = 0; i < 3000; ++i) labels.push_back(i * i % 11 % 10);
  const std::pair<const char*, const char*> golden[] = {
      {"iid", "8c5ca4e101a69e98"},
      {"contiguous", "9069fe883cbe00bc"},
      {"label-sorted", "9d6bda4609b6421b"},
      {"dirichlet(0.3)", "f52527111e095cf6"},
      {"dirichlet(100, 50)", "8d64fd93ef861a4c"},
      {"dirichlet(0.3, self_balancing=1)", "f0cec85f9a3aa7a0"},
      {"shard(2)", "a8588874c2bb0e74"},
      {"pathological(2)", "507df4b4ded6b0fd"},
      {"linear", "febfa3434d640de2"},
      {"square", "33186ec108729e34"},
      {"exponential", "9a758b14c9aa7900"},
      {"lognormal(1)", "fce6a628e2d42764"},
      {"sizes:0.3,0.2,0.1,0.1,0.1,0.1,0.1", "727d71006b97dc34"},
  };
  for (const auto& [spec, expected] : golden) {
    const auto partition = make_partition(spec, {labels, 7, 42});
    ASSERT_TRUE(partition) << spec << ": " << partition.error().text();
    EXPECT_EQ(digest_of(*partition), expected) << spec;
  }
}

TEST(Partitions, BuiltInOnesAreTheFunctionsOfThatName) {
  const PartitionInput input{kLabels, 3, 9};
  EXPECT_EQ(make_partition("iid", input)->order, iid(7, 3, 9)->order);
  EXPECT_EQ(make_partition("contiguous", input)->order, contiguous(7, 3)->order);
  EXPECT_EQ(make_partition("label-sorted", input)->order, label_sorted(kLabels, 3)->order);
}

TEST(Partitions, UsersAreNodes) {
  const std::vector<std::uint32_t> groups = {9, 2, 9, 2, 5, 5, 2};
  const auto partition = make_partition("users", {kLabels, 3, 1, groups});
  ASSERT_TRUE(partition) << partition.error().text();
  EXPECT_THAT(partition->order, ElementsAre(1, 3, 6, 4, 5, 0, 2));
  EXPECT_THAT(partition->starts, ElementsAre(0, 3, 5, 7));
  const auto refused = make_partition("users", {kLabels, 4, 1, groups});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "users: the data has 3 users, nodes is 4");
  EXPECT_EQ(refused.error().hint, "set nodes to 3");
  EXPECT_THAT(make_partition("users", {kLabels, 3, 1}).error().text(), HasSubstr("does not say which user"));
}

TEST(Partitions, NodesMustBeBetweenOneAndTheSamples) {
  for (const PartitionEntry& entry : partitions())
    for (const std::size_t nodes : {std::size_t{0}, std::size_t{8}}) {
      const auto refused = make_partition(sample_spec(entry, "none"), {kLabels, nodes, 1});
      ASSERT_FALSE(refused) << entry.name;
      EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig);
      EXPECT_FALSE(refused.error().hint.empty());
    }
}

TEST(Partitions, UnknownNamesComeWithTheNearestOne) {
  const auto refused = make_partition("label_sorted", {kLabels, 2, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "unknown partition \"label_sorted\"; did you mean \"label-sorted\"?");
  EXPECT_EQ(make_partition("iid(2)", {kLabels, 2, 1}).error().text(), "iid: takes no parameters");
  EXPECT_EQ(make_partition("iid:2", {kLabels, 2, 1}).error().text(), "iid: unexpected \":2\"");
}

TEST(Partitions, NaturalNodesAreTheGroupsInTheirOrder) {
  const std::vector<std::uint32_t> groups = {9, 2, 9, 2, 5, 5, 2};
  const auto partition = make_partition("natural:site", {kLabels, 3, 1, groups});
  ASSERT_TRUE(partition) << partition.error().text();
  EXPECT_THAT(partition->order, ElementsAre(1, 3, 6, 4, 5, 0, 2));
  EXPECT_THAT(partition->starts, ElementsAre(0, 3, 5, 7));
  const auto refused = make_partition("natural:site", {kLabels, 4, 1, groups});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "natural:site: the column site names 3 nodes, nodes is 4");
  EXPECT_EQ(refused.error().hint, "set nodes to 3");
  EXPECT_THAT(make_partition("natural:site", {kLabels, 3, 1}).error().text(), HasSubstr("no such column"));
  EXPECT_EQ(column_of_groups("natural:site"), "site");
  EXPECT_EQ(column_of_groups("file:site"), "");
}

TEST(Partitions, AFileOfOtherNodesSaysHowMany) {
  const TempFolder folder = *TempFolder::make();
  write_round_robin(folder.path() / "nodes.txt", 7, 3);
  const auto refused = make_partition("file:" + (folder.path() / "nodes.txt").string(), {kLabels, 4, 1});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("names 3 nodes, nodes is 4"));
  EXPECT_EQ(refused.error().hint, "set nodes to 3");
}

TEST(Partitions, RowsByLabelAreTheClassesInOrder) {
  const std::vector<LabelRows> classes = rows_by_label(kLabels);
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_EQ(classes[1].label, 1);
  EXPECT_THAT(classes[0].rows, ElementsAre(1, 3, 6));
  EXPECT_THAT(classes[1].rows, ElementsAre(2, 5));
  EXPECT_THAT(classes[2].rows, ElementsAre(0, 4));
  EXPECT_TRUE(rows_by_label({}).empty());
}

TEST(Partitions, PartitionOfSortsTheRowsOfEachNode) {
  const std::vector<std::vector<std::uint32_t>> nodes = {{4, 1}, {0, 3, 2}};
  const Partition partition = partition_of(nodes);
  EXPECT_THAT(partition.order, ElementsAre(1, 4, 0, 2, 3));
  EXPECT_THAT(partition.starts, ElementsAre(0, 2, 5));
}

// A partition of the program that does what it must not.
TEST(Partitions, TheResultOfAnEntryIsChecked) {
  static Partition made;
  partitions().add({{.name = "careless", .description = "whatever the test says"},
                    [](const PartitionInput&, const ParameterValues&) -> Result<Partition> { return made; }});
  struct Case {
    Partition partition;
    ErrorCode code;
    const char* says;
  };
  const Case cases[] = {
      {{{0, 1, 2}, {0, 3}}, ErrorCode::kBadConfig, "partition careless has 1 nodes, nodes is 2"},
      {{}, ErrorCode::kBadConfig, "partition careless has 0 nodes, nodes is 2"},
      {{{0, 1, 2}, {0, 3, 3}}, ErrorCode::kBadConfig, "leaves node 1 without samples"},
      {{{0, 1, 7}, {0, 2, 3}}, ErrorCode::kInternal, "node 1 has row 7 of 7"},
      {{{0, 1, 1}, {0, 2, 3}}, ErrorCode::kInternal, "duplicate row 1 in node 1"},
      {{{1, 0, 2}, {0, 2, 3}}, ErrorCode::kInternal, "the rows of node 0 do not ascend"},
      {{{0, 1, 2}, {0, 2, 4}}, ErrorCode::kInternal, "the nodes do not cover its rows"},
      {{{0, 1, 2}, {1, 2, 3}}, ErrorCode::kInternal, "the nodes do not cover its rows"},
      {{{0, 1, 2}, {0, 4, 3}}, ErrorCode::kInternal, "node 1 ends before it starts"},
  };
  for (const Case& bad : cases) {
    made = bad.partition;
    const auto refused = make_partition("careless", {kLabels, 2, 1});
    ASSERT_FALSE(refused) << bad.says;
    EXPECT_EQ(refused.error().code, bad.code);
    EXPECT_THAT(refused.error().text(), HasSubstr(bad.says));
    EXPECT_FALSE(refused.error().hint.empty());
  }
  made = {{0, 1, 2}, {0, 1, 3}};
  EXPECT_TRUE(make_partition("careless", {kLabels, 2, 1}));
}

}  // namespace
}  // namespace mfl::test
