// The data of an experiment in one process: the rows of the nodes and their order, what is measured, and what is
// refused.
#include "mfl/load/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "mfl/base/files.h"
#include "mfl/config/entries.h"
#include "mfl/data/source.h"
#include "mfl/model/models.h"
#include "tests/load/small_data.h"
#include "tests/load/thread_ranks.h"

namespace mfl {
namespace {

using test::features_of;
using test::numbered_csv;
using test::targets_of;
using test::weights_of;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LoadedProblem : public ::testing::Test {
 protected:
  void SetUp() override { write("rows.csv", numbered_csv(12, {"no", "yes"})); }

  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(folder_.path() / name, text));
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  Config config(const std::string& file = "rows.csv") const {
    Config config;
    config.data.source = "csv:" + path(file);
    config.data.test = 0;
    config.federation.nodes = 3;
    config.federation.partition = "contiguous";
    config.model.intercept = false;
    config.run.precision = Precision::kF64;
    return config;
  }

  static Problem<double> loaded(const Config& config) {
    auto problem = load_problem<double>(Experiment(config));
    if (!problem) throw std::runtime_error(problem.error().text());
    return *std::move(problem);
  }

  // Column `row` of the samples, which numbers the rows of the file.
  static std::vector<double> row_numbers(const Problem<double>& problem) {
    const std::vector<double> features = features_of(problem.federation.train);
    std::vector<double> out;
    for (std::size_t i = 0; i < features.size(); i += problem.federation.train.columns())
      out.push_back(features[i]);
    return out;
  }

  static void expect_refusal(const Config& config, ErrorCode code, const std::string& words) {
    const auto refused = load_problem<double>(Experiment(config));
    ASSERT_FALSE(refused) << words;
    EXPECT_EQ(refused.error().code, code) << refused.error().text();
    EXPECT_THAT(refused.error().text(), HasSubstr(words));
    EXPECT_FALSE(refused.error().first_hint().empty());
  }

