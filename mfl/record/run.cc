#include "mfl/record/run.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

namespace mfl {
namespace {

constexpr std::array<std::string_view, 5> kStatusNames = {"running", "done", "diverged", "interrupted",
                                                          "failed"};

struct ProcessStat {
  char state = '?';
  std::uint64_t start = 0;
};

// Field 2, the program's name, is in parentheses and may hold anything; what follows the last one is plain.
std::optional<ProcessStat> process_stat(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const auto close = line.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(close + 1));
  ProcessStat stat;
  std::string skipped;
  rest >> stat.state;
  for (int field = 4; field < 22; ++field) rest >> skipped;
  if (!(rest >> stat.start)) return std::nullopt;
  return stat;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

bool process_alive(const Owner& owner) {
  if (owner.pid <= 0 || (::kill(static_cast<pid_t>(owner.pid), 0) != 0 && errno != EPERM)) return false;
  const auto stat = process_stat(owner.pid);
  if (!stat) return owner.start == 0;
  const bool ended = stat->state == 'Z' || stat->state == 'X';
  return !ended && (owner.start == 0 || stat->start == owner.start);
}

}  // namespace

std::string utc_text(std::int64_t unix_seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
}

std::string_view run_status_name(RunStatus status) {
  return kStatusNames.at(static_cast<std::size_t>(status));
}

std::optional<RunStatus> parse_run_status(std::string_view name) {
  for (std::size_t i = 0; i < kStatusNames.size(); ++i)
    if (kStatusNames.at(i) == name) return static_cast<RunStatus>(i);
  return std::nullopt;
}

std::string drop_text(const RoundDrop& drop) {
  return fmt::format("{} dropped on {}: {}",
                     drop.first == drop.last ? fmt::format("round {}", drop.first)
                                             : fmt::format("rounds {} to {}", drop.first, drop.last),
                     drop.created, drop.reason);
}

Owner this_process() {
  const auto stat = process_stat(::getpid());
  return {host_name(), ::getpid(), stat ? stat->start : 0};
}

bool owner_alive(const RunRow& run) { return run.owner.host == host_name() && process_alive(run.owner); }

bool owner_lost(const RunRow& run) {
  return run.status == RunStatus::kRunning && run.owner.host == host_name() && !process_alive(run.owner);
}

bool is_unfinished(const RunRow& run) {
  return run.status == RunStatus::kInterrupted || run.status == RunStatus::kFailed || owner_lost(run);
}

}  // namespace mfl
