#include "mfl/engine/workers.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <thread>

namespace mfl {
namespace {

class SerialWorkers final : public Workers {
 public:
  unsigned count() const override { return 1; }
  void for_each(std::size_t n, const std::function<void(unsigned, std::size_t)>& work) override {
    for (std::size_t i = 0; i < n; ++i) work(0, i);
  }
};

class ThreadWorkers final : public Workers {
 public:
  explicit ThreadWorkers(unsigned threads)
      : threads_(threads),
        allowed_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)) {}

  unsigned count() const override { return threads_; }
  void for_each(std::size_t n, const std::function<void(unsigned, std::size_t)>& work) override {
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, n, 1),
          [&](const tbb::blocked_range<std::size_t>& range) {
            const auto worker = static_cast<unsigned>(tbb::this_task_arena::current_thread_index());
            for (std::size_t i = range.begin(); i != range.end(); ++i) work(worker, i);
          });
    });
  }

 private:
  unsigned threads_;
  tbb::global_control allowed_;  // more threads than cores is the user's choice
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<Workers> serial_workers() { return std::make_unique<SerialWorkers>(); }

std::unique_ptr<Workers> thread_workers(unsigned threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  return std::make_unique<ThreadWorkers>(threads);
}

}  // namespace mfl
