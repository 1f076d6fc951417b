// Many settings from one file: any key may be an array, and every combination is trained. Settings with equal data and
// partition share each pass over the rows; each is a separate run in the store, with the digest that mfl run gives it.
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
  std::vector<std::string> values;  // as a flag takes them
};

struct Sweep {
  Config base;
  std::vector<SweepAxis> axes;  // in the order of the file, then of the command line
};

// Errors as read_config's.
Result<Sweep> read_sweep(const std::filesystem::path& path);
Result<Sweep> parse_sweep(std::string_view text, std::string_view file);

// As set_key for all settings. "[a, b]" makes the key an axis, or replaces the values of the axis that it is; a single value
// for a key that is an axis is an error. Elements may be quoted. For a key whose value is a list, "[a, b]" is one value.
Result<void> set_sweep_key(Sweep& sweep, std::string_view table_dot_key, std::string_view text,
                           std::string_view where);

// "gamma", or "model.name" where another axis is called "name" too.
std::string axis_title(const Sweep& sweep, const SweepAxis& axis);
// The axis's value in one of the settings, without quotes.
std::string axis_value(const SweepAxis& axis, const Config& config);

// The grid, the last axis running fastest. Each combination is validated; too large a grid (a million) is an error.
Result<std::vector<Config>> expand(const Sweep& sweep);

// Trains all settings and gives their outcomes in the order of `configs`. As run_experiment: a setting that diverges or
// is stopped is an outcome. Of the options, store, reuse and ranks count. With reuse a sweep that was stopped, by a signal or
// a crash, continues: finished settings are taken from the store, unfinished ones continue from their last checkpoint, and the
// digests are those of a sweep that was never stopped.
Result<std::vector<RunOutcome>> run_sweep(const std::vector<Config>& configs, const RunOptions& options,
                                          const RunHooks& hooks);

}  // namespace mfl
