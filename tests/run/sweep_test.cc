// Sweeps: the grid, and that each setting gets the run that it would have had alone.
#include "mfl/run/sweep.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "mfl/base/files.h"
#include "mfl/config/sweep_grid.h"
#include "mfl/record/folder_lock.h"
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
      EXPECT_EQ(got.config, alone->config);
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

// Their rounds end at different steps.
TEST_F(Sweeps, TheAlgorithmFamilyGetsItsOwnRuns) {
  expect_equal_runs(
      grid(std::string(kData) +
           "[algorithm]\nname = [\"scaffold\", \"fedacg\", \"mime-lite\", \"ghbm(0.5, 2)\", \"feddyn\"]\n"
           "eta = 0.05\ntau = [2, 3]\n[run]\nsteps = 25"));
  expect_equal_runs(grid(std::string(kData) +
                         "[algorithm]\neta = 0.05\ntau = [2, 3]\nsync_momentum = [1, 3]\n[run]\nsteps = 25"));
}

TEST_F(Sweeps, MoreSettingsThanOnePassServes) {
  std::string gammas;
  for (int i = 0; i < 40; ++i) gammas += (i == 0 ? "" : ", ") + std::to_string(0.02 * i);
  expect_equal_runs(grid(std::string(kData) + "[algorithm]\ngamma = [" + gammas + "]\n[run]\nsteps = 8"));
}

TEST_F(Sweeps, ADivergingSettingLeavesTheOthersAlone) {
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

// Stopped and finished settings in a store that a process of a shared sweep would have left, had it been killed.
TEST_F(Sweeps, TheNextSweepTakesOverWhatAKilledProcessLeft) {
  const auto configs =
      grid(std::string(kData) + "[algorithm]\neta = 0.05\ntau = [2, 3]\n[run]\nsteps = [20, 60]");
  std::atomic<bool> stop = false;
  const RunHooks hooks{[&](const Progress& progress) { stop = progress.settings_done == 2; }, &stop};
  const auto stopped = run_sweep(configs, options("left.db"), hooks);
  ASSERT_TRUE(stopped) << stopped.error().text();
  const Owner owner = this_process();
  const auto left =
      folder_->path() / fmt::format("sweep.db.rank-{}-{}-{}", owner.host, owner.pid, owner.start);
  std::filesystem::create_directory(left);
  std::filesystem::rename(folder_->path() / "left.db", left / "runs.db");
  const std::vector others = {configs.front()};

  {
    const auto lock = FolderLock::acquire(left, std::chrono::milliseconds(0));
    ASSERT_TRUE(run_sweep(others, options("sweep.db"), {}));
    EXPECT_TRUE(std::filesystem::exists(left / "runs.db")) << "its process lives";
    EXPECT_EQ(Store::open(folder_->path() / "sweep.db")->list()->size(), 1U);
  }
  RunOptions reuse = options("sweep.db");
  reuse.reuse = true;
  const auto ended = run_sweep(configs, reuse, {});
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ(Store::open(folder_->path() / "sweep.db")->list()->size(), 1 + configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    EXPECT_EQ((*ended)[i].status, "done");
    EXPECT_EQ((*ended)[i].run_id, (*stopped)[i].run_id);
    EXPECT_EQ((*ended)[i].reused, (*stopped)[i].status == "done");
    EXPECT_EQ((*ended)[i].digest, run_experiment(configs[i], options("alone.db"), {})->digest);
  }
}

// All that the store has of a run, but for ids, times and where records were taken.
void expect_same_rounds(const Store& a, const RunOutcome& one, const Store& b, const RunOutcome& other) {
  EXPECT_EQ(one.status, other.status);
  EXPECT_EQ(one.digest, other.digest);
  EXPECT_EQ(one.best_step, other.best_step);
  EXPECT_EQ(one.bytes_up, other.bytes_up);
  EXPECT_EQ(one.bytes_down, other.bytes_down);
  EXPECT_EQ(one.virtual_seconds, other.virtual_seconds);
  const auto first = *a.rounds(one.run_id), second = *b.rounds(other.run_id);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t k = 0; k < first.size(); ++k) {
    ASSERT_EQ(first[k].digest, second[k].digest) << "round " << k;
    ASSERT_EQ(first[k].train_loss, second[k].train_loss) << "round " << k;
    ASSERT_EQ(first[k].bytes_up, second[k].bytes_up) << "round " << k;
    ASSERT_EQ(first[k].time, second[k].time) << "round " << k;
  }
}

