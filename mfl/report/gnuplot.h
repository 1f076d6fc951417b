// gnuplot as a child process.
#pragma once

#include <filesystem>
#include <string>

#include "mfl/base/result.h"

namespace mfl {

// Runs `gnuplot script` in `folder`, without the user's settings and without a shell. Errors are kRunFailed:
// it is not installed, or it failed, with the last line that it said.
Result<void> run_gnuplot(const std::filesystem::path& folder, const std::string& script);

// An error unless gnuplot is installed and runs. For callers with long work to do before they draw.
Result<void> check_gnuplot();

}  // namespace mfl
