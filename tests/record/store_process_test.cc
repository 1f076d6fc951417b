// Several connections, threads and processes on one store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "mfl/record/store.h"
#include "tests/record/support.h"

namespace mfl::test {
namespace {

TEST(StoreProcess, AReaderSeesWholeTransactionsWhileAnotherWrites) {
  const Home home;
  Store writer = Store::open(home.store).value();
  const std::string id = writer.create_run(spec()).value();
  constexpr std::uint64_t kBatches = 60, kBatch = 5;
  std::atomic<bool> done = false;
  std::atomic<int> torn = 0, failures = 0, reads = 0;
  std::thread reader([&] {
    const Store store = Store::open(home.store, {.read_only = true}).value();
    std::size_t seen = 0;
    while (!done || reads == 0) {
      const auto rows = store.rounds(id);
      ++reads;
      if (!rows) {
        ++failures;
        continue;
      }
      if (rows->size() % kBatch != 0 || rows->size() < seen) ++torn;
      seen = rows->size();
    }
  });
  for (std::uint64_t b = 0; b < kBatches; ++b)
    EXPECT_TRUE(writer.append(id, rounds(b * kBatch, (b + 1) * kBatch - 1), {},
                              Checkpoint{b, std::string(9000, 'c')}));
  done = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(writer.rounds(id).value().size(), kBatches * kBatch);
}

TEST(StoreProcess, ManyProcessesMakeAndFillOneStore) {
  const Home home;
  constexpr int kProcesses = 6;
  std::array<pid_t, kProcesses> children{};
  for (pid_t& child : children) {
    child = ::fork();
    ASSERT_GE(child, 0);
    if (child != 0) continue;
    auto store = Store::open(home.store, {.busy_timeout = std::chrono::minutes(1)});
    if (!store) ::_exit(1);
    for (int i = 0; i < 3; ++i) {
      const auto id = store->create_run(spec());
      if (!id) ::_exit(2);
      if (!store->append(*id, rounds(0, 9), records(0, 9), Checkpoint{9, "nine"})) ::_exit(3);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  const Store store = Store::open(home.store, {.read_only = true}).value();
  const auto runs = store.list().value();
  EXPECT_EQ(runs.size(), 3U * kProcesses);
  for (const RunRow& run : runs) EXPECT_EQ(store.rounds(run.id).value().size(), 10U);
}

// Writes until killed; reports each round through the pipe once it is committed.
[[noreturn]] void write_until_killed(const std::filesystem::path& path, int pipe) {
  auto store = Store::open(path);
  if (!store) ::_exit(1);
  const auto id = store->create_run(spec());
  if (!id) ::_exit(1);
  for (std::uint64_t r = 0;; ++r) {
    if (!store->append(*id, rounds(r, r), records(r, r), Checkpoint{r, std::string(5000, 'k') + digest(r)}))
      ::_exit(1);
    if (::write(pipe, &r, sizeof r) != static_cast<ssize_t>(sizeof r)) ::_exit(1);
  }
}

TEST(StoreProcess, AKilledWriterLeavesAllItCommitted) {
  const Home home;
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) write_until_killed(home.store, pipe[1]);
  ::close(pipe[1]);
  std::uint64_t committed = 0, said = 0;
  for (std::uint64_t value = 0; ::read(pipe[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value);
       ++said) {
    committed = value;
    if (said == 25) ::kill(child, SIGKILL);
  }
  ::close(pipe[0]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_GE(committed, 25U);

  // A reader first: it must recover the log without having written.
  {
    const Store reader = Store::open(home.store, {.read_only = true}).value();
    const RunRow run = reader.get("latest").value();
    EXPECT_TRUE(owner_lost(run));
    const auto kept = reader.rounds(run.id).value();
    ASSERT_GE(kept.size(), committed + 1);
    ASSERT_LE(kept.size(), committed + 2);
    const auto wanted = rounds(0, kept.size() - 1);
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(same(kept[i], wanted[i]));
    EXPECT_EQ(reader.records(run.id).value().size(), kept.size());
    EXPECT_EQ(reader.latest_checkpoint(run.id).value()->round, kept.back().round);
  }
  Store store = Store::open(home.store).value();
  const std::string id = store.get("latest").value().id;
  const std::uint64_t last = store.latest_checkpoint(id).value()->round;
  ASSERT_TRUE(store.rewind(id, last));
  EXPECT_TRUE(owner_alive(store.get(id).value()));
  EXPECT_TRUE(store.append(id, rounds(last + 1, last + 3), records(last + 1, last + 3)));
  EXPECT_EQ(store.rounds(id).value().size(), last + 4);
}

}  // namespace
}  // namespace mfl::test
