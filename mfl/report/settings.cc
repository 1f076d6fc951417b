#include "mfl/report/settings.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "mfl/report/brief_names.h"
#include "mfl/report/runs.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

constexpr std::array<std::string_view, 10> kWithoutEffect = {"data.max_columns",
                                                             "federation.max_samples",
                                                             "federation.max_update_norm",
                                                             "run.checkpoint_every",
                                                             "run.engine",
                                                             "run.keep_states",
                                                             "run.name",
                                                             "run.record_every",
                                                             "run.seed",
                                                             "run.threads"};

using Values = std::map<std::string, std::string>;  // "run.seed": "1"

std::string name_of(const ConfigValue& value) { return value.table + "." + value.key; }

Values values_of(const RunRow& run) {
  Values values;
  for (const ConfigValue& value : config_values(run.config)) values[name_of(value)] = value.value;
  return values;
}

// What decides a run's numbers, but for the seed.
Values deciding(const RunRow& run) {
  Values values = values_of(run);
  for (const std::string_view key : kWithoutEffect) values.erase(std::string(key));
  values.erase("run.evaluate_every");  // how often they are measured
  if (!run.gamma) values.erase("algorithm.gamma");
  if (!run.tau) values.erase("algorithm.tau");
  values["algorithm.name"] = run.algorithm;
  values["data.source"] = run.data;
  values["model.name"] = run.model;
  values["run.precision"] = run.precision;
  values.try_emplace("federation.nodes", fmt::format("{}", run.nodes));
  return values;
}

std::string without_quotes(const std::string& value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

bool counts(const RunRow& run) {
  return run.status == RunStatus::kDone && run.summary &&
         std::isfinite(run.summary->final.train_loss.value_or(0));
}

// The runs so far, by seed.
struct Gathered {
  RunSetting setting;
  Values values;
  std::map<std::uint64_t, std::size_t> by_seed;  // the first run of each
};

bool belongs(const Gathered& gathered, const Values& values, std::uint64_t seed, std::span<const RunRow> runs,
             const RunRow& run) {
  if (gathered.values != values) return false;
  const auto same_seed = gathered.by_seed.find(seed);
  return same_seed == gathered.by_seed.end() || runs[same_seed->second].data_digest == run.data_digest;
}

void take(Gathered& gathered, std::span<const RunRow> runs, std::size_t i, std::uint64_t seed) {
  RunSetting& setting = gathered.setting;
  gathered.by_seed.try_emplace(seed, i);
  const auto counted = std::ranges::find(setting.seeds, seed);
  if (!counts(runs[i])) {
    const bool done = runs[i].status == RunStatus::kDone;
    setting.left_out.push_back({i, done ? "has no finite loss" : shown_status(runs[i])});
  } else if (counted != setting.seeds.end()) {
    const std::size_t place = static_cast<std::size_t>(counted - setting.seeds.begin());
    setting.left_out.push_back({i, "repeats run " + runs[setting.runs[place]].id});
  } else {
    setting.runs.push_back(i);
    setting.seeds.push_back(seed);
  }
}

std::vector<Gathered> gather(std::span<const RunRow> runs) {
  std::vector<Gathered> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto seed = config_number(runs[i], "seed");
    const Values values = deciding(runs[i]);
    auto place = all.end();
    if (seed)
      place = std::ranges::find_if(
          all, [&](const Gathered& one) { return belongs(one, values, *seed, runs, runs[i]); });
    if (place == all.end()) place = all.insert(all.end(), Gathered{{}, values, {}});
    if (!seed) place->values["run.id"] = runs[i].id;
    take(*place, runs, i, seed.value_or(0));
  }
  return all;
}

// An algorithm without momentum or local steps does not differ in their length from one that has them.
bool may_be_absent(std::string_view key) { return key == "algorithm.gamma" || key == "algorithm.tau"; }

bool differs(const std::vector<Values>& all, const std::string& key) {
  std::set<std::string> seen;
  for (const Values& values : all)
    if (const auto found = values.find(key); found != values.end())
      seen.insert("=" + found->second);
    else if (!may_be_absent(key))
      seen.insert("absent");
  return seen.size() > 1;
}

