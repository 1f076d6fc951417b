// Runs from configuration to store: what is recorded, and that stopping and resuming changes nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>

#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/base/json.h"
#include "mfl/data/npy.h"
#include "mfl/record/store.h"
#include "mfl/run/runner.h"
#include "mfl/run/sweep.h"

namespace mfl {
namespace {

class Runs : public ::testing::Test {
 protected:
  void SetUp() override { folder_.emplace(*TempFolder::make()); }

  static Config small() {
    Config config;
    config.data.source = "synthetic:400x60";
    config.data.train = 300;
    config.data.test = 100;
    config.algorithm.eta = 0.05;
    config.algorithm.tau = 3;
    config.run.steps = 100;
    config.run.record_every = 10;
    config.run.threads = 2;
    return config;
  }

  std::filesystem::path store_path() const { return folder_->path() / "runs.db"; }
  RunOptions options() const { return {store_path(), {}, false, {}}; }
  Store store() const { return *Store::open(store_path()); }

  // Stops at the end of the given round.
  RunOutcome run_until(const Config& config, const RunOptions& how, std::uint64_t round) {
    std::atomic<bool> stop = false;
    const RunHooks hooks{[&](const Progress& progress) { stop = progress.round >= round; }, &stop};
    const auto outcome = run_experiment(config, how, hooks);
    EXPECT_TRUE(outcome) << outcome.error().text();
    return *outcome;
  }

  std::optional<TempFolder> folder_;
};

TEST_F(Runs, EveryRoundIsRecordedWithItsLossAndDigest) {
  const auto outcome = run_experiment(small(), options(), {});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->status, "done");
  const auto rounds = *store().rounds(outcome->run_id);
  ASSERT_EQ(rounds.size(), 35U);  // 33 rounds of 3, one of 1, and the start
  EXPECT_EQ(rounds.front().step, 0U);
  EXPECT_EQ(rounds.back().step, 100U);
  EXPECT_EQ(rounds.back().train_loss, outcome->final.train_loss);
  EXPECT_EQ(rounds[1].bytes_up, 4U * 2 * 60 * 4);
  EXPECT_EQ(rounds.back().bytes_up, 34 * rounds[1].bytes_up);
  for (std::size_t i = 1; i < rounds.size(); ++i) EXPECT_NE(rounds[i].digest, rounds[i - 1].digest);

  const auto records = *store().records(outcome->run_id);
  std::vector<std::uint64_t> steps;
  for (const auto& record : records) steps.push_back(record.step);
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{0, 12, 21, 30, 42, 51, 60, 72, 81, 90, 100}));
  EXPECT_EQ(records.back().test_accuracy, outcome->final.test_accuracy);
  EXPECT_EQ(records.back().test_loss, outcome->final.test_loss);
}

TEST_F(Runs, AStoppedRunResumesToTheSameDigestAndRecords) {
  for (const char* algorithm : {"mfl", "fl", "mgd"})
    for (const Precision precision : {Precision::kF32, Precision::kF64}) {
      Config config = small();
      config.algorithm.name = algorithm;
      config.run.precision = precision;
      const auto whole = run_experiment(config, options(), {});
      const RunOutcome stopped = run_until(config, options(), 11);
      EXPECT_EQ(stopped.status, "interrupted");
      EXPECT_EQ(stopped.rounds, 11U);
      RunOptions resume = options();
      resume.resume_id = stopped.run_id;
      EXPECT_EQ(run_until({}, resume, 20).status, "interrupted");
      const auto done = run_experiment({}, resume, {});
      ASSERT_TRUE(done) << done.error().text();
      EXPECT_EQ(done->status, "done");
      EXPECT_EQ(done->run_id, stopped.run_id);
      EXPECT_EQ(done->digest, whole->digest);
      EXPECT_EQ(done->best_step, whole->best_step);
      EXPECT_EQ(done->best_train_loss, whole->best_train_loss);
      const auto a = *store().rounds(whole->run_id), b = *store().rounds(done->run_id);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].digest, b[i].digest);
        EXPECT_EQ(a[i].train_loss, b[i].train_loss);
      }
    }
}

