#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/report/compare.h"
#include "mfl/report/compare_settings.h"
#include "mfl/report/runs.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

std::string plain(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }
std::string plain(const std::optional<std::uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// In the unit of the mean.
std::string bytes_spread_text(const Spread& spread) {
  const std::string mean = bytes_text(static_cast<std::uint64_t>(std::llround(std::max(spread.mean, 0.0))));
  const std::size_t space = mean.find(' ');
  if (!spread.deviation || space == std::string::npos) return mean;
  const double unit = spread.mean / std::stod(mean);
  return fmt::format("{} ± {:.1f}{}", mean.substr(0, space), *spread.deviation / unit, mean.substr(space));
}

std::string percent_spread_text(const std::optional<Spread>& spread) {
  if (!spread || !spread->deviation) return percent_text(spread ? std::optional(spread->mean) : std::nullopt);
  return fmt::format("{:.1f} ± {:.1f} %", 100 * spread->mean, 100 * *spread->deviation);
}

std::string seconds_spread_text(const Spread& spread) {
  return spread.deviation ? spread_text(spread) + " s" : seconds_text(spread.mean);
}

std::string counted_text(const RunSetting& setting) {
  return setting.runs.size() == setting.distinct_seeds
             ? fmt::format("{}", setting.runs.size())
             : fmt::format("{} of {}", setting.runs.size(), setting.distinct_seeds);
}

bool has_accuracy(const Comparison& comparison) {
  return std::ranges::any_of(comparison.setting_rows,
                             [](const SettingRow& row) { return row.accuracy.has_value(); });
}

Table settings_for_people(const Comparison& comparison) {
  std::vector<Column> columns = {{"setting"}, {"seeds", Align::kRight}, {"loss at T", Align::kRight}};
  const bool accuracy = has_accuracy(comparison), target = !comparison.targets.empty();
  const bool timed = has_virtual_time(comparison);
  if (accuracy) columns.push_back({"accuracy at T", Align::kRight});
  const bool rounds = std::ranges::all_of(comparison.settings.all, [&](const RunSetting& setting) {
    return setting.runs.empty() || exchanges(comparison.rows[setting.first()].run);
  });
  if (target) columns.push_back({rounds ? "rounds to target" : "steps to target", Align::kRight});
  if (target) columns.push_back({"bytes to target", Align::kRight, 2});
  if (target && timed) columns.push_back({"time to target", Align::kRight, 1});
  Table table(std::move(columns));
  for (const SettingRow& row : comparison.setting_rows) {
    const RunSetting& setting = comparison.settings.all[row.setting];
    std::vector<std::string> cells = {setting.title, counted_text(setting), spread_text(row.loss)};
    const auto given = [&](const std::optional<Spread>& spread, auto text) {
      return row.reached == row.with_target && spread ? text(*spread) : to_target_text(row, spread);
    };
    if (accuracy) cells.push_back(percent_spread_text(row.accuracy));
    if (target) cells.push_back(to_target_text(row, rounds ? row.rounds_to_target : row.steps_to_target));
    if (target) cells.push_back(given(row.bytes_to_target, bytes_spread_text));
    if (target && timed) cells.push_back(given(row.seconds_to_target, seconds_spread_text));
    table.add(std::move(cells));
  }
  return table;
}

using Means = std::pair<std::string_view, std::optional<Spread> SettingRow::*>;

Table settings_for_programs(const Comparison& comparison) {
  const std::vector<Means> means = {{"train_loss", &SettingRow::loss},
                                    {"test_loss", &SettingRow::test_loss},
                                    {"test_accuracy", &SettingRow::accuracy},
                                    {"rounds_to_target", &SettingRow::rounds_to_target},
                                    {"steps_to_target", &SettingRow::steps_to_target},
                                    {"bytes_to_target", &SettingRow::bytes_to_target},
                                    {"virtual_seconds_to_target", &SettingRow::seconds_to_target}};
  std::vector<Column> columns = {{"setting"},  {"algorithm"},   {"seeds"},
                                 {"left_out"}, {"with_target"}, {"reached"}};
  for (const Means& one : means) {
    columns.push_back({fmt::format("{}_mean", one.first)});
    columns.push_back({fmt::format("{}_sd", one.first)});
  }
  Table table(std::move(columns));
  for (const SettingRow& row : comparison.setting_rows) {
    const RunSetting& setting = comparison.settings.all[row.setting];
    std::vector<std::string> cells = {setting.title,
                                      comparison.rows[setting.first()].run.algorithm,
                                      fmt::format("{}", setting.runs.size()),
                                      fmt::format("{}", setting.left_out.size()),
                                      fmt::format("{}", row.with_target),
                                      fmt::format("{}", row.reached)};
    for (const Means& one : means) {
      const std::optional<Spread>& spread = row.*one.second;
      cells.push_back(spread ? plain(std::optional(spread->mean)) : "");
      cells.push_back(spread ? plain(spread->deviation) : "");
    }
    table.add(std::move(cells));
  }
  return table;
}

Table runs_for_programs(const Comparison& comparison) {
  Table table({{"run"},
               {"name"},
               {"status"},
               {"data"},
               {"model"},
               {"algorithm"},
               {"seed"},
               {"eta"},
               {"gamma"},
               {"tau"},
               {"step"},
               {"train_loss"},
               {"train_losses"},
               {"test_loss"},
               {"test_accuracy"},
               {"target"},
               {"steps_to_target"},
               {"rounds_to_target"},
               {"bytes_to_target"},
               {"virtual_seconds_to_target"},
               {"digest"}});
  for (const CompareRow& row : comparison.rows) {
    const RunRow& run = row.run;
    std::optional<std::uint64_t> step;
    std::optional<double> loss, test_loss, accuracy;
    if (row.last) {
      step = row.last->step;
      loss = row.last->train_loss;
      test_loss = row.last->test_loss;
      accuracy = row.last->test_accuracy;
    }
    table.add({run.id,
               run.name,
               shown_status(run),
               run.data,
               run.model,
               run.algorithm,
               plain(config_number(run, "seed")),
               plain(std::optional(run.eta)),
               plain(run.gamma),
               plain(run.tau),
               plain(step),
               plain(loss),
               fmt::format("{}", row.losses.measured),
               plain(test_loss),
               plain(accuracy),
               plain(row.target),
               plain(row.steps_to_target),
               plain(row.rounds_to_target),
               plain(row.bytes_to_target),
               plain(row.seconds_to_target),
               run.summary ? run.summary->digest : std::string()});
  }
  return table;
}

}  // namespace

