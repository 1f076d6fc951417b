#include "mfl/report/runs_figures.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "mfl/report/table.h"

namespace mfl {
namespace {

// States without a record whose losses were measured have a row too, which lacks the rest: a figure shows all
// that was measured. Their seconds are not a number.
RunExport with_measured_rounds(RunExport run) {
  std::set<std::uint64_t> recorded;
  std::size_t known = 0;
  for (const RecordRow& row : run.records) {
    recorded.insert(row.step);
    known += row.train_loss ? 1 : 0;
  }
  if (known == run.records.size() || !run.rounds) return run;
  for (const RoundRow& row : *run.rounds)
    if (row.train_loss && !recorded.contains(row.step)) {
      RecordRow added{.step = row.step, .round = row.round, .train_loss = row.train_loss};
      added.bytes_up = row.bytes_up;
      added.bytes_down = row.bytes_down;
      added.wall_seconds = std::numeric_limits<double>::quiet_NaN();
      if (row.time) added.virtual_seconds = row.time->total_seconds;
      run.records.push_back(std::move(added));
    }
  std::ranges::sort(run.records, {}, &RecordRow::step);
  return run;
}

std::size_t records_of(const RunExport& run) {
  return static_cast<std::size_t>(
      std::ranges::count_if(run.records, [](const RecordRow& row) { return !std::isnan(row.wall_seconds); }));
}

// One curve: the mean over its runs.
struct RunCurve {
  const RunSetting* setting = nullptr;
  std::vector<const RunExport*> runs;
  const RunRow& first() const { return runs.front()->run; }
};

std::vector<RunCurve> curves_of(const RunSetting& setting, const std::vector<RunExport>& runs) {
  std::vector<std::size_t> each = setting.runs;
  for (const RunSetting::LeftOut& one : setting.left_out) each.push_back(one.run);
  std::ranges::sort(each);
  const bool one_curve = setting.distinct_seeds > 1 && !setting.runs.empty();
  std::vector<RunCurve> curves;
  for (const std::size_t i : one_curve ? setting.runs : each)
    if (one_curve && !curves.empty())
      curves.back().runs.push_back(&runs[i]);
    else
      curves.push_back({&setting, {&runs[i]}});
  return curves;
}

// Curves of the same function: they belong in one picture.
struct CurveGroup {
  std::set<std::pair<std::string, std::string>> functions;  // model and problem
  std::vector<RunCurve> curves;
};

void join(CurveGroup& group, CurveGroup&& more) {
  group.functions.merge(more.functions);
  for (RunCurve& curve : more.curves) group.curves.push_back(std::move(curve));
}

std::vector<CurveGroup> groups_of(const std::vector<RunExport>& runs, const Settings& settings) {
  std::vector<CurveGroup> groups;
  for (const RunSetting& setting : settings.all) {
    CurveGroup added{{}, curves_of(setting, runs)};
    for (const RunCurve& curve : added.curves)
      for (const RunExport* run : curve.runs) added.functions.emplace(run->run.model, run->run.problem);
    const auto meets = [&](const CurveGroup& group) {
      return std::ranges::any_of(added.functions,
                                 [&](const auto& one) { return group.functions.contains(one); });
    };
    auto place = std::ranges::find_if(groups, meets);
    if (place == groups.end()) {
      groups.push_back(std::move(added));
      continue;
    }
    // It may join groups that had nothing in common before.
    for (auto other = place + 1; other != groups.end();) {
      if (!meets(*other)) {
        ++other;
        continue;
      }
      join(*place, std::move(*other));
      other = groups.erase(other);
    }
    join(*place, std::move(added));
  }
  return groups;
}

// Whether the curves have more than one value of something.
template <class Get>
bool varies(const CurveGroup& group, Get get) {
  return std::ranges::any_of(group.curves, [&](const RunCurve& curve) {
    return get(curve.first()) != get(group.curves.front().first());
  });
}

// What all curves of a group with more than one have in common, for the title.
struct Common {
  bool algorithm = false, tau = false;
};

Common common_of(const CurveGroup& group) {
  if (group.curves.size() < 2) return {};
  return {!varies(group, [](const RunRow& run) { return run.algorithm; }) &&
              varies(group, [](const RunRow& run) { return std::pair(run.gamma, run.tau); }),
          !varies(group, [](const RunRow& run) { return run.tau; })};
}

// "svm on mnist, mfl, τ 4".
std::string subject_of(const CurveGroup& group) {
  const Common common = common_of(group);
  const RunRow& first = group.curves.front().first();
  std::string out = fmt::format("{} on {}", first.model, first.data);
  if (common.algorithm) out += ", " + group.curves.front().setting->algorithm;
  if (common.tau && first.tau) out += fmt::format(", τ {}", *first.tau);
  return out;
}

// What tells a setting from others besides what a title has anyway.
std::string more_differences(const RunSetting& setting) {
  static const std::set<std::string> kInTitle = {"algorithm.name", "algorithm.eta",    "algorithm.gamma",
                                                 "algorithm.tau",  "federation.nodes", "run.precision"};
  std::string out;
  for (const ConfigValue& value : setting.differences) {
    if (kInTitle.contains(value.table + "." + value.key)) continue;
    if ((value.table == "model" && value.key == "name") || (value.table == "data" && value.key == "source"))
      continue;
    std::string text = value.value;
    std::erase(text, '"');
    const bool names_itself = value.key == "partition" || value.key == "aggregator";
    out += names_itself ? " " + text : fmt::format(" {} {}", value.key, text);
  }
  return out;
}

// The algorithm, with what tells a curve from the others of its group.
std::vector<std::string> titles_of(const CurveGroup& group) {
  const Common common = common_of(group);
  std::uint64_t most_nodes = 0;
  for (const RunCurve& curve : group.curves) most_nodes = std::max(most_nodes, curve.first().nodes);
  const bool eta = varies(group, [](const RunRow& run) { return run.eta; });
  const bool nodes = varies(group, [&](const RunRow& run) {
    return run.tau ? run.nodes : most_nodes;  // a centralised algorithm has no nodes to speak of
  });
  const bool precision = varies(group, [](const RunRow& run) { return run.precision; });
  std::vector<std::string> titles;
  std::map<std::string, int> seen;
  for (const RunCurve& curve : group.curves) {
    const RunRow& run = curve.first();
    if (!curve.setting->label.empty()) {
      ++seen[curve.setting->label];
      titles.push_back(curve.setting->label);
      continue;
    }
    std::string title = common.algorithm ? "" : curve.setting->algorithm;
    if (run.gamma) title += fmt::format(" γ {}", number_text(*run.gamma));
    if (run.tau && !common.tau) title += fmt::format(" τ {}", *run.tau);
    if (eta) title += fmt::format(" η {}", number_text(run.eta));
    if (nodes && run.tau) title += fmt::format(" {} nodes", run.nodes);
    if (precision) title += " " + run.precision;
    title += more_differences(*curve.setting);
    if (title.starts_with(' ')) title.erase(0, 1);
    ++seen[title];
    titles.push_back(std::move(title));
  }
  for (std::size_t i = 0; i < titles.size(); ++i)
    if (seen[titles[i]] > 1) titles[i] += " " + group.curves[i].first().id;
  return titles;
}

struct CurveAxes {
  PlotAxis x, y;
  RecordValue x_value, y_value;
};

double steps_of(const RecordRow& row) { return static_cast<double>(row.step); }
double megabytes_of(const RecordRow& row) { return static_cast<double>(row.bytes_up + row.bytes_down) / 1e6; }

std::optional<double> virtual_seconds_of(const RecordRow& row) { return row.virtual_seconds; }

std::vector<PlotStyle> styles_of(const CurveGroup& group) {
  std::vector<std::string> names;
  for (const RunCurve& curve : group.curves) names.push_back(curve.first().algorithm);
  if (std::set(names.begin(), names.end()).size() == names.size()) return algorithm_styles(names);
  std::vector<PlotStyle> styles;
  for (std::size_t i = 0; i < names.size(); ++i) styles.push_back(palette_style(i));
  return styles;
}

Plot plot_of(const CurveGroup& group, std::string name, std::string title, const CurveAxes& axes) {
  Plot plot{.name = std::move(name), .title = std::move(title), .x = axes.x, .y = axes.y, .series = {}};
  const std::vector<PlotStyle> styles = styles_of(group);
  const std::vector<std::string> titles = titles_of(group);
  for (std::size_t i = 0; i < group.curves.size(); ++i) {
    const RunCurve& curve = group.curves[i];
    MeanCurve mean = mean_curve(curve.runs, axes.x_value, axes.y_value);
    if (mean.x.empty() || mean.x.back() <= 0) continue;
    // The first record has no loss over batches, the last one none of a start.
    const bool sparse = mean.x.size() + 1 < records_of(*curve.runs.front());
    PlotSeries series{.title = titles[i],
                      .x = std::move(mean.x),
                      .y = std::move(mean.mean),
                      .low = std::move(mean.low),
                      .high = std::move(mean.high),
                      .style = styles[i]};
    if (sparse) series.mark = PlotSeries::Mark::kLineAndPoints;
    series.diverged = curve.first().status == RunStatus::kDiverged;
    plot.series.push_back(std::move(series));
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
  bool of_train_loss = false;
};

std::vector<CurveKind> curve_kinds() {
  PlotAxis steps, loss, batch_loss, start_loss, accuracy, test_loss, traffic, time;
  steps.label = "local steps t";
  loss.label = "training loss F(w)";
  batch_loss.label = "mean loss over a round's batches";
  start_loss.label = "loss where nodes start";
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
  kinds.push_back({"loss",
                   "Training loss",
                   "Training loss F(w) over local steps",
                   {steps, loss, steps_of, train_loss},
                   true});
  kinds.push_back(
      {"batch-loss",
       "Batch loss",
       "Mean loss over the batches of the round that ended there, each at the weights of its step",
       {steps, batch_loss, steps_of, [](const RecordRow& row) { return row.batch_loss; }}});
  kinds.push_back({"start-loss",
                   "Start loss",
                   "Loss over all samples of where the nodes start, which is not w",
                   {steps, start_loss, steps_of, [](const RecordRow& row) { return row.start_loss; }}});
  kinds.push_back(
      {"accuracy", "Test accuracy", "Test accuracy over local steps", {steps, accuracy, steps_of, percent}});
  kinds.push_back(
      {"test-loss", "Test loss", "Test loss over local steps", {steps, test_loss, steps_of, tested}});
  kinds.push_back({"traffic",
                   "Loss over traffic",
                   "Training loss F(w) over traffic, up and down",
                   {traffic, loss, megabytes_of, train_loss},
                   true});
  kinds.push_back({"time-loss",
                   "Loss over time",
                   "Training loss F(w) over virtual time",
                   {time, loss, virtual_seconds_of, train_loss},
                   true});
  kinds.push_back({"time-accuracy",
                   "Accuracy over time",
                   "Test accuracy over virtual time",
                   {time, accuracy, virtual_seconds_of, percent}});
  return kinds;
}

std::optional<double> wall_seconds_of(const RecordRow& row) { return row.wall_seconds; }
double rounds_of(const RecordRow& row) { return static_cast<double>(row.round); }

// Draws what is drawn over local steps over something else: rounds, bytes or seconds, which are virtual where
// there is virtual time.
void replace_steps(std::vector<CurveKind>& kinds, std::string_view x, bool timed) {
  struct Over {
    std::string_view x, label, what;
    RecordValue value;
  };
  const Over over[] = {
      {"rounds", "rounds", "over rounds", rounds_of},
      {"bytes", "traffic (MB)", "over traffic, up and down", megabytes_of},
      {"seconds", timed ? "virtual time (s)" : "time (s)", timed ? "over virtual time" : "over time",
       timed ? virtual_seconds_of : wall_seconds_of}};
  const auto* const chosen = std::ranges::find(over, x, &Over::x);
  if (chosen == std::end(over)) return;
  constexpr std::string_view kSteps = "over local steps";
  const std::string steps = kinds.front().axes.x.label;
  std::erase_if(kinds, [&](const CurveKind& kind) {
    return kind.axes.x.label == chosen->label && kind.axes.x.label != steps;
  });
  for (CurveKind& kind : kinds) {
    if (kind.axes.x.label != steps) continue;
    kind.axes.x.label = chosen->label;
    kind.axes.x_value = chosen->value;
    if (const std::size_t at = kind.what.find(kSteps); at != std::string::npos)
      kind.what.replace(at, kSteps.size(), chosen->what);
  }
}

// " Means over 5 seeds, bands of one standard deviation." where there are several.
std::string seeds_note(const CurveGroup& group) {
  std::size_t least = SIZE_MAX, most = 0;
  for (const RunCurve& curve : group.curves) {
    least = std::min(least, curve.runs.size());
    most = std::max(most, curve.runs.size());
  }
  if (most < 2) return {};
  return fmt::format(" Means over {} seeds, bands of one standard deviation to both sides.",
                     least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most));
}

// A federation whose nodes start elsewhere than at w, which they get at the end alone.
bool looks_ahead(const RunExport& run) {
  const auto measured =
      std::ranges::count_if(run.records, [](const RecordRow& row) { return row.train_loss.has_value(); });
  return run.run.data == "federation" && measured == 2 && run.records.size() > 2;
}

// What F(w) is of, and where it was measured, in the figure's caption.
std::string measured_note(const CurveGroup& group, const Plot& plot) {
  std::string out;
  if (std::ranges::any_of(group.curves, [](const RunCurve& curve) { return curve.first().sampled; }))
    out += " Over all samples of the nodes that each round counted, not of all nodes.";
  if (std::ranges::any_of(plot.series,
                          [](const PlotSeries& one) { return one.mark != PlotSeries::Mark::kLine; }))
    out += " Points show where it was measured.";
  if (std::ranges::any_of(group.curves,
                          [](const RunCurve& curve) { return looks_ahead(*curve.runs.front()); }))
    out +=
        " Nodes of an algorithm that looks ahead do not start at w: F(w) is known of the first and the last "
        "State alone.";
  return out;
}

Result<PageFigures> group_figures(const CurveGroup& group, std::size_t number, std::string_view x) {
  PageFigures figures;
  bool timed = false;
  for (const RunCurve& curve : group.curves)
    for (const RunExport* run : curve.runs)
      timed |= std::ranges::any_of(run->records,
                                   [](const RecordRow& row) { return row.virtual_seconds.has_value(); });
  std::vector<CurveKind> kinds = curve_kinds();
  replace_steps(kinds, x, timed);
  const std::string where = subject_of(group);
  for (const CurveKind& kind : kinds) {
    const Plot plot = plot_of(group, fmt::format("{}-{}", kind.name, number + 1),
                              fmt::format("{}: {}", kind.title, where), kind.axes);
    if (plot.series.empty()) continue;
    MFL_TRY(Drawing drawing, draw(plot));
    figures.push_back({plot.name,
                       fmt::format("{}: {}.{}{}", kind.what, where, seeds_note(group),
                                   measured_note(kind.of_train_loss ? group : CurveGroup{}, plot)),
                       std::move(drawing)});
  }
  return figures;
}

}  // namespace

Result<std::vector<PageFigures>> runs_figures(const std::vector<RunExport>& recorded,
                                              const Settings& settings, std::string_view x) {
  std::vector<RunExport> runs;
  for (const RunExport& run : recorded) runs.push_back(with_measured_rounds(run));
  const std::vector<CurveGroup> groups = groups_of(runs, settings);
  std::vector<PageFigures> out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    MFL_TRY(PageFigures figures, group_figures(groups[i], i, x));
    if (!figures.empty()) out.push_back(std::move(figures));
  }
  return out;
}

}  // namespace mfl
