// Every entry of every table, toys included, gives one trajectory: on the serial engine, on threads, and stopped and resumed.
#include <gtest/gtest.h>

#include <atomic>

#include "mfl/run/runner.h"
#include "tests/tables/small_run.h"

namespace mfl {
namespace {

using test::Table;
using test::table_entries;
using test::TableEntry;
using test::tables;
using test::toy_of;

class Trajectories : public test::SmallRuns {
 protected:
  std::string digest(const Config& config) const { return outcome(config, {}, {}).digest; }

  // Stops after `rounds`, then continues.
  std::string digest_in_two_parts(const Config& config, std::uint64_t rounds) const {
    std::atomic<bool> stop = false;
    const RunHooks hooks{[&](const Progress& progress) { stop = progress.round >= rounds; }, &stop};
    const RunOutcome first = outcome(config, {}, hooks);
    EXPECT_EQ(first.status, "interrupted");
    return outcome(config, first.run_id, {}).digest;
  }

 private:
  RunOutcome outcome(const Config& config, std::string resume_id, const RunHooks& hooks) const {
    RunOptions options;
    options.store = folder() / "runs.db";
    options.resume_id = std::move(resume_id);
    const auto result = run_experiment(config, options, hooks);
    EXPECT_TRUE(result) << result.error().text();
    return result ? *result : RunOutcome{};
  }
};

class EntryTrajectory : public Trajectories, public ::testing::WithParamInterface<TableEntry> {};

TEST_P(EntryTrajectory, IsTheSameOnEveryEngineAndAfterAResume) {
  Config config = with(*GetParam().table, *GetParam().entry);
  const std::string expected = digest(config);
  EXPECT_FALSE(expected.empty());
  for (std::uint64_t rounds = 1; rounds < 4; ++rounds)
    EXPECT_EQ(digest_in_two_parts(config, rounds), expected);
  config.run.engine = "threads";
  config.run.threads = 3;
  EXPECT_EQ(digest(config), expected);
  EXPECT_EQ(digest_in_two_parts(config, 2), expected);
}

INSTANTIATE_TEST_SUITE_P(Tables, EntryTrajectory, ::testing::ValuesIn(table_entries()),
                         ::testing::PrintToStringParamName());

TEST_F(Trajectories, AToyHasTheTrajectoryOfTheEntryThatItCopies) {
  for (const Table& table : tables()) {
    if (!table.runs) continue;
    const std::string toy = digest(with(table, toy_of(table)));
    EXPECT_EQ(toy, digest(with(table, *table.index->find(table.copied)))) << table.key;
    EXPECT_NE(toy, digest(with(table, *table.index->entries().front()))) << table.key;
  }
}

}  // namespace
}  // namespace mfl
