// The data of an experiment divided among ranks: together they hold what one process holds, and other data on a
// rank is refused.
#include "mfl/load/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "mfl/base/files.h"
#include "mfl/data/npy.h"
#include "mfl/load/problem.h"
#include "tests/load/small_data.h"
#include "tests/load/thread_ranks.h"

namespace mfl {
namespace {

using test::features_of;
using test::numbered_csv;
using test::on_ranks;
using test::targets_of;
using test::weights_of;
using ::testing::HasSubstr;

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

class SharedProblem : public ::testing::Test {
 protected:
  // More than two row blocks for the test set alone.
  void SetUp() override { write("rows.csv", numbered_csv(700, {"no", "yes", "yes"})); }

  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(folder_.path() / name, text));
  }
  // Returns the spec of rows that are read on demand.
  std::string write_npy(std::size_t rows) const {
    Dataset data{.rows = rows, .columns = 2, .scale = 1, .features = {}, .labels = {}};
    DenseRows<double> numbers;
    for (std::size_t row = 0; row < rows; ++row) {
      data.labels.push_back(row % 3 == 0 ? 0 : 1);
      numbers.values.insert(numbers.values.end(),
                            {static_cast<double>(row), static_cast<double>(row * row % 13) / 8});
    }
    data.features = std::move(numbers);
    EXPECT_TRUE(write_npy_folder(folder_.path() / "npy", data));
    return "npy:" + (folder_.path() / "npy").string();
  }
  Config config(const std::string& file = "rows.csv") const {
    Config config;
    config.data.source = "csv:" + (folder_.path() / file).string();
    config.data.train = 100;
    config.data.test = 600;
    config.federation.nodes = 5;
    return config;
  }

  // Each rank loads with its own configuration.
  static std::vector<Result<Problem<float>>> load_on(const std::vector<Config>& configs) {
    return on_ranks(static_cast<unsigned>(configs.size()), [&](Ranks& ranks) {
      return load_problem<float>(Experiment(configs[ranks.rank()]), ranks);
    });
  }

  static void expect_same_as_one_process(const Config& config, unsigned size) {
    SCOPED_TRACE(::testing::Message() << size << " ranks of\n" << to_toml(config));
    const auto whole = load_problem<float>(Experiment(config));
    ASSERT_TRUE(whole) << whole.error().text();
    std::vector<float> train, train_targets, train_weights, test, test_targets;
    std::vector<std::size_t> counts;
    std::string digest = whole->data_digest;  // which the first rank alone knows
    for (const auto& part : load_on(std::vector<Config>(size, config))) {
      ASSERT_TRUE(part) << part.error().text();
      const Federation<float>& own = part->federation;
      EXPECT_EQ(part->schema, whole->schema);
      EXPECT_EQ(part->constant_features, whole->constant_features);
      EXPECT_EQ(part->scale, whole->scale);
      EXPECT_EQ(part->has_accuracy, whole->has_accuracy);
      EXPECT_EQ(part->data_digest, std::exchange(digest, ""));
      EXPECT_EQ(own.first_node, counts.size()) << "nodes in the order of ranks";
      EXPECT_EQ(own.node_count(), whole->federation.node_count());
      std::size_t first = 0;
      for (const Shard& shard : own.nodes) {
        EXPECT_EQ(shard.first, first);
        first += shard.count;
        counts.push_back(shard.count);
      }
      append(train, features_of(own.train));
      append(train_targets, targets_of(own.train));
      append(train_weights, weights_of(own.train));
      ASSERT_TRUE(own.test);
      append(test, features_of(*own.test));
      append(test_targets, targets_of(*own.test));
    }
    const Federation<float>& all = whole->federation;
    ASSERT_EQ(counts.size(), all.nodes.size());
    for (std::size_t node = 0; node < counts.size(); ++node) EXPECT_EQ(counts[node], all.nodes[node].count);
    EXPECT_EQ(train, features_of(all.train));
    EXPECT_EQ(train_targets, targets_of(all.train));
    EXPECT_EQ(train_weights, weights_of(all.train));
    EXPECT_EQ(test, features_of(*all.test));
    EXPECT_EQ(test_targets, targets_of(*all.test));
  }

