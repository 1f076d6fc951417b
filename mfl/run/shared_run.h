// One run over several processes, of which the first records: what they compare before they start, and what the others are told of
// the store. All functions that return a Result are collective. A process alone is a group of one, for which they do nothing but open the store.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/engine/ranks.h"
#include "mfl/run/recorder.h"
#include "mfl/run/runner.h"

namespace mfl {

// Compares program (version and build), command ("run" or "sweep"), options and configurations, except engine and threads, so that nobody
// trains on a mixture. The first thing that a command does with others. kBadConfig, the same on every rank, names a rank and what differs.
Result<void> require_same_command(std::string_view command, std::span<const Config> configs,
                                  const RunOptions& options, Ranks& ranks);

// Those that a process may call: the first all of them, the others only `stop`.
RunHooks own_hooks(const RunHooks& hooks, const Ranks& ranks);

struct StoppedRun {
  std::string id;
  Config config;
};

// The run of the store that --resume names. Errors are those of find_stopped.
Result<StoppedRun> read_stopped(const std::filesystem::path& store, std::string_view run, Ranks& ranks);

// Keeps runs in the store of the first process, and nothing on the others, which find() the same run as the first.
Result<std::unique_ptr<Recorder>> open_recorder(const std::filesystem::path& store, Ranks& ranks);

}  // namespace mfl
