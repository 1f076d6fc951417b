#include "mfl/cli/interrupt.h"

#include <csignal>
#include <cstdint>
#include <ctime>

#include "mfl/engine/mpi/mpi.h"

namespace mfl::cli {
namespace {

std::atomic<bool> stop_asked{false};
std::atomic<std::int64_t> asked_at{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t milliseconds_now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void ask_to_stop(int signal) {
  constexpr std::int64_t kSameRequest = 200;
  const std::int64_t now = milliseconds_now();
  if (!stop_asked.exchange(true)) {
    asked_at = now;
  } else if (now - asked_at > kSameRequest) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (launched_rank()) sigaction(SIGUSR1, &action, nullptr);
  return stop_asked;
}

}  // namespace mfl::cli
