// The settings of a sweep: any key of an experiment may be an array, and every combination is a setting.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/config/config_keys.h"

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

// As set_key for all settings. "[a, b]" makes the key an axis, or replaces the values of the axis that it is;
// a single value for a key that is an axis is an error. Elements may be quoted. For a key whose value is a
// list, "[a, b]" is one value.
Result<void> set_sweep_key(Sweep& sweep, std::string_view table_dot_key, std::string_view text,
                           std::string_view where);

// "gamma", or "model.name" where another axis is called "name" too.
std::string axis_title(const Sweep& sweep, const SweepAxis& axis);
// The axis's value in one of the settings, without quotes.
std::string axis_value(const SweepAxis& axis, const Config& config);

// The grid, the last axis running fastest. Each combination is validated; too large a grid (a million) is an
// error.
Result<std::vector<Config>> expand(const Sweep& sweep);

// Names the settings of a sweep "NAME/1", "NAME/2" and so on, which makes them a group (Store::find): NAME is
// run.name of the base, or made of what the settings are. Gives NAME; empty, without a change, for one
// setting and where run.name is an axis.
std::string name_group(const Sweep& sweep, std::vector<Config>& settings);

}  // namespace mfl
