// An algorithm whose nodes keep vectors: simulated, resumed at every round, and in a federation whose nodes are stopped and started again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "examples/extensions/extensions.h"
#include "mfl/base/files.h"
#include "tests/base/sample_spec.h"
#include "tests/tables/served.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;
using testing::served;
using testing::simulated;

class Kept : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { add_scaffold(); }

  static Config config() {
    Config config;
    config.data.source = "synthetic:150x12";
    config.data.test = 0;
    config.federation.nodes = 5;
    config.federation.partition = "label-sorted";
    config.federation.fraction_train = 0.6;
    config.algorithm.name = "my-scaffold";
    config.algorithm.eta = 0.02;
    config.algorithm.tau = 3;
    config.run.steps = 36;
    config.run.engine = "serial";
    return config;
  }

  TempFolder folder = *TempFolder::make();
};

TEST_F(Kept, AResumeAtEveryRoundGivesTheSameDigest) {
  Config run = config();
  const std::string expected = simulated(run, folder.path());
  run.run.threads = 3;
  for (const char* engine : {"serial", "threads"})
    for (std::uint64_t rounds = 1; rounds < 12; ++rounds) {
      run.run.engine = engine;
      std::atomic<bool> stop = false;
      const RunHooks hooks{[&](const Progress& progress) { stop = progress.round >= rounds; }, &stop};
      RunOptions options;
      options.store = folder.path() / "runs.db";
      const auto first = run_experiment(run, options, hooks);
      ASSERT_TRUE(first) << first.error().text();
      EXPECT_EQ(first->status, "interrupted");
      options.resume_id = first->run_id;
      EXPECT_EQ(run_experiment(run, options, {})->digest, expected) << engine << ", round " << rounds;
    }
}

// Every algorithm, with and without vectors that nodes keep, while nodes miss rounds.
std::vector<AlgorithmConfig> family() {
  std::vector<AlgorithmConfig> out;
  const auto add = [&](std::string name, std::string momentum = {}, std::uint64_t every = 1) {
    out.push_back({.name = std::move(name), .eta = 0.02, .gamma = 0.7, .tau = 3});
    out.back().momentum = std::move(momentum);
    out.back().sync_momentum = every;
  };
  for (const AlgorithmEntry& entry : algorithms())
    if (!entry.centralised) add(testing::sample_spec(entry));
  add("mfl", "keep-local");
  add("mfl", "reset");
  add("fednag", "keep-local");
  add("mfl", {}, 3);
  return out;
}

TEST_F(Kept, AFederationThatSamplesNodesGivesTheDigestOfTheSimulation) {
  std::size_t number = 0;
  for (const AlgorithmConfig& algorithm : family()) {
    SCOPED_TRACE(algorithm.name + " " + algorithm.momentum);
    Config run = config();
    run.algorithm = algorithm;
    EXPECT_EQ(served(run, folder.path() / fmt::format("federation-{}", number++)),
              simulated(run, folder.path()));
  }
}

// All nodes are in every round: an attempt that a node leaves is made again with the same nodes.
TEST_F(Kept, AFederationWhoseNodesRestartGivesTheDigestOfTheSimulation) {
  // A node ends after every second update that it has sent.
  std::atomic<int> starts = 0;
  const auto live = [&](NodeOptions options) {
    for (;;) {
      std::atomic<bool> stop = false;
      std::atomic<int> sent = 0;
      ++starts;
      options.stop = &stop;
      options.log = [&](const LogLine& line) {
        if (line.event == "sent" && ++sent == 2) stop = true;
      };
      auto outcome = run_node(options);
      if (!outcome || outcome->status != "stopped") return outcome;
    }
  };
  std::size_t number = 0;
  for (const AlgorithmConfig& algorithm : family()) {
    const bool is_one_of_them = algorithm.name == "mfl-c" || algorithm.name.starts_with("feddyn") ||
                                algorithm.momentum == "keep-local" || algorithm.sync_momentum > 1;
    if (!is_one_of_them) continue;
    SCOPED_TRACE(algorithm.name + " " + algorithm.momentum);
    Config run = config();
    run.federation.fraction_train = 1;
    run.algorithm = algorithm;
    starts = 0;
    EXPECT_EQ(served(run, folder.path() / fmt::format("federation-{}", number++), live),
              simulated(run, folder.path()));
    EXPECT_GT(starts, 10);
  }
}

TEST_F(Kept, ANodeWithoutAFileSaysSo) {
  Config run = config();
  run.federation.nodes = 1;
  run.federation.fraction_train = 1;
  const auto live = [](NodeOptions options) {
    NodeOptions without = options;
    without.state.clear();
    const auto refused = run_node(without);
    EXPECT_FALSE(refused);
    EXPECT_THAT(refused ? "" : refused.error().hint, HasSubstr("--state FILE"));
    return run_node(options);
  };
  EXPECT_FALSE(served(run, folder.path() / "federation", live).empty());
}

}  // namespace
}  // namespace mfl
