// Stores of earlier versions: read as they are, and brought up to date when written.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/record/support.h"

namespace mfl::test {
namespace {

// One column for three losses. Tests write what it had in it.
void make_version_9(Connection& store) {
  for (const char* table : {"rounds", "records", "dropped_rounds", "nodes"})
    for (const char* column : {"batch_loss", "start_loss"})
      store.run(fmt::format("ALTER TABLE {} DROP COLUMN {}", table, column));
  store.run(
      "ALTER TABLE nodes DROP COLUMN committed; ALTER TABLE nodes RENAME COLUMN train_loss TO loss; "
      "PRAGMA user_version = 9");
}

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
  make_version_9(old);
  if (version == 9) return id;
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
  EXPECT_EQ(Connection(home.store).integer("PRAGMA user_version"), 10);
  expect_whole(Store::open(home.store).value(), id);
}

INSTANTIATE_TEST_SUITE_P(Versions, Schema, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9));

// A run whose rounds 0 to 4 have the losses 10, 11, ... in the one column of version 9, and records and two nodes with the same.
struct OldRun {
  std::string algorithm = "mfl", keys;
  RunStatus status = RunStatus::kDone;
};

std::string add_old(Store& store, const OldRun& old) {
  RunSpec made = spec(old.algorithm);
  made.config = "[algorithm]\n" + old.keys + "record_every = 0\n";
  const std::string id = store.create_run(made).value();
  auto rows = rounds(0, 4);
  auto recorded = records(0, 4);
  std::vector<NodeRow> nodes;
  for (std::uint64_t r = 0; r <= 4; ++r) {
    rows[r].train_loss = recorded[r].train_loss = 10 + static_cast<double>(r);
    if (r > 0) nodes.push_back({r, "a", 1, 9 + static_cast<double>(r), {}});
  }
  EXPECT_TRUE(store.append(id, rows, recorded, std::nullopt, nodes));
  RunSummary ended = summary(14);
  ended.rounds = 4;
  ended.final.step = 16;
  ended.best = {8, 12};
  EXPECT_TRUE(store.finish(id, old.status, "", ended, 1));
  return id;
}

constexpr auto kNone = std::nullopt;
using Row = std::vector<std::optional<double>>;

// A loss of the rows of rounds, which the records must agree with.
Row column(const Store& store, const std::string& id, std::optional<double> RoundRow::*loss,
           std::optional<double> RecordRow::*of_record) {
  Row out;
  const auto rows = store.rounds(id).value();
  const auto recorded = store.records(id).value();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.push_back(rows[i].*loss);
    EXPECT_EQ(recorded[i].*of_record, rows[i].*loss) << i;
  }
  return out;
}

void expect_losses(const Store& store, const std::string& id, const Row& train, const Row& batch,
                   const Row& start) {
  SCOPED_TRACE(store.get(id)->config + store.get(id)->algorithm);
  EXPECT_EQ(column(store, id, &RoundRow::train_loss, &RecordRow::train_loss), train);
  EXPECT_EQ(column(store, id, &RoundRow::batch_loss, &RecordRow::batch_loss), batch);
  EXPECT_EQ(column(store, id, &RoundRow::start_loss, &RecordRow::start_loss), start);
}

struct OldRuns {
  std::string whole, batches, evaluated, stopped, elsewhere;
};

void expect_sorted(const Store& store, const OldRuns& runs) {
  const Row none(5, kNone), all = {10, 11, 12, 13, 14};
  expect_losses(store, runs.whole, all, none, none);
  expect_losses(store, runs.batches, {kNone, kNone, kNone, kNone, 14}, {kNone, 10, 11, 12, 13}, none);
  expect_losses(store, runs.evaluated, {10, kNone, kNone, 13, 14}, {kNone, kNone, 11, 12, kNone}, none);
  expect_losses(store, runs.stopped, none, {kNone, 10, 11, 12, 13}, none);
  expect_losses(store, runs.elsewhere, {kNone, kNone, kNone, kNone, 14}, none, {10, 11, 12, 13, kNone});
  const auto node = [&](const std::string& id) { return store.nodes(id, 1).value().at(0).losses(); };
  EXPECT_EQ(node(runs.whole), (Losses{.train_loss = 10}));
  EXPECT_EQ(node(runs.batches), (Losses{.batch_loss = 10}));
  EXPECT_EQ(node(runs.evaluated), (Losses{.train_loss = 10}));
  EXPECT_EQ(node(runs.elsewhere), (Losses{.start_loss = 10}));
  const auto ended = [&](const std::string& id) { return *store.get(id).value().summary; };
  EXPECT_EQ(ended(runs.whole).best.train_loss, 12);
  EXPECT_EQ(ended(runs.batches).final.train_loss, 14);
  EXPECT_EQ(ended(runs.batches).best.train_loss, kNone) << "it was chosen by another loss";
  EXPECT_EQ(ended(runs.batches).best.step, 16U);
  EXPECT_EQ(ended(runs.evaluated).best.train_loss, 12);
  EXPECT_EQ(ended(runs.stopped).final.train_loss, kNone);
  EXPECT_EQ(ended(runs.elsewhere).best.train_loss, kNone);
}

TEST(OlderLosses, TheOneLossOfAnOlderStoreIsSortedIntoThree) {
  const Home home, other;
  OldRuns runs;
  {
    Store store = Store::open(home.store).value();
    runs.whole = add_old(store, {.keys = "batch_size = \"all\"\nevaluate_every = 0\n"});
    runs.batches = add_old(store, {.keys = "batch_size = 16\nevaluate_every = 0\n"});
    runs.evaluated = add_old(store, {.keys = "batch_size = 16\nevaluate_every = 3\n"});
    runs.stopped =
        add_old(store, {.keys = "batch_size = 16\nevaluate_every = 0\n", .status = RunStatus::kInterrupted});
    runs.elsewhere = add_old(store, {.algorithm = "fedacg(lambda=0.85)", .keys = "batch_size = \"all\"\n"});
  }
  Connection old(home.store);
  make_version_9(old);
  expect_sorted(Store::open(home.store, {.read_only = true}).value(), runs);
  Store merged = Store::open(other.store).value();
  ASSERT_TRUE(merged.merge(home.store));
  expect_sorted(merged, runs);
  expect_sorted(Store::open(home.store).value(), runs);
}

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
    make_version_9(old);
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
