// The stages of a server's and of a node's life as values, without a connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <numbers>
#include <string>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/model/tensors.h"
#include "mfl/network/node_tasks.h"
#include "mfl/network/served_run.h"
#include "mfl/network/served_schema.h"
#include "mfl/network/test_bench.h"

namespace mfl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kFeatures = 2;

Vector<double> vector_of(std::initializer_list<double> numbers) { return {numbers.begin(), numbers.end()}; }

class Stages : public ::testing::Test {
 protected:
  Stages() {
    write("1,10,no\n2,20,yes\n3,30,no\n4,50,yes\n");
    config_.data.source = kFederationSource;
    config_.federation.nodes = 3;
    config_.model.name = "logistic";
    config_.model.intercept = false;
    config_.algorithm.name = "fl";
    config_.algorithm.eta = 0.1;
    config_.algorithm.tau = 2;
    config_.run.steps = 4;
    config_.run.precision = Precision::kF64;
    host_.state = folder_.path() / "state";
    node_.data.source = spec();
    node_.threads = 1;
    schema_.columns = kFeatures;
    schema_.features = {"a", "b"};
    schema_.label = "y";
    schema_.task = LabelTask::kBinary;
    schema_.classes = {"no", "yes"};
    schema_.positive = "yes";
    schema_.own_data = true;
  }

  void write(const std::string& rows) {
    EXPECT_TRUE(write_file(folder_.path() / "data.csv", "a,b,y\n" + rows));
  }
  std::string spec() const { return "csv:" + (folder_.path() / "data.csv").string(); }

  Plan plan() const { return {"run", "digest", to_toml(config_), 64, schema_}; }
  NodeSource source() { return NodeSource::open(plan(), node_, "site").value(); }

  static Assignment training(std::vector<double> w, double eta = 0) {
    Assignment out;
    out.ticket = {1, 1, 1};
    out.steps = 2;
    out.blocks = {{"w", "f64", w.size()}};
    out.payload = std::make_shared<const std::string>(number_bytes(vector_of({w[0], w[1]})));
    out.eta = eta;
    return out;
  }

  static void expect_refused(const auto& result, const std::string& text) {
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().text(), HasSubstr(text));
  }

  TempFolder folder_ = TempFolder::make().value();
  Config config_;
  Schema schema_;
  HostOptions host_;
  NodeOptions node_;
};

TEST_F(Stages, ATestBenchMeasuresModelsOnDataOfItsOwn) {
  const TestBench bench = load_test_bench(Experiment(config_), spec(), {}).value();
  EXPECT_EQ(bench.schema.columns, kFeatures);
  EXPECT_THAT(bench.schema.classes, ElementsAre("no", "yes"));
  EXPECT_TRUE(bench.has_accuracy);
  const std::string zero = number_bytes(vector_of({0, 0})) + "and what follows w";
  const TestRow row = bench.test(zero, false);
  EXPECT_NEAR(row.loss, std::numbers::ln2, 1e-12);
  EXPECT_EQ(row.details, "");
  // 10 a - b is 0, 0, 0 and -10.
  const TestRow detailed = bench.test(number_bytes(vector_of({-10, 1})), true);
  EXPECT_NEAR(detailed.loss, (3 * std::numbers::ln2 + std::log1p(std::exp(-10))) / 4, 1e-12);
  EXPECT_NE(detailed.details, "");
}

TEST_F(Stages, CopiesOfATestBenchMayBeUsedAtTheSameTime) {
  const TestBench bench = load_test_bench(Experiment(config_), spec(), schema_).value();
  const std::string w = number_bytes(vector_of({0.25, -0.5}));
  const double loss = bench.test(w, false).loss;
  const auto same = [bench, w, loss] {
    bool all = true;
    for (int i = 0; i < 100; ++i) all = all && bench.test(w, i % 2 == 0).loss == loss;
    return all;
  };
  auto other = std::async(std::launch::async, same);
  EXPECT_TRUE(same());
  EXPECT_TRUE(other.get());
}

TEST_F(Stages, AServedRunIsFoundAgainWhateverMayChange) {
  std::string id;
  {
    const auto served = open_served_run<double>(Experiment(config_), host_).value();
    id = served.run.id;
    EXPECT_FALSE(served.from);
    EXPECT_TRUE(served.rounds.empty());
    EXPECT_EQ(served.run.nodes, 3U);
    EXPECT_EQ(served.run.precision, "f64");
    EXPECT_EQ(served.run.planned_steps, 4U);
    EXPECT_EQ(served.run.tau, 2U);
    expect_refused(open_served_run<double>(Experiment(config_), host_), "state");
  }
  config_.federation.min_available_nodes = 2;
  config_.federation.quorum = 2;
  config_.federation.round_deadline = 5;
  EXPECT_EQ(open_served_run<double>(Experiment(config_), host_)->run.id, id);
  config_.algorithm.eta = 0.2;
  expect_refused(open_served_run<double>(Experiment(config_), host_), "another configuration");
}

