// Sweeps: the grid, and that each setting gets the run that it would have had alone.
#include "mfl/experiment/sweep.h"

#include <gtest/gtest.h>

#include <atomic>

#include "mfl/base/files.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

class Sweeps : public ::testing::Test {
 protected:
  void SetUp() override { folder_.emplace(*TempFolder::make()); }
  RunOptions options(const std::string& store) const { return {folder_->path() / store, {}, false, {}}; }

  static std::vector<Config> grid(const std::string& text) {
    const auto sweep = parse_sweep(text, "sweep.toml");
    EXPECT_TRUE(sweep) << sweep.error().text();
    const auto configs = expand(*sweep);
    EXPECT_TRUE(configs) << configs.error().text();
    return *configs;
  }

  // Digest, best and every round are those of a run of its own.
  void expect_equal_runs(const std::vector<Config>& configs) {
    const auto together = run_sweep(configs, options("sweep.db"), {});
    ASSERT_TRUE(together) << together.error().text();
    ASSERT_EQ(together->size(), configs.size());
    const Store swept = *Store::open(folder_->path() / "sweep.db");
    for (std::size_t i = 0; i < configs.size(); ++i) {
      SCOPED_TRACE(to_toml(configs[i]));
      const RunOutcome& got = (*together)[i];
      const auto alone = run_experiment(configs[i], options("alone.db"), {});
      ASSERT_TRUE(alone) << alone.error().text();
      EXPECT_EQ(got.config, configs[i]);
      EXPECT_EQ(got.status, alone->status);
      EXPECT_EQ(got.digest, alone->digest);
      EXPECT_EQ(got.best_step, alone->best_step);
      EXPECT_EQ(got.bytes_up, alone->bytes_up);
      const Store single = *Store::open(folder_->path() / "alone.db");
      const auto a = *swept.rounds(got.run_id), b = *single.rounds(alone->run_id);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t k = 0; k < a.size(); ++k) {
        ASSERT_EQ(a[k].digest, b[k].digest) << "round " << k;
        ASSERT_EQ(a[k].train_loss, b[k].train_loss) << "round " << k;
      }
    }
  }

  std::optional<TempFolder> folder_;
};

constexpr char kData[] = "[data]\nsource = \"synthetic:600x60\"\ntrain = 500\ntest = 100\n";

TEST_F(Sweeps, TheGridIsEveryCombinationTheLastKeyFastest) {
  const auto configs = grid("[algorithm]\ngamma = [0, 0.5]\ntau = [1, 2, 3]\n[run]\nsteps = 7");
  ASSERT_EQ(configs.size(), 6U);
  EXPECT_EQ(configs[0].algorithm.gamma, 0);
  EXPECT_EQ(configs[2].algorithm.tau, 3U);
  EXPECT_EQ(configs[3].algorithm.gamma, 0.5);
  EXPECT_EQ(configs[5].run.steps, 7U);
}

TEST_F(Sweeps, BadGridsAreNamed) {
  EXPECT_NE(parse_sweep("[algorithm]\ngamma = []", "f").error().message.find("empty"), std::string::npos);
  EXPECT_NE(parse_sweep("[algorithm]\ngamma = [0.5, 2]", "f").error().message.find("f:2: gamma = 2"),
            std::string::npos);
  EXPECT_NE(parse_sweep("[algorithm]\ngamma = [0.5, \"x\"]", "f").error().message.find("number"),
            std::string::npos);
  EXPECT_NE(parse_config("[algorithm]\ngamma = [0.5]", "f").error().message.find("mfl sweep"),
            std::string::npos);
  const auto crowded = parse_sweep("[data]\ntrain = 3\n[federation]\nnodes = [2, 9]", "f");
  EXPECT_FALSE(expand(*crowded));
}

TEST_F(Sweeps, SettingsThatShareDataGetTheirOwnRuns) {
  for (const char* model : {"svm", "squared-svm", "linear", "logistic"})
    for (const char* precision : {"f32", "f64"})
      expect_equal_runs(grid(
          std::string(kData) + "[model]\nname = \"" + model +
          "\"\n[algorithm]\neta = 0.05\ngamma = [0, 0.3, 0.6, 0.8, 0.9]\n[run]\nsteps = 30\nprecision = \"" +
          precision + "\""));
}

TEST_F(Sweeps, RoundsAndLengthsMayDiffer) {
  expect_equal_runs(grid(std::string(kData) + "[model]\nlambda = [0, 0.3]\n[algorithm]\neta = [0.02, "
                                              "0.05]\ntau = [1, 3, 4, 50]\n[run]\nsteps = [20, 41]\n"
                                              "threads = 2"));
}

TEST_F(Sweeps, AlgorithmsSeedsAndNodesMayDiffer) {
  expect_equal_runs(grid(
      std::string(kData) +
      "[federation]\nnodes = [1, 3]\n[algorithm]\nname = [\"gd\", \"mgd\", \"fl\", \"mfl\"]\neta = 0.05\n"
      "[run]\nsteps = 15\nseed = [1, 2]"));
}

TEST_F(Sweeps, MoreSettingsThanOnePassServes) {
  std::string gammas;
  for (int i = 0; i < 40; ++i) gammas += (i == 0 ? "" : ", ") + std::to_string(0.02 * i);
  expect_equal_runs(grid(std::string(kData) + "[algorithm]\ngamma = [" + gammas + "]\n[run]\nsteps = 8"));
}

TEST_F(Sweeps, OneThatDivergesLeavesTheOthersAlone) {
  const auto configs =
      grid(std::string(kData) +
           "[model]\nname = \"linear\"\n[algorithm]\neta = [0.01, 1e9, 0.02]\n[run]\nsteps = 60");
  const auto runs = run_sweep(configs, options("sweep.db"), {});
  ASSERT_TRUE(runs) << runs.error().text();
  EXPECT_EQ((*runs)[0].status, "done");
  EXPECT_EQ((*runs)[1].status, "diverged");
  EXPECT_EQ((*runs)[2].status, "done");
  EXPECT_EQ((*runs)[2].digest, run_experiment(configs[2], options("alone.db"), {})->digest);
}

TEST_F(Sweeps, AStoppedSweepIsFinishedByReuseAndResume) {
  const auto configs =
      grid(std::string(kData) + "[algorithm]\neta = 0.05\ngamma = [0, 0.5]\ntau = [2, 3]\n[run]\nsteps = 60");
  std::atomic<bool> stop = false;
  const RunHooks hooks{[&](const Progress& progress) { stop = progress.step >= 100; }, &stop};
  const auto stopped = run_sweep(configs, options("sweep.db"), hooks);
  ASSERT_TRUE(stopped) << stopped.error().text();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    EXPECT_EQ((*stopped)[i].status, "interrupted");
    RunOptions resume = options("sweep.db");
    resume.resume_id = (*stopped)[i].run_id;
    const auto done = run_experiment({}, resume, {});
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->digest, run_experiment(configs[i], options("alone.db"), {})->digest);
  }
  RunOptions reuse = options("sweep.db");
  reuse.reuse = true;
  const auto again = run_sweep(configs, reuse, {});
  for (const RunOutcome& run : *again) EXPECT_TRUE(run.reused);
  EXPECT_EQ(Store::open(folder_->path() / "sweep.db")->list()->size(), configs.size());
}

}  // namespace
}  // namespace mfl
