// Warnings about how a run ended: the same from a run, its reuse, its resumption and a sweep.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>

#include "mfl/base/files.h"
#include "mfl/base/rng.h"
#include "mfl/record/store.h"
#include "mfl/run/runner.h"
#include "mfl/run/sweep.h"

namespace mfl {
namespace {

class Warnings : public ::testing::Test {
 protected:
  void SetUp() override { folder_.emplace(*TempFolder::make()); }

  // Two classes and features of very different size, as tables of measurements have them.
  Config raw_features() const {
    const auto path = folder_->path() / "raw.csv";
    std::ofstream out(path);
    Stream stream(4, Purpose::kSynthetic);
    for (int r = 0; r < 200; ++r) {
      const int label = r % 2;
      for (int j = 0; j < 6; ++j) out << (10 + 2 * stream.normal() + label) * std::pow(4, j) << ',';
      out << label << '\n';
    }
    Config config;
    config.data.source = "csv:" + path.string();
    config.data.test = 0;
    config.model.name = "logistic";
    config.model.intercept = false;
    config.algorithm.eta = kPaperEta;  // what the paper's data is given, and far too much for this
    config.run.steps = 200;
    return config;
  }

  static Config sensible() {
    Config config;
    config.data.source = "synthetic:400x60";
    config.data.test = 0;
    config.algorithm.eta = 0.05;
    config.run.steps = 200;
    return config;
  }

  RunOutcome run(const Config& config, RunOptions options = {}, const RunHooks& hooks = {}) const {
    options.store = folder_->path() / "runs.db";
    const auto outcome = run_experiment(config, options, hooks);
    EXPECT_TRUE(outcome) << outcome.error().text();
    return outcome.value_or(RunOutcome{});
  }

  static bool has(const std::vector<RunWarning>& warnings, std::string_view id) {
    return std::ranges::count(warnings, id, &RunWarning::id) == 1;
  }

  std::optional<TempFolder> folder_;
};

TEST_F(Warnings, RawFeaturesCauseAWarningAndASensibleRunDoesNot) {
  const RunOutcome raw = run(raw_features());
  EXPECT_EQ(raw.status, "done");
  EXPECT_TRUE(has(raw.warnings, "above_start"));
  EXPECT_TRUE(run(sensible()).warnings.empty());
}

TEST_F(Warnings, TooSmallAStepIsStillFalling) {
  Config config = sensible();
  config.algorithm.eta = 1e-5;
  const RunOutcome slow = run(config);
  ASSERT_EQ(slow.warnings.size(), 1U);
  EXPECT_EQ(slow.warnings[0].id, "still_falling");
}

TEST_F(Warnings, SurviveReuseResumptionAndASweep) {
  const Config config = raw_features();
  const RunOutcome first = run(config);
  ASSERT_FALSE(first.warnings.empty());
  RunOptions reuse;
  reuse.reuse = true;
  const RunOutcome again = run(config, reuse);
  EXPECT_TRUE(again.reused);
  EXPECT_EQ(again.warnings, first.warnings);

  std::atomic<bool> stop = false;
  const RunOutcome stopped =
      run(config, {}, {[&](const Progress& progress) { stop = progress.round >= 7; }, &stop});
  EXPECT_EQ(stopped.status, "interrupted");
  RunOptions resume;
  resume.resume_id = stopped.run_id;
  const RunOutcome resumed = run({}, resume);
  EXPECT_EQ(resumed.digest, first.digest);
  EXPECT_EQ(resumed.warnings, first.warnings);

  RunOptions options;
  options.store = folder_->path() / "runs.db";
  const auto swept = run_sweep({sensible(), config}, options, {}).value();
  ASSERT_EQ(swept.size(), 2U);
  EXPECT_TRUE(swept[0].warnings.empty());
  EXPECT_EQ(swept[1].warnings, first.warnings);
}

TEST_F(Warnings, ARunThatDivergedSaysSo) {
  Config config = raw_features();
  config.model.name = "linear";
  const RunOutcome diverged = run(config);
  EXPECT_EQ(diverged.status, "diverged");
  EXPECT_TRUE(has(diverged.warnings, "not_finite"));
}

TEST_F(Warnings, ASampleOfTheNodesIsJudgedByItsTrend) {
  Config config = sensible();
  config.federation.nodes = 20;
  config.federation.partition = "label-sorted";
  config.federation.fraction_train = 0.2;
  config.run.steps = 2000;
  const RunOutcome outcome = run(config);
  EXPECT_TRUE(outcome.warnings.empty()) << outcome.warnings.front().message;
  EXPECT_TRUE(Store::open(folder_->path() / "runs.db")->get("latest")->sampled);
}

}  // namespace
}  // namespace mfl
