#include "mfl/federation/round_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/federation/keeping_log.h"

namespace mfl {
namespace {

using test::coordinator_options;
using test::KeepingLog;
using ::testing::HasSubstr;

// Rounds that need no numbers: what a node sends is its verdict.
class PlainRounds final : public RoundStage {
 public:
  PlainRounds(CoordinatedRun& run, std::vector<Work> of) : RoundStage(run, {}, {}), stages(std::move(of)) {}

  void begin(const std::vector<std::string>& available, const std::string& /*initial*/) override {
    begin_attempt(available, stages);
  }
  void forget() override {}
  bool has_state() const override { return true; }
  std::string spare_buffer() override { return {}; }
  Assignment task(const std::string& /*node*/) const override {
    return {run_.options.run_id, ticket_, 0, {}, {}, 0, {}};
  }
  std::uint64_t most_bytes(const std::string& /*node*/) const override { return 0; }

  std::vector<Work> stages;
  int closed = 0, diverged = 0;

 private:
  Verdict count(const std::string& node, std::uint64_t /*weight*/, Update update) override {
    if (update.payload == "not finite") {
      objections_.diverges(node);
      return {Reason::kNotFinite, update.payload};
    }
    objections_.count(node, {});
    return update.payload.empty() ? Verdict{} : Verdict{Reason::kShape, update.payload};
  }
  void close() override {
    ++closed;
    run_.report.commit({.round = ticket_.round});
    committed({}, seats().names(Seat::State::kCounted));
    end_attempt();
  }
  void diverge() override {
    ++diverged;
    end_attempt();
  }
  void drop_answers() override {}
};

class RoundStageTest : public ::testing::Test {
 protected:
  void start(std::size_t quorum = 0, const std::vector<Work>& stages = {Work::kTrain}) {
    run = std::make_unique<CoordinatedRun>(coordinator_options(4, 1, quorum), RunShapeOptions{}, log);
    for (const char* node : {"a", "b", "c"}) run->members.join(node, 1, 0);
    rounds = std::make_unique<PlainRounds>(*run, stages);
    begin();
  }
  void begin() {
    rounds->begin(run->members.available(run->now, [](const auto&) { return true; }), "");
  }
  void answer(const std::string& node, std::string payload = "") {
    const Ticket ticket = rounds->task(node).ticket;
    ASSERT_TRUE(rounds->check(node, ticket).counts());
    Update update;
    update.ticket = ticket;
    update.payload = std::move(payload);
    rounds->submit(node, std::move(update));
    rounds->advance();
  }
  void pass(Time time) {
    run->now += time;
    rounds->advance();
  }
  Reason reason(const std::string& node, const Ticket& ticket) { return rounds->check(node, ticket).reason; }

