// The trained model of a run in the store: with the end of the run or not at all, and wherever the run goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/support.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

FinalModel model(std::size_t bytes, char fill = 'w') {
  return {.tensors = R"([{"name":"weights","shape":[3]}])",
          .scale = 1.0 / 255,
          .weights = std::string(bytes, fill)};
}

constexpr std::size_t kSmall = 12, kLarge = std::size_t{1} << 20U;

std::filesystem::path model_file(const Home& home, const std::string& id) {
  return home.store.string() + ".states/" + id + "-model";
}

std::string done_run(Store& store, const FinalModel& kept) {
  std::string id = store.create_run(spec()).value();
  EXPECT_TRUE(store.append(id, rounds(0, 2), records(0, 2), Checkpoint{2, std::string(kLarge, 'c')}));
  EXPECT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 1, {}, kept));
  return id;
}

TEST(StoreModel, SmallOnesAreInTheStoreAndLargeOnesBesideIt) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string small = done_run(store, model(kSmall)), large = done_run(store, model(kLarge));
  EXPECT_EQ(store.model(small).value(), model(kSmall));
  EXPECT_EQ(store.model(large).value(), model(kLarge));
  EXPECT_FALSE(std::filesystem::exists(model_file(home, small)));
  EXPECT_EQ(std::filesystem::file_size(model_file(home, large)), kLarge);
  const std::string none = store.create_run(spec()).value();
  EXPECT_EQ(store.model(none).value(), std::nullopt);
  EXPECT_FALSE(store.model("nosuch"));
}

TEST(StoreModel, ADamagedOneIsRefused) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string small = done_run(store, model(kSmall)), large = done_run(store, model(kLarge));
  Connection(home.store).run("UPDATE models SET weights = x'00' WHERE length(weights) = 12");
  std::filesystem::resize_file(model_file(home, large), kLarge - 1);
  EXPECT_THAT(store.model(small).error().message, HasSubstr("does not match its checksum"));
  EXPECT_THAT(store.model(large).error().message, HasSubstr("does not match its checksum"));
}

TEST(StoreModel, GoesWithItsRun) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string gone = done_run(store, model(kLarge)), stays = done_run(store, model(kLarge));
  ASSERT_TRUE(store.remove(std::vector{gone}));
  EXPECT_FALSE(std::filesystem::exists(model_file(home, gone)));
  EXPECT_EQ(Connection(home.store).integer("SELECT count(*) FROM models"), 1);
  EXPECT_EQ(store.model(stays).value(), model(kLarge));
  ASSERT_TRUE(store.rewind(stays, 1));
  EXPECT_EQ(store.model(stays).value(), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(model_file(home, stays)));
}

TEST(StoreModel, OldStatesGoAndTheModelStays) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = done_run(store, model(kLarge));
  for (std::uint64_t r = 3; r < 6; ++r)
    ASSERT_TRUE(store.append(id, rounds(r, r), {}, Checkpoint{r, std::string(kLarge, 'd')}));
  EXPECT_EQ(store.model(id).value(), model(kLarge));
}

TEST(StoreModel, IsMergedWithItsRun) {
  const Home here, there;
  Store source = Store::open(there.store).value();
  const std::string small = done_run(source, model(kSmall)), large = done_run(source, model(kLarge));
  Store store = Store::open(here.store).value();
  ASSERT_EQ(store.merge(there.store)->merged.size(), 2U);
  EXPECT_EQ(store.model(small).value(), model(kSmall));
  EXPECT_EQ(store.model(large).value(), model(kLarge));
  const Home copy;
  Store taken = Store::open(copy.store).value();
  ASSERT_TRUE(taken.take_over(here.store, std::vector{large}));
  EXPECT_EQ(taken.model(large).value(), model(kLarge));
}

TEST(StoreModel, AStoreWithoutModelsIsMerged) {
  const Home here, there;
  std::string id;
  {
    Store source = Store::open(there.store).value();
    id = done_run(source, model(kSmall));
  }
  Connection(there.store).run("DROP TABLE choices; DROP TABLE models; PRAGMA user_version = 5");
  EXPECT_EQ(Store::open(there.store, {.read_only = true})->model(id).value(), std::nullopt);
  Store store = Store::open(here.store).value();
  ASSERT_EQ(store.merge(there.store)->merged.size(), 1U);
  EXPECT_EQ(store.model(id).value(), std::nullopt);
}

// Ends a run and starts it again, with another model each time, until it is killed.
[[noreturn]] void end_until_killed(const std::filesystem::path& path, int pipe) {
  auto store = Store::open(path);
  if (!store) ::_exit(1);
  const auto id = store->create_run(spec());
  if (!id || !store->append(*id, rounds(0, 1), {}, Checkpoint{1, "state"})) ::_exit(1);
  for (char fill = 'a';; fill = fill == 'z' ? 'a' : static_cast<char>(fill + 1)) {
    if (!store->finish(*id, RunStatus::kDone, std::string(1, fill), summary(), 1, {},
                       model(fill % 2 == 0 ? kLarge : kSmall, fill)) ||
        ::write(pipe, &fill, 1) != 1 || !store->rewind(*id, 1, {.owned = true}))
      ::_exit(1);
  }
}

TEST(StoreModel, AKilledWriterLeavesADoneRunWithItsModelOrNeither) {
  for (int ends = 1; ends <= 12; ++ends) {
    const Home home;
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) end_until_killed(home.store, pipe[1]);
    ::close(pipe[1]);
    char fill = 0;
    for (int said = 0; ::read(pipe[0], &fill, 1) == 1;)
      if (++said == ends) ::kill(child, SIGKILL);
    ::close(pipe[0]);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    Store store = Store::open(home.store).value();
    const RunRow run = store.get("latest").value();
    const auto kept = store.model(run.id);
    ASSERT_TRUE(kept) << kept.error().text();
    ASSERT_EQ(kept->has_value(), run.status == RunStatus::kDone);
    if (*kept) {
      EXPECT_EQ((*kept)->weights.front(), run.message.front());
    }
    ASSERT_TRUE(store.rewind(run.id, 1));
    ASSERT_TRUE(store.finish(run.id, RunStatus::kDone, "", summary(), 1, {}, model(kLarge, '!')));
    EXPECT_EQ(store.model(run.id).value(), model(kLarge, '!'));
  }
}

}  // namespace
}  // namespace mfl::test