TEST_F(Sweeps, ThreeInterruptionsDoNotChangeTheResult) {
  const std::string settings[] = {
      // Rounds of different lengths, runs of different lengths, and two equal settings.
      "[model]\nlambda = [0, 0.3]\n[algorithm]\neta = 0.05\ngamma = [0.5, 0.9, 0.9]\ntau = [3, 4]\n"
      "[run]\nsteps = [40, 61]\n",
      // Several groups, one of them centralised.
      "[algorithm]\nname = [\"gd\", \"mfl\"]\neta = 0.05\n[run]\nsteps = 60\nseed = [1, 2]\nprecision = "
      "\"f64\"\n",
      // Rounds that choose their nodes.
      "[federation]\nnodes = 10\nfraction_train = 0.3\n[algorithm]\neta = 0.05\ngamma = [0.1, 0.5, 0.9]\n"
      "[run]\nsteps = 60\n",
      // A virtual time.
      "[devices]\nspeed = \"lognormal(500, 0.8)\"\n[algorithm]\neta = 0.05\ngamma = [0.1, 0.9]\n[run]\nsteps "
      "= 40\n",
  };
  int number = 0;
  for (const std::string& text : settings) {
    SCOPED_TRACE(text);
    const auto configs = grid(kData + text);
    const std::string whole_db = "whole" + std::to_string(number) + ".db";
    const std::string stopped_db = "stopped" + std::to_string(number++) + ".db";
    const auto whole = run_sweep(configs, options(whole_db), {});
    ASSERT_TRUE(whole) << whole.error().text();

    std::uint64_t all = 0;
    for (const Config& config : configs) all += run_length(config);
    RunOptions resume = options(stopped_db);
    resume.reuse = true;
    for (const double share : {0.2, 0.4, 0.69}) {  // none of them where a group ends
      std::atomic<bool> stop = false;
      std::uint64_t first = all;
      const RunHooks hooks{[&](const Progress& progress) {
                             first = std::min(first, progress.step);
                             stop = static_cast<double>(progress.step) >= share * static_cast<double>(all);
                           },
                           &stop};
      const auto stopped = run_sweep(configs, resume, hooks);
      ASSERT_TRUE(stopped) << stopped.error().text();
      EXPECT_GE(static_cast<double>(first), (share - 0.3) * static_cast<double>(all)) << "it started again";
      EXPECT_TRUE(std::ranges::any_of(*stopped, [](const auto& run) { return run.status == "interrupted"; }));
    }
    const auto ended = run_sweep(configs, resume, {});
    ASSERT_TRUE(ended) << ended.error().text();
    ASSERT_EQ(ended->size(), configs.size());
    const Store a = *Store::open(folder_->path() / stopped_db), b = *Store::open(folder_->path() / whole_db);
    EXPECT_EQ(a.list()->size(), configs.size());
    for (std::size_t i = 0; i < configs.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same_rounds(a, (*ended)[i], b, (*whole)[i]);
    }
  }
}

TEST_F(Sweeps, SettingsThatStoppedInDifferentRoundsContinueTogether) {
  for (const char* part : {"", "[federation]\nnodes = 10\nfraction_train = 0.3\n"}) {
    SCOPED_TRACE(part);
    const std::string name = std::string(part).empty() ? "all" : "some";
    const auto configs = grid(std::string(kData) + part +
                              "[algorithm]\neta = 0.05\ngamma = [0.1, 0.5, 0.9]\n[run]\nsteps = 60");
    const auto whole = run_sweep(configs, options(name + "-whole.db"), {});
    ASSERT_TRUE(whole) << whole.error().text();
    RunOptions resume = options(name + "-stopped.db");
    resume.reuse = true;
    for (const std::size_t i : {0U, 2U}) {
      std::atomic<bool> stop = false;
      const RunHooks hooks{[&](const Progress& progress) { stop = progress.step >= 12 + 8 * i; }, &stop};
      ASSERT_TRUE(run_sweep({configs[i]}, resume, hooks));
    }
    const auto ended = run_sweep(configs, resume, {});
    ASSERT_TRUE(ended) << ended.error().text();
    const Store a = *Store::open(resume.store), b = *Store::open(folder_->path() / (name + "-whole.db"));
    EXPECT_EQ(a.list()->size(), configs.size());
    for (std::size_t i = 0; i < configs.size(); ++i) expect_same_rounds(a, (*ended)[i], b, (*whole)[i]);
  }
}

