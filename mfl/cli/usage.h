// What is wrong with a command line, in one line that names the nearest right word.
#pragma once

#include <string>

#include "mfl/base/result.h"
#include "mfl/cli/command.h"

namespace mfl::cli {

// "run: MESSAGE", with the command's help as the hint. All errors here are kBadConfig.
tl::unexpected<Error> usage_error(const Command& command, const std::string& message);

// `name` is no flag of `command`. Names the flag that was probably meant.
tl::unexpected<Error> unknown_flag(const Command& command, const std::string& name);

// `word` is no command below `parent`.
tl::unexpected<Error> unknown_command(const Command& parent, const std::string& word);

// For a command that only groups others.
Error missing_subcommand(const Command& command);

}  // namespace mfl::cli
