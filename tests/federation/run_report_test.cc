#include "mfl/federation/run_report.h"

#include <gtest/gtest.h>

#include <limits>

namespace mfl {
namespace {

RoundReport round_of(std::uint64_t round) {
  RoundReport out{.round = round, .step = 2 * round, .bytes_up = 100 * round, .bytes_down = 200 * round};
  out.nodes = round;
  out.took = Time(10);
  out.losses = {.batch_loss = static_cast<double>(round)};
  return out;
}

TEST(RunReport, ARoundIsReportedOnceItIsDurable) {
  RunReport report({"old"});
  report.start({.round = 4, .step = 8, .bytes_up = 1, .bytes_down = 2});
  EXPECT_EQ(report.status().round, 4U);
  EXPECT_EQ(report.status().bytes_down, 2U);
  report.commit(round_of(5));
  report.durable(4);
  EXPECT_EQ(report.written().round, 5U);
  EXPECT_EQ(report.status().round, 4U);
  EXPECT_EQ(report.status().last_nodes, 0U) << "they belong to the round";
  report.durable(5);
  const FederationStatus status = report.status();
  EXPECT_EQ(status.round, 5U);
  EXPECT_EQ(status.step, 10U);
  EXPECT_EQ(status.bytes_up, 500U);
  EXPECT_EQ(status.last_nodes, 5U);
  EXPECT_EQ(status.rounds_timed, 1U);
  EXPECT_EQ(status.warnings, std::vector<std::string>{"old"});
}

TEST(RunReport, ALogThatIsAlwaysDurableReportsAtOnce) {
  RunReport report({});
  report.commit(round_of(1));
  report.commit(round_of(2));
  EXPECT_EQ(report.status().round, 1U) << "the round before the last is durable in any case";
  report.durable(std::nullopt);
  EXPECT_EQ(report.status().round, 2U);
  EXPECT_EQ(report.status().all_rounds, Time(20));
}

TEST(RunReport, TheLastTrainingLossStaysWhereARoundHasNone) {
  RunReport report({});
  RoundReport evaluated = round_of(1);
  evaluated.losses.train_loss = 7;
  report.commit(evaluated);
  report.commit(round_of(2));
  report.durable(std::nullopt);
  EXPECT_EQ(report.status().losses, (Losses{.train_loss = 7, .batch_loss = 2}));
  report.end(std::numeric_limits<double>::infinity(), "diverged");
  EXPECT_EQ(report.status().losses.train_loss, 7) << "a number that is finite";
  report.end(5, "");
  EXPECT_EQ(report.status().losses.train_loss, 5);
}

TEST(RunReport, TroubleLastsUntilARoundIsCommitted) {
  RunReport report({});
  report.abandon("round 1: no answer");
  report.refuse(Reason::kLate);
  report.refuse(Reason::kLate);
  EXPECT_EQ(report.status().trouble, "round 1: no answer");
  EXPECT_EQ(report.status().abandoned, 1U);
  EXPECT_EQ(report.status().refused[static_cast<std::size_t>(Reason::kLate)], 2U);
  report.commit(round_of(1));
  EXPECT_EQ(report.status().trouble, "");
  EXPECT_EQ(report.status().abandoned, 1U);
}

}  // namespace
}  // namespace mfl
