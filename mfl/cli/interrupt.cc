#include "mfl/cli/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "mfl/engine/mpi/mpi.h"

namespace mfl::cli {

std::atomic<bool> progress_bar_shown{false};

namespace {

std::atomic<bool> stop_asked{false};
std::atomic<std::int64_t> asked_at{0};
std::atomic<const char*> first_notice{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

std::int64_t milliseconds_now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void write_text(const char* text) {
  const std::size_t size = std::strlen(text);
  if (::write(STDERR_FILENO, text, size) != static_cast<ssize_t>(size)) return;  // there is nobody to tell
}

void write_notice() {
  const char* notice = first_notice;
  if (notice == nullptr) return;
  const int saved = errno;
  if (progress_bar_shown) write_text("\r\x1b[K");
  write_text("mfl: ");
  write_text(notice);
  write_text("\n");
  errno = saved;
}

extern "C" void ask_to_stop(int signal) {
  constexpr std::int64_t kSameRequest = 200;
  const std::int64_t now = milliseconds_now();
  if (!stop_asked.exchange(true)) {
    asked_at = now;
    if (signal == SIGINT) write_notice();
  } else if (now - asked_at > kSameRequest) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

bool is_ignored(int signal) {
  struct sigaction current = {};
  return sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

const std::atomic<bool>& watch_interrupts(const char* notice) {
  if (launched_rank().value_or(0) == 0) first_notice = notice;
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (!is_ignored(SIGHUP)) sigaction(SIGHUP, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return stop_asked;
}

}  // namespace mfl::cli
