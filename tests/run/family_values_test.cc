// Values of the algorithm family on MNIST that were computed by another program (docs/algorithms.md).
#include <gtest/gtest.h>

#include "mfl/base/files.h"
#include "mfl/run/runner.h"

namespace mfl {
namespace {

constexpr double kLeastLoss = 0.242746298032943;

// F - F* after 200 rounds of 10 steps on 8 nodes of even or odd digits, sorted by digit.
double excess_loss(const std::string& algorithm, const std::string& momentum = {}) {
  Config config;
  config.data.source = "mnist";
  config.data.train = 5000;
  config.data.test = 0;
  config.federation.nodes = 8;
  config.federation.partition = "label-sorted";
  config.model.name = "squared-svm";
  config.algorithm = {.name = algorithm, .eta = 0.002, .gamma = 0.9, .tau = 10};
  config.algorithm.momentum = momentum;
  config.run.rounds = 200;
  config.run.precision = Precision::kF64;
  const TempFolder folder = *TempFolder::make();
  const auto outcome = run_experiment(config, {.store = folder.path() / "runs.db"}, {});
  EXPECT_TRUE(outcome) << outcome.error().text();
  return outcome ? *outcome->final.train_loss - kLeastLoss : 0;
}

TEST(FamilyValues, MatchAnotherProgramOnLabelSortedMnist) {
  EXPECT_NEAR(excess_loss("fl"), 1.6012e-3, 1e-7);
  const double averaged = excess_loss("mfl");
  EXPECT_NEAR(averaged, 4.4445e-3, 1e-7);
  EXPECT_NEAR(excess_loss("scaffold"), 4.2266e-4, 1e-8);
  EXPECT_LT(excess_loss("mfl", "reset"), averaged);
  EXPECT_GT(excess_loss("mfl", "keep-local"), averaged);
}

}  // namespace
}  // namespace mfl
