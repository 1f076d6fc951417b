#include "mfl/algorithm/early_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mfl {
namespace {

using Curve = std::vector<double>;

// The round in which a run with these losses from round 0 on stops; nothing if it does not.
std::optional<std::uint64_t> stops_in(const StopRule& rule, const Curve& losses, const LossRule& kinds = {}) {
  EarlyStop stop(rule, kinds);
  for (std::size_t round = 0; round < losses.size(); ++round)
    if (stop.judge(round, losses[round], std::nullopt)) return round;
  return std::nullopt;
}

TEST(EarlyStop, IsOffByDefault) { EXPECT_FALSE(stops_in({}, Curve(100, 0.0))); }

TEST(EarlyStop, AtTheTargetLossButNotAtTheStart) {
  EXPECT_EQ(stops_in(StopRule{0.5, {}, 0}, {1, 0.6, 0.5, 0.4}), 2U);
  EXPECT_EQ(stops_in(StopRule{2, {}, 0}, {1, 0.6}), 1U);
  EXPECT_FALSE(stops_in(StopRule{0.5, {}, 0}, {1, NAN, 0.6}));
}

TEST(EarlyStop, AtTheTargetAccuracy) {
  EarlyStop stop(StopRule{{}, 0.9, 0}, {});
  EXPECT_FALSE(stop.needs_accuracy(0));
  EXPECT_TRUE(stop.needs_accuracy(1));
  EXPECT_FALSE(stop.judge(0, 1, 0.95));
  EXPECT_FALSE(stop.judge(1, 1, 0.89));
  EXPECT_FALSE(stop.judge(2, 1, std::nullopt));
  EXPECT_EQ(stop.judge(3, 1, 0.9),
            "stopped early in round 3: test accuracy 0.9 has reached target_accuracy 0.9");
  EXPECT_FALSE(EarlyStop(StopRule{{}, {}, 1}, {}).needs_accuracy(1));
}

TEST(EarlyStop, AfterAsManyRoundsWithoutAnImprovement) {
  EXPECT_EQ(stops_in(StopRule{{}, {}, 3}, {1, 0.5, 0.6, 0.55, 0.7, 0.1}), 4U);
  EXPECT_FALSE(stops_in(StopRule{{}, {}, 3}, {1, 0.5, 0.6, 0.55, 0.4, 0.5, 0.5}));
  EXPECT_EQ(stops_in(StopRule{{}, {}, 2}, {1, 2, 3}), 2U) << "the initial loss counts";
  EXPECT_EQ(stops_in(StopRule{{}, {}, 2}, {1, NAN, NAN, 0.5}), 2U) << "not a number is no improvement";
}

TEST(EarlyStop, AnImprovementIsMoreThanATenThousandth) {
  EXPECT_EQ(stops_in(StopRule{{}, {}, 2}, {1, 0.99995, 0.99992}), 2U);
  EXPECT_FALSE(stops_in(StopRule{{}, {}, 2}, {1, 0.99995, 0.99985, 0.9998})) << "small steps add up";
  EXPECT_EQ(stops_in(StopRule{{}, {}, 1}, {-1, -1.00005}), 1U) << "relative to the size of the loss";
  EXPECT_FALSE(stops_in(StopRule{{}, {}, 1}, {-1, -1.0002}));
}

TEST(EarlyStop, WhatIsNotMeasuredIsNotJudged) {
  const LossRule every_second{.passing = LossRule::Passing::kBatch, .evaluate_every = 2};
  EarlyStop at_target(StopRule{0.5, 0.9, 0}, every_second);
  EXPECT_FALSE(at_target.judge(1, std::nullopt, std::nullopt));
  EXPECT_FALSE(at_target.needs_accuracy(1));
  EXPECT_TRUE(at_target.needs_accuracy(2));
  EXPECT_FALSE(at_target.judge(2, 0.6, 0.1));
  EXPECT_TRUE(at_target.judge(4, 0.4, 0.1));
  EarlyStop patient(StopRule{{}, {}, 3}, every_second);
  for (const std::uint64_t round : {0U, 2U}) EXPECT_FALSE(patient.judge(round, 1, {})) << round;
  EXPECT_FALSE(patient.judge(3, std::nullopt, {}))
      << "three rounds without an improvement, but this one is not known";
  EXPECT_TRUE(patient.judge(4, 1, {}));
}

TEST(EarlyStop, SaysByHowMuchTheLossHasNotImproved) {
  EarlyStop stop(StopRule{{}, {}, 2}, {});
  EXPECT_FALSE(stop.judge(0, 0.5, {}));
  EXPECT_FALSE(stop.judge(1, 0.49999, {}));
  EXPECT_EQ(stop.judge(2, 0.49998, {}),
            "stopped early in round 2: training loss 0.49998 is not 0.01 % below that of round 0 (0.5), "
            "patience 2");
}

TEST(EarlyStop, JudgesTheSameTwiceAndAfterAReplay) {
  const Curve losses = {1, 0.5, 0.6, 0.49999, 0.7, 0.3};
  const StopRule rule{{}, {}, 3};
  for (std::size_t resumed = 1; resumed < losses.size(); ++resumed) {
    EarlyStop stop(rule, {});
    for (std::size_t round = 0; round < resumed; ++round) (void)stop.judge(round, losses[round], {});
    for (std::size_t round = resumed; round <= 4; ++round) {
      const auto first = stop.judge(round, losses[round], {});
      EXPECT_EQ(stop.judge(round, losses[round], {}), first);
      EXPECT_EQ(first.has_value(), round == 4) << resumed;
    }
  }
}

}  // namespace
}  // namespace mfl
