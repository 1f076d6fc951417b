// Many settings from one file: every key may be an array, and the grid of all combinations is trained. Settings that
// share data and partition share each pass over the rows; each is a run of its own in the store, with the digest that
// mfl run gives it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/experiment/config.h"
#include "mfl/experiment/config_keys.h"
#include "mfl/experiment/runner.h"

namespace mfl {

struct SweepAxis {
  const Key* key;
  std::vector<std::string> values;  // as a flag has them
};

struct Sweep {
  Config base;
  std::vector<SweepAxis> axes;  // in canonical order of keys within a table
};

// Errors as read_config's.
Result<Sweep> read_sweep(const std::filesystem::path& path);
Result<Sweep> parse_sweep(std::string_view text, std::string_view file);

// The grid, the last axis running fastest. Each combination is validated; too large a grid (a million) is an error.
Result<std::vector<Config>> expand(const Sweep& sweep);

// Trains all settings and gives their outcomes in the order of `configs`. As run_experiment: a setting that diverges or
// is stopped is an outcome. Of the options, store and reuse count. Progress counts the steps of all settings together.
Result<std::vector<RunOutcome>> run_sweep(const std::vector<Config>& configs, const RunOptions& options,
                                          const RunHooks& hooks);

}  // namespace mfl