Table runs_table(const Comparison& comparison, TableFormat format) {
  if (format == TableFormat::kCsv) return runs_for_programs(comparison);
  std::vector<Column> columns = {{"run"},
                                 {"model"},
                                 {"algorithm"},
                                 {"eta", Align::kRight},
                                 {"gamma", Align::kRight},
                                 {"tau", Align::kRight},
                                 {"T", Align::kRight},
                                 {"loss at T", Align::kRight},
                                 {"accuracy at T", Align::kRight},
                                 {"steps to target", Align::kRight},
                                 {"bytes to target", Align::kRight},
                                 {"digest"}};
  const bool timed = has_virtual_time(comparison);
  if (timed) columns.insert(columns.end() - 1, {"time to target", Align::kRight});
  const bool batches = has_sparse_losses(comparison);
  if (batches) columns.insert(columns.begin() + 7, {"losses of"});
  Table table(std::move(columns));
  for (const CompareRow& row : comparison.rows) {
    const RunRow& run = row.run;
    std::vector<std::string> cells = {
        run.id, run.model, row.algorithm, number_text(run.eta), number_text(run.gamma), count_text(run.tau)};
    const std::string status = run.summary ? "" : fmt::format(" ({})", shown_status(run));
    if (row.last)
      cells.insert(cells.end(), {fmt::format("{}{}", row.last->step, status),
                                 number_text(row.last->train_loss), percent_text(row.last->test_accuracy)});
    else
      cells.insert(cells.end(), {shown_status(run), "-", "-"});
    cells.insert(cells.end(), {count_text(row.steps_to_target), bytes_text(row.bytes_to_target)});
    if (timed) cells.push_back(seconds_text(row.seconds_to_target));
    cells.push_back(digest_text(run.summary ? run.summary->digest : ""));
    if (batches)
      cells.insert(cells.begin() + 7, row.losses.sparse() ? measured_text(row.losses) : "all States");
    table.add(std::move(cells));
  }
  return table;
}

Table settings_table(const Comparison& comparison, TableFormat format) {
  return format == TableFormat::kCsv ? settings_for_programs(comparison) : settings_for_people(comparison);
}

std::string to_target_text(const SettingRow& row, const std::optional<Spread>& spread) {
  if (row.with_target == 0) return "-";
  if (row.reached < row.with_target) return fmt::format("{} of {} seeds", row.reached, row.with_target);
  return spread_text(spread);
}

}  // namespace mfl
