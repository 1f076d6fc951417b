#include "mfl/devices/virtual_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mfl/config/config_values.h"

namespace mfl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr NumberRange kAny{[](double x) { return x >= 0; }, ">= 0"};

Distribution fixed(double x) { return {Distribution::Kind::kFixed, x, 0}; }

TEST(Distribution, ReadsBackWhatItWrites) {
  for (const char* text :
       {"100", "0.5", "uniform(50, 150)", "uniform(1, 1)", "lognormal(100, 0.5)", "lognormal(1e-9, 0)"}) {
    const auto spread = parse_distribution(text, kAny);
    ASSERT_TRUE(spread) << text;
    EXPECT_EQ(*parse_distribution(distribution_text(*spread), kAny), *spread);
  }
  EXPECT_EQ(*parse_distribution(" lognormal( 2 ,0.5 ) ", kAny),
            (Distribution{Distribution::Kind::kLognormal, 2, 0.5}));
}

TEST(Distribution, RefusesWhatItDoesNotKnow) {
  const struct {
    const char* text;
    const char* reason;
  } table[] = {{"", "must be a number >= 0, uniform"},
               {"fast", "lognormal(MEDIAN, SIGMA)"},
               {"normal(1, 2)", "must be a number"},
               {"uniform(1)", "must be a number"},
               {"uniform(1, 2", "must be a number"},
               {"uniform(2, 1)", "LEAST is above GREATEST"},
               {"uniform(-1, 1)", "must be a number >= 0"},
               {"uniform(1, x)", "GREATEST must be a number"},
               {"lognormal(1, -1)", "SIGMA must be in [0, 10]"},
               {"lognormal(1, 11)", "in [0, 10]"},
               {"lognormal(1, 2, 3)", "SIGMA must be a number"},
               {"uniform(nan, 1)", "must be a number"}};
  for (const auto& row : table) {
    const auto spread = parse_distribution(row.text, kAny);
    ASSERT_FALSE(spread) << row.text;
    EXPECT_THAT(spread.error().message, HasSubstr(row.reason)) << row.text;
  }
}

TEST(Distribution, DrawsWithTheMedianAndSpreadThatItSays) {
  constexpr int kDraws = 4000;
  const Distribution lognormal{Distribution::Kind::kLognormal, 100, 0.5},
      uniform{Distribution::Kind::kUniform, 50, 150};
  int below = 0;
  double squares = 0, sum = 0;
  for (std::uint64_t node = 0; node < kDraws; ++node) {
    const double x = draw(lognormal, Stream(1, Purpose::kDevice, 0, node));
    below += x < 100 ? 1 : 0;
    squares += std::pow(std::log(x / 100), 2);
    const double u = draw(uniform, Stream(1, Purpose::kDevice, 1, node));
    ASSERT_TRUE(u >= 50 && u < 150);
    sum += u;
  }
  EXPECT_NEAR(below, kDraws / 2, 160);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.5, 0.03);
  EXPECT_NEAR(sum / kDraws, 100, 2.5);
  EXPECT_EQ(draw(fixed(7), Stream(1, Purpose::kDevice)), 7);
  EXPECT_EQ(draw({Distribution::Kind::kLognormal, 7, 0}, Stream(1, Purpose::kDevice)), 7);
}

// 200 bytes each way at 100 down and 50 up, half a second of latency each way, 2 steps at 100 samples per second.
VirtualTime by_hand() {
  VirtualTime time;
  time.devices.speed = fixed(100);
  time.network = {fixed(50), fixed(100), fixed(0.5)};
  time.deadline = 60;
  return time;
}

Population population_by_hand(VirtualTime time, double fraction = 1) {
  static constexpr std::size_t kSamples[] = {10, 20, 40};
  const std::size_t quorum = time.quorum;
  return {3, {1, fraction, quorum}, std::move(time), [](std::size_t node) { return kSamples[node]; }};
}

TEST(VirtualTime, ACaseWorkedOutByHand) {
  const RoundWork work{2, 200, 200, {}};
  EXPECT_DOUBLE_EQ(answer_seconds(by_hand(), 0, 10, work), 0.5 + 2 + 0.2 + 0.5 + 4);
  EXPECT_DOUBLE_EQ(answer_seconds(by_hand(), 1, 20, work), 7.4);
  EXPECT_DOUBLE_EQ(answer_seconds(by_hand(), 2, 40, work), 7.8);

  // All in time: the round lasts as long as the slowest.
  RoundPlan plan = plan_round(population_by_hand(by_hand()), 1, work).value();
  EXPECT_TRUE(plan.counted.empty());  // all
  EXPECT_EQ(plan.sent, 3U);
  EXPECT_EQ(plan.received, 3U);
  EXPECT_DOUBLE_EQ(plan.time->seconds, 7.8);
  EXPECT_DOUBLE_EQ(plan.time->slowest_seconds, 7.8);
  EXPECT_NEAR(plan.time->idle_share, 1 - (7.2 + 7.4 + 7.8) / (3 * 7.8), 1e-12);
  EXPECT_EQ(plan.time->missed, 0U);

  // A deadline of 7.5 s with a quorum of two: node 2 is missed, the round ends at its deadline.
  VirtualTime time = by_hand();
  time.deadline = 7.5;
  time.quorum = 2;
  plan = plan_round(population_by_hand(time), 1, work).value();
  EXPECT_THAT(plan.counted, ElementsAre(0U, 1U));
  EXPECT_EQ(plan.sent, 3U);
  EXPECT_EQ(plan.received, 2U);
  EXPECT_DOUBLE_EQ(plan.time->seconds, 7.5);
  EXPECT_DOUBLE_EQ(plan.time->slowest_seconds, 7.4);
  EXPECT_NEAR(plan.time->idle_share, 1 - (7.2 + 7.4) / (2 * 7.5), 1e-12);
  EXPECT_EQ(plan.time->chosen, 3U);
  EXPECT_EQ(plan.time->missed, 1U);
  EXPECT_EQ(plan.time->abandoned, 0U);

  // With a quorum of three the round can never complete.
  time.quorum = 3;
  const auto never = plan_round(population_by_hand(time), 1, work);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(never.error().message, HasSubstr("round 1 was abandoned 1000 times"));
}

