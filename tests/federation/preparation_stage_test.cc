#include "mfl/federation/preparation_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/federation/keeping_log.h"

namespace mfl {
namespace {

using test::coordinator_options;
using test::KeepingLog;
using ::testing::HasSubstr;

constexpr std::uint64_t kColumns = 3;

// A run whose step size is measured: 1 over the smoothness of the least smooth node.
class PreparationStageTest : public ::testing::Test {
 protected:
  PreparationStageTest() {
    options.nodes = 2;
    options.needs = [](const Schema&) { return PreparationNeeds{.step_size = true}; };
    options.step_size_of = [](double smoothness) { return 1 / smoothness; };
  }
  void start(const std::vector<std::string>& nodes) {
    RunShapeOptions shape;
    shape.columns = kColumns;
    run = std::make_unique<CoordinatedRun>(options, shape, log);
    preparing = std::make_unique<PreparationStage>(*run);
    for (const std::string& node : nodes) join(node);
    preparing->advance();
    preparing->advance();  // nothing is summed
  }
  void join(const std::string& node) {
    run->members.join(node, 1, 0);
    preparing->join(node, 1);
  }
  Verdict answer(const std::string& node, double smoothness) {
    Update update;
    update.ticket = preparing->task(node).ticket;
    if (Verdict verdict = preparing->check(node, update.ticket); !verdict.counts()) return verdict;
    update.weight = 1;
    update.blocks = {{kSmoothness, "f64", 1}};
    update.payload.resize(sizeof smoothness);
    std::memcpy(update.payload.data(), &smoothness, sizeof smoothness);
    Verdict verdict = preparing->submit(node, std::move(update));
    preparing->advance();
    return verdict;
  }

  KeepingLog log;
  CoordinatorOptions options = coordinator_options(4, 2);
  std::unique_ptr<CoordinatedRun> run;
  std::unique_ptr<PreparationStage> preparing;
};

TEST_F(PreparationStageTest, NothingIsAskedWhereNothingIsMeasured) {
  options.needs = {};
  start({"a", "b"});
  EXPECT_FALSE(preparing->begun());
  EXPECT_FALSE(preparing->awaits("a"));
  EXPECT_TRUE(preparing->ready("a"));
  EXPECT_FALSE(preparing->deadline());
}

TEST_F(PreparationStageTest, TheRunHasTheStepSizeOnceAllHaveAnswered) {
  start({"a", "b"});
  EXPECT_TRUE(preparing->in_progress());
  EXPECT_EQ(preparing->task("a").work, Work::kPrepare);
  EXPECT_TRUE(answer("a", 2).counts());
  EXPECT_FALSE(preparing->awaits("a"));
  EXPECT_EQ(answer("a", 2).reason, Reason::kDuplicate);
  EXPECT_FALSE(preparing->ready("a"));
  EXPECT_TRUE(answer("b", 4).counts());
  EXPECT_TRUE(preparing->ready("a"));
  EXPECT_FALSE(preparing->in_progress());
  EXPECT_EQ(run->eta, 0.25);
  EXPECT_TRUE(run->schema_kept);
}

TEST_F(PreparationStageTest, AnAnswerToWhatCameBeforeIsStaleAndNobodysFault) {
  start({"a", "b"});
  const Ticket before = preparing->task("a").ticket;
  join("c");
  EXPECT_EQ(preparing->check("a", before).reason, Reason::kStale);
  EXPECT_TRUE(preparing->check("a", before).expected);
}

TEST_F(PreparationStageTest, AnAnswerToAnotherStageDoesNotCount) {
  start({"a", "b"});
  Ticket ticket = preparing->task("a").ticket;
  EXPECT_EQ(ticket.stage, 1U);
  ticket.stage = 0;
  EXPECT_EQ(preparing->check("a", ticket).text, "stage 0 of round 0 is over, this is stage 1");
  EXPECT_FALSE(preparing->check("a", ticket).expected);
  ticket.stage = 2;
  EXPECT_EQ(preparing->check("a", ticket).reason, Reason::kFuture);
}

TEST_F(PreparationStageTest, WhoDoesNotAnswerIsDroppedAndNamed) {
  start({"a", "b"});
  answer("a", 2);
  run->now = preparing->deadline().value();
  preparing->advance();
  EXPECT_TRUE(run->members.contains("a"));
  EXPECT_FALSE(run->members.contains("b"));
  EXPECT_THAT(run->report.status().trouble, HasSubstr("before the first round: no answer from b"));
  EXPECT_FALSE(preparing->ready("a")) << "two nodes are needed";
}

TEST_F(PreparationStageTest, FewerNodesThanTheFederationHasAreNamedForLater) {
  options.nodes = 3;
  start({"a", "b"});
  answer("a", 2);
  answer("b", 2);
  EXPECT_EQ(run->measured, (std::vector<std::string>{"a", "b"}));
  EXPECT_THAT(run->kept_schema(), HasSubstr(kMeasuredBy));
  EXPECT_EQ(run->report.status().warnings.size(), 1U);
}

TEST_F(PreparationStageTest, AnOutlierKeepsTheRunWaitingOrIsExcluded) {
  for (const OnOutlier on_outlier : {OnOutlier::kRefuse, OnOutlier::kExclude}) {
    options.on_outlier = on_outlier;
    options.nodes = 3;
    start({"a", "b", "c"});
    answer("a", 1);
    answer("b", 1);
    answer("c", 1e9);
    EXPECT_FALSE(preparing->ready("a"));
    EXPECT_EQ(run->members.contains("c"), on_outlier == OnOutlier::kRefuse);
    if (on_outlier == OnOutlier::kRefuse) {
      EXPECT_THAT(run->report.status().trouble, HasSubstr("--on-outlier exclude or warn"));
    } else {
      EXPECT_EQ(run->members.check_excluded("c").reason, Reason::kOutlier);
    }
  }
}

}  // namespace
}  // namespace mfl
