// Log lines of server and node on stderr, for people or for programs.
#pragma once

#include <string>

#include "mfl/base/result.h"
#include "mfl/cli/command.h"
#include "mfl/network/server.h"

namespace mfl::cli {

// Flags of a command that logs.
struct LogFlags {
  std::string style = "text", level = "info";
  void add(Command& command);  // --log, --log-level
};

// "text": time, level, event and key=value; "json": one object per line; "none". Lines below the level ("error", "warning", "info" or
// "debug") are dropped, the others are written as bounded() leaves them. Any other style or level is kBadConfig.
Result<Log> make_log(const LogFlags& flags);

}  // namespace mfl::cli
