// A diagnosed run is the run itself; a monitored one too, with warnings where they belong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mfl/advise/diagnose.h"
#include "mfl/base/files.h"
#include "mfl/run/monitor.h"
#include "mfl/run/sweep.h"

namespace mfl {
namespace {

class TheoryRuns : public ::testing::Test {
 protected:
  void SetUp() override { folder_.emplace(*TempFolder::make()); }

  static Config small(const std::string& model, const std::string& algorithm = "mfl") {
    Config config;
    config.data.source = "synthetic:300x40";
    config.data.test = 0;
    config.model.name = model;
    config.algorithm = {algorithm, 0.02, 0.5, 4};
    config.run.steps = 42;
    config.run.precision = Precision::kF64;
    return config;
  }

  RunOutcome run(const Config& config, bool monitor = false) const {
    RunOptions options;
    options.store = folder_->path() / "runs.db";
    options.monitor = monitor;
    const auto outcome = run_experiment(config, options, {});
    if (!outcome) ADD_FAILURE() << outcome.error().text();
    return outcome.value_or(RunOutcome{});
  }

  static bool warned(const RunOutcome& outcome, const std::string& id) {
    return std::ranges::count(outcome.warnings, id, &RunWarning::id) == 1;
  }

  std::optional<TempFolder> folder_;
};

TEST_F(TheoryRuns, TheDiagnosedTrajectoryIsThatOfTheRun) {
  for (const char* model : {"svm", "squared-svm", "linear", "logistic"})
    for (const char* algorithm : {"mfl", "fl", "mgd", "gd"}) {
      Config config = small(model, algorithm);
      const RunOutcome ran = run(config);
      config.run.precision = Precision::kF32;  // does not count: theory is f64
      const auto diagnosed = diagnose_experiment(config, {});
      ASSERT_TRUE(diagnosed) << diagnosed.error().text();
      EXPECT_EQ(diagnosed->digest, ran.digest) << model << ' ' << algorithm;
      EXPECT_EQ(diagnosed->diagnosis.run.path.best_step, ran.best_step);
      EXPECT_NEAR(diagnosed->diagnosis.run.path.best_loss, *ran.best_train_loss, 1e-14);
      const bool momentum = config.algorithm.name == "mfl" || config.algorithm.name == "mgd";
      EXPECT_EQ(diagnosed->diagnosis.fl.has_value(), momentum);
      EXPECT_EQ(diagnosed->diagnosis.run.drift.has_value(), std::string(model) != "svm");
    }
}

TEST_F(TheoryRuns, ThePairedRunIsPlainFl) {
  const auto diagnosed = diagnose_experiment(small("squared-svm"), {}).value();
  EXPECT_EQ(diagnosed.diagnosis.fl->path.best_loss,
            diagnose_experiment(small("squared-svm", "fl"), {}).value().diagnosis.run.path.best_loss);
}

TEST_F(TheoryRuns, ADivergingRunIsAnOutcome) {
  Config config = small("linear");
  config.algorithm.eta = 1e9;
  config.run.steps = 400;
  const auto diagnosed = diagnose_experiment(config, {});
  ASSERT_TRUE(diagnosed);
  EXPECT_TRUE(diagnosed->diagnosis.run.path.diverged_after);
}

TEST_F(TheoryRuns, AStoppedRunIsAnError) {
  std::atomic<bool> stop = true;
  const auto diagnosed = diagnose_experiment(small("linear"), {{}, &stop});
  ASSERT_FALSE(diagnosed);
  EXPECT_EQ(diagnosed.error().code, ErrorCode::kRunFailed);
}

TEST_F(TheoryRuns, MonitoringChangesNoBit) {
  for (const Precision precision : {Precision::kF32, Precision::kF64})
    for (const char* algorithm : {"mfl", "fl", "mgd", "gd"}) {
      Config config = small("logistic", algorithm);
      config.run.precision = precision;
      const RunOutcome plain = run(config), monitored = run(config, true);
      EXPECT_EQ(plain.digest, monitored.digest);
      for (const char* of_monitor : {"eta_beta", "unstable"}) EXPECT_FALSE(warned(plain, of_monitor));
    }
}

TEST_F(TheoryRuns, ACalmRunHasNoWarnings) {
  Config config = small("squared-svm");
  config.run.steps = 200;
  for (const RunWarning& warning : run(config, true).warnings)
    ADD_FAILURE() << warning.step << ": " << warning.message;
}

TEST_F(TheoryRuns, EachSignIsWarnedOfOnce) {
  Config large = small("squared-svm");
  const double beta = diagnose_experiment(large, {}).value().diagnosis.curvature->beta;
  large.algorithm.eta = 1.5 / beta;
  const RunOutcome steep = run(large, true);
  EXPECT_TRUE(warned(steep, "eta_beta"));
  EXPECT_FALSE(warned(steep, "unstable"));
  large.algorithm.eta = 4 / beta;
  EXPECT_TRUE(warned(run(large, true), "unstable"));

  Config apart = small("squared-svm");
  apart.federation.partition = "label-sorted";
  apart.algorithm = {"fl", 0.5 / beta, 0, 40};
  apart.run.steps = 2000;
  EXPECT_TRUE(warned(run(apart, true), "drift"));
  apart.algorithm.tau = 1;
  apart.run.steps = 20;
  EXPECT_FALSE(warned(run(apart, true), "drift"));

  Config heavy = small("squared-svm");
  heavy.algorithm = {"mfl", 0.9 / beta, 0.97, 4};
  heavy.run.steps = 200;
  EXPECT_TRUE(warned(run(heavy, true), "momentum_angle"));
}

TEST_F(TheoryRuns, ASweepOfOneIsMonitoredAsTheRunIs) {
  Config steep = small("squared-svm");
  steep.algorithm.eta = 1.5 / diagnose_experiment(steep, {}).value().diagnosis.curvature->beta;
  const RunOutcome alone = run(steep, true);
  RunOptions options;
  options.store = folder_->path() / "sweep.db";
  options.monitor = true;
  std::vector<RunWarning> told;
  RunHooks hooks;
  hooks.warn = [&](const RunWarning& warning) { told.push_back(warning); };
  const auto swept = run_sweep({steep}, options, hooks);
  ASSERT_TRUE(swept) << swept.error().text();
  EXPECT_TRUE(warned(swept->front(), "eta_beta"));
  EXPECT_EQ(swept->front().warnings, alone.warnings);
  EXPECT_EQ(swept->front().digest, alone.digest);
  EXPECT_FALSE(told.empty());
}

TEST(RoundSigns, MatchTheSignsOfTheVectors) {
  const Descent momentum{0.1, 0.5};
  const std::vector<Vector<double>> before = {{0, 0}, {1, 0}};
  const std::vector<NamedVector<double>> after = {{"w", {3, 4}}, {"d", {-0.75, 0}}};
  const RoundSigns signs = round_signs<double>(momentum, 2, before, after, 50);
  EXPECT_DOUBLE_EQ(*signs.spread, 1) << "|m|^2 = 25 of a mean square of 50";
  EXPECT_DOUBLE_EQ(*signs.momentum_cosine, -1) << "-0.75 - 0.25 against 1";
  const RoundSigns still = round_signs<double>(Descent{0.1, 0}, 2, {{0, 0}}, {{"w", {0, 0}}}, 0);
  EXPECT_FALSE(still.spread);
  EXPECT_FALSE(still.momentum_cosine);
}

// Spread as the engine measures it, against the nodes' own runs.
TEST_F(TheoryRuns, OneNodeHasNoSpread) {
  Config config = small("linear");
  config.federation.nodes = 1;
  config.algorithm = {"fl", 1e-3, 0, 500};
  config.run.steps = 5000;
  EXPECT_FALSE(warned(run(config, true), "drift"));
}

}  // namespace
}  // namespace mfl
