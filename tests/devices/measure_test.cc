#include "mfl/devices/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/devices/virtual_time.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

// What a node of the model would be measured at, in one round.
MeasuredAnswer answer_of(const VirtualTime& time, std::uint64_t node) {
  const double latency = 0.05;
  MeasuredAnswer out{.node = std::to_string(node), .steps = 4, .samples = 50};
  out.bytes_down = out.bytes_up = 8000;
  VirtualTime only = time;
  only.network = {};
  out.compute_seconds = answer_seconds(only, node, 50, {4, 0});
  only = time;
  only.devices = {};
  only.network.down = kNoLimit;
  out.up_seconds = answer_seconds(only, node, 0, {0, 8000, 8000, {}}) - latency;
  only.network.down = time.network.down;
  only.network.up = kNoLimit;
  out.down_seconds = answer_seconds(only, node, 0, {0, 8000, 8000, {}}) - latency;
  out.round_trip_seconds = 2 * latency;
  return out;
}

TEST(Measure, FindsTheModelThatTheMeasurementsCameFrom) {
  VirtualTime time;
  time.seed = 3;
  time.devices.speed = {Distribution::Kind::kLognormal, 2000, 0.5};
  time.network = {{Distribution::Kind::kLognormal, 1e5, 0.3},
                  {Distribution::Kind::kFixed, 4e5, 0},
                  {Distribution::Kind::kFixed, 0.05, 0}};
  std::vector<MeasuredAnswer> answers;
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t node = 0; node < 400; ++node) answers.push_back(answer_of(time, node));
  const MeasuredModel model = model_of({1500, answers}).value();
  EXPECT_EQ(model.devices.speed.kind, Distribution::Kind::kLognormal);
  EXPECT_NEAR(model.devices.speed.first, 2000, 200);
  EXPECT_NEAR(model.devices.speed.second, 0.5, 0.06);
  EXPECT_NEAR(model.network.up.first, 1e5, 0.06e5);
  EXPECT_NEAR(model.network.up.second, 0.3, 0.04);
  EXPECT_EQ(model.network.down, (Distribution{Distribution::Kind::kFixed, 4e5, 0}));
  EXPECT_EQ(model.network.latency, (Distribution{Distribution::Kind::kFixed, 0.05, 0}));
  EXPECT_DOUBLE_EQ(model.devices.dropout.first, 0.2);

  const std::string toml = measured_toml(model);
  const auto config = parse_config(toml, "measured.toml");
  ASSERT_TRUE(config) << config.error().text() << toml;
  EXPECT_EQ(config->devices, model.devices);
  EXPECT_EQ(config->network, model.network);
}

TEST(Measure, OneNodeHasAFixedSpeedAndNoNetworkLimits) {
  const std::vector<MeasuredAnswer> answers = {
      {.node = "a", .steps = 2, .samples = 10, .compute_seconds = 4}};
  const std::string toml = measured_toml(model_of({1, answers}).value());
  EXPECT_THAT(toml, HasSubstr("[devices]\nspeed = \"5"));
  EXPECT_THAT(toml, HasSubstr("[network]\nup = \"none\"\ndown = \"none\"\n"));
}

TEST(Measure, NothingMeasuredIsAnError) {
  const auto model = model_of({10, {}});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace mfl