  static void expect_refusal_by_all(const std::vector<Config>& configs, const std::string& words) {
    for (const auto& refused : load_on(configs)) {
      ASSERT_FALSE(refused) << words;
      EXPECT_EQ(refused.error().code, ErrorCode::kBadData);
      EXPECT_THAT(refused.error().text(), HasSubstr(words));
    }
  }

 private:
  TempFolder folder_ = *TempFolder::make();
};

TEST_F(SharedProblem, HasTheRowsOfOneProcess) {
  Config measured = config();
  measured.model.standardise = Standardise::kFull;
  measured.model.balanced = true;
  Config skewed = config();
  skewed.federation.partition = "label-sorted";
  skewed.federation.feature_skew = "noise(0.5)";
  skewed.data.take = Take::kRandom;
  Config central = config();
  central.algorithm.name = "gd";
  Config on_demand = config();
  on_demand.data.source = write_npy(700);
  on_demand.federation.partition = "dirichlet(0.5)";
  on_demand.model.standardise = Standardise::kScale;
  for (const Config& one : {config(), measured, skewed, central, on_demand})
    for (const unsigned size : {2U, 3U, 7U}) expect_same_as_one_process(one, size);
}

TEST_F(SharedProblem, DividesTheTestSetOfAFleet) {
  Config fleet;
  fleet.data.source = "fleet:3-9x20";
  fleet.data.test = 700;
  fleet.federation.nodes = 40;
  const auto whole = load_problem<float>(Experiment(fleet));
  ASSERT_TRUE(whole) << whole.error().text();
  std::vector<float> targets;
  for (const auto& part : load_on({fleet, fleet, fleet})) {
    ASSERT_TRUE(part) << part.error().text();
    EXPECT_EQ(part->federation.node_count(), 40U);
    EXPECT_EQ(part->train_digest, whole->train_digest);
    append(targets, targets_of(*part->federation.test));
  }
  EXPECT_EQ(targets, targets_of(*whole->federation.test));
}

TEST_F(SharedProblem, IsRefusedWhereARankHasOtherData) {
  std::string text = numbered_csv(700, {"no", "yes", "yes"});
  write("labels.csv", numbered_csv(700, {"yes", "no", "yes"}));
  write("fewer.csv", numbered_csv(650, {"no", "yes", "yes"}));
  write("names.csv", "row,mixed,other,label" + text.substr(text.find('\n')));
  // The last row is one of the test set.
  write("last.csv", text.replace(text.rfind("\n699,") + 1, 3, "698"));
  Config fewer = config("fewer.csv");
  fewer.data.test.reset();
  Config all = config();
  all.data.test.reset();
  expect_refusal_by_all({config(), config("labels.csv")}, "rank 1: the digest of the training labels");
  expect_refusal_by_all({all, all, fewer},
                        "rank 2: the number of test samples is 550 here and 600 on rank 0");
  expect_refusal_by_all({config(), config("names.csv")}, "rank 1: the digest of the training column names");
  expect_refusal_by_all({config(), config(), config("last.csv")},
                        "rank 2: the rows differ from those on rank 0");
}

TEST_F(SharedProblem, FailsOnAllRanksWhereOneCannotRead) {
  expect_refusal_by_all({config(), config("missing.csv"), config()}, "rank 1: cannot open");
  for (const auto& refused : load_on({config("missing.csv"), config("missing.csv")})) {
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), ::testing::Not(HasSubstr("rank"))) << "all ranks fail alike";
  }
}

TEST_F(SharedProblem, ComparesTheSourcesOfASweep) {
  write("other.csv", numbered_csv(701, {"no", "yes", "yes"}));
  const auto compared = [&](const Config& third) {
    return on_ranks(3, [&](Ranks& ranks) {
      Config faster = config();
      faster.algorithm.eta = 0.5;
      const std::vector<Config> configs = {config(), faster, ranks.rank() == 2 ? third : config()};
      return require_same_sources(configs, ranks);
    });
  };
  for (const auto& same : compared(config())) EXPECT_TRUE(same) << same.error().text();
  Config other = config("other.csv");
  other.data.train = 101;
  for (const auto& refused : compared(other)) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kBadData);
    EXPECT_THAT(refused.error().text(), HasSubstr("rank 2: the digest of csv:"));
  }
}

}  // namespace
}  // namespace mfl
