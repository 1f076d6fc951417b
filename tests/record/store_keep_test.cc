// What a server needs of its store: one run for two that start at once, kept States, dropped rounds, and noticing that the
// file is no longer its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "mfl/record/export.h"
#include "tests/record/support.h"

namespace mfl::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(StoreKeep, ProcessesThatStartAtOnceFindOneRun) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const Home home;
    int go[2] = {-1, -1};
    ASSERT_EQ(::pipe(go), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(go[1]);
        char nothing = 0;
        (void)!::read(go[0], &nothing, 1);  // until all may start
        auto store = Store::open(home.store, {.busy_timeout = std::chrono::minutes(1)});
        if (!store) ::_exit(1);
        ::_exit(store->find_or_create(spec()) ? 0 : 2);
      }
      children.push_back(child);
    }
    ::close(go[0]);
    ::close(go[1]);
    for (const pid_t child : children) {
      int status = -1;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(Store::open(home.store, {.read_only = true})->list()->size(), 1U);
  }
}

TEST(StoreKeep, FindsTheNewestRunOfTheConfiguration) {
  const Home home;
  Store store = Store::open(home.store).value();
  const auto first = store.find_or_create(spec()).value();
  EXPECT_TRUE(first.created);
  const auto again = store.find_or_create(spec()).value();
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.run.id, first.run.id);
  RunSpec other = spec();
  other.config_digest = "another";
  const auto refused = store.find_or_create(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(refused.error().message, HasSubstr("another configuration and has not ended"));
  ASSERT_TRUE(store.finish(first.run.id, RunStatus::kDone, "", summary(), 1));
  EXPECT_TRUE(store.find_or_create(other).value().created);
  EXPECT_EQ(store.list()->size(), 2U);
}

TEST(StoreKeep, KeepsAsManyCheckpointsAsAsked) {
  const Home home;
  Store store = Store::open(home.store, {.keep_checkpoints = 5}).value();
  const std::string id = store.create_run(spec()).value();
  for (std::uint64_t r = 1; r <= 9; ++r)
    ASSERT_TRUE(store.append(id, rounds(r, r), {}, Checkpoint{r, "state " + std::to_string(r)}));
  EXPECT_EQ(store.kept_rounds(id).value(), (std::vector<std::uint64_t>{9, 8, 7, 6, 5}));
  EXPECT_EQ(store.checkpoint(id, 6).value()->blob, "state 6");
  EXPECT_FALSE(store.checkpoint(id, 4).value());
  Connection(home.store).run("UPDATE checkpoints SET blob = x'00' WHERE round = 6");
  EXPECT_FALSE(store.checkpoint(id, 6).value());
}

TEST(StoreKeep, DroppedRoundsStayMarked) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  ASSERT_TRUE(store.append(id, rounds(0, 8), records(0, 8), Checkpoint{4, "four"}));
  ASSERT_TRUE(store.rewind(id, 4, {.owned = true, .reason = "--from-round 4", .last_round = 9}));
  EXPECT_EQ(store.rounds(id)->size(), 5U);
  ASSERT_TRUE(store.append(id, rounds(5, 6), {}));
  ASSERT_TRUE(store.rewind(id, 4, {.owned = true, .reason = "damaged", .last_round = 5}));
  const auto run = store.get(id).value();
  ASSERT_EQ(run.drops.size(), 2U);
  EXPECT_EQ(run.drops[0].first, 5U);
  EXPECT_EQ(run.drops[0].last, 9U);
  EXPECT_EQ(drop_text(run.drops[0]), "rounds 5 to 9 dropped on " + run.drops[0].created + ": --from-round 4");
  EXPECT_EQ(drop_text(run.drops[1]), "round 5 dropped on " + run.drops[1].created + ": damaged");
  EXPECT_THAT(run_json(run).dump(), HasSubstr(R"("first_round":5,"last_round":9,"reason":"--from-round 4")"));
  Connection plain(home.store);
  EXPECT_EQ(plain.integer("SELECT count(*) FROM dropped_rounds WHERE number = 1"), 4);
  EXPECT_EQ(plain.integer("SELECT count(*) FROM dropped_rounds WHERE number = 2"), 2);

  ASSERT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 1));
  const Home elsewhere;
  Store merged = Store::open(elsewhere.store).value();
  ASSERT_TRUE(merged.merge(home.store));
  EXPECT_EQ(merged.get(id)->drops, run.drops);
  ASSERT_TRUE(store.remove(std::vector{id}));
  EXPECT_EQ(plain.integer("SELECT (SELECT count(*) FROM drops) + (SELECT count(*) FROM dropped_rounds)"), 0);
}