// Of a run without the rule, which stops nowhere.
std::uint64_t first_round_at(const std::vector<RoundRow>& rounds, double loss) {
  for (const RoundRow& row : rounds)
    if (row.round > 0 && row.train_loss <= loss) return row.round;
  return 0;
}

TEST_F(Runs, StopsEarlyInTheSameRoundWhateverTheEngineAndHoweverOftenResumed) {
  const auto plain = run_experiment(small(), options(), {});
  ASSERT_TRUE(plain) << plain.error().text();
  const auto all = *store().rounds(plain->run_id);
  const double target = *all[20].train_loss;
  const std::uint64_t at = first_round_at(all, target);
  ASSERT_GT(at, 1U);
  Config by_loss = small(), by_accuracy = small(), by_patience = small();
  by_loss.run.target_loss = target;
  by_accuracy.run.target_accuracy = plain->final.test_accuracy;
  by_patience.algorithm.eta = 1e-8;  // hardly moves
  by_patience.run.patience = 7;
  for (Config config : {by_loss, by_accuracy, by_patience}) {
    config.run.engine = "serial";
    const auto whole = run_experiment(config, options(), {});
    ASSERT_TRUE(whole) << whole.error().text();
    EXPECT_EQ(whole->status, "done");
    EXPECT_TRUE(whole->message.starts_with("stopped early in round " + std::to_string(whole->rounds) + ": "))
        << whole->message;
    EXPECT_LT(whole->final.step, 100U);
    const auto rounds = *store().rounds(whole->run_id);
    ASSERT_EQ(rounds.size(), whole->rounds + 1);
    EXPECT_EQ(rounds.back().train_loss, whole->final.train_loss);
    EXPECT_EQ(store().records(whole->run_id)->back().round, whole->rounds) << "its last State is recorded";
    EXPECT_NE(whole->test_metrics, "");
    EXPECT_EQ(store().get(whole->run_id)->message, whole->message);
    config.run.engine = "threads";
    EXPECT_EQ(run_experiment(config, options(), {})->digest, whole->digest);
    for (std::uint64_t round = 1; round <= whole->rounds; ++round) {
      const RunOutcome stopped = run_until(config, options(), round);
      RunOptions resume = options();
      resume.resume_id = stopped.run_id;
      const RunOutcome done = stopped.status == "done" ? stopped : *run_experiment({}, resume, {});
      EXPECT_EQ(done.digest, whole->digest) << round;
      EXPECT_EQ(done.message, whole->message) << round;
      EXPECT_EQ(done.bytes_up, whole->bytes_up) << round;
      EXPECT_EQ(store().records(done.run_id)->back().round, whole->rounds);
    }
  }
  const auto stopped = run_experiment(by_loss, options(), {});
  EXPECT_EQ(stopped->rounds, at);
  EXPECT_EQ(all[at].train_loss, stopped->final.train_loss);
}

TEST_F(Runs, AStopRuleThatIsNeverMetChangesNoBit) {
  Config config = small();
  config.run.target_loss = 0;
  config.run.patience = 1000;
  const auto plain = run_experiment(small(), options(), {}), ruled = run_experiment(config, options(), {});
  EXPECT_EQ(ruled->digest, plain->digest);
  EXPECT_EQ(ruled->message, "");
  EXPECT_EQ(ruled->final.step, 100U);
  EXPECT_NE(store().get(ruled->run_id)->config_digest, store().get(plain->run_id)->config_digest);
}