TEST_F(Sweeps, AxesAreInTheOrderOfTheFile) {
  const auto sweep = parse_sweep(
      "[run]\nseed = [1, 2]\n[model]\nname = [\"svm\", \"linear\"]\n[algorithm]\n"
      "tau = [1, 2]\nname = [\"fl\", \"mfl\"]",
      "f");
  ASSERT_TRUE(sweep) << sweep.error().text();
  std::vector<std::string> titles;
  for (const SweepAxis& axis : sweep->axes) titles.push_back(axis_title(*sweep, axis));
  EXPECT_EQ(titles, (std::vector<std::string>{"seed", "model.name", "tau", "algorithm.name"}));
  const auto configs = *expand(*sweep);
  EXPECT_EQ(configs[1].algorithm.name, "mfl");
  EXPECT_EQ(configs[2].algorithm.tau, 2U);
  EXPECT_EQ(configs[4].model.name, "linear");
  EXPECT_EQ(configs[8].run.seed, 2U);
  EXPECT_EQ(axis_value(sweep->axes[3], configs[1]), "mfl") << "without quotes";
}

TEST_F(Sweeps, KeysSetOnTheCommandLineMakeAxes) {
  Sweep sweep = *parse_sweep("[algorithm]\ngamma = [0, 0.5]", "f");
  ASSERT_TRUE(set_sweep_key(sweep, "algorithm.eta", "[0.1, 0.2]", "--set"));
  ASSERT_TRUE(set_sweep_key(sweep, "algorithm.gamma", "[0.25]", "--set"));
  ASSERT_TRUE(set_sweep_key(sweep, "model.name", "['svm',\"linear\", logistic ]", "--set"));
  ASSERT_TRUE(set_sweep_key(sweep, "schema.classes", R"(["a", "b"])", "--set"));
  EXPECT_EQ(sweep.base.schema.classes.size(), 2U) << "a list is one value of this key";
  ASSERT_TRUE(set_sweep_key(sweep, "devices.speed", "[lognormal(500, 0.8), uniform(1, 2), 7]", "--set"));
  ASSERT_TRUE(set_sweep_key(sweep, "run.steps", "7", "--set"));
  ASSERT_EQ(sweep.axes.size(), 4U);
  EXPECT_EQ(sweep.axes[0].values, (std::vector<std::string>{"0.25"}));
  EXPECT_EQ(sweep.axes[1].values, (std::vector<std::string>{"0.1", "0.2"}));
  EXPECT_EQ(sweep.axes[2].values, (std::vector<std::string>{"svm", "linear", "logistic"}));
  EXPECT_EQ(sweep.axes[3].values, (std::vector<std::string>{"lognormal(500, 0.8)", "uniform(1, 2)", "7"}));
  EXPECT_EQ(sweep.base.run.steps, 7U);

  ASSERT_TRUE(set_sweep_key(sweep, "schema.classes", "[\"a\", \"b\"]", "--set"));
  EXPECT_EQ(sweep.axes.size(), 4U) << "a list is one value of this key";
  EXPECT_EQ(sweep.base.schema.classes.size(), 2U);

  const auto single = set_sweep_key(sweep, "algorithm.gamma", "0.3", "--gamma 0.3");
  ASSERT_FALSE(single);
  EXPECT_NE(single.error().message.find("--gamma 0.3: algorithm.gamma is an array"), std::string::npos);
  for (const char* bad : {"[]", "[ ]", "[0.1,]", "[0.1, x]", "[2]"})
    EXPECT_FALSE(set_sweep_key(sweep, "algorithm.gamma", bad, "--set")) << bad;
  for (const char* key : {"gamma", "algorithm.gama", "algorithm", ""})
    EXPECT_FALSE(set_sweep_key(sweep, key, "[0.1]", "--set")) << key;
  EXPECT_EQ(sweep.axes[0].values, (std::vector<std::string>{"0.25"})) << "as it was";
}

}  // namespace
}  // namespace mfl
