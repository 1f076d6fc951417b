#include "mfl/engine/workers.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <thread>
#include <vector>

#ifdef MFL_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace mfl {
namespace {

// A point that work passes in an order that oneTBB keeps but ThreadSanitizer cannot see (mfl_calls_tbb in
// cmake/mfl_library.cmake): what stands before leave() happens before what stands after enter().
class alignas(64) Gate {
 public:
#ifdef MFL_TSAN
  void enter() { __tsan_acquire(this); }
  void leave() { __tsan_release(this); }
#else
  void enter() {}
  void leave() {}
#endif
};

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
        arena_(static_cast<int>(threads)),
        slots_(threads) {}

  unsigned count() const override { return threads_; }
  void for_each(std::size_t n, const std::function<void(unsigned, std::size_t)>& work) override {
    begun_.leave();
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, n, 1), [&](const tbb::blocked_range<std::size_t>& range) {
            const auto worker = static_cast<unsigned>(tbb::this_task_arena::current_thread_index());
            begun_.enter();
            slots_[worker].enter();
            for (std::size_t i = range.begin(); i != range.end(); ++i) work(worker, i);
            slots_[worker].leave();
            ended_.leave();
          });
    });
    ended_.enter();
  }

 private:
  unsigned threads_;
  tbb::global_control allowed_;  // more threads than cores is the user's choice
  tbb::task_arena arena_;
  Gate begun_, ended_;
  std::vector<Gate> slots_;  // one a worker: its calls follow each other, on whatever thread
};

}  // namespace

std::unique_ptr<Workers> serial_workers() { return std::make_unique<SerialWorkers>(); }

std::unique_ptr<Workers> thread_workers(unsigned threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  return std::make_unique<ThreadWorkers>(threads);
}

}  // namespace mfl
