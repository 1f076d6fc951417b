// The runs that the figures need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/config/config.h"

namespace mfl {

// "all", "4", "4a", or several with commas, as the panels 4a, 4b, 4c, 4d, 5a, 5b, 5c and 6. Errors are
// kBadConfig.
Result<std::set<std::string>> parse_figures(std::string_view text);

struct PlanOptions {
  // The folder with figure-4.toml, figure-5.toml, figure-6.toml, figure-6-long*.toml.
  std::filesystem::path experiments;
  std::set<std::string> figures;
  std::uint64_t seeds = 5;                           // 1 to this
  bool quick = false;                                // leaves figure-6-long*.toml out
  std::function<Result<void>(Config&)> adjust = {};  // on every setting; may be empty
};

struct PlannedRun {
  Config config;
  bool rounds = false;    // the loss of every round is needed, not only the end
  bool accuracy = false;  // and the accuracy at every record
};

struct FigurePlan {
  double gamma = 0;
  std::uint64_t tau = 0, steps = 0, long_steps = 0;  // as in Evidence
  std::vector<PlannedRun> runs;                      // each setting once
};

// Errors are those of read_sweep; a folder without the files says how to name another.
Result<FigurePlan> make_plan(const PlanOptions& options);

}  // namespace mfl
