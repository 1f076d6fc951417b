#include "mfl/study/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mfl {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::size_t cell_index(const StudyPlan& plan, const StudyCell& cell) {
  return cell.problem * plan.splits.size() + cell.split;
}

TunedSetting selected(const std::vector<StudyCandidate>& grid, std::vector<double> scores) {
  TunedSetting out{.scores = std::move(scores)};
  out.chosen = static_cast<std::size_t>(std::ranges::min_element(out.scores) - out.scores.begin());
  out.all_diverged = !std::isfinite(out.scores[out.chosen]);
  const double eta = grid[out.chosen].eta;
  const bool several = grid.front().eta != grid.back().eta;
  out.at_low_edge = several && eta == grid.front().eta;
  out.at_high_edge = several && eta == grid.back().eta;
  return out;
}

}  // namespace

double as_score(double value, StudyMetric metric) {
  return metric == StudyMetric::kTrainLoss ? value : 1 - value;
}

double as_value(double score, StudyMetric metric) { return as_score(score, metric); }

double score_of(const StudyRun& run, StudyMetric metric) {
  const double value =
      metric == StudyMetric::kTrainLoss ? run.final_loss : run.final_accuracy.value_or(-kNever);
  return run.diverged || !std::isfinite(value) ? kNever : as_score(value, metric);
}

std::vector<std::vector<TunedSetting>> select_settings(const StudyPlan& plan,
                                                       std::span<const StudyRun> runs) {
  const std::vector<StudyCell> cells = cells_of(plan);
  std::vector<std::vector<std::vector<double>>> sums(cells.size());
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    for (std::size_t algorithm = 0; algorithm < plan.algorithms.size(); ++algorithm)
      sums[cell].emplace_back(candidates(plan, cells[cell].problem, algorithm).size(), 0.0);
  for (const StudyRun& run : runs)
    sums[cell_index(plan, run.key.cell)][run.key.algorithm][run.key.candidate] += score_of(run, plan.metric);
  std::vector<std::vector<TunedSetting>> out(cells.size());
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    for (std::size_t algorithm = 0; algorithm < plan.algorithms.size(); ++algorithm) {
      std::vector<double>& scores = sums[cell][algorithm];
      for (double& score : scores) score /= static_cast<double>(plan.tuning_seeds.size());
      out[cell].push_back(selected(candidates(plan, cells[cell].problem, algorithm), std::move(scores)));
    }
  return out;
}

ChosenCandidates chosen_of(const std::vector<std::vector<TunedSetting>>& tuned) {
  ChosenCandidates out;
  for (const auto& cell : tuned) {
    out.emplace_back();
    for (const TunedSetting& setting : cell) out.back().push_back(setting.chosen);
  }
  return out;
}

std::span<const StudyRun> StudyEvidence::runs_of(std::size_t cell, std::size_t algorithm) const {
  const std::size_t seeds = plan.seeds.size();
  return std::span(runs).subspan((cell * plan.algorithms.size() + algorithm) * seeds, seeds);
}

}  // namespace mfl
