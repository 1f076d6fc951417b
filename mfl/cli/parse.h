// A command line against the tree of commands.
#pragma once

#include <span>
#include <string>

#include "mfl/base/result.h"
#include "mfl/cli/command.h"

namespace mfl::cli {

struct ParsedCommand {
  Command* command = nullptr;  // the deepest one that was named
  bool help = false;           // --help or -h: nothing else was checked
};

// Gives every word to its option and sets the bound variables. A value follows its option as the next word or after
// "="; after "--" every word is a positional. The error (kBadConfig) names the first word that is wrong, the nearest
// right one, and the help that lists them.
Result<ParsedCommand> parse(Command& root, std::span<const std::string> words);

}  // namespace mfl::cli
