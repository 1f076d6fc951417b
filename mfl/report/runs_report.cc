#include "mfl/report/runs_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "mfl/record/export.h"
#include "mfl/report/runs.h"
#include "mfl/report/table.h"
#include "mfl/report/test_metrics.h"

namespace mfl {
namespace {

// Runs that minimise the same function: their curves belong in one picture.
struct Group {
  std::string model, data;
  std::vector<const RunExport*> runs;
};

std::vector<Group> groups_of(const std::vector<RunExport>& runs) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const RunExport& run : runs) {
    const auto [place, added] = places.try_emplace({run.run.model, run.run.problem}, groups.size());
    if (added) groups.push_back({run.run.model, run.run.data, {}});
    groups[place->second].runs.push_back(&run);
  }
  return groups;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// Whether the runs have more than one value of something.
template <class Get>
bool varies(const Group& group, Get get) {
  return std::ranges::any_of(
      group.runs, [&](const RunExport* run) { return get(run->run) != get(group.runs.front()->run); });
}

// What all runs of a group with more than one have in common, for the title.
struct Common {
  bool algorithm = false, tau = false;
};

Common common_of(const Group& group) {
  if (group.runs.size() < 2) return {};
  return {!varies(group, [](const RunRow& run) { return run.algorithm; }) &&
              varies(group, [](const RunRow& run) { return std::pair(run.gamma, run.tau); }),
          !varies(group, [](const RunRow& run) { return run.tau; })};
}

// "svm on mnist, MFL, τ 4".
std::string subject_of(const Group& group) {
  const Common common = common_of(group);
  const RunRow& first = group.runs.front()->run;
  std::string out = fmt::format("{} on {}", group.model, group.data);
  if (common.algorithm) out += ", " + upper(first.algorithm);
  if (common.tau && first.tau) out += fmt::format(", τ {}", *first.tau);
  return out;
}

// The algorithm, with what tells a run from the others of its group.
std::vector<std::string> titles_of(const Group& group) {
  const Common common = common_of(group);
  const bool eta = varies(group, [](const RunRow& run) { return run.eta; });
  const bool nodes = varies(group, [&](const RunRow& run) {
    return run.tau ? run.nodes : std::ranges::max(group.runs, {}, [](const RunExport* one) {
                                   return one->run.nodes;
                                 })->run.nodes;  // a centralised algorithm has no nodes to speak of
  });
  const bool precision = varies(group, [](const RunRow& run) { return run.precision; });
  std::vector<std::string> titles;
  std::map<std::string, int> seen;
  for (const RunExport* run : group.runs) {
    std::string title = common.algorithm ? "" : upper(run->run.algorithm);
    if (run->run.gamma) title += fmt::format(" γ {}", number_text(*run->run.gamma));
    if (run->run.tau && !common.tau) title += fmt::format(" τ {}", *run->run.tau);
    if (eta) title += fmt::format(" η {}", number_text(run->run.eta));
    if (nodes && run->run.tau) title += fmt::format(" {} nodes", run->run.nodes);
    if (precision) title += " " + run->run.precision;
    if (title.starts_with(' ')) title.erase(0, 1);
    ++seen[title];
    titles.push_back(std::move(title));
  }
  for (std::size_t i = 0; i < titles.size(); ++i)
    if (seen[titles[i]] > 1) titles[i] += " " + group.runs[i]->run.id;
  return titles;
}

using Value = std::function<std::optional<double>(const RecordRow&)>;

struct CurveAxes {
  PlotAxis x, y;
  Value x_value, y_value;
};

double steps_of(const RecordRow& row) { return static_cast<double>(row.step); }
double megabytes_of(const RecordRow& row) { return static_cast<double>(row.bytes_up + row.bytes_down) / 1e6; }

std::optional<double> virtual_seconds_of(const RecordRow& row) { return row.virtual_seconds; }

bool each_its_algorithm(const Group& group) {
  std::set<std::string> names;
  for (const RunExport* run : group.runs) names.insert(run->run.algorithm);
  return names.size() == group.runs.size();
}

Plot curves(const Group& group, std::string name, std::string title, const CurveAxes& axes) {
  Plot plot{.name = std::move(name), .title = std::move(title), .x = axes.x, .y = axes.y, .series = {}};
  const bool by_algorithm = each_its_algorithm(group);
  const std::vector<std::string> titles = titles_of(group);
  for (std::size_t i = 0; i < group.runs.size(); ++i) {
    PlotSeries series{.title = titles[i], .x = {}, .y = {}, .low = {}, .high = {}};
    series.style = by_algorithm ? algorithm_style(group.runs[i]->run.algorithm) : palette_style(i);
    for (const RecordRow& record : group.runs[i]->records) {
      const auto x = axes.x_value(record), y = axes.y_value(record);
      if (!x || !y) continue;
      series.x.push_back(*x);
      series.y.push_back(*y);
    }
    series.diverged = group.runs[i]->run.status == RunStatus::kDiverged;
    if (!series.x.empty() && series.x.back() > 0) plot.series.push_back(std::move(series));
  }
  plot.y.log = !plot.series.empty() && std::ranges::all_of(plot.series, &PlotSeries::diverged) &&
               std::ranges::all_of(plot.series, [](const PlotSeries& series) {
                 return std::ranges::all_of(series.y, [](double y) { return y > 0; });
               });
  return plot;
}

// One kind of curve for a group: file name, title, what it shows, axes.
struct CurveKind {
  std::string name, title, what;
  CurveAxes axes;
};

std::vector<CurveKind> curve_kinds() {
  PlotAxis steps, loss, accuracy, test_loss, traffic, time;
  steps.label = "local steps t";
  loss.label = "training loss F(w)";
  accuracy.label = "test accuracy (%)";
  test_loss.label = "test loss";
  traffic.label = "traffic (MB)";
  time.label = "virtual time (s)";
  const auto train_loss = [](const RecordRow& row) { return row.train_loss; };
  const auto percent = [](const RecordRow& row) {
    return row.test_accuracy ? std::optional(100 * *row.test_accuracy) : std::nullopt;
  };
  const auto tested = [](const RecordRow& row) { return row.test_loss; };
  std::vector<CurveKind> kinds;
  kinds.push_back(
      {"loss", "Training loss", "Training loss over local steps", {steps, loss, steps_of, train_loss}});
  kinds.push_back(
      {"accuracy", "Test accuracy", "Test accuracy over local steps", {steps, accuracy, steps_of, percent}});
  kinds.push_back(
      {"test-loss", "Test loss", "Test loss over local steps", {steps, test_loss, steps_of, tested}});
  kinds.push_back({"traffic",
                   "Loss over traffic",
                   "Training loss over traffic, up and down",
                   {traffic, loss, megabytes_of, train_loss}});
  kinds.push_back({"time-loss",
                   "Loss over time",
                   "Training loss over virtual time",
                   {time, loss, virtual_seconds_of, train_loss}});
  kinds.push_back({"time-accuracy",
                   "Accuracy over time",
                   "Test accuracy over virtual time",
                   {time, accuracy, virtual_seconds_of, percent}});
  return kinds;
}

Result<PageFigures> group_figures(const Group& group, std::size_t number) {
  PageFigures figures;
  const std::string where = subject_of(group);
  for (const CurveKind& kind : curve_kinds()) {
    const Plot plot = curves(group, fmt::format("{}-{}", kind.name, number + 1),
                             fmt::format("{}: {}", kind.title, where), kind.axes);
    if (plot.series.empty()) continue;
    MFL_TRY(Drawing drawing, draw(plot));
    figures.push_back({plot.name, fmt::format("{}: {}.", kind.what, where), std::move(drawing)});
  }
  return figures;
}

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

PageTable comparison_table(const Comparison& comparison) {
  PageTable table{.caption = "",
                  .columns = {{"run"},
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
         status_cell(run),
         {run.model},
         {run.algorithm},
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
  return table;
}

PageSection comparison_section(const Comparison& comparison) {
  PageSection section{"comparison", "Comparison", {comparison_table(comparison)}};
  PageList notes;
  for (const Target& target : comparison.targets)
    notes.items.push_back(
        target.run.empty()
            ? fmt::format("The target for {} on {} is a training loss of {}.", target.model, target.data,
                          number_text(target.loss))
            : fmt::format("The target for {} on {} is the training loss {} at which {} (run {}) ended.",
                          target.model, target.data, number_text(target.loss), comparison.baseline,
                          target.run));
  if (has_sampled_target(comparison)) notes.items.emplace_back(kSampledNote);
  for (const std::string& note : batch_notes(comparison)) notes.items.push_back(note);
  for (const CompareRow& row : comparison.rows)
    if (row.last_over_batches)
      notes.items.push_back(
          fmt::format("The training loss of run {} is the mean over the batches of a round.", row.run.id));
  for (const CompareRow& row : comparison.rows)
    for (const RunWarning& warning : row.run.warnings)
      notes.items.push_back(fmt::format("Run {}: {} ({}).", row.run.id, warning.message, warning.hint));
  for (const Parting& parting : comparison.partings)
    notes.items.push_back(
        fmt::format("Runs {} and {}: {}.", parting.first, parting.second, parting_text(parting)));
  if (!notes.items.empty()) section.blocks.emplace_back(std::move(notes));
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

PageSection run_section(const RunExport& run) {
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
    add("final", fmt::format("step {}, training loss {:.10g}", summary.final.step, summary.final.train_loss));
    if (summary.final.test_accuracy) {
      const auto tested = read_test_metrics(summary.test_metrics);
      add("test accuracy", percent_text(summary.final.test_accuracy) + (tested ? top_text(*tested) : ""));
    }
    for (auto& [what, value] : metric_lines(summary.test_metrics)) add(std::move(what), std::move(value));
    add("best", fmt::format("step {}, training loss {:.10g}", summary.best.step, summary.best.train_loss));
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
  section.blocks.emplace_back(PageCode{row.config, "Configuration"});
  return section;
}

Result<std::vector<RunExport>> load_once(const Store& store, std::span<const std::string> ids) {
  std::vector<RunExport> runs;
  std::set<std::string> known;
  for (const std::string& id : ids) {
    MFL_TRY(const RunRow row, store.get(id));
    if (!known.insert(row.id).second) continue;
    MFL_TRY(runs.emplace_back(), load_run(store, row.id, true));
  }
  return runs;
}

}  // namespace

Result<Report> runs_report(const Store& store, std::span<const std::string> ids,
                           const CompareOptions& options) {
  MFL_TRY(const std::vector<RunExport> runs, load_once(store, ids));
  std::vector<std::string> whole_ids;
  whole_ids.reserve(runs.size());
  for (const RunExport& run : runs) whole_ids.push_back(run.run.id);
  MFL_TRY(const Comparison comparison, compare_runs(store, whole_ids, options));
  Report report;
  report.page.title =
      runs.size() == 1 ? "Run " + runs.front().run.id : fmt::format("{} runs of mfl", runs.size());
  report.page.lead = fmt::format("From the run store {}.", store.path().filename().string());
  report.page.sections.push_back(comparison_section(comparison));
  const std::vector<Group> groups = groups_of(runs);
  PageSection curves_section{"curves", "Curves", {}};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    MFL_TRY(PageFigures figures, group_figures(groups[i], i));
    if (!figures.empty()) curves_section.blocks.emplace_back(std::move(figures));
  }
  if (curves_section.blocks.empty())
    curves_section.blocks.emplace_back(PageParagraph{"Nothing is recorded yet."});
  report.page.sections.push_back(std::move(curves_section));
  for (const RunExport& run : runs) report.page.sections.push_back(run_section(run));
  report.files = {{"data/records.csv", records_csv(runs)}, {"data/rounds.csv", rounds_csv(runs)}};
  return report;
}

}  // namespace mfl