TEST(VirtualTime, AttemptsEndAsTheCoordinatorsRoundsDo) {
  const struct {
    const char* what;
    std::vector<double> answers;
    std::size_t quorum;
    bool committed;
    double seconds;
    std::size_t counted;
  } table[] = {
      {"all answer", {1, 2, 3}, 0, true, 3, 3},
      {"all answer at the deadline", {10, 10}, 0, true, 10, 2},
      {"one drops out, all needed", {1, kNever, 3}, 0, false, 10, 2},
      {"one drops out, two needed", {1, kNever, 3}, 2, true, 10, 2},
      {"one is late", {1, 10.5, 3}, 2, true, 10, 2},
      {"too few", {1, 11, kNever}, 2, false, 10, 1},
      {"nobody", {kNever, kNever}, 1, false, 10, 0},
      {"one alone", {4}, 1, true, 4, 1},
      {"more than the quorum is waited for", {1, 2, 9}, 1, true, 9, 3},
      {"no time at all", {0, 0}, 0, true, 0, 2},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.what);
    const Attempt ended = judge_attempt(row.answers, 10, row.quorum);
    EXPECT_EQ(ended.committed, row.committed);
    EXPECT_EQ(ended.seconds, row.seconds);
    EXPECT_EQ(ended.counted.size(), row.counted);
    EXPECT_TRUE(ended.idle_share >= 0 && ended.idle_share <= 1);
  }
}

TEST(VirtualTime, AbandonedAttemptsTakeTheirTimeAndAreDrawnAnew) {
  VirtualTime time = by_hand();
  time.devices.dropout = fixed(0.5);
  time.deadline = 20;
  std::uint64_t abandoned = 0;
  for (std::uint64_t round = 1; round <= 40; ++round) {
    const RoundPlan plan = plan_round(population_by_hand(time), round, {2, 200, 200, {}}).value();
    EXPECT_TRUE(plan.counted.empty());  // all are needed, so all have answered in the end
    const auto tries = static_cast<double>(plan.time->abandoned);
    EXPECT_DOUBLE_EQ(plan.time->seconds, tries * (20 + kRetryPause) + 7.8);
    EXPECT_EQ(plan.sent, 3 * (plan.time->abandoned + 1));
    EXPECT_EQ(plan.received, plan.sent - plan.time->missed);
    abandoned += plan.time->abandoned;
  }
  EXPECT_GT(abandoned, 100U);  // 7 of 8 attempts
  EXPECT_LT(abandoned, 560U);
}

TEST(VirtualTime, DevicesKeepTheirNatureAndDropOutByRound) {
  VirtualTime time = by_hand();
  time.devices.speed = {Distribution::Kind::kLognormal, 100, 1};
  EXPECT_EQ(answer_seconds(time, 5, 10, {1, 0}), answer_seconds(time, 5, 10, {1, 0}));
  EXPECT_NE(answer_seconds(time, 5, 10, {1, 0}), answer_seconds(time, 6, 10, {1, 0}));
  time.devices.dropout = fixed(0.3);
  int dropped = 0, changed = 0;
  for (std::uint64_t round = 1; round <= 1000; ++round) {
    dropped += drops_out(time, 5, round, 1) ? 1 : 0;
    changed += drops_out(time, 5, round, 1) != drops_out(time, 5, round, 2) ? 1 : 0;
  }
  EXPECT_NEAR(dropped, 300, 73);
  EXPECT_NEAR(changed, 420, 78);
  time.devices.dropout = fixed(1);
  EXPECT_TRUE(drops_out(time, 5, 1, 1));
  time.devices.dropout = fixed(0);
  EXPECT_FALSE(drops_out(time, 5, 1, 1));
}

TEST(VirtualTime, ConfigurationsWithoutItKeepTheirDigest) {
  Config config;
  const std::string before = config_digest(config);
  config.devices.speed = fixed(10);
  EXPECT_NE(config_digest(config), before);
  config.devices.speed = kNoLimit;
  EXPECT_EQ(config_digest(config), before);
}

}  // namespace
}  // namespace mfl
