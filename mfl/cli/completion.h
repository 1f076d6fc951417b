// Completion scripts for shells, made from the tree of commands.
#pragma once

#include <string>

#include "mfl/cli/command.h"

namespace mfl::cli {

// Each completes commands, flags, the words that a value may be, and file names where a value is one.
std::string bash_completion(const Command& root);
std::string zsh_completion(const Command& root);
std::string fish_completion(const Command& root);

}  // namespace mfl::cli
