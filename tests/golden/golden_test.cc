// The reference values of the paper's setting, computed independently in f64: first 5,000 training and first 5,000
// test images of MNIST, contiguous split over 4 nodes, eta 0.002, tau 4, T 1000.
#include <gtest/gtest.h>

#include <cmath>

#include "mfl/base/files.h"
#include "mfl/experiment/runner.h"

namespace mfl {
namespace {

struct Reference {
  const char* model;
  double gamma;
  double train_loss;
  double accuracy;
};

constexpr Reference kReferences[] = {
    {"svm", 0, 0.269540743047, 0.8002},         {"svm", 0.5, 0.264853834173, 0.8098},
    {"svm", 0.9, 0.264067511581, 0.8148},       {"squared-svm", 0, 0.245687089037, 0.8290},
    {"squared-svm", 0.5, 0.243167702355, 0.8334}, {"linear", 0, 0.214234158299, 0.8330},
    {"linear", 0.5, 0.202278199938, 0.8446},    {"logistic", 0, 0.425289799113, 0.8076},
    {"logistic", 0.5, 0.371899461445, 0.8174},
};

class Golden : public ::testing::Test {
 protected:
  void SetUp() override { folder_.emplace(*TempFolder::make()); }

  static Config paper(const std::string& model, double gamma, Precision precision) {
    Config config;
    config.data.train = 5000;
    config.data.test = 5000;
    config.federation.partition = "contiguous";
    config.model.name = model;
    config.algorithm.gamma = gamma;
    config.run.precision = precision;
    config.run.record_every = 1000;
    return config;
  }

  RunOutcome run(const Config& config) {
    const auto outcome = run_experiment(config, {folder_->path() / "runs.db", {}, false, {}}, {});
    if (!outcome) {
      ADD_FAILURE() << outcome.error().text() << " (" << outcome.error().first_hint() << ")";
      return {};
    }
    return *outcome;
  }

  std::optional<TempFolder> folder_;
};

TEST_F(Golden, ReferenceRowsInF64) {
  for (const Reference& row : kReferences) {
    const RunOutcome got = run(paper(row.model, row.gamma, Precision::kF64));
    EXPECT_NEAR(got.final.train_loss / row.train_loss, 1, 1e-9) << row.model << ' ' << row.gamma;
    EXPECT_EQ(got.final.test_accuracy, row.accuracy) << row.model << ' ' << row.gamma;
    EXPECT_LE(got.best_train_loss, got.final.train_loss);
    EXPECT_EQ(got.rounds, 250U);
    EXPECT_EQ(got.bytes_up, 250U * 4 * 2 * 784 * 8);
  }
}

TEST_F(Golden, ReferenceRowsInF32) {
  for (const Reference& row : kReferences) {
    const RunOutcome got = run(paper(row.model, row.gamma, Precision::kF32));
    EXPECT_NEAR(got.final.train_loss / row.train_loss, 1, 1e-5) << row.model << ' ' << row.gamma;
    EXPECT_NEAR(*got.final.test_accuracy, row.accuracy, 0.0005) << row.model << ' ' << row.gamma;
  }
}

TEST_F(Golden, IdentitiesOnMnist) {
  for (const Precision precision : {Precision::kF32, Precision::kF64}) {
    Config mfl = paper("svm", 0, precision), fl = mfl;
    fl.algorithm.name = "fl";
    EXPECT_EQ(run(mfl).digest, run(fl).digest);

    Config one = paper("svm", 0.5, precision), mgd = one;
    one.federation.nodes = 1;
    one.federation.partition = "iid";
    mgd.algorithm.name = "mgd";
    const RunOutcome centralised = run(mgd);
    EXPECT_EQ(run(one).digest, centralised.digest);
    EXPECT_EQ(centralised.bytes_up, 0U);
  }
}

TEST_F(Golden, AveragingEveryStepIsCentralised) {
  Config every = paper("squared-svm", 0.5, Precision::kF64), mgd = every;
  every.algorithm.tau = 1;
  mgd.algorithm.name = "mgd";
  EXPECT_NEAR(run(every).final.train_loss / run(mgd).final.train_loss, 1, 1e-12);
}

TEST_F(Golden, EnginesAndThreadsGiveOneDigest) {
  Config config = paper("svm", 0.5, Precision::kF32);
  config.run.engine = "serial";
  const std::string expected = run(config).digest;
  config.run.engine = "threads";
  for (const std::uint64_t threads : {1, 2, 3, 8}) {
    config.run.threads = threads;
    EXPECT_EQ(run(config).digest, expected) << threads;
  }
}

}  // namespace
}  // namespace mfl