  KeepingLog log;
  std::unique_ptr<CoordinatedRun> run;
  std::unique_ptr<PlainRounds> rounds;
};

TEST_F(RoundStageTest, ClosesOnceAllHaveAnswered) {
  start();
  EXPECT_EQ(rounds->phase(), "training");
  EXPECT_EQ(rounds->deadline(), Time(1000));
  answer("a");
  answer("b");
  EXPECT_FALSE(rounds->awaits("a"));
  EXPECT_TRUE(rounds->awaits("c"));
  EXPECT_EQ(rounds->closed, 0);
  answer("c");
  EXPECT_EQ(rounds->closed, 1);
  EXPECT_EQ(rounds->phase(), "waiting");
  begin();
  EXPECT_EQ(rounds->task("a").ticket, (Ticket{7, 2, 1}));
}

TEST_F(RoundStageTest, CountsNothingThatIsAnsweredTwiceOrOutOfOrder) {
  start();
  const Ticket now = rounds->task("a").ticket;
  answer("a");
  EXPECT_EQ(reason("a", now), Reason::kDuplicate);
  EXPECT_EQ(rounds->check("a", now).text, "answered round 1 before");
  EXPECT_EQ(reason("b", {7, 0, 1}), Reason::kStale);
  EXPECT_EQ(reason("b", {7, 2, 1}), Reason::kFuture);
  EXPECT_EQ(reason("b", {6, 1, 1}), Reason::kStale) << "of another process";
  EXPECT_EQ(reason("b", {7, 1, 2}), Reason::kFuture);
  run->members.join("late", 1, 0);
  EXPECT_EQ(reason("late", now), Reason::kNotChosen);
}

TEST_F(RoundStageTest, WhoeverHasAnsweredAStageIsAskedInTheNext) {
  start(2, {Work::kMeasure, Work::kTrain});
  const Ticket first = rounds->task("a").ticket;
  Ticket second = first;
  second.stage = 1;
  EXPECT_EQ(rounds->check("a", second).reason, Reason::kFuture);
  EXPECT_EQ(rounds->check("a", second).text, "stage 1 of round 1 has not begun, this is stage 0");
  answer("a");
  answer("b");
  EXPECT_EQ(reason("a", first), Reason::kDuplicate);
  pass(Time(1000));
  EXPECT_EQ(rounds->closed, 0);
  EXPECT_EQ(rounds->task("a").ticket, second);
  EXPECT_EQ(rounds->deadline(), Time(2000));
  EXPECT_FALSE(rounds->awaits("c")) << "it has missed the first stage";
  EXPECT_EQ(rounds->check("a", first).reason, Reason::kLate);
  EXPECT_EQ(rounds->check("a", first).text, "stage 0 of round 1 is over, this is stage 1");
  answer("a");
  EXPECT_EQ(reason("a", second), Reason::kDuplicate);
  answer("b");
  EXPECT_EQ(rounds->closed, 1);
}

TEST_F(RoundStageTest, AnAttemptAfterOneThatFailedInALaterStageBeginsWithTheFirst) {
  start(0, {Work::kMeasure, Work::kTrain});
  for (const char* node : {"a", "b", "c"}) answer(node);
  EXPECT_EQ(rounds->task("a").ticket, (Ticket{7, 1, 1, 1}));
  answer("a", "wrong");
  EXPECT_FALSE(rounds->open());
  run->now += Time(100);
  begin();
  EXPECT_EQ(rounds->task("a").ticket, (Ticket{7, 1, 2, 0}));
}

TEST_F(RoundStageTest, ClosesAtTheDeadlineWithAQuorumAndDropsTheSilent) {
  start(2);
  answer("a");
  answer("b");
  pass(Time(999));
  EXPECT_EQ(rounds->closed, 0);
  pass(Time(1));
  EXPECT_EQ(rounds->closed, 1);
  EXPECT_FALSE(run->members.contains("c"));
  EXPECT_EQ(run->members.quarantine().last_failure("c"), "round 1: no answer by the deadline");
}

TEST_F(RoundStageTest, AnAttemptThatIsAbandonedIsFollowedByAnotherAfterAPause) {
  start();
  answer("a");
  pass(Time(1000));
  EXPECT_THAT(run->report.status().trouble,
              HasSubstr("round 1: 1 of 3 updates at the deadline, 3 needed; no answer from b, c"));
  EXPECT_EQ(rounds->not_before(), Time(1100));
  EXPECT_EQ(rounds->deadline(), Time(1100));
  EXPECT_EQ(rounds->seats().size(), 0U);
  run->now = Time(1100);
  begin();
  EXPECT_EQ(rounds->task("a").ticket, (Ticket{7, 1, 2}));
  EXPECT_EQ(reason("a", {7, 1, 1}), Reason::kLate);
}

TEST_F(RoundStageTest, ARefusedAnswerThatIsNeededEndsTheAttemptAtOnce) {
  start();
  answer("a", "wrong");
  EXPECT_FALSE(rounds->open());
  EXPECT_THAT(run->report.status().trouble,
              HasSubstr("needs 3 updates, at most 2 can still arrive (node a: wrong)"));
}

TEST_F(RoundStageTest, ANodeThatComesBackWithTheSameDataHasItsSeat) {
  start(1);
  rounds->leave("a");
  EXPECT_FALSE(rounds->awaits("a"));
  rounds->join("a", 1);
  EXPECT_TRUE(rounds->awaits("a"));
  rounds->join("a", 2);
  EXPECT_FALSE(rounds->awaits("a")) << "other data";
  EXPECT_EQ(reason("a", rounds->task("a").ticket), Reason::kLate);
}

TEST_F(RoundStageTest, WaitsForAllWhereMostMayObject) {
  start();
  answer("a", "not finite");
  EXPECT_TRUE(rounds->open());
  answer("b", "not finite");
  EXPECT_EQ(rounds->diverged, 1);
}

}  // namespace
}  // namespace mfl
