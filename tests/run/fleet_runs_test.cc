// Runs in which not all nodes take part, fleets, and virtual time, from configuration to store.
#include <gtest/gtest.h>

#include <atomic>

#include "mfl/run/sweep.h"
#include "tests/run/stored_runs.h"

namespace mfl {
namespace {

class FleetRuns : public test::StoredRuns {
 protected:
  static Config fleet() {
    Config config;
    config.data.source = "fleet:3-9x100";
    config.data.test = 300;
    config.federation.nodes = 5000;
    config.federation.fraction_train = 0.01;
    config.model.name = "squared-svm";
    config.algorithm.eta = 0.05;
    config.run.steps = 62;
    config.run.record_every = 4;
    config.run.threads = 2;
    return config;
  }
  static Config stored() {
    Config config = fleet();
    config.data.source = "synthetic:900x60";
    config.data.train = 700;
    config.data.test = 200;
    config.federation.nodes = 40;
    config.federation.fraction_train = 0.2;
    return config;
  }

  // Round by round.
  void expect_equal(const RunOutcome& a, const RunOutcome& b, bool with_time = true) {
    EXPECT_EQ(a.digest, b.digest);
    EXPECT_EQ(a.final.train_loss, b.final.train_loss);
    const auto left = rounds(a), right = rounds(b);
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t k = 0; k < left.size(); ++k) {
      ASSERT_EQ(left[k].digest, right[k].digest) << k;
      ASSERT_EQ(left[k].train_loss, right[k].train_loss) << k;
      ASSERT_EQ(left[k].bytes_up, right[k].bytes_up) << k;
      ASSERT_EQ(left[k].bytes_down, right[k].bytes_down) << k;
      ASSERT_TRUE(!with_time || left[k].time == right[k].time) << k;
    }
  }

