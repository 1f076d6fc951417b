// The three training losses of runs: what is measured, and that none takes another's place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "mfl/base/files.h"
#include "mfl/record/store.h"
#include "mfl/run/runner.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

class LossesOfRuns : public ::testing::Test {
 protected:
  void SetUp() override { folder_.emplace(*TempFolder::make()); }

  // Label-sorted minibatches over several classes.
  static Config minibatches() {
    Config config;
    config.data.source = "synthetic:400x30";
    config.data.train = 300;
    config.data.test = 100;
    config.model.name = "softmax";
    config.federation.partition = "label-sorted";
    config.algorithm.eta = 0.1;
    config.algorithm.batch_size = 16;
    config.algorithm.tau = 2;
    config.run.rounds = 30;
    return config;
  }

  RunOptions options() const { return {folder_->path() / "runs.db", {}, false, {}}; }
  RunOutcome run(const Config& config) {
    const auto outcome = run_experiment(config, options(), {});
    EXPECT_TRUE(outcome) << outcome.error().text();
    return *outcome;
  }
  std::vector<RoundRow> rounds(const RunOutcome& outcome) const {
    return Store::open(folder_->path() / "runs.db")->rounds(outcome.run_id).value();
  }
  std::vector<RecordRow> records(const RunOutcome& outcome) const {
    return Store::open(folder_->path() / "runs.db")->records(outcome.run_id).value();
  }

  std::optional<TempFolder> folder_;
};

TEST_F(LossesOfRuns, EachEvaluationIsThatOfARunThatEvaluatesEveryRound) {
  for (const char* algorithm : {"fl", "mfl", "fedacg", "scaffold"}) {
    SCOPED_TRACE(algorithm);
    Config config = minibatches();
    config.algorithm.name = algorithm;
    const RunOutcome sparse = run(config);
    config.run.evaluate_every = 1;
    const RunOutcome dense = run(config);
    EXPECT_EQ(sparse.digest, dense.digest);
    EXPECT_EQ(sparse.final.train_loss, dense.final.train_loss);
    const auto some = rounds(sparse), all = rounds(dense);
    ASSERT_EQ(some.size(), all.size());
    EXPECT_DOUBLE_EQ(some.front().train_loss.value(), std::log(10)) << "ten classes, at w = 0";
    std::size_t measured = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      ASSERT_TRUE(all[i].train_loss);
      if (some[i].train_loss) {
        EXPECT_EQ(some[i].train_loss, all[i].train_loss) << i;
      }
      EXPECT_EQ(some[i].batch_loss, all[i].batch_loss) << i;
      EXPECT_EQ(some[i].batch_loss.has_value(), i > 0) << "of the round that ended there";
      EXPECT_FALSE(some[i].start_loss) << "nodes measured their batches";
      measured += some[i].train_loss ? 1 : 0;
    }
    EXPECT_GE(measured, 10U);
    EXPECT_LT(measured, some.size());
    EXPECT_TRUE(some.back().train_loss);
    for (const RecordRow& record : records(sparse))
      EXPECT_EQ(record.losses(), some[record.round].losses()) << record.round;
  }
}

TEST_F(LossesOfRuns, TheBestStateHasTheLowestMeasuredLoss) {
  const RunOutcome outcome = run(minibatches());
  double least = INFINITY;
  for (const RoundRow& row : rounds(outcome))
    if (row.round > 0 && row.train_loss) least = std::min(least, *row.train_loss);
  EXPECT_EQ(outcome.best_train_loss, least);
}

TEST_F(LossesOfRuns, WithoutEvaluationsThereIsNoTrainLossAndTheBestStateIsTheLast) {
  Config config = minibatches();
  const RunOutcome evaluated = run(config);
  config.run.evaluate_every = 0;
  const RunOutcome outcome = run(config);
  EXPECT_EQ(outcome.digest, evaluated.digest);
  EXPECT_EQ(outcome.status, "done");
  EXPECT_FALSE(outcome.final.train_loss);
  EXPECT_FALSE(outcome.best_train_loss);
  EXPECT_EQ(outcome.best_step, outcome.final.step);
  EXPECT_EQ(outcome.final.test_loss, evaluated.final.test_loss);
  for (const RoundRow& row : rounds(outcome)) EXPECT_FALSE(row.train_loss) << row.round;
}

TEST_F(LossesOfRuns, WhatLooksAheadHasTheLossOfItsStartAndThatOfW) {
  Config config = minibatches();
  config.algorithm.batch_size = 0;
  config.algorithm.name = "fedacg";
  config.run.evaluate_every = 1;
  const auto rows = rounds(run(config));
  EXPECT_EQ(rows.front().start_loss, rows.front().train_loss) << "it starts at w";
  EXPECT_FALSE(rows.back().start_loss);
  for (const RoundRow& row : rows) {
    EXPECT_TRUE(row.train_loss) << row.round;
    EXPECT_FALSE(row.batch_loss) << row.round;
    if (row.round > 1 && row.round + 1 < rows.size()) {
      EXPECT_NE(row.start_loss, row.train_loss) << row.round;
    }
  }
}

TEST_F(LossesOfRuns, AStopChangesNoRow) {
  for (const char* algorithm : {"mfl", "fedacg"})
    for (const std::uint64_t batch_size : {0, 16}) {
      SCOPED_TRACE(algorithm);
      Config config = minibatches();
      config.algorithm.name = algorithm;
      config.algorithm.batch_size = batch_size;
      const RunOutcome whole = run(config);
      std::atomic<bool> stop = false;
      const RunHooks hooks{[&](const Progress& progress) { stop = progress.round >= 7; }, &stop};
      const auto stopped = run_experiment(config, options(), hooks);
      ASSERT_TRUE(stopped) << stopped.error().text();
      ASSERT_EQ(stopped->status, "interrupted");
      RunOptions resuming = options();
      resuming.resume_id = stopped->run_id;
      const auto resumed = run_experiment({}, resuming, {});
      ASSERT_TRUE(resumed) << resumed.error().text();
      const auto expected = rounds(whole), got = rounds(*resumed);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].losses(), expected[i].losses()) << i;
    }
}

// With the losses over batches and those over all samples in one series this run was said to rise.
TEST_F(LossesOfRuns, ARunThatFallsIsNotSaidToRise) {
  for (const char* algorithm : {"fl", "mfl"}) {
    Config config = minibatches();
    config.algorithm.name = algorithm;
    for (const RunWarning& warning : run(config).warnings)
      EXPECT_NE(warning.id, "rising") << algorithm << ": " << warning.message;
  }
}

TEST_F(LossesOfRuns, AnEarlyStopJudgesWhatIsMeasured) {
  Config config = minibatches();
  const auto all = rounds(run(config));
  std::vector<std::uint64_t> measured;
  for (const RoundRow& row : all)
    if (row.train_loss) measured.push_back(row.round);
  const std::uint64_t at = measured[measured.size() / 2];
  config.run.target_loss = *all[at].train_loss;
  const RunOutcome outcome = run(config);
  EXPECT_EQ(outcome.rounds, at);
  EXPECT_THAT(outcome.message, HasSubstr("has reached target_loss"));
}

}  // namespace
}  // namespace mfl