// Keys whose values are not the same everywhere.
std::set<std::string> differing(const std::vector<Values>& all) {
  std::set<std::string> out;
  for (const Values& values : all)
    for (const auto& [key, value] : values)
      if (!out.contains(key) && differs(all, key)) out.insert(key);
  return out;
}

std::string title_of(const std::string& algorithm, const std::vector<ConfigValue>& differences) {
  std::vector<std::string> parts = {algorithm};
  for (const ConfigValue& value : differences) {
    if (value.key == "name" && value.table == "algorithm") continue;
    const std::string text = without_quotes(value.value);
    const bool names_itself = value.table == "model" || value.key == "partition" || value.key == "source" ||
                              value.key == "aggregator" || value.key == "precision";
    parts.push_back(names_itself ? text : fmt::format("{} {}", value.key, text));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

// In the order of the configuration; what only the row knows comes first.
std::vector<ConfigValue> differences_of(const Gathered& gathered, const RunRow& run,
                                        const std::set<std::string>& keys) {
  std::vector<ConfigValue> out;
  std::set<std::string> listed;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!keys.contains(name) || name == "run.id" || !listed.insert(name).second) return;
    const std::size_t dot = name.find('.');
    out.push_back({name.substr(0, dot), name.substr(dot + 1), value});
  };
  for (const ConfigValue& value : config_values(run.config))
    if (const auto found = gathered.values.find(name_of(value)); found != gathered.values.end())
      add(found->first, found->second);
  for (const auto& [name, value] : gathered.values) add(name, value);
  return out;
}

void make_unique(std::vector<RunSetting>& settings, std::span<const RunRow> runs) {
  std::map<std::string, int> seen;
  for (const RunSetting& setting : settings) ++seen[setting.title];
  for (RunSetting& setting : settings)
    if (seen[setting.title] > 1) setting.title += " " + runs[setting.first()].id;
}

}  // namespace

std::span<const std::string_view> keys_without_effect() { return kWithoutEffect; }

std::vector<ConfigValue> config_values(std::string_view config) {
  std::vector<ConfigValue> out;
  std::string table;
  while (!config.empty()) {
    const std::size_t end = std::min(config.find('\n'), config.size());
    const std::string_view line = config.substr(0, end);
    config.remove_prefix(std::min(end + 1, config.size()));
    if (line.starts_with('[') && line.ends_with(']')) {
      table = line.substr(1, line.size() - 2);
    } else if (const std::size_t at = line.find(" = "); at != std::string_view::npos) {
      out.push_back({table, std::string(line.substr(0, at)), std::string(line.substr(at + 3))});
    }
  }
  return out;
}

std::optional<std::string> config_value(const RunRow& run, std::string_view table, std::string_view key) {
  for (ConfigValue& value : config_values(run.config))
    if (value.table == table && value.key == key) return std::move(value.value);
  return std::nullopt;
}

Layout layout_of(const RunRow& run) {
  return {config_value(run, "federation", "partition"),
          config_value(run, "federation", "nodes").value_or(fmt::format("{}", run.nodes))};
}

bool Settings::grouped() const {
  return std::ranges::any_of(all, [](const RunSetting& setting) { return setting.distinct_seeds > 1; });
}

