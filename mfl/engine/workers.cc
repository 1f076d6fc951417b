#include "mfl/engine/workers.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mfl {
namespace {

class SerialWorkers final : public Workers {
 public:
  unsigned count() const override { return 1; }
  void for_each(std::size_t n, const std::function<void(unsigned, std::size_t)>& work) override {
    for (std::size_t i = 0; i < n; ++i) work(0, i);
  }
};

// A round of a small model takes tens of microseconds, as does waking a thread that sleeps. So a thread looks out for the
// next call for a while before it sleeps, and a call waits only for the threads that have joined it.
class ThreadWorkers final : public Workers {
 public:
  explicit ThreadWorkers(unsigned threads)
      : patience_(threads <= std::thread::hardware_concurrency() ? std::chrono::microseconds(200)
                                                                 : std::chrono::microseconds(0)) {
    threads_.reserve(threads - 1);
    for (unsigned worker = 1; worker < threads && start(worker); ++worker) {
    }
  }
  ~ThreadWorkers() override {
    state_.fetch_or(kStop);
    state_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadWorkers(const ThreadWorkers&) = delete;
  ThreadWorkers& operator=(const ThreadWorkers&) = delete;

  unsigned count() const override { return static_cast<unsigned>(threads_.size()) + 1; }

  void for_each(std::size_t n, const std::function<void(unsigned, std::size_t)>& work) override {
    work_ = &work;
    size_ = n;
    next_ = 0;
    failed_ = false;
    const bool alone = n <= 1 || threads_.empty();
    if (!alone) {
      state_.fetch_add(kCall | kOpen);
      state_.notify_all();
    }
    take_all(0);
    if (!alone) {
      std::uint64_t state = state_.fetch_and(~kOpen) & ~kOpen;
      while ((state & kInside) != 0) state = wait_for_change(state);
    }
    if (failed_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  // state_: how many threads are inside the call, whether it takes more of them, whether all is over, and a number that
  // tells calls apart.
  static constexpr std::uint64_t kInside = 0xffff, kOpen = 1U << 16, kStop = 1U << 17, kCall = 1U << 18;
  static_assert(kMaxThreads <= kInside);

  // False: the system has no more threads to give.
  bool start(unsigned worker) {
    try {
      threads_.emplace_back([this, worker] { serve(worker); });
      return true;
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  void serve(unsigned worker) {
    std::uint64_t state = state_;
    std::uint64_t served = 0;
    for (;;) {
      if ((state & kStop) != 0) return;
      if ((state & kOpen) == 0 || state / kCall == served) {
        state = wait_for_change(state);
      } else if (state_.compare_exchange_weak(state, state + 1)) {
        served = state / kCall;
        take_all(worker);
        state = state_.fetch_sub(1) - 1;
        if ((state & kInside) == 0) state_.notify_all();
      }
    }
  }

  void take_all(unsigned worker) noexcept {
    try {
      for (std::size_t i = next_++; i < size_; i = next_++) (*work_)(worker, i);
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
      next_ = size_;
    }
  }

  // The state once it is not `seen` any more.
  std::uint64_t wait_for_change(std::uint64_t seen) const {
    const auto until = std::chrono::steady_clock::now() + patience_;
    do {
      for (int i = 0; i < 64; ++i) {
        if (const std::uint64_t state = state_; state != seen) return state;
        pause();
      }
    } while (std::chrono::steady_clock::now() < until);
    state_.wait(seen);
    return state_;
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::chrono::microseconds patience_;
  std::atomic<std::uint64_t> state_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::size_t size_ = 0;
  const std::function<void(unsigned, std::size_t)>* work_ = nullptr;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;  // written by whoever sets failed_, read once all threads are out of the call
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace

ForEach for_each_of(Workers& workers) {
  return [&workers](std::size_t n, const std::function<void(std::size_t)>& work) {
    workers.for_each(n, [&](unsigned, std::size_t i) { work(i); });
  };
}

std::unique_ptr<Workers> serial_workers() { return std::make_unique<SerialWorkers>(); }

unsigned cores_each(unsigned processes) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t bound;
  CPU_ZERO(&bound);
  const bool known = sched_getaffinity(0, sizeof bound, &bound) == 0;
  const unsigned usable = known ? static_cast<unsigned>(CPU_COUNT(&bound)) : cores;
  return std::max(1U, std::min(usable, cores / std::max(1U, processes)));
}

std::unique_ptr<Workers> thread_workers(unsigned threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  return std::make_unique<ThreadWorkers>(std::min(threads, kMaxThreads));
}

}  // namespace mfl
