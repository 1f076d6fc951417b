// Studies that are trained, whole, stopped and killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <optional>
#include <set>

#include "mfl/base/files.h"
#include "mfl/run/runner.h"
#include "mfl/study/results.h"
#include "mfl/study/study.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRunFile = R"([data]
source = "synthetic:120x6"
test = 40
[federation]
nodes = 4
[network]
up = 1e5
latency = 0.1
[algorithm]
tau = 2
[run]
rounds = 8
threads = 1
[study]
algorithms = ["fl", { name = "mfl", tune = { gamma = [0.5, 0.9] } }]
splits = ["iid", "label-sorted"]
problems = [{ data = "synthetic:120x6", model = "squared-svm", set = { model.lambda = 0.1 } }]
eta = [0.01, 0.1]
seeds = [1, 2]
tuning_seeds = [11]
reference = "fl"
focus = "mfl"
)";
constexpr std::size_t kRuns = 2 * (2 + 4) + 2 * 2 * 2;

class RunStudy : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(*TempFolder::make());
    plan_ = parse_study(kRunFile, "study.toml").value();
  }
  std::filesystem::path store(const std::string& name) const { return folder_->path() / name; }
  StudyEvidence whole() const {
    const auto study = run_study(plan_, store("whole.db"), {});
    EXPECT_TRUE(study) << study.error().text();
    return study->evidence;
  }

  static void expect_equal(const StudyEvidence& one, const StudyEvidence& other) {
    ASSERT_EQ(one.runs.size(), other.runs.size());
    for (std::size_t i = 0; i < one.runs.size(); ++i) {
      EXPECT_EQ(one.runs[i].key, other.runs[i].key);
      EXPECT_EQ(one.runs[i].digest, other.runs[i].digest);
      EXPECT_EQ(one.runs[i].points, other.runs[i].points);
    }
    EXPECT_EQ(chosen_of(one.tuned), chosen_of(other.tuned));
    for (std::size_t cell = 0; cell < one.tuned.size(); ++cell)
      for (std::size_t i = 0; i < one.tuned[cell].size(); ++i)
        EXPECT_EQ(one.tuned[cell][i].scores, other.tuned[cell][i].scores);
  }

  std::optional<TempFolder> folder_;
  StudyPlan plan_;
};

TEST_F(RunStudy, GathersEvidenceAndFindsItAgainInTheStore) {
  const StudyEvidence first = whole();
  EXPECT_EQ(first.rounds, 8U);
  EXPECT_EQ(first.runs.size(), 8U);
  for (const StudyRun& run : first.runs) {
    EXPECT_EQ(run.points.size(), 9U) << "round 0 and 8 more";
    EXPECT_EQ(run.points.back().value, run.final_loss);
    EXPECT_GT(run.points.back().bytes, 0U);
    EXPECT_GT(run.points.back().seconds.value(), 1.6) << "8 rounds with twice 0.1 s";
  }
  const auto again = run_study(plan_, store("whole.db"), {});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->runs, kRuns);
  EXPECT_EQ(again->reused, kRuns);
  expect_equal(first, again->evidence);
}

TEST_F(RunStudy, TunedRunsAreThoseOfTheTuningSeedsAlone) {
  const StudyEvidence evidence = whole();
  // The runs of the tuning seed, selected by hand.
  const auto tuning = tuning_runs(plan_).value();
  std::size_t at = 0;
  for (std::size_t cell = 0; cell < 2; ++cell)
    for (std::size_t algorithm = 0; algorithm < 2; ++algorithm) {
      const TunedSetting& tuned = evidence.tuned[cell][algorithm];
      for (const double score : tuned.scores) {
        const auto run = run_experiment(tuning[at++].config, {.store = store("alone.db")}, {});
        ASSERT_TRUE(run) << run.error().text();
        EXPECT_EQ(score, run->final.train_loss);
        EXPECT_LE(tuned.scores[tuned.chosen], score);
      }
    }
  EXPECT_EQ(at, tuning.size());
}

