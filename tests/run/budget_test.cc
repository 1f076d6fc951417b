// Runs that end by a budget, and rounds whose length it decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "mfl/run/round_planner.h"
#include "mfl/run/sweep.h"
#include "tests/run/stored_runs.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

class Budgets : public test::StoredRuns {
 protected:
  // A step takes about 8 ms and a round another 130 ms.
  static Config adaptive() {
    Config config;
    config.data.source = "synthetic:900x60";
    config.data.train = 800;
    config.data.test = 100;
    config.federation.partition = "label-sorted";
    config.devices.speed = {Distribution::Kind::kUniform, 20000, 30000};
    config.network.latency = {Distribution::Kind::kFixed, 0.06, 0};
    config.network.up = {Distribution::Kind::kFixed, 1e5, 0};
    config.model.name = "squared-svm";
    config.algorithm.eta = 0.02;
    config.algorithm.adaptive_tau = true;
    config.run.budget_seconds = 4;
    config.run.threads = 2;
    return config;
  }
};

TEST_F(Budgets, AdaptiveRoundsFillTheBudgetAndEveryChoiceIsRecorded) {
  for (const char* algorithm : {"fl", "mfl"}) {
    SCOPED_TRACE(algorithm);
    Config config = adaptive();
    config.algorithm.name = algorithm;
    const RunOutcome outcome = run(config);
    EXPECT_EQ(outcome.status, "done");
    EXPECT_THAT(outcome.message, HasSubstr("of 4 s of virtual time"));
    EXPECT_LE(*outcome.virtual_seconds, 4);
    EXPECT_GT(*outcome.virtual_seconds, 3.8) << "less than a round of one step is left";
    const auto rows = rounds(outcome);
    EXPECT_FALSE(rows[0].choice);
    for (std::size_t k = 1; k < rows.size(); ++k) {
      ASSERT_TRUE(rows[k].choice) << k;
      EXPECT_EQ(rows[k].choice->tau, rows[k].step - rows[k - 1].step);
      if (k == 1) continue;
      EXPECT_GT(rows[k].choice->beta, 0);
      EXPECT_GT(rows[k].choice->rho, 0);
      EXPECT_GT(rows[k].choice->delta, 0);
      EXPECT_LE(rows[k].choice->tau, 10 * rows[k - 1].choice->tau);
      const TauRule rule{.eta = 0.02, .gamma = algorithm == std::string("mfl") ? 0.5 : 0};
      const Resource seconds{4, rows[k].choice->step_seconds, rows[k].choice->round_seconds};
      const TauChoice expected =
          choose_tau(rule, {rows[k].choice->rho, rows[k].choice->beta, rows[k].choice->delta},
                     std::span(&seconds, 1), rows[k - 1].choice->tau);
      EXPECT_EQ(rows[k].choice->bound, expected.bound);
      if (k + 1 == rows.size()) continue;  // as many as are left
      EXPECT_EQ(rows[k].choice->tau, expected.tau);
    }
    EXPECT_EQ(rows[1].choice->tau, 1U);
  }
}

TEST_F(Budgets, OneDigestOverEnginesAndAResumeAtEveryRound) {
  Config config = adaptive();
  const RunOutcome whole = run(config);
  ASSERT_GT(whole.rounds, 4U);
  config.run.engine = "serial";
  EXPECT_EQ(run(config).digest, whole.digest);
  config.run.engine = "threads";
  config.run.threads = 3;
  EXPECT_EQ(run(config).digest, whole.digest);
  const auto expected = rounds(whole);
  for (std::uint64_t at = 1; at < whole.rounds; at += 3) {
    std::atomic<bool> stop = false;
    const RunOutcome stopped = run(config, {[&](const Progress& p) { stop = p.round >= at; }, &stop});
    ASSERT_EQ(stopped.status, "interrupted") << at;
    const RunOutcome resumed = run({}, {}, stopped.run_id);
    EXPECT_EQ(resumed.status, "done");
    EXPECT_EQ(resumed.digest, whole.digest);
    EXPECT_EQ(resumed.virtual_seconds, whole.virtual_seconds);
    const auto got = rounds(resumed);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(got[k].digest, expected[k].digest) << k;
      EXPECT_EQ(got[k].choice, expected[k].choice) << k;
    }
  }
}