TEST_F(Runs, ATargetAccuracyNeedsATestSetAndBatchesNeedLosses) {
  Config config = small();
  config.run.target_accuracy = 0.9;
  config.data.test = 0;
  const auto outcome = run_experiment(config, options(), {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(outcome.error().message, "target_accuracy needs a test set");
  Config batches = small();
  batches.algorithm.batch_size = 20;
  batches.run.patience = 3;
  EXPECT_TRUE(validate(batches));
  batches.run.evaluate_every = 0;
  EXPECT_FALSE(validate(batches)) << "there is no loss to judge by";
  batches.run.evaluate_every = 2;
  EXPECT_TRUE(validate(batches));
}

TEST_F(Runs, BatchesResumeAtEveryRound) {
  for (const char* aggregator : {"mean", "centred-clipping(0.5)"})
    for (const std::uint64_t evaluate_every : {0, 3})
      for (const bool epochs : {false, true}) {
        Config config = small();
        config.model.name = "softmax";
        config.federation.aggregator = aggregator;
        config.algorithm.batch_size = 20;
        config.run.evaluate_every = evaluate_every;
        config.run.steps.reset();
        config.run.rounds = 8;
        if (epochs) {
          config.algorithm.tau.reset();
          config.algorithm.local_epochs = 2;
        }
        const auto whole = run_experiment(config, options(), {});
        ASSERT_TRUE(whole) << whole.error().text();
        const auto expected = *store().rounds(whole->run_id);
        ASSERT_EQ(expected.size(), 9U);
        for (std::uint64_t round = 1; round < 8; ++round) {
          const RunOutcome stopped = run_until(config, options(), round);
          EXPECT_EQ(stopped.rounds, round);
          RunOptions resume = options();
          resume.resume_id = stopped.run_id;
          const auto done = run_experiment({}, resume, {});
          ASSERT_TRUE(done) << done.error().text();
          EXPECT_EQ(done->digest, whole->digest);
          EXPECT_EQ(done->best_step, whole->best_step);
          EXPECT_EQ(done->best_train_loss, whole->best_train_loss);
          const auto rows = *store().rounds(done->run_id);
          ASSERT_EQ(rows.size(), expected.size());
          for (std::size_t i = 0; i < rows.size(); ++i) {
            EXPECT_EQ(rows[i].digest, expected[i].digest) << i;
            EXPECT_EQ(rows[i].train_loss, expected[i].train_loss) << i << " stopped at " << round;
          }
        }
      }
}

TEST_F(Runs, AKilledRunResumesFromItsLastCheckpoint) {
  for (const std::uint64_t checkpoint_every : {0, 4}) {
    Config config = small();
    config.run.engine = "serial";
    config.run.checkpoint_every = checkpoint_every;
    const pid_t child = fork();
    if (child == 0) {
      const RunHooks hooks{[](const Progress& progress) {
                             if (progress.round == 18) raise(SIGKILL);
                           },
                           nullptr};
      (void)run_experiment(config, options(), hooks);
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const RunRow killed = *store().get("latest");
    EXPECT_EQ(killed.status, RunStatus::kRunning);
    EXPECT_EQ(store().latest_checkpoint(killed.id)->has_value(), checkpoint_every != 0);
    RunOptions resume = options();
    resume.resume_id = killed.id;
    const auto done = run_experiment(config, resume, {});
    ASSERT_TRUE(done) << done.error().text();
    const auto whole = run_experiment(config, options(), {});
    EXPECT_EQ(done->digest, whole->digest);
    EXPECT_EQ(done->best_train_loss, whole->best_train_loss);
    EXPECT_EQ(store().rounds(done->run_id)->size(), 35U);
  }
}

// Its weights are a file beside the store, which is written just before the transaction that ends the run.
TEST_F(Runs, AKillDuringTheLastCommitLosesNothing) {
  Config config = small();
  config.data.source = "synthetic:24x300000";
  config.data.train = 24;
  config.data.test = 0;
  config.run.engine = "serial";
  config.run.steps = 4;
  const auto model_file = [&](const std::string& id) {
    return std::filesystem::path(store_path().string() + ".states") / (id + "-model");
  };
  const std::string id = [&] {
    const pid_t child = fork();
    if (child == 0) {
      (void)run_experiment(config, options(), {});
      _exit(0);
    }
    std::string found;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (found.empty() && std::filesystem::exists(store_path()))
        if (const auto opened = Store::open(store_path(), {.read_only = true}))
          if (const auto run = opened->get("latest")) found = run->id;
      if (!found.empty() && std::filesystem::exists(model_file(found))) kill(child, SIGKILL);
    }
    return found.empty() ? store().get("latest")->id : found;
  }();
  if (store().get(id)->status != RunStatus::kDone) {
    RunOptions resume = options();
    resume.resume_id = id;
    const auto done = run_experiment({}, resume, {});
    ASSERT_TRUE(done) << done.error().text();
  }
  const auto whole = run_experiment(config, options(), {});
  EXPECT_EQ(store().get(id)->summary->digest, whole->digest);
  EXPECT_EQ(store().model(id).value().value(), store().model(whole->run_id).value().value());
}

TEST_F(Runs, ADoneRunIsNotResumedAndAnEqualOneIsReused) {
  const auto first = run_experiment(small(), options(), {});
  RunOptions resume = options();
  resume.resume_id = first->run_id;
  const auto refused = run_experiment({}, resume, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig);

  RunOptions reuse = options();
  reuse.reuse = true;
  Config other_engine = small();
  other_engine.run.engine = "serial";
  const auto again = run_experiment(other_engine, reuse, {});
  EXPECT_TRUE(again->reused);
  EXPECT_EQ(again->run_id, first->run_id);
  Config other_seed = small();
  other_seed.run.seed = 2;
  EXPECT_FALSE(run_experiment(other_seed, reuse, {})->reused);
}

TEST_F(Runs, ADivergingRunStopsAndSaysSo) {
  Config config = small();
  config.model.name = "linear";
  config.algorithm.eta = 1e6;
  const auto outcome = run_experiment(config, options(), {});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->status, "diverged");
  EXPECT_NE(outcome->message.find("node 0"), std::string::npos);
  EXPECT_LT(outcome->final.step, 100U);
  const RunRow row = *store().get(outcome->run_id);
  EXPECT_EQ(row.status, RunStatus::kDiverged);
  const auto rounds = *store().rounds(outcome->run_id);
  EXPECT_EQ(rounds.size(), outcome->rounds + 1);
  EXPECT_TRUE(std::isfinite(*rounds.front().train_loss));
}

TEST_F(Runs, ChangedDataIsNotResumed) {
  const auto csv = folder_->path() / "data.csv";
  ASSERT_TRUE(write_file(csv, "1,2,1\n2,1,-1\n3,5,1\n0,1,-1\n"));
  Config config = small();
  config.data = {};
  config.data.source = "csv:" + csv.string();
  config.federation.nodes = 2;
  const RunOutcome stopped = run_until(config, options(), 5);
  ASSERT_TRUE(write_file(csv, "1,2,1\n2,1,-1\n3,5,1\n0,7,-1\n"));
  RunOptions resume = options();
  resume.resume_id = stopped.run_id;
  const auto refused = run_experiment({}, resume, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadData);
  EXPECT_EQ(store().get(stopped.run_id)->status, RunStatus::kInterrupted);
}

TEST_F(Runs, WeightsAreWrittenInThePrecisionOfTheRun) {
  RunOptions how = options();
  how.weights_out = folder_->path() / "w.npy";
  ASSERT_TRUE(run_experiment(small(), how, {}));
  const std::string bytes = *read_file(how.weights_out);
  EXPECT_EQ(bytes.substr(1, 5), "NUMPY");
  EXPECT_NE(bytes.find("'<f4'"), std::string::npos);
  EXPECT_EQ(bytes.size(), 128 + 60 * 4U);
}

TEST_F(Runs, ASweepOfOneWritesTheSameWeightsAndOneOfTwoNone) {
  RunOptions how = options();
  how.weights_out = folder_->path() / "run.npy";
  ASSERT_TRUE(run_experiment(small(), how, {}));
  const std::string alone = *read_file(how.weights_out);
  how.weights_out = folder_->path() / "sweep.npy";
  ASSERT_TRUE(run_sweep({small()}, how, {}));
  EXPECT_EQ(*read_file(how.weights_out), alone);
  const auto refused = run_sweep({small(), small()}, how, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--weights-out names one file, and there are 2 settings");
}

TEST_F(Runs, TheFinalWeightsStayInTheStore) {
  for (const Precision precision : {Precision::kF32, Precision::kF64}) {
    Config config = small();
    config.run.precision = precision;
    const RunOutcome stopped = run_until(config, options(), 11);
    EXPECT_EQ(store().model(stopped.run_id).value(), std::nullopt) << "it has not ended";
    RunOptions resume = options();
    resume.resume_id = stopped.run_id;
    const auto done = run_experiment({}, resume, {});
    ASSERT_TRUE(done) << done.error().text();
    const auto model = store().model(done->run_id).value();
    ASSERT_TRUE(model);
    EXPECT_EQ(sha256_hex(model->weights), done->digest);
    EXPECT_EQ(model->weights.size(), 60 * (precision == Precision::kF32 ? 4U : 8U));
    EXPECT_EQ(model->tensors, R"([{"name":"weights","shape":[60]}])");
    EXPECT_EQ(model->scale, 1.0 / 255);
  }
}

// Gradient descent has no memory but w: two halves are the whole.
TEST_F(Runs, ARunStartsWhereAnotherEnded) {
  Config config = small();
  config.algorithm.name = "gd";
  const auto whole = run_experiment(config, options(), {});
  ASSERT_TRUE(whole) << whole.error().text();
  config.run.steps = 50;
  const auto half = run_experiment(config, options(), {});
  ASSERT_TRUE(half) << half.error().text();
  config.run.init = half->run_id;
  RunOptions reusing = options();
  reusing.reuse = true;
  const auto rest = run_experiment(config, reusing, {});
  ASSERT_TRUE(rest) << rest.error().text();
  EXPECT_FALSE(rest->reused) << "a run from zero is another run";
  EXPECT_EQ(rest->digest, whole->digest);
  EXPECT_EQ(store().get(rest->run_id)->config.find(half->run_id), std::string::npos);
  EXPECT_NE(store().get(rest->run_id)->config.find("init = \"" + half->digest + "\""), std::string::npos);
  EXPECT_NE(store().get(rest->run_id)->config_digest, store().get(half->run_id)->config_digest);
  EXPECT_TRUE(run_experiment(config, reusing, {})->reused);
}

TEST_F(Runs, AKilledRunFindsItsInitialModelInTheStore) {
  Config config = small();
  const auto first = run_experiment(config, options(), {});
  config.run.init = first->digest;
  const auto whole = run_experiment(config, options(), {});
  ASSERT_TRUE(whole) << whole.error().text();
  ASSERT_NE(whole->digest, first->digest);
  RunSpec spec = *store().get(whole->run_id);
  Store opened = store();
  const std::string killed = opened.create_run(spec).value();
  ASSERT_TRUE(opened.set_status(killed, RunStatus::kInterrupted, "no checkpoint yet"));
  RunOptions resume = options();
  resume.resume_id = killed;
  EXPECT_EQ(run_experiment({}, resume, {})->digest, whole->digest);
  config.run.init = std::string(64, 'a');
  EXPECT_EQ(run_experiment(config, options(), {}).error().code, ErrorCode::kBadConfig);
}

TEST_F(Runs, AnInitialModelThatDoesNotFitIsRefused) {
  const auto wide = run_experiment(small(), options(), {});
  const auto message = [&](auto change) {
    Config config = small();
    config.run.init = wide->run_id;
    change(config);
    const auto outcome = run_experiment(config, options(), {});
    EXPECT_FALSE(outcome);
    return outcome ? "" : outcome.error().message;
  };
  EXPECT_NE(message([](Config& c) { c.data.source = "synthetic:400x30"; }).find("60"), std::string::npos);
  EXPECT_NE(message([](Config& c) { c.model.name = "softmax"; }).find("does not fit this run"),
            std::string::npos);
  EXPECT_NE(message([](Config& c) { c.data.scale = 1; }).find("scaled by"), std::string::npos);
}

TEST_F(Runs, RegressionTargetsHaveNoAccuracy) {
  const auto csv = folder_->path() / "data.csv";
  ASSERT_TRUE(write_file(csv, "1,2,0.5\n2,1,3\n3,5,1\n0,1,-7\n"));
  Config config = small();
  config.data = {};
  config.data.source = "csv:" + csv.string();
  config.data.test = 1;
  config.federation.nodes = 2;
  config.model.name = "linear";
  config.algorithm.eta = 0.001;
  const auto outcome = run_experiment(config, options(), {});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_TRUE(outcome->final.test_loss);
  EXPECT_FALSE(outcome->final.test_accuracy);
  const Json metrics = Json::parse(outcome->test_metrics).value_or(nullptr);
  ASSERT_TRUE(metrics.is_object()) << outcome->test_metrics;
  EXPECT_EQ(metrics.find("samples")->dump(), "1");
  EXPECT_EQ(metrics.find("rmse")->number(), metrics.find("mae")->number());
  EXPECT_NEAR(*outcome->final.test_loss, metrics.find("rmse")->number() * metrics.find("rmse")->number() / 2,
              1e-6);
  EXPECT_TRUE(metrics.find("r2")->is_null()) << "of one sample";
}

TEST_F(Runs, MetricsByClassAreThoseOfTheFinalWeightsOnEveryEngine) {
  for (const char* model : {"svm", "linear", "softmax"})
    for (const Precision precision : {Precision::kF32, Precision::kF64}) {
      Config config = small();
      config.model.name = model;
      config.run.precision = precision;
      config.run.engine = "serial";
      const auto expected = run_experiment(config, options(), {});
      ASSERT_TRUE(expected) << expected.error().text();
      const Json metrics = Json::parse(expected->test_metrics).value_or(nullptr);
      const bool many = config.model.name == "softmax";
      ASSERT_TRUE(metrics.is_object()) << model;
      EXPECT_EQ(metrics.find("samples")->dump(), "100");
      EXPECT_EQ(metrics.find("accuracy")->number(), expected->final.test_accuracy);
      EXPECT_EQ(metrics.find("classes")->elements().size(), many ? 10U : 2U);
      EXPECT_EQ(metrics.find("confusion")->elements().size(), many ? 10U : 2U);
      EXPECT_EQ(metrics.find("top_3") != nullptr, many);
      EXPECT_EQ(metrics.find("roc_auc") != nullptr, !many);
      if (!many) {
        EXPECT_GT(metrics.find("roc_auc")->number(), 0.5);
      }
      EXPECT_EQ(metrics.find("classes")->elements().back().find("class")->text(), many ? "9" : "even");
      config.run.engine = "threads";
      config.run.threads = 3;
      EXPECT_EQ(run_experiment(config, options(), {})->test_metrics, expected->test_metrics);
      const RunOutcome stopped = run_until(config, options(), 11);
      EXPECT_NE(stopped.test_metrics, "") << "of the weights where it stopped";
      RunOptions resume = options();
      resume.resume_id = stopped.run_id;
      EXPECT_EQ(run_experiment(config, resume, {})->test_metrics, expected->test_metrics);
      EXPECT_EQ(store().get(expected->run_id)->summary->test_metrics, expected->test_metrics);
    }
}

TEST_F(Runs, ThePositiveClassIsTheLastOfTwoWhateverItsName) {
  const auto csv = folder_->path() / "data.csv";
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += i % 4 == 0 ? "1,a\n" : "-1,b\n";
  ASSERT_TRUE(write_file(csv, rows));
  Config config = small();
  config.data = {};
  config.data.source = "csv:" + csv.string();
  config.data.test = 20;
  config.data.positive = "a";
  config.model.name = "logistic";
  const auto outcome = run_experiment(config, options(), {});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->final.test_accuracy, 1);
  const Json metrics = Json::parse(outcome->test_metrics).value_or(nullptr);
  ASSERT_TRUE(metrics.is_object());
  const auto& classes = metrics.find("classes")->elements();
  EXPECT_EQ(classes.at(0).find("class")->text(), "b");
  EXPECT_EQ(classes.at(1).find("class")->text(), "a");
  EXPECT_EQ(metrics.find("confusion")->dump(), "[[15,0],[0,5]]");
}

}  // namespace
}  // namespace mfl
