// A model without a bound on its smoothness, whose least loss is not zero: what runs, sweeps, advice and
// servers ask its entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "mfl/advise/advise.h"
#include "mfl/base/files.h"
#include "mfl/model/models.h"
#include "mfl/run/sweep.h"
#include "tests/tables/served.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kColumns = 3, kRows = 40;

// A model that is made for data that is not that of the tests fails the test.
template <class Make>
Make for_these_columns(Make make) {
  return [make](const ModelShape& shape) {
    EXPECT_EQ(shape.columns, kColumns);
    return make(shape);
  };
}

class Unbounded : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ModelEntry entry = *models().find("linear");
    entry.name = "unbounded";
    entry.loss.reset();
    entry.smooth = false;
    entry.least_loss = 1e6;
    entry.make_f32 = for_these_columns(entry.make_f32);
    entry.make_f64 = for_these_columns(entry.make_f64);
    models().add(entry);
  }

  void SetUp() override {
    std::string rows = "a,b,c,y\n";
    for (std::size_t i = 0; i < kRows; ++i) rows += fmt::format("{},{},{},{}\n", i % 7, i % 5, i % 3, i % 4);
    ASSERT_TRUE(write_file(csv(), rows));
    options.store = folder.path() / "runs.db";
  }

  std::filesystem::path csv() const { return folder.path() / "rows.csv"; }

  Config config() const {
    Config config;
    config.data.source = "csv:" + csv().string();
    config.data.train = kRows;
    config.federation.nodes = 2;
    config.model.name = "unbounded";
    config.run.steps = 4;
    config.run.engine = "serial";
    return config;
  }

  TempFolder folder = *TempFolder::make();
  RunOptions options;
};

void expect_asks_for_eta(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kBadConfig);
  EXPECT_THAT(error.text(), HasSubstr("eta = auto: model unbounded has no bound"));
  EXPECT_THAT(error.hint, HasSubstr("set eta"));
}

TEST_F(Unbounded, ARunNeedsAStepSize) {
  Config run = config();
  const auto measured = run_experiment(run, options, {});
  ASSERT_FALSE(measured);
  expect_asks_for_eta(measured.error());
  run.algorithm.eta = 0.01;
  EXPECT_TRUE(run_experiment(run, options, {}));
}

TEST_F(Unbounded, EverySettingOfASweepNeedsAStepSize) {
  Config stated = config();
  stated.algorithm.eta = 0.01;
  EXPECT_TRUE(run_sweep({stated}, options, {}));
  const auto measured = run_sweep({stated, config()}, options, {});
  ASSERT_FALSE(measured);
  expect_asks_for_eta(measured.error());
}

TEST_F(Unbounded, AdviceIsRefused) {
  AdviseOptions budget;
  budget.rounds = 5;
  const auto advice = advise_experiment(config(), budget, {});
  ASSERT_FALSE(advice);
  EXPECT_THAT(advice.error().text(), HasSubstr("none is known of unbounded"));
}

TEST_F(Unbounded, AServerNeedsAStepSize) {
  const std::atomic<bool> stop = true;
  HostOptions host;
  host.state = folder.path() / "state";
  host.stop = &stop;
  const auto served = host_run(config(), host);
  ASSERT_FALSE(served);
  expect_asks_for_eta(served.error());
}

TEST_F(Unbounded, AServerTakesTheLeastLossFromTheEntry) {
  Config run = config();
  run.federation.nodes = 1;
  run.algorithm.eta = 0.01;
  std::atomic<bool> stop = false;
  HostOptions host;
  host.state = folder.path() / "state";
  host.stop = &stop;
  auto server = std::async(std::launch::async, [&] { return host_run(run, host); });
  NodeOptions node;
  node.client = {test::address_of(host.state, server), std::nullopt, "node"};
  node.data.source = run.data.source;
  node.stop = &stop;
  std::string refusal;
  node.log = [&](const LogLine& line) {
    if (line.event != "refused") return;
    refusal = line.fields.back().second;
    stop = true;
  };
  EXPECT_TRUE(run_node(node));
  stop = true;
  EXPECT_TRUE(server.get());
  EXPECT_THAT(refusal, HasSubstr("never below 1e+06"));
}

}  // namespace
}  // namespace mfl