 private:
  TempFolder folder_ = *TempFolder::make();
};

TEST_F(LoadedProblem, HasTheRowsNodeByNode) {
  Config by_label = config();
  by_label.federation.nodes = 2;
  by_label.federation.partition = "label-sorted";
  const Problem<double> problem = loaded(by_label);
  EXPECT_THAT(row_numbers(problem), ElementsAre(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
  EXPECT_THAT(targets_of(problem.federation.train), ElementsAre(-1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1));
  ASSERT_EQ(problem.federation.nodes.size(), 2U);
  EXPECT_EQ(problem.federation.nodes[1].first, 6U);
  EXPECT_EQ(problem.federation.nodes[1].count, 6U);
  EXPECT_TRUE(problem.has_accuracy);
}

TEST_F(LoadedProblem, LeavesOutRowsThatNoNodeHolds) {
  write("nodes.txt", "7 2\n11\n0 9 4\n");
  Config some = config();
  some.federation.partition = "file:" + path("nodes.txt");
  const Problem<double> problem = loaded(some);
  EXPECT_THAT(row_numbers(problem), ElementsAre(2, 7, 11, 0, 4, 9));
  EXPECT_THAT(targets_of(problem.federation.train), ElementsAre(-1, 1, 1, -1, -1, 1));
  const Problem<double> all = loaded(config());
  EXPECT_EQ(problem.train_digest, all.train_digest) << "of the data that was read";
  EXPECT_NE(problem.data_digest, all.data_digest) << "of the partition as well";
}

TEST_F(LoadedProblem, GivesACentralisedAlgorithmOneNodeWithAllRows) {
  Config central = config();
  central.federation.partition = "label-sorted";
  central.algorithm.name = "gd";
  const Problem<double> problem = loaded(central);
  ASSERT_EQ(problem.federation.nodes.size(), 1U);
  EXPECT_EQ(problem.federation.nodes[0].count, 12U);
  EXPECT_THAT(row_numbers(problem), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST_F(LoadedProblem, IsTheSameForDataInMemory) {
  Config file = config();
  file.data.train = 9;
  file.data.test.reset();
  file.model.standardise = Standardise::kFull;
  const Problem<double> from_file = loaded(file);
  const TrainTest sets = load(data_options(file)).value();
  Config memory = file;
  memory.data.source = "memory";
  const auto from_memory = load_problem<double>(Experiment(memory), alone(), &sets);
  ASSERT_TRUE(from_memory) << from_memory.error().text();
  EXPECT_EQ(from_memory->data_digest, from_file.data_digest);
  EXPECT_EQ(from_memory->schema, from_file.schema);
  EXPECT_EQ(features_of(from_memory->federation.train), features_of(from_file.federation.train));
  ASSERT_TRUE(from_memory->federation.test && from_file.federation.test);
  EXPECT_EQ(features_of(*from_memory->federation.test), features_of(*from_file.federation.test));
  EXPECT_EQ(targets_of(*from_memory->federation.test), targets_of(*from_file.federation.test));
}

TEST_F(LoadedProblem, MakesItsModelOnce) {
  static std::atomic<int> made = 0;
  ModelEntry counted = *models().find("logistic");
  counted.name = "counted-logistic";
  counted.make_f64 = [make = counted.make_f64](const ModelShape& shape) {
    ++made;
    return make(shape);
  };
  models().add(counted);
  Config config = this->config();
  config.model.name = "counted-logistic";
  config.data.test = 4;
  config.model.standardise = Standardise::kFull;
  const Problem<double> problem = loaded(config);
  EXPECT_EQ(problem.federation.test->size(), 4U);
  EXPECT_EQ(made.exchange(0), 1);
  for (const auto& part :
       test::on_ranks(3, [&](Ranks& ranks) { return load_problem<double>(Experiment(config), ranks); }))
    EXPECT_TRUE(part) << part.error().text();
  EXPECT_EQ(made, 3) << "once per rank";
}

TEST_F(LoadedProblem, BorrowsRowsInMemory) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
  const BorrowedRows<float> rows{.first = reinterpret_cast<const std::byte*>(numbers.data()),
                                 .row_stride = 2 * sizeof(float),
                                 .rows = 4,
                                 .columns = 2};
  const TrainTest sets{{.rows = 4, .columns = 2, .scale = 1, .features = rows, .labels = {0, 1, 1, 0}}, {}};
  Config memory = config();
  memory.data.source = "memory";
  memory.federation.nodes = 2;
  memory.federation.partition = "label-sorted";
  for (const auto& problem : {load_problem<double>(Experiment(memory), alone(), &sets),
                              make_problem<double>(Experiment(memory), sets)}) {
    ASSERT_TRUE(problem) << problem.error().text();
    const Samples<double>& train = problem->federation.train;
    EXPECT_EQ(problem->train_digest, data_digest(sets.train));
    EXPECT_TRUE(std::holds_alternative<DenseRows<std::uint8_t>>(train.data().features)) << "no copy of them";
    EXPECT_THAT(targets_of(train), ElementsAre(-1, -1, 1, 1));
  }
}

TEST_F(LoadedProblem, StandardisesByAllTrainingRowsAndNamesConstantFeatures) {
  Config standardised = config();
  standardised.data.train = 8;
  standardised.data.test = 4;
  standardised.model.standardise = Standardise::kFull;
  const Problem<double> problem = loaded(standardised);
  EXPECT_THAT(problem.constant_features, ElementsAre("same"));
  const Preprocessing& measured = problem.schema.preprocessing;
  ASSERT_EQ(measured.means.size(), 3U);
  EXPECT_THAT(measured.means[0], DoubleEq(3.5));
  EXPECT_THAT(measured.deviations[0], DoubleNear(std::sqrt(21.0 / 4), 1e-15));
  EXPECT_EQ(measured.means[2], 5);
  EXPECT_EQ(measured.deviations[2], 1);
  ASSERT_TRUE(problem.federation.test);
  const std::vector<double> test = features_of(*problem.federation.test);
  EXPECT_THAT(test[0], DoubleNear((8 - measured.means[0]) / measured.deviations[0], 1e-15))
      << "test rows are prepared with the numbers of the training rows";
}

TEST_F(LoadedProblem, MeasuresTheSameFromTheSumsOfParts) {
  write("three.csv", numbered_csv(12, {"a", "b", "b", "c"}));
  Config measured = config("three.csv");
  measured.model.name = "softmax";
  measured.model.standardise = Standardise::kFull;
  measured.model.balanced = true;
  const Problem<double> expected = loaded(measured);
  const Dataset rows = load(data_options(measured)).value().train;
  Schema schema = expected.schema;
  schema.preprocessing.means.clear();
  schema.preprocessing.deviations.clear();
  schema.preprocessing.class_weights.clear();
  ColumnSums all(rows.columns, schema.classes.size());
  for (const std::vector<std::uint32_t>& part :
       {std::vector<std::uint32_t>{11, 3, 0}, {1, 2, 4, 5, 6}, {10, 9, 8, 7}}) {
    const auto sums = sums_of(measured, schema, take_rows(rows, part));
    ASSERT_TRUE(sums) << sums.error().text();
    ASSERT_TRUE(all.merge_packed(sums->pack()));
  }
  const auto constant = take_measures(measured, all, schema);
  ASSERT_TRUE(constant) << constant.error().text();
  EXPECT_EQ(schema, expected.schema);
  EXPECT_EQ(*constant, expected.constant_features);
  EXPECT_FALSE(measures_of(measured, schema).any()) << "nothing is left to measure";
}

TEST_F(LoadedProblem, WeighsTrainingSamplesByTheirClass) {
  Config balanced = config();
  write("uneven.csv", numbered_csv(12, {"no", "no", "yes"}));
  balanced.data.source = "csv:" + path("uneven.csv");
  balanced.data.train = 9;
  balanced.data.test = 3;
  balanced.model.balanced = true;
  const Problem<double> problem = loaded(balanced);
  EXPECT_THAT(weights_of(problem.federation.train),
              ElementsAre(0.75, 0.75, 1.5, 0.75, 0.75, 1.5, 0.75, 0.75, 1.5));
  EXPECT_THAT(weights_of(*problem.federation.test), IsEmpty());
  Config stated = balanced;
  stated.model.balanced = false;
  stated.model.class_weights = {1, 4};
  EXPECT_THAT(weights_of(loaded(stated).federation.train), ElementsAre(1, 1, 4, 1, 1, 4, 1, 1, 4));
}

TEST_F(LoadedProblem, RefusesLabelsAndSettingsThatDoNotFit) {
  write("three.csv", numbered_csv(12, {"a", "b", "c"}));
  expect_refusal(config("three.csv"), ErrorCode::kBadData, "three.csv");
  Config other_label = config();
  other_label.schema.label = "outcome";
  expect_refusal(other_label, ErrorCode::kBadData, "\"outcome\"");
  Config positive = config();
  positive.data.positive = "maybe";
  expect_refusal(positive, ErrorCode::kBadData, "maybe");
  Config weights = config();
  weights.model.class_weights = {1, 2, 3};
  expect_refusal(weights, ErrorCode::kBadConfig,
                 "class_weight has 3 numbers, and there are 2 classes: 'no, yes'");
  write("numbers.csv", numbered_csv(12, {"0.5", "2"}));
  Config regression = config("numbers.csv");
  regression.model.name = "linear";
  regression.data.task = Task::kRaw;
  EXPECT_FALSE(loaded(regression).has_accuracy);
  Config weighted = regression;
  weighted.model.class_weights = {1, 2};
  expect_refusal(weighted, ErrorCode::kBadConfig, "class_weight: a regression has no classes");
  Config external = config();
  external.model.name = "external";
  expect_refusal(external, ErrorCode::kBadConfig, "model external");
}

TEST_F(LoadedProblem, HasTheFunctionDigestOfEveryRunThatMinimisesTheSame) {
  const Config base = config();
  const std::string digest = function_digest(base, "data");
  Config same = base;
  same.algorithm.eta = 0.5;
  same.federation.nodes = 7;
  same.federation.partition = "iid";
  same.run.seed = 9;
  EXPECT_EQ(function_digest(same, "data"), digest);
  EXPECT_NE(function_digest(base, "other data"), digest);
  std::vector<Config> others(5, base);
  others[0].model.lambda = 0.25;
  others[1].model.standardise = Standardise::kScale;
  others[2].model.balanced = true;
  others[3].model.intercept = true;
  others[4].federation.feature_skew = "noise(0.1)";
  for (const Config& other : others) EXPECT_NE(function_digest(other, "data"), digest) << to_toml(other);
  same.federation.feature_skew = others[4].federation.feature_skew;
  EXPECT_NE(function_digest(same, "data"), function_digest(others[4], "data"))
      << "with a feature skew the rows depend on nodes, partition and seed";
}

}  // namespace
}  // namespace mfl
