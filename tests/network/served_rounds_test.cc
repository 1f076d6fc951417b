// The rounds of a server that has a budget, without a server.
#include "mfl/network/served_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace mfl {
namespace {

using ::testing::HasSubstr;

TEST(RoundCosts, AreALineThroughTheRounds) {
  RoundCosts costs;
  EXPECT_EQ(costs.seconds_of_steps(), 0);
  costs.add(2, 3);
  costs.add(2, 5);
  EXPECT_EQ(costs.seconds_of_steps(), 4) << "half, where nothing tells steps from the rest";
  RoundCosts line;
  for (const std::uint64_t steps : {1U, 3U, 8U}) line.add(steps, 1 + 0.5 * static_cast<double>(steps));
  EXPECT_NEAR(line.seconds_of_steps(), 6, 1e-12);
  EXPECT_NEAR(line.seconds(), 9, 1e-12);
  EXPECT_EQ(line.steps(), 12U);
  EXPECT_EQ(line.rounds(), 3U);
  RoundCosts falling;
  falling.add(1, 5);
  falling.add(9, 1);
  EXPECT_EQ(falling.seconds_of_steps(), 0) << "more steps never cost less";
}

class RoundPolicies : public ::testing::Test {
 protected:
  RoundPolicies() {
    config_.federation.nodes = 3;
    config_.algorithm.name = "mfl";
    config_.algorithm.eta = 0.02;
    config_.algorithm.adaptive_tau = true;
    config_.run.budget_bytes = 100'000;
  }

  RoundPolicy policy() const { return round_policy(std::make_shared<const Experiment>(config_), 0); }

  static BetweenRounds beginning() { return {.parameters = 20, .samples = {100, 100, 50}}; }

  // A run whose nodes estimate the same in every round.
  std::vector<RoundTerms> all_rounds(bool each_by_another_process) const {
    std::vector<RoundTerms> out;
    RoundPolicy plan = policy();
    BetweenRounds now = beginning();
    for (;;) {
      if (each_by_another_process) plan = policy();
      out.push_back(plan(now).value());
      if (out.back().steps == 0) return out;
      ++now.round;
      now.step += out.back().steps;
      now.bytes += 900;
      now.time = out.back().time;
      now.estimates = RoundEstimates{.rho = 1, .beta = 2, .delta = 0.5, .steps = out.back().steps};
    }
  }

  Config config_;
};

TEST_F(RoundPolicies, ARunWithoutABudgetHasNone) {
  config_.algorithm.adaptive_tau = false;
  config_.run.budget_bytes.reset();
  EXPECT_FALSE(policy());
}

TEST_F(RoundPolicies, RoundsAreChosenUntilTheBudgetIsUsed) {
  const auto rounds = all_rounds(false);
  ASSERT_GT(rounds.size(), 20U);
  EXPECT_EQ(rounds.front().steps, 1U);
  EXPECT_EQ(rounds.front().choice->beta, 0);
  EXPECT_GT(rounds[1].steps, 1U);
  EXPECT_EQ(rounds[1].choice->beta, 2);
  EXPECT_EQ(rounds[1].choice->tau, rounds[1].steps);
  EXPECT_FALSE(rounds[1].time);
  EXPECT_THAT(rounds.back().end, HasSubstr("of 100000 bytes"));
  const auto again = all_rounds(true);  // costs in seconds are those of a clock, and differ
  ASSERT_EQ(again.size(), rounds.size());
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_EQ(again[i].steps, rounds[i].steps);
    EXPECT_EQ(again[i].end, rounds[i].end);
  }
}

TEST_F(RoundPolicies, VirtualTimeGoesOnWhereItWas) {
  config_.run.budget_bytes.reset();
  config_.run.budget_seconds = 20;
  config_.devices.speed = {Distribution::Kind::kUniform, 1000, 3000};
  config_.network.latency = {Distribution::Kind::kFixed, 0.1, 0};
  const auto rounds = all_rounds(false);
  ASSERT_GT(rounds.size(), 5U);
  double total = 0;
  for (const RoundTerms& round : rounds) {
    if (round.steps == 0) break;
    ASSERT_TRUE(round.time);
    total += round.time->seconds;
    EXPECT_EQ(round.time->total_seconds, total);
  }
  EXPECT_LE(total, 20);
  EXPECT_THAT(rounds.back().end, HasSubstr("of 20 s of virtual time"));
  EXPECT_EQ(all_rounds(true), rounds);
}

TEST_F(RoundPolicies, ABudgetWithoutRoomForARoundIsAnError) {
  config_.run.budget_bytes = 100;
  const auto terms = policy()(beginning());
  ASSERT_FALSE(terms);
  EXPECT_THAT(terms.error().text(), HasSubstr("the budget does not allow a round of one local step"));
}

}  // namespace
}  // namespace mfl
