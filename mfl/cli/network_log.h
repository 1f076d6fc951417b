// Log lines of server and node on stderr, for people or for programs.
#pragma once

#include <string>

#include "mfl/base/result.h"
#include "mfl/network/server.h"

namespace mfl::cli {

// "text": time, level, event and key=value; "json": one object a line; "none". Anything else is kBadConfig.
Result<Log> make_log(const std::string& style);

}  // namespace mfl::cli
