// The reference values of the paper's setting, computed independently in f64: first 5,000 training and first 5,000
// test images of MNIST, contiguous split over 4 nodes, eta 0.002, tau 4, T 1000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mfl/base/files.h"
#include "mfl/record/store.h"
#include "mfl/run/runner.h"

namespace mfl {
namespace {

struct Reference {
  const char* model;
  double gamma;
  double train_loss;
  double accuracy;
};

constexpr Reference kReferences[] = {
    {"svm", 0, 0.269540743047, 0.8002},           {"svm", 0.5, 0.264853834173, 0.8098},
    {"svm", 0.9, 0.264067511581, 0.8148},         {"squared-svm", 0, 0.245687089037, 0.8290},
    {"squared-svm", 0.5, 0.243167702355, 0.8334}, {"linear", 0, 0.214234158299, 0.8330},
    {"linear", 0.5, 0.202278199938, 0.8446},      {"logistic", 0, 0.425289799113, 0.8076},
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

  std::filesystem::path store() const { return folder_->path() / "runs.db"; }

  RunOutcome run(const Config& config) {
    const auto outcome = run_experiment(config, {store(), {}, false, {}}, {});
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
    EXPECT_NEAR(*got.final.train_loss / row.train_loss, 1, 1e-9) << row.model << ' ' << row.gamma;
    EXPECT_EQ(got.final.test_accuracy, row.accuracy) << row.model << ' ' << row.gamma;
    const auto rounds = *Store::open(store())->rounds(got.run_id);
    const auto best = std::ranges::min_element(rounds, {}, &RoundRow::train_loss);
    EXPECT_EQ(got.best_train_loss, best->train_loss);
    EXPECT_EQ(got.best_step, best->step);
    EXPECT_EQ(got.rounds, 250U);
    EXPECT_EQ(got.bytes_up, 250U * 4 * 2 * 784 * 8);
  }
}

TEST_F(Golden, ReferenceRowsInF32) {
  for (const Reference& row : kReferences) {
    const RunOutcome got = run(paper(row.model, row.gamma, Precision::kF32));
    EXPECT_NEAR(*got.final.train_loss / row.train_loss, 1, 1e-5) << row.model << ' ' << row.gamma;
    EXPECT_NEAR(*got.final.test_accuracy, row.accuracy, 0.0005) << row.model << ' ' << row.gamma;
  }
}

// The exact bits, gamma 0.5, the same on every machine, kernel set and number of threads. CTest runs this under each
// kernel set (MFL_KERNEL). A change of the numerics contract changes these digests, and the changelog says so.
TEST_F(Golden, Digests) {
  struct Ending {
    const char* model;
    const char* f32;
    const char* f64;
  };
  constexpr Ending kEndings[] = {
      {"svm", "dff6d0cd99cfbe3ee425c0e322f8a552399602524d9b419150acd7b6738709de",
       "ea5a0e1793a07de57f33b237e5bc2ce772d0c6c1f9057cf37f18d3559a5b3fdc"},
      {"squared-svm", "86770d61529250bc1660651441ffb9b1b4cf4e0ecf80e01f178fc51a05fc7dfb",
       "4549168c93760d73dbe5fa665609984d49a8522d60e118855bfde15f03a8a6d2"},
      {"linear", "3fd152ccc50c8e2023632e8e458bd029155dc50c11156e05ada08d59363bed32",
       "7855f5046c494b6c3a767e3e91118a73c44f97c725a6f718e11a98cc9fd92cbc"},
      {"logistic", "6b8de5219bcb6856b0d9fb6040324b7c19a0b33e768cc7898bb111a087ffbdc7",
       "f400db5f1b7499afea36ab4849ba64746dc3d95247ff503b581521fd72c382b2"},
  };
  for (const Ending& ending : kEndings) {
    EXPECT_EQ(run(paper(ending.model, 0.5, Precision::kF32)).digest, ending.f32) << ending.model;
    EXPECT_EQ(run(paper(ending.model, 0.5, Precision::kF64)).digest, ending.f64) << ending.model;
  }
}

// Ten classes, from zero, eta 0.1, T 200; independent values in f64.
TEST_F(Golden, SoftmaxInF64AndF32) {
  struct Row {
    double gamma;
    bool intercept;
    double train_loss, accuracy;
  };
  for (const Row& row : {Row{0, false, 0.448598618961, 0.8490}, Row{0.5, true, 0.361197854734, 0.8630}})
    for (const Precision precision : {Precision::kF64, Precision::kF32}) {
      Config config = paper("softmax", row.gamma, precision);
      config.model.intercept = row.intercept;
      config.algorithm.eta = 0.1;
      config.run.steps = 200;
      const RunOutcome got = run(config);
      const bool exact = precision == Precision::kF64;
      EXPECT_NEAR(*got.final.train_loss / row.train_loss, 1, exact ? 1e-9 : 1e-5) << row.gamma;
      EXPECT_NEAR(got.final.test_accuracy.value_or(0), row.accuracy, exact ? 0 : 0.0005) << row.gamma;
      EXPECT_EQ(got.bytes_up, 50U * 4 * 2 * (784 + (row.intercept ? 1 : 0)) * 10 * (exact ? 8 : 4));
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
  EXPECT_NEAR(*run(every).final.train_loss / *run(mgd).final.train_loss, 1, 1e-12);
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
