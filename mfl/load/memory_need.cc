#include "mfl/load/memory_need.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "mfl/engine/workers.h"

namespace mfl {
namespace {

constexpr std::uint64_t kNoBound = std::numeric_limits<std::uint64_t>::max();

// The number in a file that has nothing else; "max" is none.
std::uint64_t number_in(const std::filesystem::path& path) {
  std::uint64_t number = kNoBound;
  return std::ifstream(path) >> number ? number : kNoBound;
}

std::uint64_t left_on_machine() {
  constexpr std::uint64_t kKilobyte = 1024;
  std::ifstream in("/proc/meminfo");
  std::uint64_t free = 0;
  bool found = false;
  std::string name, unit;
  for (std::uint64_t number = 0; in >> name >> number && std::getline(in, unit);)
    if (name == "MemAvailable:" || name == "SwapFree:") {
      free += number * kKilobyte;
      found = found || name == "MemAvailable:";
    }
  return found ? free : kNoBound;
}

// Of the groups of version 2, from that of this process up to the first one.
std::uint64_t left_in_group() {
  std::ifstream in("/proc/self/cgroup");
  std::uint64_t left = kNoBound;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::/")) continue;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (std::filesystem::path group = line.substr(4);; group = group.parent_path()) {
      const std::uint64_t most = number_in(root / group / "memory.max");
      const std::uint64_t used = number_in(root / group / "memory.current");
      if (most != kNoBound && used != kNoBound) left = std::min(left, most - std::min(most, used));
      if (group.empty()) break;
    }
  }
  return left;
}

std::string gigabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

template <class T>
std::uint64_t memory_needed(const Experiment& experiment, std::size_t parameters) {
  const VectorLayout& layout = experiment.algorithm.vectors();
  const Config& config = experiment.config;
  const std::uint64_t threads = config.run.engine == "serial" ? 1
                                : config.run.threads != 0     ? config.run.threads
                                                              : cores_each(1);
  const std::uint64_t workers = std::min<std::uint64_t>({threads, config.federation.nodes, kMaxThreads});
  const std::uint64_t vectors =
      layout.state().size() + layout.up().size() + workers * (layout.at_node().size() + 1);
  return vectors * parameters * sizeof(T);
}

std::uint64_t memory_left() {
  rlimit limit = {};
  const bool limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return std::min({left_on_machine(), left_in_group(), limited ? std::uint64_t{limit.rlim_cur} : kNoBound});
}

template <class T>
Result<void> require_memory(const Experiment& experiment, std::size_t parameters) {
  constexpr std::uint64_t kLittle = std::uint64_t{64} << 20U;  // not worth a look
  const std::uint64_t needed = memory_needed<T>(experiment, parameters);
  if (needed <= kLittle) return {};
  const std::uint64_t left = memory_left();
  if (needed <= left) return {};
  return fail(ErrorCode::kRunFailed,
              fmt::format("a model of {} numbers needs {} of memory to train, and {} are left", parameters,
                          gigabytes(needed), gigabytes(left)),
              "use fewer features, fewer threads (--threads), or a larger machine");
}

template std::uint64_t memory_needed<float>(const Experiment&, std::size_t);
template std::uint64_t memory_needed<double>(const Experiment&, std::size_t);
template Result<void> require_memory<float>(const Experiment&, std::size_t);
template Result<void> require_memory<double>(const Experiment&, std::size_t);

}  // namespace mfl
