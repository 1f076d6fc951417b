// What is wrong with a command line, in one line that names the nearest right word.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Error.hpp>

#include "mfl/base/result.h"

namespace mfl::cli {

// The deepest subcommand that was named.
const CLI::App& named_command(const CLI::App& mfl);

// "mfl data info".
std::string command_path(const CLI::App& command);

Error usage_error(const CLI::App& mfl, const CLI::ParseError& parse_error);

// For a command that only groups others.
// Where a command that works alone was started by mpirun.
Error not_under_mpi(const CLI::App& command);

Error missing_subcommand(const CLI::App& command);

}  // namespace mfl::cli
