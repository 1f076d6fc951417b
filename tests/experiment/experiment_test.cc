// What the names of a configuration mean, and what is settled once data is known.
#include "mfl/experiment/experiment.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

TEST(Experiments, HaveVirtualTimeOnlyWithDevicesOrANetwork) {
  Config config;
  EXPECT_FALSE(Experiment(config).time);
  config.network.latency = {Distribution::Kind::kFixed, 0.1, 0};
  EXPECT_TRUE(Experiment(config).time);
  config.algorithm.name = "mgd";
  EXPECT_FALSE(Experiment(config).time) << "all samples are in one place";
}

TEST(Experiments, OfCentralisedAlgorithmsHaveTheMeanAndSendNothing) {
  Config config;
  config.federation = {.nodes = 3, .aggregator = "median", .codecs = "bf16", .fraction_train = 0.5};
  const Experiment federated(config);
  EXPECT_EQ(federated.aggregator->spec(), "median");
  EXPECT_EQ(federated.codecs.spec(), "bf16");
  EXPECT_EQ(federated.participation.fraction, 0.5);
  EXPECT_EQ(federated.round_length(), 4U);
  config.algorithm.name = "mgd";
  const Experiment centralised(config);
  EXPECT_EQ(centralised.aggregator->spec(), "mean");
  EXPECT_EQ(centralised.codecs.spec(), "");
  EXPECT_EQ(centralised.population(1, 1, {}).participation.fraction, 1);
  EXPECT_EQ(centralised.round_length(), 1U);
}

TEST(Experiments, KnowTheBytesOfRoundsThatSendAllVectorsAndOfThoseBetween) {
  Config config;
  config.algorithm.momentum = "average";
  config.algorithm.sync_momentum = 3;
  config.federation.codecs = "bf16";
  const Population population = Experiment(config).population(2, 10, {});
  EXPECT_EQ(population.bytes.down, 80U) << "w and d";
  EXPECT_EQ(population.bytes.up, 40U);
  EXPECT_EQ(population.bytes_between.down, 80U);
  EXPECT_EQ(population.bytes_between.up, 20U) << "w alone";
  config = {};
  config.algorithm.name = "mgd";
  EXPECT_EQ(Experiment(config).population(1, 10, {}).bytes.up, 0U);
}

TEST(Experiments, AMeasuredStepSizeReachesAlgorithmAndBudgetButNotTheConfiguration) {
  Config config;
  config.algorithm.adaptive_tau = true;
  config.run.budget_bytes = 1000;
  Experiment experiment(config);
  EXPECT_EQ(experiment.eta, kPaperEta);
  EXPECT_EQ(experiment.budget.adaptive->eta, kPaperEta);
  experiment.settle_eta(0.25);
  EXPECT_EQ(experiment.eta, 0.25);
  EXPECT_EQ(experiment.algorithm.method().descent()->eta, 0.25);
  EXPECT_EQ(experiment.budget.adaptive->eta, 0.25);
  EXPECT_EQ(experiment.config, config);
}

}  // namespace
}  // namespace mfl
