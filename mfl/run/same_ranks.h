// That all processes of a group are about to compute the same thing: checked before the first step, so that nobody trains on a mixture.
#pragma once

#include <span>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/engine/ranks.h"
#include "mfl/run/runner.h"

namespace mfl {

// Program (version and build), command ("run" or "sweep"), options and configurations, except engine and threads. Collective, and the
// first thing that a command does with others. kBadConfig, the same on every rank, names a rank and what differs.
Result<void> require_same_command(std::string_view command, std::span<const Config> configs,
                                  const RunOptions& options, Ranks& ranks);

// The digests of the data of a sweep, whose ranks load different settings: once per distinct [data], as its first setting takes it.
// Every rank reads that data once more. Collective. kBadData names a rank and the data.
Result<void> require_same_sources(std::span<const Config> configs, Ranks& ranks);

}  // namespace mfl
