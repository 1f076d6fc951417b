// Running another program to completion.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct ProgramOptions {
  std::filesystem::path folder;  // working directory; empty: that of this process
  std::string errors;            // file in that folder for its standard error; empty: discarded
};

// Runs words[0], found on PATH, with the remaining words as arguments, no input, and its output discarded.
// Returns its exit code; kRunFailed if it is not installed, cannot be started or is killed by a signal.
Result<int> run_program(std::vector<std::string> words, const ProgramOptions& options = {});

}  // namespace mfl