TEST_F(Stages, TheSchemaOfARunComesFromTheExperimentOrTheStore) {
  config_.schema.columns = kFeatures;
  config_.schema.classes = {"no", "yes"};
  const Experiment experiment(config_);
  CoordinatorOptions options;
  ASSERT_TRUE(take_schema(experiment, host_, {}, nullptr, options));
  EXPECT_EQ(options.schema.positive, "yes");
  EXPECT_EQ(options.schema_from, "the experiment file");
  EXPECT_FALSE(options.prepared);
  host_.columns = kFeatures + 1;
  expect_refused(take_schema(experiment, host_, {}, nullptr, options), "--features says 3 and [schema] 2");
  host_.columns = 0;

  RunRow run;
  Json kept = Json::parse(schema_json(schema_)).value();
  kept[kExcluded]["site-7"] = "column a";
  run.data_schema = kept.dump();
  CoordinatorOptions continued;
  ASSERT_TRUE(take_schema(experiment, host_, run, nullptr, continued));
  EXPECT_EQ(continued.schema.columns, kFeatures);
  EXPECT_EQ(continued.schema.classes, schema_.classes);
  EXPECT_EQ(continued.schema.own_data, true);
  EXPECT_EQ(continued.schema_from, "the run's store");
  EXPECT_EQ(continued.excluded.at("site-7"), "column a");
  EXPECT_EQ(continued.warnings.size(), 1U);
  schema_.columns = kFeatures + 1;
  schema_.features = {"a", "b", "c"};
  run.data_schema = schema_json(schema_);
  expect_refused(take_schema(experiment, host_, run, nullptr, continued), "its schema does not fit");
}

TEST_F(Stages, WhatWasMeasuredIsTakenFromTheStore) {
  config_.algorithm.eta.reset();
  config_.model.standardise = Standardise::kFull;
  RunRow run;
  run.eta = 0.25;
  schema_.preprocessing.standardise = Standardise::kFull;
  schema_.preprocessing.means = {1, 2};
  schema_.preprocessing.deviations = {3, 4};
  run.data_schema = schema_json(schema_);
  CoordinatorOptions options;
  ASSERT_TRUE(take_schema(Experiment(config_), host_, run, nullptr, options));
  ASSERT_TRUE(options.prepared);
  EXPECT_EQ(options.prepared->eta, 0.25);
  EXPECT_THAT(options.prepared->preprocessing.deviations, ElementsAre(3, 4));
}

TEST_F(Stages, ANodeSaysWhatItsDataHasAndReadsItAgain) {
  NodeSource own = source();
  EXPECT_EQ(own.samples(), 4U);
  EXPECT_EQ(own.columns(), kFeatures);
  EXPECT_THAT(own.schema().classes, ElementsAre("no", "yes"));
  Experiment run = own.experiment();
  run.config.schema = schema_;
  const Dataset* const rows = own.rows(kFeatures).value();
  EXPECT_EQ(rows->rows, 4U);
  EXPECT_EQ(own.problem<double>(run)->federation.nodes.front().count, 4U);
  EXPECT_EQ(own.problem<double>(run)->federation.nodes.front().count, 4U);
  write("1,10,no\n2,20,yes\n3,30,no\n4,51,yes\n");
  expect_refused(own.rows(kFeatures), "the data has changed since this node joined");
}

TEST_F(Stages, ANodeNeedsDataOrATrainerAsTheModelDoes) {
  node_.trainer.emplace();
  expect_refused(NodeSource::open(plan(), node_, "site"), "--trainer: mfl itself trains the model logistic");
  node_.trainer.reset();
  config_.model.name = "external";
  expect_refused(NodeSource::open(plan(), node_, "site"), "trained by programs of its nodes");
  node_.data.source = "fleet:columns=2";
  expect_refused(NodeSource::open(plan(), node_, "site"), "a fleet is many nodes");
}

TEST_F(Stages, ANodeFollowsOneSchemaAndTrains) {
  NodeTasks tasks(source(), "run", "site", node_);
  expect_refused(tasks.work(training({0, 0})), "before it has sent what was measured");
  EXPECT_FALSE(tasks.follow({}).value());
  EXPECT_TRUE(tasks.follow(schema_).value());
  EXPECT_TRUE(tasks.follow(schema_).value());
  const auto trained = tasks.work(training({0, 0}));
  ASSERT_TRUE(trained) << trained.error().text();
  EXPECT_NEAR(*trained->losses.train_loss, std::numbers::ln2, 1e-12);
  EXPECT_EQ(trained->payload.size(), kFeatures * sizeof(double));
  schema_.classes = {"maybe", "yes"};
  expect_refused(tasks.follow(schema_), "the run's schema has changed");
}

TEST_F(Stages, ANodeThatWasPreparedForAnotherStepSizeIsPreparedAgain) {
  NodeTasks tasks(source(), "run", "site", node_);
  ASSERT_TRUE(tasks.follow(schema_).value());
  EXPECT_FALSE(tasks.forget_if_outdated(training({0, 0}, 0.1)));
  ASSERT_TRUE(tasks.work(training({0, 0}, 0.1)));
  EXPECT_FALSE(tasks.forget_if_outdated(training({0, 0}, 0.1)));
  EXPECT_TRUE(tasks.forget_if_outdated(training({0, 0}, 0.2)));
  EXPECT_FALSE(tasks.forget_if_outdated(training({0, 0}, 0.2)));
}

TEST_F(Stages, TheSumsOfColumnsAreThoseOfTheNodesRows) {
  config_.model.standardise = Standardise::kFull;
  NodeTasks tasks(source(), "run", "site", node_);
  ASSERT_TRUE(tasks.follow(schema_).value());
  Assignment measure;
  measure.work = Work::kMeasure;
  const auto measured = tasks.work(measure);
  ASSERT_TRUE(measured) << measured.error().text();
  ColumnSums sums(kFeatures, 0);
  ASSERT_TRUE(sums.merge_packed(measured->payload));
  Preprocessing preprocessing{.standardise = Standardise::kFull};
  sums.measure(preprocessing);
  EXPECT_THAT(preprocessing.means, ElementsAre(2.5, 27.5));
  node_.allow_measure = false;
  expect_refused(tasks.work(measure), "which --allow does not name");
}

}  // namespace
}  // namespace mfl
