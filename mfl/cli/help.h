// What --help prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mfl/cli/command.h"

namespace mfl::cli {

// "mfl run [OPTIONS] [FILE]".
std::string usage_line(const Command& command);

// "--eta X=0.002", "--out DIR (required)", "ID...".
std::string option_label(const Option& option);

// The groups of its options in the order of the help: the one without a name first, even if it is empty.
std::vector<std::string_view> option_groups(const Command& command);

// Usage, arguments and options by group with their defaults, subcommands, and examples; at most 80 columns wide
// but for the examples.
std::string help_text(const Command& command);

}  // namespace mfl::cli