// Ends the process, as a power failure would, at the n-th report of progress.
void die_during_study(const StudyPlan& plan, const std::filesystem::path& store, int reports) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int left = reports;
    (void)run_study(plan, store, {.progress = [&](const Progress&) {
                      if (--left == 0) std::raise(SIGKILL);
                    }});
    _exit(0);  // all was done before
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "not killed: " << reports << " are too many";
}

TEST_F(RunStudy, AKillAnywhereLeadsToTheSameEvidence) {
  const StudyEvidence expected = whole();
  for (const int reports : {1, 5, 12, 20, 40}) {
    SCOPED_TRACE(reports);
    const auto path = store("killed" + std::to_string(reports) + ".db");
    die_during_study(plan_, path, reports);
    const auto resumed = run_study(plan_, path, {});
    ASSERT_TRUE(resumed) << resumed.error().text();
    expect_equal(expected, resumed->evidence);
  }
}

TEST_F(RunStudy, AnInterruptionSaysHowToContinue) {
  const StudyEvidence expected = whole();
  std::atomic<bool> stop = false;
  int left = 20;
  const auto stopped = run_study(plan_, store("stopped.db"),
                                 {.progress = [&](const Progress&) { stop = --left <= 0; }, .stop = &stop});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(stopped.error().text(), HasSubstr("of 20 runs"));
  EXPECT_THAT(stopped.error().hint, HasSubstr("run the same command again"));
  const auto resumed = run_study(plan_, store("stopped.db"), {});
  ASSERT_TRUE(resumed) << resumed.error().text();
  expect_equal(expected, resumed->evidence);
}

TEST_F(RunStudy, ProgressCountsAllRunsOfBothSweeps) {
  std::uint64_t last = 0, settings = 0, step = 0;
  const auto study = run_study(plan_, store("progress.db"), {.progress = [&](const Progress& progress) {
                                 EXPECT_GE(progress.settings_done, last);
                                 EXPECT_GE(progress.step, step);
                                 EXPECT_LE(progress.step, progress.steps);
                                 last = progress.settings_done;
                                 step = progress.step;
                                 settings = progress.settings;
                               }});
  ASSERT_TRUE(study) << study.error().text();
  EXPECT_EQ(settings, kRuns);
  EXPECT_EQ(last, kRuns);
}

TEST_F(RunStudy, RunsRecordedOtherwiseAreTrainedAgain) {
  plan_.metric = StudyMetric::kTestAccuracy;
  plan_.base.run.record_every = 8;
  ASSERT_TRUE(run_study(plan_, store("coarse.db"), {}));
  plan_.base.run.record_every = 2;
  const auto fine = run_study(plan_, store("coarse.db"), {});
  ASSERT_TRUE(fine) << fine.error().text();
  EXPECT_EQ(fine->evidence.runs.front().points.size(), 9U);
}

TEST_F(RunStudy, AnAccuracyThatDoesNotExistIsAnError) {
  plan_.metric = StudyMetric::kTestAccuracy;
  plan_.problems.front().set = {{"data.test", "0"}};
  const auto study = run_study(plan_, store("none.db"), {});
  ASSERT_FALSE(study);
  EXPECT_EQ(study.error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(study.error().text(), HasSubstr("has none"));
}

TEST_F(RunStudy, ADivergedRunIsEvidence) {
  plan_.problems.front().eta = {1e30};
  const auto study = run_study(plan_, store("diverged.db"), {});
  ASSERT_TRUE(study) << study.error().text();
  EXPECT_TRUE(study->evidence.tuned[0][0].all_diverged);
  const StudyResults results = results_of(study->evidence);
  EXPECT_EQ(results.cells[0].algorithms[0].diverged, 2U);
  EXPECT_EQ(results.cells[0].algorithms[0].reached, 0U);
}

}  // namespace
}  // namespace mfl
