#include "mfl/report/runs_report.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "mfl/record/export.h"
#include "mfl/report/nodes.h"
#include "mfl/report/runs.h"
#include "mfl/report/runs_figures.h"
#include "mfl/report/table.h"
#include "mfl/report/test_metrics.h"

namespace mfl {
namespace {

Tone status_tone(const RunRow& run) {
  switch (run.status) {
    case RunStatus::kDone: return Tone::kGood;
    case RunStatus::kRunning: return owner_lost(run) ? Tone::kBad : Tone::kNeutral;
    case RunStatus::kInterrupted: return Tone::kLimited;
    case RunStatus::kDiverged:
    case RunStatus::kFailed: return Tone::kBad;
  }
  return Tone::kNeutral;
}

PageCell status_cell(const RunRow& run) {
  if (run.warnings.empty() || run.status != RunStatus::kDone) return {shown_status(run), status_tone(run)};
  return {"done, warned", Tone::kLimited};
}

// Leaves out what is the same in all of several runs: the common configuration has it.
void drop_common(PageTable& table) {
  static const std::set<std::string> kOfSetting = {"seed", "model", "algorithm", "eta", "gamma", "tau"};
  for (std::size_t column = table.columns.size(); column-- > 0 && table.rows.size() > 1;) {
    const auto same = [&](const std::vector<PageCell>& row) {
      return row[column].text == table.rows.front()[column].text;
    };
    if (!kOfSetting.contains(table.columns[column].title) || !std::ranges::all_of(table.rows, same)) continue;
    const auto place = static_cast<std::ptrdiff_t>(column);
    table.columns.erase(table.columns.begin() + place);
    for (auto& row : table.rows) row.erase(row.begin() + place);
  }
}

PageTable runs_page_table(const Comparison& comparison) {
  PageTable table{.caption = "",
                  .columns = {{"run"},
                              {"seed", Align::kRight},
                              {"status"},
                              {"model"},
                              {"algorithm"},
                              {"eta", Align::kRight},
                              {"gamma", Align::kRight},
                              {"tau", Align::kRight},
                              {"steps", Align::kRight},
                              {"training loss", Align::kRight},
                              {"test accuracy", Align::kRight},
                              {"steps to target", Align::kRight},
                              {"bytes to target", Align::kRight},
                              {"digest"}},
                  .rows = {}};
  const bool timed = has_virtual_time(comparison);
  if (timed) table.columns.insert(table.columns.end() - 1, {"virtual time to target", Align::kRight});
  for (const CompareRow& row : comparison.rows) {
    const RunRow& run = row.run;
    std::optional<double> loss, accuracy;
    if (row.last) {
      loss = row.last->train_loss;
      accuracy = row.last->test_accuracy;
    }
    const std::uint64_t steps = row.last ? row.last->step : 0;
    table.rows.push_back(
        {{run.id, {}, true},
         {count_text(config_number(run, "seed"))},
         status_cell(run),
         {run.model},
         {row.algorithm},
         {number_text(run.eta)},
         {number_text(run.gamma)},
         {count_text(run.tau)},
         {run.summary ? fmt::format("{}", steps) : fmt::format("{} of {}", steps, run.planned_steps)},
         {number_text(loss)},
         {accuracy ? fmt::format("{:.2f} %", 100 * *accuracy) : "-"},
         {count_text(row.steps_to_target)},
         {bytes_text(row.bytes_to_target)},
         {digest_text(run.summary ? run.summary->digest : ""), {}, true}});
    if (timed) {
      auto& cells = table.rows.back();
      cells.insert(cells.end() - 1, {seconds_text(row.seconds_to_target)});
    }
  }
  drop_common(table);
  return table;
}

// The table of the terminal, with all its columns.
PageTable settings_page_table(const Comparison& comparison) {
  const Table table = settings_table(comparison, TableFormat::kText);
  PageTable out{.caption = "", .columns = table.columns(), .rows = {}};
  for (const auto& row : table.rows()) {
    auto& cells = out.rows.emplace_back();
    for (const std::string& cell : row) cells.push_back({cell});
  }
  return out;
}

std::string target_note(const Target& target, const std::string& baseline) {
  if (target.run.empty())
    return fmt::format("The target for {} on {} is a training loss of {}.", target.model, target.data,
                       number_text(target.loss));
  return fmt::format("The target for {} on {} is the training loss {} at which {} (run {}) ended.",
                     target.model, target.data, number_text(target.loss), baseline, target.run);
}

std::vector<std::string> run_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  for (const Headline& headline : comparison.headlines) notes.push_back(headline.text);
  for (const Target& target : comparison.targets) notes.push_back(target_note(target, comparison.baseline));
  if (has_sampled_target(comparison)) notes.emplace_back(kSampledNote);
  for (std::string& note : sparse_notes(comparison)) notes.push_back(std::move(note));
  constexpr std::size_t kFewRuns = 4;  // among more runs, two that part at once are other settings
  for (const Parting& parting : comparison.partings)
    if (comparison.rows.size() <= kFewRuns || parting.parted.value_or(0) != 1)
      notes.push_back(
          fmt::format("Runs {} and {}: {}.", parting.first, parting.second, parting_text(parting)));
  return notes;
}

PageSection comparison_section(const Comparison& comparison) {
  const bool grouped = comparison.settings.grouped();
  PageSection section{"comparison", "Comparison", {}};
  section.blocks.emplace_back(grouped ? settings_page_table(comparison) : runs_page_table(comparison));
  PageList notes{grouped ? comparison_notes(comparison) : run_notes(comparison)};
  for (const CompareRow& row : comparison.rows)
    for (const RunWarning& warning : row.run.warnings)
      notes.items.push_back(fmt::format("Run {}: {} ({}).", row.run.id, warning.message, warning.hint));
  if (!notes.items.empty()) section.blocks.emplace_back(std::move(notes));
  return section;
}

std::string toml_of(const std::vector<ConfigValue>& values) {
  std::string out, table;
  for (const ConfigValue& value : values) {
    if (value.table != table || out.empty())
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", value.table);
    table = value.table;
    out += fmt::format("{} = {}\n", value.key, value.value);
  }
  return out;
}

// A row for each setting, a column for each key in which they differ.
std::optional<PageTable> differences_table(const Settings& settings) {
  std::vector<std::string> keys;
  for (const RunSetting& setting : settings.all)
    for (const ConfigValue& value : setting.differences)
      if (const std::string key = value.table + "." + value.key; std::ranges::count(keys, key) == 0)
        keys.push_back(key);
  if (keys.empty()) return std::nullopt;
  PageTable table{.caption = "What differs", .columns = {{"setting"}}, .rows = {}};
  for (const std::string& key : keys) table.columns.push_back({key});
  for (const RunSetting& setting : settings.all) {
    auto& cells = table.rows.emplace_back();
    cells.push_back({setting.title});
    for (const std::string& key : keys) {
      const auto found = std::ranges::find(
          setting.differences, key, [](const ConfigValue& value) { return value.table + "." + value.key; });
      const std::string value = key == "algorithm.name"              ? setting.algorithm
                                : found == setting.differences.end() ? "-"
                                                                     : found->value;
      cells.push_back({value, {}, true});
    }
  }
  return table;
}

PageSection configuration_section(const Settings& settings) {
  PageSection section{"configuration", "Configuration", {}};
  if (auto table = differences_table(settings)) section.blocks.emplace_back(std::move(*table));
  if (!settings.varying.empty())
    section.blocks.emplace_back(PageParagraph{
        fmt::format("Not shown, as it makes no other setting: {}.", fmt::join(settings.varying, ", "))});
  section.blocks.emplace_back(PageCode{toml_of(settings.common), "What all runs have in common"});
  return section;
}

PageTable class_table(const TestedClasses& tested) {
  PageTable table{.caption = "By class of the test set: " + macro_text(tested) + ".",
                  .columns = {{"class"},
                              {"precision", Align::kRight},
                              {"recall", Align::kRight},
                              {"F1", Align::kRight},
                              {"count", Align::kRight}},
                  .rows = {}};
  for (const TestedClass& one : tested.classes)
    table.rows.push_back({{one.name},
                          {percent_text(one.precision)},
                          {percent_text(one.recall)},
                          {percent_text(one.f1)},
                          {fmt::format("{}", one.count)}});
  return table;
}

PageTable confusion_table(const TestedClasses& tested) {
  PageTable table{.caption = "Confusion matrix: a row for each true class, a column for each predicted one.",
                  .columns = {{"class"}},
                  .rows = {}};
  for (const TestedClass& one : tested.classes) table.columns.push_back({one.name, Align::kRight});
  for (std::size_t truth = 0; truth < tested.classes.size(); ++truth) {
    auto& cells = table.rows.emplace_back();
    cells.push_back({tested.classes[truth].name});
    for (const std::uint64_t count : tested.confusion[truth]) cells.push_back({fmt::format("{}", count)});
  }
  return table;
}

std::vector<PageBlock> tested_blocks(const RunRow& run) {
  std::vector<PageBlock> blocks;
  const auto tested = run.summary ? read_test_metrics(run.summary->test_metrics) : std::nullopt;
  if (!tested) return blocks;
  blocks.emplace_back(class_table(*tested));
  if (!tested->confusion.empty() && tested->classes.size() <= kMostConfusionClasses)
    blocks.emplace_back(confusion_table(*tested));
  return blocks;
}

std::string exact_loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.10g}", *loss) : "not measured";
}