// The estimates change nothing: the same rounds with a tau that is given come to the same w.
TEST_F(Budgets, EstimatesDoNotTouchTheModel) {
  Config config = adaptive();
  config.algorithm.tau_max = 1;
  config.run.steps = 9;
  const RunOutcome chosen = run(config);
  EXPECT_EQ(chosen.final.step, 9U);
  config.algorithm.adaptive_tau = false;
  config.algorithm.tau_max = 100;
  config.algorithm.tau = 1;
  const RunOutcome given = run(config);
  EXPECT_EQ(given.final.step, 9U);
  EXPECT_EQ(given.digest, chosen.digest);
  EXPECT_GT(chosen.bytes_up, given.bytes_up) << "gradients are sent";
  EXPECT_GT(*chosen.virtual_seconds, *given.virtual_seconds) << "and computed";
}

TEST_F(Budgets, BytesCountTooAndTheFirstToRunOutEndsTheRun) {
  Config config = adaptive();
  config.run.budget_bytes = 40'000;
  const RunOutcome both = run(config);
  EXPECT_LE(both.bytes_up + both.bytes_down, 40'000U);
  EXPECT_LT(*both.virtual_seconds, 4);
  EXPECT_THAT(both.message, HasSubstr("of 40000 bytes"));
  config.run.budget_seconds.reset();
  config.devices = {};
  config.network = {};
  const RunOutcome bytes = run(config);  // without any clock
  EXPECT_LE(bytes.bytes_up + bytes.bytes_down, 40'000U);
  EXPECT_EQ(run(config).digest, bytes.digest);
  EXPECT_FALSE(bytes.virtual_seconds);
}

TEST_F(Budgets, AGivenTauEndsByTheBudgetWithAShorterLastRound) {
  Config config = adaptive();
  config.algorithm.adaptive_tau = false;
  config.algorithm.tau = 100;
  const RunOutcome outcome = run(config);
  EXPECT_EQ(outcome.status, "done");
  EXPECT_LE(*outcome.virtual_seconds, 4);
  EXPECT_GT(*outcome.virtual_seconds, 3.8);
  const auto rows = rounds(outcome);
  EXPECT_EQ(rows[1].step, 100U);
  EXPECT_LT(rows.back().step - rows[rows.size() - 2].step, 100U);
  EXPECT_FALSE(rows[1].choice);
}

TEST_F(Budgets, ARunWithoutVirtualTimeMeasuresIt) {
  Config config = adaptive();
  config.devices = {};
  config.network = {};
  config.run.budget_seconds = 1e6;
  config.run.steps = 60;
  const RunOutcome outcome = run(config);
  EXPECT_EQ(outcome.final.step, 60U);
  EXPECT_GT(rounds(outcome).back().choice->step_seconds, 0);
  EXPECT_EQ(outcome.message, "");
}

TEST_F(Budgets, TooSmallABudgetIsAnError) {
  Config config = adaptive();
  config.run.budget_seconds = 0.01;
  const auto refused = run_experiment(config, {store_path(), {}, false, {}}, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("does not allow a round of one local step"));
}

TEST_F(Budgets, ASweepWhoseBudgetAllowsNoRoundRecordsNoRun) {
  Config config = adaptive();
  config.run.budget_seconds = 0.01;
  const auto refused = run_sweep({config}, {store_path("refused.db"), {}, false, {}}, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("does not allow a round of one local step"));
  EXPECT_TRUE(Store::open(store_path("refused.db"))->list()->empty());
}

TEST_F(Budgets, ASweepOverTauHasAdaptiveAmongItsValues) {
  Config config = adaptive();
  const RunOutcome alone = run(config);
  config.algorithm.adaptive_tau = false;
  config.algorithm.tau = 10;
  const RunOutcome ten = run(config);
  Config adapts = adaptive();
  const auto swept = run_sweep({config, adapts}, {store_path("sweep.db"), {}, false, {}}, {});
  ASSERT_TRUE(swept) << swept.error().text();
  ASSERT_EQ(swept->size(), 2U);
  EXPECT_EQ((*swept)[0].digest, ten.digest);
  EXPECT_EQ((*swept)[1].digest, alone.digest);
}

TEST(Allows, BothLimitsCountUpToTheLastByte) {
  const BudgetRule rule{.seconds = 2.0, .bytes = 100};
  EXPECT_TRUE(allows(rule, {1, 60}, {1, 40}));
  EXPECT_FALSE(allows(rule, {1, 60}, {1.5, 40}));
  EXPECT_FALSE(allows(rule, {1, 60}, {1, 41}));
  EXPECT_FALSE(allows(rule, {0, 101}, {0, 0}));
  EXPECT_TRUE(allows({}, {1e9, 1}, {1e9, 1}));
}

}  // namespace
}  // namespace mfl
