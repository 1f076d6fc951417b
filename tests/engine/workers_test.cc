#include "mfl/engine/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace mfl {
namespace {

TEST(Workers, EveryIndexOnceAndNoWorkerTwiceAtATime) {
  for (const unsigned threads : {0U, 1U, 2U, 3U, 8U}) {
    const auto workers = thread_workers(threads);
    EXPECT_EQ(workers->count(), threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency()));
    for (const std::size_t n : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(n);
      std::vector<std::atomic<int>> busy(workers->count());
      std::atomic<bool> overlapped = false;
      workers->for_each(n, [&](unsigned worker, std::size_t i) {
        if (busy.at(worker).fetch_add(1) != 0) overlapped = true;
        calls.at(i).fetch_add(1);
        busy.at(worker).fetch_sub(1);
      });
      EXPECT_FALSE(overlapped);
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(Workers, SerialKeepsTheOrder) {
  std::vector<std::size_t> seen;
  serial_workers()->for_each(5, [&](unsigned worker, std::size_t i) {
    EXPECT_EQ(worker, 0U);
    seen.push_back(i);
  });
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

// Throws at one index on the given worker only, so the test knows which thread it came from.
void throw_on(Workers& workers, bool on_caller) {
  std::atomic<int> inside = 0;
  std::atomic<bool> thrown = false;
  const auto work = [&](unsigned worker, std::size_t) {
    ++inside;
    const bool mine = (worker == 0) == on_caller;
    if (mine && !thrown.exchange(true)) {
      --inside;
      throw std::bad_alloc();
    }
    while (!thrown) std::this_thread::yield();
    --inside;
  };
  EXPECT_THROW(workers.for_each(1'000'000, work), std::bad_alloc) << "on the caller: " << on_caller;
  EXPECT_EQ(inside, 0) << "work still ran when for_each returned";
}

TEST(Workers, AnExceptionOfAnyThreadReachesTheCaller) {
  const auto workers = thread_workers(4);
  ASSERT_GT(workers->count(), 1U);
  for (int repeat = 0; repeat < 50; ++repeat) {
    throw_on(*workers, true);
    throw_on(*workers, false);
  }
  std::atomic<int> calls = 0;
  workers->for_each(100, [&](unsigned, std::size_t) { ++calls; });
  EXPECT_EQ(calls, 100) << "the workers can be used again";
  EXPECT_THROW(workers->for_each(1, [](unsigned, std::size_t) { throw std::length_error("one"); }),
               std::length_error);
  EXPECT_THROW(serial_workers()->for_each(2, [](unsigned, std::size_t) { throw std::bad_alloc(); }),
               std::bad_alloc);
}

TEST(Workers, EveryThreadMayThrowAtOnce) {
  const auto workers = thread_workers(4);
  for (int repeat = 0; repeat < 200; ++repeat)
    EXPECT_THROW(workers->for_each(64, [](unsigned, std::size_t) { throw std::bad_alloc(); }),
                 std::bad_alloc);
}

// In a process that may have `limit` threads; the exit status is what `body` returns.
int with_thread_limit(rlim_t limit, int (*body)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Root has no limit. A user of its own has no other processes that count.
    if (::geteuid() == 0 && ::setuid(60'000 + static_cast<uid_t>(::getpid()) % 5'000) != 0) ::_exit(101);
    const rlimit most{limit, limit};
    if (::setrlimit(RLIMIT_NPROC, &most) != 0) ::_exit(102);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int work_on_what_there_is() {
  const auto workers = thread_workers(64);
  std::atomic<int> calls = 0;
  workers->for_each(1000, [&](unsigned worker, std::size_t) { calls += worker < workers->count() ? 1 : 0; });
  return calls == 1000 ? static_cast<int>(workers->count()) : 0;
}

TEST(Workers, FewerThreadsWhereTheSystemRefusesMore) {
  EXPECT_EQ(with_thread_limit(1, work_on_what_there_is), 1);
  const int some = with_thread_limit(4, work_on_what_there_is);
  EXPECT_GE(some, 1);
  EXPECT_LE(some, 4);
}

TEST(Workers, NeverMoreThreadsThanTheMost) {
  // As a process that may have 8: this tests the count that is asked for, not the machine.
  const auto ask = [] { return thread_workers(4'000'000'000U)->count() <= kMaxThreads ? 42 : 43; };
  EXPECT_EQ(with_thread_limit(8, ask), 42);
}

}  // namespace
}  // namespace mfl