PageSection run_section(const RunExport& run, bool with_config) {
  const RunRow& row = run.run;
  PageTable facts{.caption = "", .columns = {{"what"}, {"value"}}, .rows = {}, .prose = true};
  const auto add = [&](std::string what, std::string value, bool code = false) {
    facts.rows.push_back({{std::move(what)}, {std::move(value), {}, code}});
  };
  facts.rows.push_back({{"status"}, status_cell(row)});
  for (const RunWarning& warning : row.warnings)
    add("warning", fmt::format("{} ({})", warning.message, warning.hint));
  if (!row.message.empty()) add("message", row.message);
  if (!row.name.empty()) add("name", row.name);
  if (const std::string schema = schema_line(row.data_schema); !schema.empty()) add("schema", schema, true);
  add("when", row.created);
  add("mfl", row.mfl_version);
  add("time", fmt::format("{:.2f} s loading, {:.2f} s training", row.load_seconds, row.wall_seconds));
  if (row.summary) {
    const RunSummary& summary = *row.summary;
    add("final", fmt::format("step {}, training loss {}", summary.final.step,
                             exact_loss_text(summary.final.train_loss)));
    if (summary.final.test_accuracy) {
      const auto tested = read_test_metrics(summary.test_metrics);
      add("test accuracy", percent_text(summary.final.test_accuracy) + (tested ? top_text(*tested) : ""));
    }
    for (auto& [what, value] : metric_lines(summary.test_metrics)) add(std::move(what), std::move(value));
    add("best", fmt::format("step {}, training loss {}", summary.best.step,
                            exact_loss_text(summary.best.train_loss)));
    add("traffic", fmt::format("{} rounds, {} up, {} down", summary.rounds, bytes_text(summary.bytes_up),
                               bytes_text(summary.bytes_down)));
    if (summary.virtual_seconds) add("virtual time", seconds_text(summary.virtual_seconds));
    add("digest of the weights", summary.digest, true);
  }
  add("digest of the configuration", row.config_digest, true);
  add("digest of the data", row.data_digest, true);
  PageSection section{"run-" + row.id,
                      fmt::format("Run {}: {} with {}", row.id, row.model, row.algorithm),
                      {std::move(facts)}};
  for (PageBlock& block : tested_blocks(row)) section.blocks.push_back(std::move(block));
  for (PageBlock& block : sites_blocks(run)) section.blocks.push_back(std::move(block));
  if (with_config) section.blocks.emplace_back(PageCode{row.config, "Configuration"});
  return section;
}

