// Other programs, run to their end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct ProgramOptions {
  std::filesystem::path folder;  // to run in; empty: where this process is
  std::string errors;            // file, in that folder, for what it says on standard error; empty: nowhere
};

// Runs words[0], found on PATH, with the words after it: no input, output dropped. Its exit code; kRunFailed where it is not
// installed, cannot be started or is killed.
Result<int> run_program(std::vector<std::string> words, const ProgramOptions& options = {});

}  // namespace mfl
