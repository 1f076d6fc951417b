// Runs that differ only in the seed are one setting: what settings are there, how do their configurations
// differ, and what is the mean over their seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/record/export.h"
#include "mfl/record/run.h"

namespace mfl {

// One line of a configuration.
struct ConfigValue {
  std::string table, key;  // "algorithm", "eta"
  std::string value;       // as TOML: "0.01", "\"mfl\""

  bool operator==(const ConfigValue&) const = default;
};

// The lines of a canonical configuration (to_toml), in their order; lines that are none are passed over.
std::vector<ConfigValue> config_values(std::string_view config);
// As TOML; nothing where the configuration does not have it.
std::optional<std::string> config_value(const RunRow& run, std::string_view table, std::string_view key);

// How the samples are spread over nodes. Runs are compared on one layout: across it, a difference says
// nothing about an algorithm.
struct Layout {
  std::optional<std::string> partition;
  std::string nodes;

  bool operator==(const Layout&) const = default;
};
Layout layout_of(const RunRow& run);

// Keys that do not change a run's numbers ("run.threads"), with those that tell runs of a setting apart
// ("run.seed", "run.name").
std::span<const std::string_view> keys_without_effect();

// What a user calls runs, by id.
using RunLabels = std::map<std::string, std::string>;

struct RunSetting {
  struct LeftOut {
    std::size_t run = 0;
    std::string reason;  // "diverged", "interrupted", "repeats run 3f2a91bc"
  };

  // What tells it from the others: "mfl", "mfl eta 0.02"; the algorithm where nothing does; its label where
  // it has one.
  std::string title;
  std::string algorithm;                 // in few words (brief_algorithms)
  std::string label;                     // a user's; empty: none
  std::vector<ConfigValue> differences;  // from the other settings
  // The runs that count: done, with a finite loss, one per seed. Indices into what settings_of was given.
  std::vector<std::size_t> runs;
  std::vector<std::uint64_t> seeds;  // theirs, in the same order
  std::vector<LeftOut> left_out;
  std::size_t distinct_seeds = 0;  // seeds of all its runs

  std::size_t size() const { return runs.size() + left_out.size(); }
  // The first of all its runs.
  std::size_t first() const { return runs.empty() ? left_out.front().run : runs.front(); }
};

struct Settings {
  std::vector<RunSetting> all;      // in the order of their first runs
  std::vector<ConfigValue> common;  // what all runs have in common
  // Keys without effect whose values are not the same in all runs: "run.seed".
  std::vector<std::string> varying;

  // Whether a setting has runs of more than one seed; where none has, every run is shown on its own.
  bool grouped() const;
};

// Runs are of one setting if their configurations have the same values but for keys_without_effect(), and the
// data of runs with the same seed is the same. A run whose configuration has no seed is a setting of its own.
// The label of a run is that of its setting.
Settings settings_of(std::span<const RunRow> runs, const RunLabels& labels = {});

// "run 3f2a91bc of mfl diverged and is not part of its means".
std::vector<std::string> left_out_notes(const Settings& settings, std::span<const RunRow> runs);

// "algorithm.name" and, if several are given, what they are: "algorithm.name (\"fl\", \"mfl\")".
std::string differences_text(std::span<const RunRow> runs);

// A mean and the sample standard deviation, which a single value has not.
struct Spread {
  double mean = 0;
  std::optional<double> deviation = {};
  std::size_t count = 0;
};

// Nothing of no values.
std::optional<Spread> spread_of(std::span<const double> values);

// "0.4713 ± 0.0118": the deviation to two digits and the mean to the same place; a mean alone to six digits.
std::string spread_text(const std::optional<Spread>& spread);

struct MeanCurve {
  std::vector<double> x, mean, low, high;  // the band is mean ∓ deviation; empty for one run
};

// The mean over runs at the steps that all of them recorded with both values; x is a mean too.
using RecordValue = std::function<std::optional<double>(const RecordRow&)>;
MeanCurve mean_curve(std::span<const RunExport* const> runs, const RecordValue& x, const RecordValue& y);

}  // namespace mfl