Result<std::vector<RunExport>> load_once(const Store& store, std::span<const std::string> ids) {
  std::vector<RunExport> runs;
  std::set<std::string> known;
  for (const std::string& id : ids) {
    MFL_TRY(const RunRow row, store.get(id));
    if (!known.insert(row.id).second) continue;
    MFL_TRY(runs.emplace_back(), load_run(store, row.id, true, true));
  }
  return runs;
}

// The run or setting with the lowest loss at its end; empty where runs minimise several functions.
std::string best_sentence(const Comparison& comparison) {
  const SettingRow* best = nullptr;
  const RunRow& first = comparison.rows.front().run;
  for (const CompareRow& row : comparison.rows)
    if (row.run.model != first.model || row.run.problem != first.problem) return {};
  for (const SettingRow& row : comparison.setting_rows)
    if (row.loss && (best == nullptr || row.loss->mean < best->loss->mean)) best = &row;
  if (best == nullptr) return {};
  const std::string title = comparison.settings.all[best->setting].title, loss = spread_text(best->loss);
  const std::string accuracy = best->accuracy ? fmt::format(" and a test accuracy of {}",
                                                            percent_text(std::optional(best->accuracy->mean)))
                                              : "";
  const std::size_t settings = comparison.setting_rows.size();
  if (settings == 1) return fmt::format("{} ended with a training loss of {}{}. ", title, loss, accuracy);
  return fmt::format("{} ended with the lowest training loss of {} settings, {}{}. ", title, settings, loss,
                     accuracy.empty() ? "" : "," + accuracy);
}