Settings settings_of(std::span<const RunRow> runs, const RunLabels& labels) {
  Settings out;
  std::vector<std::string> algorithms;
  for (const RunRow& run : runs) algorithms.push_back(run.algorithm);
  algorithms = brief_algorithms(algorithms);
  const std::vector<Gathered> gathered = gather(runs);
  std::vector<Values> every_value, setting_values;
  for (const RunRow& run : runs) every_value.push_back(values_of(run));
  for (const Gathered& one : gathered) setting_values.push_back(one.values);
  const std::set<std::string> varying = differing(every_value), different = differing(setting_values);
  if (!runs.empty())
    for (ConfigValue& value : config_values(runs.front().config))
      if (!varying.contains(name_of(value))) out.common.push_back(std::move(value));
  for (const std::string_view key : kWithoutEffect)
    if (varying.contains(std::string(key))) out.varying.emplace_back(key);
  for (const Gathered& one : gathered) {
    RunSetting setting = one.setting;
    const RunRow& run = runs[setting.first()];
    setting.differences = differences_of(one, run, different);
    setting.algorithm = algorithms[setting.first()];
    setting.title = title_of(setting.algorithm, setting.differences);
    for (const auto& [seed, i] : one.by_seed)
      if (const auto label = labels.find(runs[i].id); label != labels.end())
        setting.title = setting.label = label->second;
    setting.distinct_seeds = one.by_seed.size();
    out.all.push_back(std::move(setting));
  }
  make_unique(out.all, runs);
  return out;
}

std::vector<std::string> left_out_notes(const Settings& settings, std::span<const RunRow> runs) {
  std::vector<std::string> notes;
  for (const RunSetting& setting : settings.all)
    for (const RunSetting::LeftOut& one : setting.left_out) {
      const RunRow& run = runs[one.run];
      const auto seed = config_number(run, "seed");
      notes.push_back(fmt::format("Run {} ({}{}) is not part of the means: {}.", run.id, setting.title,
                                  seed ? fmt::format(", seed {}", *seed) : "", one.reason));
    }
  return notes;
}

std::string differences_text(std::span<const RunRow> runs) {
  std::vector<Values> all;
  for (const RunRow& run : runs) all.push_back(values_of(run));
  std::vector<std::string> parts;
  for (const std::string& key : all.empty() ? std::set<std::string>() : differing(all)) {
    if (key == "run.name") continue;  // a name makes no difference
    std::vector<std::string> values;
    for (const Values& one : all) {
      const auto found = one.find(key);
      const std::string value = found == one.end() ? "absent" : found->second;
      if (std::ranges::count(values, value) == 0) values.push_back(value);
    }
    if (key == "algorithm.name") values = brief_algorithms(values);
    parts.push_back(fmt::format("{} ({})", key, fmt::join(values, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::optional<Spread> spread_of(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  Spread spread{sum / count, {}, values.size()};
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  return spread;
}

std::string spread_text(const std::optional<Spread>& spread) {
  if (!spread) return "-";
  if (!spread->deviation || !std::isfinite(spread->mean) || !std::isfinite(*spread->deviation))
    return number_text(spread->mean);
  constexpr int kMostPlaces = 12;
  const double deviation = *spread->deviation;
  if (deviation == 0) return number_text(spread->mean) + " ± 0";
  const int places = 1 - static_cast<int>(std::floor(std::log10(deviation)));
  if (places > kMostPlaces || std::abs(spread->mean) >= 1e9)
    return fmt::format("{:.6g} ± {:.2g}", spread->mean, deviation);
  return fmt::format("{0:.{2}f} ± {1:.{2}f}", spread->mean, deviation, std::max(places, 0));
}

MeanCurve mean_curve(std::span<const RunExport* const> runs, const RecordValue& x, const RecordValue& y) {
  struct At {
    std::vector<double> x, y;
  };
  std::map<std::uint64_t, At> steps;
  for (const RunExport* run : runs) {
    std::set<std::uint64_t> taken;
    for (const RecordRow& row : run->records) {
      const auto at_x = x(row), at_y = y(row);
      if (!at_x || !at_y || !taken.insert(row.step).second) continue;
      steps[row.step].x.push_back(*at_x);
      steps[row.step].y.push_back(*at_y);
    }
  }
  MeanCurve curve;
  for (const auto& [step, at] : steps) {
    if (at.y.size() != runs.size()) continue;
    const Spread across = *spread_of(at.x), values = *spread_of(at.y);
    curve.x.push_back(across.mean);
    curve.mean.push_back(values.mean);
    if (!values.deviation) continue;
    curve.low.push_back(values.mean - *values.deviation);
    curve.high.push_back(values.mean + *values.deviation);
  }
  return curve;
}

}  // namespace mfl
