#include "mfl/engine/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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

}  // namespace
}  // namespace mfl
