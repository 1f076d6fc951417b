// An algorithm whose nodes keep vectors: simulated, resumed at every round, and in a federation whose nodes are stopped and started again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ostream>

#include "examples/extensions/extensions.h"
#include "mfl/base/files.h"
#include "tests/base/sample_spec.h"
#include "tests/tables/served.h"

namespace mfl {
namespace {

using test::served;
using test::simulated;
using ::testing::HasSubstr;

// Adds the algorithm of this program to the table, once.
void know_scaffold() {
  static const bool added = (add_scaffold(), true);
  EXPECT_TRUE(added);
}

class Kept : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { know_scaffold(); }

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

struct NamedAlgorithm {
  std::string name;  // "mfl_keep_local", "mfl_every_3"
  AlgorithmConfig algorithm;
};

void PrintTo(const NamedAlgorithm& one, std::ostream* out) { *out << one.name; }

NamedAlgorithm named(AlgorithmConfig algorithm) {
  std::string name = algorithm.name.substr(0, algorithm.name.find('('));
  if (!algorithm.momentum.empty()) name += "_" + algorithm.momentum;
  if (algorithm.sync_momentum > 1) name += fmt::format("_every_{}", algorithm.sync_momentum);
  std::ranges::replace(name, '-', '_');
  return {std::move(name), std::move(algorithm)};
}

// Every algorithm, with and without vectors that nodes keep.
std::vector<NamedAlgorithm> family() {
  know_scaffold();
  std::vector<NamedAlgorithm> out;
  const auto add = [&](std::string name, std::string momentum = {}, std::uint64_t every = 1) {
    AlgorithmConfig algorithm = {.name = std::move(name), .eta = 0.02, .gamma = 0.7, .tau = 3};
    algorithm.momentum = std::move(momentum);
    algorithm.sync_momentum = every;
    out.push_back(named(std::move(algorithm)));
  };
  for (const AlgorithmEntry& entry : algorithms())
    if (!entry.centralised) add(test::sample_spec(entry));
  add("mfl", "keep-local");
  add("mfl", "reset");
  add("fednag", "keep-local");
  add("mfl", {}, 3);
  return out;
}

std::vector<NamedAlgorithm> restarted() {
  std::vector<NamedAlgorithm> out;
  for (const NamedAlgorithm& one : family())
    if (one.algorithm.name == "mfl-c" || one.algorithm.name.starts_with("feddyn") ||
        one.algorithm.momentum == "keep-local" || one.algorithm.sync_momentum > 1)
      out.push_back(one);
  return out;
}

class KeptByAlgorithm : public Kept, public ::testing::WithParamInterface<NamedAlgorithm> {
 protected:
  static Config with_algorithm() {
    Config run = config();
    run.algorithm = GetParam().algorithm;
    return run;
  }
};

class SampledFederation : public KeptByAlgorithm {};

// Nodes miss rounds.
TEST_P(SampledFederation, GivesTheDigestOfTheSimulation) {
  const Config run = with_algorithm();
  EXPECT_EQ(served(run, folder.path() / "federation"), simulated(run, folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Kept, SampledFederation, ::testing::ValuesIn(family()),
                         ::testing::PrintToStringParamName());

class RestartedFederation : public KeptByAlgorithm {};

// All nodes are in every round: an attempt that a node leaves is made again with the same nodes.
TEST_P(RestartedFederation, GivesTheDigestOfTheSimulation) {
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
  Config run = with_algorithm();
  run.federation.fraction_train = 1;
  EXPECT_EQ(served(run, folder.path() / "federation", live), simulated(run, folder.path()));
  EXPECT_GT(starts, 10);
}

INSTANTIATE_TEST_SUITE_P(Kept, RestartedFederation, ::testing::ValuesIn(restarted()),
                         ::testing::PrintToStringParamName());

TEST_F(Kept, ANodeWithoutAStateFileIsRefused) {
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