TEST(StoreKeep, NoticesThatItsFilesAreNoLongerItsOwn) {
  for (const std::string suffix : {"", "-wal"}) {
    for (const bool replaced : {false, true}) {
      const Home home;
      Store store = Store::open(home.store).value();
      const std::string id = store.create_run(spec()).value();
      EXPECT_TRUE(store.check_in_place());
      ASSERT_TRUE(store.append(id, rounds(0, 3), {}));
      EXPECT_TRUE(store.check_in_place());
      const std::filesystem::path path = home.store.string() + suffix;
      const std::string bytes = read_file(path).value();
      std::filesystem::rename(path, path.string() + ".old");
      if (replaced) {
        ASSERT_TRUE(write_file(path, bytes));
      }
      const auto gone = store.check_in_place();
      ASSERT_FALSE(gone);
      EXPECT_THAT(gone.error().message, HasSubstr(path.string() + " was deleted or replaced"));
    }
  }
}

TEST(StoreKeep, AForeignLockIsWaitedForAndReported) {
  const Home home;
  std::atomic<int> calls = 0;
  std::vector<milliseconds> waits;
  StoreOptions options;
  options.busy_timeout = std::chrono::minutes(1);
  options.waiting = [&](milliseconds waited) {
    waits.push_back(waited);
    ++calls;
    return true;
  };
  Store store = Store::open(home.store, options).value();
  const std::string id = store.create_run(spec()).value();
  {
    Connection other(home.store);
    other.run("BEGIN IMMEDIATE");
    std::thread release([&] {
      while (calls < 3) std::this_thread::sleep_for(milliseconds(1));
      other.run("ROLLBACK");
    });
    EXPECT_TRUE(store.append(id, rounds(0, 1), {}));
    release.join();
    ASSERT_GE(waits.size(), 3U) << "it was not held up";
    EXPECT_TRUE(std::ranges::is_sorted(waits));
    EXPECT_GT(waits.back(), waits.front());
    other.run("BEGIN IMMEDIATE");
    EXPECT_TRUE(store.fold_log()) << "never waits";
    options.waiting = [](milliseconds) { return false; };
    Store hurried = Store::open(home.store, options).value();
    EXPECT_THAT(hurried.append(id, rounds(2, 2), {}).error().message, HasSubstr("locked"));
  }
}

TEST(StoreKeep, TheLogIsFoldedOnRequestAndLeftAloneOtherwise) {
  const Home home;
  const std::filesystem::path log = home.store.string() + "-wal";
  std::string id;
  {
    Store store = Store::open(home.store, {.keep_log = true}).value();
    id = store.create_run(spec()).value();
    ASSERT_TRUE(store.append(id, rounds(0, 5), records(0, 5), Checkpoint{5, "five"}));
  }
  EXPECT_GT(std::filesystem::file_size(log), 0U) << "closing changed nothing";
  Store store = Store::open(home.store).value();
  EXPECT_TRUE(store.check_structure());
  ASSERT_TRUE(store.fold_log());
  EXPECT_EQ(std::filesystem::file_size(log), 0U);
  EXPECT_TRUE(store.check_in_place());
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, "five");
}

}  // namespace
}  // namespace mfl::test
