#include "mfl/report/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mfl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three rounds of two nodes with weights 1 and 3; the second one misses round 2. Round 3 is committed, its own loss not known yet.
RunExport federation() {
  RunExport run;
  run.run.id = "0123abcd";
  run.run.nodes = 2;
  run.rounds = {{0, 0, 5, 0, 0, ""}, {1, 4, 2, 200, 200, ""}, {2, 8, 1, 300, 400, ""}};
  run.nodes = {{1, "a", 1, 8, 0.5},
               {1, "b", 3, 4, 1.0},
               {2, "a", 1, 2, 0.25},
               {3, "a", 1, 4, {}},
               {3, "b", 3, 0, 1.5}};
  return run;
}

TEST(Nodes, AreSummedUpByName) {
  EXPECT_THAT(node_summaries(*federation().nodes),
              ElementsAre(NodeSummary{"a", 3, 1, 3, 1, {4}, 0.75}, NodeSummary{"b", 2, 1, 3, 3, {0}, 2.5}));
  EXPECT_THAT(node_summaries({}), IsEmpty());
}

TEST(Nodes, RoundsWithTheSameNodesAreOneRange) {
  std::vector<NodeRow> nodes = *federation().nodes;
  nodes.push_back({4, "a", 1, 1, {}});
  nodes.push_back({4, "b", 3, 1, {}});
  EXPECT_THAT(attendance(nodes, 2),
              ElementsAre(Attendance{1, 1, {"a", "b"}, {}, true}, Attendance{2, 2, {"a"}, {"b"}, false},
                          Attendance{3, 4, {"a", "b"}, {}, true}));
  EXPECT_EQ(attendance(nodes, std::nullopt)[1].complete, std::nullopt);
}

TEST(Nodes, TheAuditFindsNothingWhereAllIsWell) {
  EXPECT_THAT(node_faults(federation()), IsEmpty());
  RunExport simulation = federation();
  simulation.nodes->clear();
  EXPECT_THAT(node_faults(simulation), IsEmpty());
  RunExport upgraded = federation();  // whose first round is of an earlier version
  upgraded.nodes->erase(upgraded.nodes->begin(), upgraded.nodes->begin() + 2);
  EXPECT_THAT(node_faults(upgraded), IsEmpty());
}

TEST(Nodes, TheAuditFindsAWrongWeight) {
  RunExport run = federation();
  (*run.nodes)[1].weight = 4;
  EXPECT_THAT(node_faults(run),
              ElementsAre(HasSubstr("round 1: the train_loss of its nodes has the mean 4.7")));
}

// Losses over batches are of the round that ended at a State, the others of the one that starts there.
TEST(Nodes, TheAuditComparesEachLossWithItsOwnRow) {
  RunExport run = federation();
  const std::vector<RoundRow> before = *run.rounds;
  for (RoundRow& row : *run.rounds) {
    if (row.round > 0) row.batch_loss = before[row.round - 1].train_loss;
    if (row.round != 1) row.train_loss.reset();
  }
  for (NodeRow& node : *run.nodes) {
    node.batch_loss = node.train_loss;
    if (node.round != 2) node.train_loss.reset();
  }
  EXPECT_THAT(node_faults(run), IsEmpty());
  (*run.rounds)[2].batch_loss = 3;
  EXPECT_THAT(node_faults(run),
              ElementsAre(HasSubstr("round 2: the batch_loss of its nodes has the mean 2")));
  (*run.rounds)[2].batch_loss.reset();
  EXPECT_THAT(node_faults(run), ElementsAre(HasSubstr("but the round recorded none")));
}

TEST(Nodes, TheAuditFindsAMissingNode) {
  RunExport run = federation();
  (*run.nodes)[1].train_loss = 8;  // so that only the bytes tell
  (*run.rounds)[0].train_loss = 8;
  run.nodes->push_back({2, "c", 1, 2, {}});
  EXPECT_THAT(node_faults(run), ElementsAre("round 2: 2 nodes, but 100 bytes up of 100 per node"));
}

TEST(Nodes, TheAuditFindsARoundWithoutNodes) {
  RunExport run = federation();
  std::erase_if(*run.nodes, [](const NodeRow& row) { return row.round == 2; });
  EXPECT_THAT(node_faults(run), ElementsAre("round 2: no nodes are recorded"));
  run.rounds->push_back({3, 12, 1, 500, 600, ""});
  run.rounds->push_back({4, 16, 1, 700, 800, ""});
  EXPECT_THAT(node_faults(run),
              ElementsAre("round 2: no nodes are recorded", "round 4: no nodes are recorded"));
}

TEST(Nodes, AsTextAndJson) {
  RunExport run = federation();
  const std::string text = nodes_text(run);
  EXPECT_THAT(text, HasSubstr("\nnodes\nnode  rounds  samples  last train loss  last round  seconds\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  round 1: all expected nodes (2)\n  round 2: 1 node, fewer than expected; without b\n"));
  EXPECT_THAT(text, HasSubstr("  nodes, weights and losses agree with the rounds\n"));
  (*run.nodes)[1].weight = 4;
  EXPECT_THAT(nodes_text(run), HasSubstr("\naudit\n  round 1: the train_loss"));
  const Json json = nodes_json(federation());
  EXPECT_EQ(
      json.find("nodes")->elements()[0].dump(),
      R"({"node":"a","rounds":3,"first_round":1,"last_round":3,"samples":1,"train_loss":4.0,"batch_loss":null,"start_loss":null,"seconds":0.75})");
  EXPECT_EQ(json.find("attendance")->elements()[1].dump(),
            R"({"first_round":2,"last_round":2,"nodes":["a"],"missing":["b"],"complete":false})");
  EXPECT_EQ(json.find("faults")->dump(), "[]");
  run.nodes->clear();
  EXPECT_THAT(nodes_text(run), HasSubstr("only federations record them"));
}

TEST(Nodes, APageHasTheSitesTheirDatesAndTheAudit) {
  RunExport run = federation();
  for (NodeRow& node : *run.nodes) node.committed = 1'900'000'000 + static_cast<std::int64_t>(node.round);
  Page page{.title = "", .lead = "", .sections = {{"sites", "Sites", sites_blocks(run)}}};
  const std::string html = page_html(page);
  for (const char* part : {"weights", "25.0 %", "75.0 %", "2030-03-17T17:46:41Z", "2030-03-17T17:46:43Z",
                           "round 2: 1 node, fewer than expected; without b", "agree with the rounds"})
    EXPECT_THAT(html, HasSubstr(part));
  (*run.nodes)[1].weight = 4;
  page.sections[0].blocks = sites_blocks(run);
  EXPECT_THAT(page_html(page), HasSubstr("round 1: the train_loss of its nodes has the mean 4.7"));
  run.nodes->clear();
  EXPECT_THAT(sites_blocks(run), IsEmpty());
}

}  // namespace
}  // namespace mfl
