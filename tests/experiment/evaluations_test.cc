// How often F(w) is evaluated where nobody says how often.
#include "mfl/experiment/evaluations.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mfl {
namespace {

Config batches(std::uint64_t rounds, std::uint64_t tau = 4) {
  Config config;
  config.algorithm.batch_size = 16;
  config.algorithm.tau = tau;
  config.run.rounds = rounds;
  return config;
}

Experiment settled(Config config, std::uint64_t record_every, const std::optional<SamplesRead>& read) {
  config.run.record_every = record_every;
  Experiment out(std::move(config));
  settle_evaluations(out, read);
  return out;
}

std::uint64_t count(std::uint64_t rounds, std::uint64_t every) {
  return 1 + rounds / every + (rounds % every == 0 ? 0 : 1);
}

TEST(Evaluations, AreAFifthOfTheWorkButTenAtLeastAndAHundredAtMost) {
  for (const std::uint64_t tau : {1U, 4U, 7U, 100U})
    for (const std::uint64_t rounds : {1U, 2U, 9U, 10U, 17U, 20U, 99U, 100U, 101U, 250U, 999U, 10'007U})
      for (const SamplesRead read :
           {SamplesRead{64, 2000}, {2000, 2000}, {400, 2000}, {1, 100'000}, {100'000, 1}})
        for (const std::uint64_t record_every : {1ULL, 3ULL, std::max(1ULL, rounds * tau / 100ULL)}) {
          SCOPED_TRACE(::testing::Message()
                       << tau << ' ' << rounds << ' ' << read.training << ' ' << record_every);
          const Experiment run = settled(batches(rounds, tau), record_every, read);
          const std::uint64_t every = run.losses.evaluate_every;
          EXPECT_EQ(run.config.run.evaluate_every, every);
          const std::uint64_t done = count(rounds, every);
          EXPECT_GE(every, 1U);
          EXPECT_GE(done, std::min<std::uint64_t>(10, rounds + 1));
          EXPECT_LE(done, 100U);
          if (done * read.evaluation * 5 > rounds * read.training) {
            EXPECT_LE(done, rounds < 20 ? 20U : 13U)
                << "only as many as there must be read more than a fifth";
          }
        }
}

TEST(Evaluations, AreAtStatesWithARecord) {
  EXPECT_EQ(settled(batches(250), 10, SamplesRead{10, 1}).config.run.evaluate_every, 5U)
      << "20 steps are the first that are both rounds and records";
}

TEST(Evaluations, AreResolvedOnceAndOnlyWhereTheyMatter) {
  Config config = batches(20);
  for (const std::uint64_t given : {7U, 0U}) {
    config.run.evaluate_every = given;
    EXPECT_EQ(settled(config, 1, SamplesRead{1, 1}).config.run.evaluate_every, given);
  }
  config = batches(20);
  config.algorithm.batch_size = 0;
  EXPECT_FALSE(settled(config, 1, SamplesRead{1, 1}).config.run.evaluate_every) << "every round has F(w)";
  config.algorithm.name = "fedacg";
  EXPECT_TRUE(settled(config, 1, SamplesRead{1, 1}).config.run.evaluate_every) << "its nodes start elsewhere";
  EXPECT_EQ(count(20, *settled(batches(20), 1, std::nullopt).config.run.evaluate_every), 11U)
      << "samples unknown";
}

TEST(Evaluations, AreAFifthOfTheWorkWhereOnlyABudgetKnowsTheLength) {
  Config config = batches(0);
  config.run.budget_bytes = 1'000'000;
  EXPECT_EQ(settled(config, 1, SamplesRead{100, 1000}).config.run.evaluate_every, 50U);
}

}  // namespace
}  // namespace mfl