  void expect_resumes(const Config& config) {
    const RunOutcome whole = run(config);
    std::atomic<bool> stop = false;
    const RunOutcome stopped = run(config, {[&](const Progress& p) { stop = p.round >= 5; }, &stop});
    EXPECT_EQ(stopped.status, "interrupted");
    const RunOutcome resumed = run({}, {}, stopped.run_id);
    EXPECT_EQ(resumed.status, "done");
    EXPECT_EQ(resumed.virtual_seconds, whole.virtual_seconds);
    expect_equal(resumed, whole);
  }
};

// A lossy federation: some drop out, some are late, some rounds are abandoned.
void give_trouble(Config& config) {
  config.federation.quorum = 5;
  config.federation.round_deadline = 2;
  config.devices.speed = {Distribution::Kind::kLognormal, 60, 0.7};
  config.devices.dropout = {Distribution::Kind::kUniform, 0, 0.6};
  config.network.latency = {Distribution::Kind::kFixed, 0.1, 0};
}

TEST_F(FleetRuns, TheLossFallsAndOnlyParticipantsSend) {
  const RunOutcome outcome = run(fleet());
  EXPECT_EQ(outcome.rounds, 16U);
  EXPECT_EQ(outcome.bytes_up, 16U * 50 * 2 * 100 * sizeof(float));
  const auto rows = rounds(outcome);
  EXPECT_EQ(rows.front().train_loss, 0.5);
  EXPECT_LT(outcome.final.train_loss, 0.47);
  EXPECT_GT(*outcome.final.test_accuracy, 0.6);
  EXPECT_FALSE(outcome.virtual_seconds);
}

TEST_F(FleetRuns, ThreadsChangeNothing) {
  for (Config config : {fleet(), stored()}) {
    config.run.engine = "serial";
    const RunOutcome serial = run(config);
    config.run.engine = "threads";
    for (const std::uint64_t threads : {1, 3}) {
      config.run.threads = threads;
      expect_equal(run(config), serial);
    }
  }
}

TEST_F(FleetRuns, ResumeGivesTheSameRounds) {
  expect_resumes(fleet());
  Config config = stored();
  expect_resumes(config);
  give_trouble(config);
  expect_resumes(config);
}

TEST_F(FleetRuns, ASweepGivesEachSettingItsOwnRun) {
  for (const Config& base : {fleet(), stored()}) {
    Config troubled = base;
    give_trouble(troubled);
    for (const Config& config : {base, troubled}) {
      std::vector<Config> configs;
      for (const double gamma : {0.0, 0.5})
        for (const std::uint64_t tau : {3, 4}) {
          configs.push_back(config);
          configs.back().algorithm.gamma = gamma;
          configs.back().algorithm.tau = tau;
          configs.back().run.steps = tau == 3 ? 12 : 22;
        }
      const auto swept = run_sweep(configs, {store_path(), {}, false, {}}, {});
      ASSERT_TRUE(swept) << swept.error().text();
      for (std::size_t i = 0; i < configs.size(); ++i) expect_equal((*swept)[i], run(configs[i]));
    }
  }
}

TEST_F(FleetRuns, AClockChangesNoBitWhileAllAnswerInTime) {
  for (Config config : {fleet(), stored()}) {
    const RunOutcome without = run(config);
    config.devices.speed = {Distribution::Kind::kLognormal, 1000, 0.5};
    config.network.up = {Distribution::Kind::kUniform, 1e4, 1e5};
    config.network.latency = {Distribution::Kind::kFixed, 0.05, 0};
    const RunOutcome with = run(config);
    EXPECT_GT(with.virtual_seconds.value_or(0), 0);
    expect_equal(with, without, false);
  }
}

TEST_F(FleetRuns, WithoutSpreadTimeIsTheClosedFormula) {
  Config config = fleet();
  config.data.source = "fleet:10x100";
  config.devices.speed = {Distribution::Kind::kFixed, 40, 0};
  config.network = {{Distribution::Kind::kFixed, 1000, 0},
                    {Distribution::Kind::kFixed, 4000, 0},
                    {Distribution::Kind::kFixed, 0.25, 0}};
  const double bytes = 2 * 100 * sizeof(float);
  const auto round = [&](double steps) { return 2 * 0.25 + bytes / 4000 + steps * 10 / 40 + bytes / 1000; };
  const RunOutcome outcome = run(config);
  const auto rows = rounds(outcome);
  ASSERT_EQ(rows.size(), 17U);
  EXPECT_EQ(rows[0].time->total_seconds, 0);
  for (std::size_t k = 1; k <= 15; ++k) {
    EXPECT_NEAR(rows[k].time->seconds, round(4), 1e-12);
    EXPECT_NEAR(rows[k].time->total_seconds, static_cast<double>(k) * round(4), 1e-9);
    EXPECT_EQ(rows[k].time->idle_share, 0);
  }
  EXPECT_NEAR(*outcome.virtual_seconds, 15 * round(4) + round(2), 1e-9);
}

TEST_F(FleetRuns, MissedNodesDoNotCount) {
  Config config = stored();
  give_trouble(config);
  const auto rows = rounds(run(config));
  std::uint64_t missed = 0, abandoned = 0;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    const RoundTime& time = *rows[k].time;
    missed += time.missed;
    abandoned += time.abandoned;
    EXPECT_LE(time.slowest_seconds, 2);
    EXPECT_EQ(time.chosen, 8U);
    EXPECT_LE(rows[k].bytes_up - rows[k - 1].bytes_up, rows[k].bytes_down - rows[k - 1].bytes_down);
  }
  EXPECT_GT(missed, 0U);
  EXPECT_GT(abandoned, 0U);
  config.devices = {};
  config.network = {};
  EXPECT_NE(rows.back().digest, rounds(run(config)).back().digest);
}

TEST_F(FleetRuns, MoreNodesThanAnyMachineHoldsCostNothingUntilTheyRun) {
  Config config = fleet();
  config.federation.nodes = 3'000'000'000;
  config.federation.fraction_train = 1e-8;
  config.run.steps = 8;
  EXPECT_EQ(run(config).bytes_up, 2U * 30 * 2 * 100 * sizeof(float));
}

}  // namespace
}  // namespace mfl