// With many settings the headlines are in the comparison only.
std::string lead_of(const Comparison& comparison, const Store& store) {
  constexpr std::size_t kMostHeadlines = 2;
  std::string lead;
  if (comparison.headlines.size() <= kMostHeadlines)
    for (const Headline& headline : comparison.headlines) lead += headline.text + " ";
  if (lead.empty()) lead = best_sentence(comparison);
  return lead + fmt::format("From the run store {}.", store.path().filename().string());
}

// One configuration for all, then a section for each run or, where seeds are grouped, one table of them.
std::vector<PageSection> run_sections(const std::vector<RunExport>& runs, const Comparison& comparison) {
  constexpr std::size_t kMostSections = 4;  // for more runs the table is enough
  std::vector<PageSection> sections;
  const bool several = runs.size() > 1;
  if (several) sections.push_back(configuration_section(comparison.settings));
  if (comparison.settings.grouped())
    sections.push_back(
        {"runs",
         "Runs",
         {runs_page_table(comparison),
          PageParagraph{"mfl runs show ID has the configuration, test metrics and records of a run."}}});
  else if (runs.size() <= kMostSections)
    for (const RunExport& run : runs) sections.push_back(run_section(run, !several));
  return sections;
}

}  // namespace

Result<Report> runs_report(const Store& store, std::span<const std::string> ids,
                           const CompareOptions& options, const ReportLook& look) {
  MFL_TRY(const std::vector<RunExport> runs, load_once(store, ids));
  std::vector<std::string> whole_ids;
  whole_ids.reserve(runs.size());
  for (const RunExport& run : runs) whole_ids.push_back(run.run.id);
  MFL_TRY(const Comparison comparison, compare_runs(store, whole_ids, options));
  Report report;
  report.page.title = !look.title.empty() ? look.title
                      : runs.size() == 1  ? "Run " + runs.front().run.id
                                          : fmt::format("{} runs of mfl", runs.size());
  report.page.lead = lead_of(comparison, store);
  PageSection curves_section{"curves", "Curves", {}};
  MFL_TRY(std::vector<PageFigures> figures, runs_figures(runs, comparison.settings, look.x));
  if (!figures.empty() && figures.front().size() > 1) {  // one picture first
    curves_section.blocks.emplace_back(PageFigures{std::move(figures.front().front())});
    figures.front().erase(figures.front().begin());
  }
  for (PageFigures& some : figures) curves_section.blocks.emplace_back(std::move(some));
  if (curves_section.blocks.empty())
    curves_section.blocks.emplace_back(PageParagraph{"Nothing is recorded yet."});
  report.page.sections.push_back(std::move(curves_section));
  report.page.sections.push_back(comparison_section(comparison));
  for (PageSection& section : run_sections(runs, comparison))
    report.page.sections.push_back(std::move(section));
  report.files = {{"data/records.csv", records_csv(runs)}, {"data/rounds.csv", rounds_csv(runs)}};
  if (std::ranges::any_of(runs, [](const RunExport& run) { return run.nodes && !run.nodes->empty(); }))
    report.files.emplace_back("data/nodes.csv", nodes_csv(runs));
  for (const auto& [name, format] : {std::pair("data/comparison.csv", TableFormat::kCsv),
                                     std::pair("data/comparison.md", TableFormat::kMarkdown),
                                     std::pair("data/comparison.tex", TableFormat::kLatex)})
    report.files.emplace_back(name, compare_text(comparison, {format, false}));
  return report;
}

}  // namespace mfl
