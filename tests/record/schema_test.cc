// Stores of earlier versions: read as they are, and brought up to date when written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/record/support.h"

namespace mfl::test {
namespace {

// A store as that version wrote it.
std::string make_version(const Home& home, int version) {
  std::string id;
  {
    Store store = Store::open(home.store).value();
    id = store.create_run(spec()).value();
    EXPECT_TRUE(store.append(id, rounds(0, 5), records(0, 5), Checkpoint{5, "state", 0}));
    EXPECT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 1.5));
  }
  Connection old(home.store);
  old.run(
      "ALTER TABLE nodes DROP COLUMN digest; ALTER TABLE nodes DROP COLUMN metrics; PRAGMA user_version = 8");
  if (version == 8) return id;
  old.run("DROP TABLE choices; PRAGMA user_version = 7");
  if (version == 7) return id;
  old.run("DROP TABLE models; PRAGMA user_version = 6");
  if (version == 6) return id;
  old.run("DROP TABLE nodes; PRAGMA user_version = 5");
  if (version == 5) return id;
  old.run("ALTER TABLE runs DROP COLUMN test_metrics; PRAGMA user_version = 4");
  if (version == 4) return id;
  old.run("DROP TABLE dropped_rounds; DROP TABLE drops; PRAGMA user_version = 3");
  if (version == 3) return id;
  for (const char* column : {"warnings", "sampled", "data_schema"})
    old.run(std::string("ALTER TABLE runs DROP COLUMN ") + column);
  old.run("PRAGMA user_version = 2");
  if (version == 2) return id;
  old.run("ALTER TABLE runs DROP COLUMN virtual_seconds");
  old.run("ALTER TABLE records DROP COLUMN virtual_seconds");
  for (const char* column :
       {"virtual_seconds", "round_seconds", "slowest_seconds", "idle_share", "chosen", "missed", "abandoned"})
    old.run(std::string("ALTER TABLE rounds DROP COLUMN ") + column);
  old.run("PRAGMA user_version = 1");
  return id;
}

void expect_whole(const Store& store, const std::string& id) {
  const RunRow run = store.get(id).value();
  EXPECT_EQ(run.summary->digest, digest(250));
  EXPECT_FALSE(run.summary->virtual_seconds);
  EXPECT_EQ(run.summary->test_metrics, "");
  EXPECT_TRUE(run.warnings.empty());
  EXPECT_TRUE(run.drops.empty());
  const auto got_rounds = store.rounds(id).value();
  const auto got_records = store.records(id).value();
  ASSERT_EQ(got_rounds.size(), 6U);
  ASSERT_EQ(got_records.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(same(got_rounds[i], rounds(0, 5)[i]));
    EXPECT_TRUE(same(got_records[i], records(0, 5)[i]));
  }
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, "state");
  EXPECT_EQ(store.first_round_at(id, 0.3).value()->round, 3U);
  EXPECT_EQ(store.model(id).value(), std::nullopt);
  EXPECT_TRUE(store.nodes(id).value().empty());
}

class Schema : public ::testing::TestWithParam<int> {};

TEST_P(Schema, AnOlderStoreIsReadWithoutAChange) {
  const Home home;
  const std::string id = make_version(home, GetParam());
  expect_whole(Store::open(home.store, {.read_only = true}).value(), id);
  EXPECT_EQ(Connection(home.store).integer("PRAGMA user_version"), GetParam());
}

TEST_P(Schema, AnOlderStoreIsBroughtUpToDateWhenItIsWritten) {
  const Home home;
  const std::string id = make_version(home, GetParam());
  {
    Store store = Store::open(home.store).value();
    expect_whole(store, id);
    const std::string timed = store.create_run(spec()).value();
    auto rows = rounds(0, 1);
    rows[1].time = RoundTime{12.5, 7.5, 2.5, 0.25, 10, 3, 1};
    rows[1].choice = RoundChoice{17, 0.5, 2, 0.25, 3.5, 1e-3, 0.125};
    auto records_of = records(0, 1);
    records_of[1].virtual_seconds = 12.5;
    const std::vector<NodeRow> took_part = {{1, "a", 3, 0.5, 0.25, digest(7), R"({"f1":0.5})"}};
    ASSERT_TRUE(store.append(timed, rows, records_of, std::nullopt, took_part));
    EXPECT_EQ(store.nodes(timed).value(), took_part);
    RunSummary with_time = summary();
    with_time.virtual_seconds = 12.5;
    with_time.test_metrics = R"({"samples":1})";
    const FinalModel model{.tensors = "[]", .weights = "1234"};
    ASSERT_TRUE(store.finish(timed, RunStatus::kDone, "", with_time, 1, {}, model));
    EXPECT_EQ(store.model(timed).value(), model);
    EXPECT_EQ(store.rounds(timed).value()[1].time, rows[1].time);
    EXPECT_FALSE(store.rounds(timed).value()[0].time);
    EXPECT_EQ(store.rounds(timed).value()[1].choice, rows[1].choice);
    EXPECT_FALSE(store.rounds(timed).value()[0].choice);
    EXPECT_EQ(store.records(timed).value()[1].virtual_seconds, 12.5);
    EXPECT_EQ(store.get(timed).value().summary->virtual_seconds, 12.5);
    EXPECT_EQ(store.get(timed).value().summary->test_metrics, with_time.test_metrics);
    ASSERT_TRUE(store.set_status(timed, RunStatus::kInterrupted, ""));
    ASSERT_TRUE(store.rewind(timed, 0, {.reason = "--from-round 0", .last_round = 1}));
    EXPECT_FALSE(store.get(timed).value().summary);
    EXPECT_EQ(store.get(timed).value().drops.size(), 1U);
    EXPECT_EQ(store.rounds(timed).value().size(), 1U);
    ASSERT_TRUE(store.append(timed, std::vector<RoundRow>{rows[1]}, {}, std::nullopt))
        << "the choice was dropped with its round";
  }
  EXPECT_EQ(Connection(home.store).integer("PRAGMA user_version"), 9);
  expect_whole(Store::open(home.store).value(), id);
}

INSTANTIATE_TEST_SUITE_P(Versions, Schema, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

TEST(DataSchema, AStoreOfVersion2LacksTheSchemaOfTheData) {
  const Home home;
  std::string id;
  {
    Store store = Store::open(home.store).value();
    RunSpec with_schema = spec();
    with_schema.data_schema = R"({"columns":2})";
    id = store.create_run(with_schema).value();
    EXPECT_EQ(store.get(id)->data_schema, R"({"columns":2})");
    ASSERT_TRUE(store.append(id, rounds(0, 5), records(0, 5), Checkpoint{5, "state", 0}));
    ASSERT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 1.5));
  }
  {
    Connection old(home.store);
    old.run(
        "DROP TABLE choices; DROP TABLE models; DROP TABLE nodes; DROP TABLE dropped_rounds; DROP TABLE "
        "drops");
    for (const char* column : {"warnings", "sampled", "data_schema", "test_metrics"})
      old.run(std::string("ALTER TABLE runs DROP COLUMN ") + column);
    old.run("PRAGMA user_version = 2");
  }
  expect_whole(Store::open(home.store, {.read_only = true}).value(), id);
  Store store = Store::open(home.store).value();
  expect_whole(store, id);
  EXPECT_EQ(store.get(id)->data_schema, "");
  ASSERT_TRUE(store.set_data_schema(id, R"({"columns":3})"));
  EXPECT_EQ(store.get(id)->data_schema, R"({"columns":3})");
  EXPECT_FALSE(store.set_data_schema("00000000", ""));
}

}  // namespace
}  // namespace mfl::test
