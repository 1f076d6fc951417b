#include "mfl/network/node_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace mfl {
namespace {

TEST(NodeTable, KnowsWhoIsConnectedAndWhatTheySent) {
  NodeTable table;
  table.joined(Time(100), "b", "01", 7, 1'900'000'000);
  table.joined(Time(100), "a", "02", 5, std::nullopt);
  table.counted(Time(150), "b", 2, {.train_loss = 0.5, .batch_loss = 0.75}, 0.25);
  table.counted(Time(200), "b", 3, {.batch_loss = 0.625}, 0.25);
  table.joined(Time(300), "b", "03", 7, 1'900'000'000);  // again, before its first presence has ended
  table.left(Time(400), "b");
  table.left(Time(500), "a");
  const auto nodes = table.list(Time(1'000));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0], (NodeStatus{"a", false, Time(500), 5, 0, {}, {}, {}}));
  EXPECT_EQ(nodes[1], (NodeStatus{"b", true, Time(600), 7, 3, {0.5, 0.625, {}}, 0.25, 1'900'000'000}));
  EXPECT_EQ(table.serials(), (std::map<std::string, std::string>{{"a", "02"}, {"b", "03"}}));
}

TEST(NodeTable, IsBounded) {
  NodeTable table;
  const auto name = [](std::size_t i) { return fmt::format("node-{}", i); };
  for (std::size_t i = 0; i < NodeTable::kMost; ++i) table.joined(Time(i), name(i), "", 1, {});
  table.joined(Time(2'000), "one too many", "", 1, {});
  EXPECT_EQ(table.list(Time(0)).size(), NodeTable::kMost);
  EXPECT_FALSE(table.serials().contains("one too many")) << "all others are connected";
  table.left(Time(3'000), name(7));
  table.left(Time(4'000), name(5));
  table.joined(Time(5'000), "newcomer", "", 1, {});
  EXPECT_EQ(table.list(Time(0)).size(), NodeTable::kMost);
  EXPECT_TRUE(table.serials().contains("newcomer"));
  EXPECT_FALSE(table.serials().contains(name(7))) << "silent for longest";
  EXPECT_TRUE(table.serials().contains(name(5)));
}

TEST(NodeTable, TakesStandingsByName) {
  std::vector<NodeStatus> nodes = {{"a"}, {"b"}, {"d"}};
  add_standings(nodes, {{"b", 3, Time(500)}, {"c", 9, {}}, {"d", 1, {}}});
  EXPECT_EQ(nodes[0].failures, 0U);
  EXPECT_EQ(nodes[1].failures, 3U);
  EXPECT_EQ(nodes[1].set_aside, Time(500));
  EXPECT_EQ(nodes[2].failures, 1U);
  EXPECT_FALSE(nodes[2].set_aside);
}

}  // namespace
}  // namespace mfl
