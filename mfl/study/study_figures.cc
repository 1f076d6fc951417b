#include "mfl/study/study_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mfl/algorithm/algorithms.h"

namespace mfl {
namespace {

std::vector<PlotStyle> styles_of(const StudyPlan& plan) {
  std::vector<std::string> names;
  for (const StudyAlgorithm& algorithm : plan.algorithms) {
    const AlgorithmEntry* entry =
        algorithms().find(algorithm.spec.substr(0, algorithm.spec.find_first_of("( ")));
    names.push_back(entry != nullptr ? entry->name : algorithm.label);
  }
  return algorithm_styles(names);
}

PlotSeries series_of(std::span<const StudyRun> runs) {
  PlotSeries series;
  std::size_t points = std::numeric_limits<std::size_t>::max();
  for (const StudyRun& run : runs) {
    points = std::min(points, run.points.size());
    series.diverged = series.diverged || run.diverged;
  }
  for (std::size_t i = 0; i < points; ++i) {
    double sum = 0, low = std::numeric_limits<double>::infinity(), high = -low;
    for (const StudyRun& run : runs) {
      const double value = run.points[i].value;
      sum += value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    series.x.push_back(static_cast<double>(runs.front().points[i].round));
    series.y.push_back(sum / static_cast<double>(runs.size()));
    if (runs.size() < 2) continue;
    series.low.push_back(low);
    series.high.push_back(high);
  }
  // Where only some rounds were measured, points show which.
  constexpr std::size_t kFewPoints = 60;
  if (points > 0 && points <= kFewPoints && series.x.back() >= static_cast<double>(points))
    series.mark = PlotSeries::Mark::kLineAndPoints;
  return series;
}

std::vector<std::string> labels_of(const StudyPlan& plan) {
  std::vector<std::string> labels;
  for (const StudyAlgorithm& algorithm : plan.algorithms) labels.push_back(algorithm.label);
  return labels;
}

HeatMap map_of(const StudyPlan& plan, std::string name, std::string title, std::string value) {
  return {.name = std::move(name),
          .title = std::move(title),
          .value_label = std::move(value),
          .row_label = "algorithm",
          .column_label = "split",
          .rows = labels_of(plan),
          .columns = plan.splits,
          .dark_is_low = true,
          .width = 640};  // room for the names of five splits
}

// How far behind the best of its split: 1 for the best, by a factor of the loss; 0 for the best, by points of
// accuracy.
HeatCell final_cell(const AlgorithmResult& result, const AlgorithmResult& best, StudyMetric metric) {
  const double score = summary_of(result.scores).mean, least = summary_of(best.scores).mean;
  if (!std::isfinite(score)) return {{}, "diverged"};
  if (metric == StudyMetric::kTestAccuracy)
    return {100 * (score - least), fmt::format("{:.2f}", 100 * (1 - score))};
  return {least > 0 ? score / least : 1, fmt::format("{:.4f}", score)};
}

HeatCell rounds_cell(const AlgorithmResult& result) {
  if (result.reached == 0) return {{}, "never"};
  if (result.reached < result.seeds) return {result.rounds.mean, fmt::format("> {:.0f}", result.rounds.mean)};
  return {result.rounds.mean, fmt::format("{:.0f}", result.rounds.mean)};
}

template <class CellOf>
void fill(HeatMap& map, const StudyPlan& plan, const StudyResults& results, std::size_t problem,
          CellOf cell_of) {
  map.cells.resize(plan.algorithms.size());
  for (const CellResult& cell : results.cells)
    if (cell.cell.problem == problem)
      for (std::size_t i = 0; i < plan.algorithms.size(); ++i) map.cells[i].push_back(cell_of(cell, i));
}

}  // namespace

Plot curves_of(const StudyEvidence& evidence, std::size_t cell) {
  const StudyPlan& plan = evidence.plan;
  const StudyCell where = cells_of(plan)[cell];
  const bool loss = plan.metric == StudyMetric::kTrainLoss;
  Plot plot{.name = fmt::format("curves-{}-{}", where.problem + 1, where.split + 1),
            .title = fmt::format("{}: {}", plan.problems[where.problem].label, plan.splits[where.split]),
            .x = {.label = "round"},
            .y = {.label = loss ? "training loss F(w)" : "test accuracy", .log = loss},
            .series = {}};
  const std::vector<PlotStyle> styles = styles_of(plan);
  for (std::size_t i = 0; i < plan.algorithms.size(); ++i) {
    plot.series.push_back(series_of(evidence.runs_of(cell, i)));
    plot.series.back().title = plan.algorithms[i].label;
    plot.series.back().style = styles[i];
  }
  return plot;
}

HeatMap final_map(const StudyEvidence& evidence, const StudyResults& results, std::size_t problem) {
  const StudyPlan& plan = evidence.plan;
  const bool loss = plan.metric == StudyMetric::kTrainLoss;
  HeatMap map = map_of(plan, fmt::format("final-{}", problem + 1),
                       fmt::format("{}: final {}", plan.problems[problem].label, metric_text(plan.metric)),
                       loss ? "loss over the best of the split" : "points behind the best of the split");
  map.log = loss;
  map.missing = "diverged";
  fill(map, plan, results, problem, [&](const CellResult& cell, std::size_t i) {
    return final_cell(cell.algorithms[i], cell.algorithms[cell.best], plan.metric);
  });
  return map;
}

HeatMap rounds_map(const StudyEvidence& evidence, const StudyResults& results, std::size_t problem) {
  const StudyPlan& plan = evidence.plan;
  HeatMap map = map_of(plan, fmt::format("rounds-{}", problem + 1),
                       fmt::format("{}: rounds to target", plan.problems[problem].label), "rounds");
  map.missing = "never reached";
  fill(map, plan, results, problem,
       [&](const CellResult& cell, std::size_t i) { return rounds_cell(cell.algorithms[i]); });
  return map;
}

DotPlot ranking_plot(const StudyEvidence& evidence, const StudyResults& results) {
  const std::vector<PlotStyle> styles = styles_of(evidence.plan);
  DotPlot plot{.name = "ranking",
               .title = "Mean rank over cells",
               .x = {.label = "mean rank (1 is the best)"},
               .rows = {}};
  for (const std::size_t i : results.order) {
    const MeanRank& rank = results.ranking[i];
    DotRow row{.name = evidence.plan.algorithms[i].label,
               .value = rank.rank,
               .note = fmt::format("{:.2f}", rank.rank),
               .style = styles[i]};
    if (rank.interval) {
      row.low = rank.interval->low;
      row.high = rank.interval->high;
    }
    plot.rows.push_back(std::move(row));
  }
  return plot;
}

}  // namespace mfl
