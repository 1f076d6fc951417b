#include "mfl/study/results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mfl/base/math.h"

namespace mfl {
namespace {

// What the whole run took, or would have taken without diverging.
StudyPoint whole_run(const StudyRun& run, std::uint64_t rounds) {
  if (run.points.empty()) return {.round = rounds};
  StudyPoint last = run.points.back();
  if (last.round == 0 || last.round >= rounds)
    return {.round = rounds, .bytes = last.bytes, .seconds = last.seconds};
  const double longer = static_cast<double>(rounds) / static_cast<double>(last.round);
  last.bytes = static_cast<std::uint64_t>(std::llround(static_cast<double>(last.bytes) * longer));
  if (last.seconds) last.seconds = *last.seconds * longer;
  last.round = rounds;
  return last;
}

template <class Value>
CostToTarget cost_of(const std::vector<StudyPoint>& ends, bool all_reached, Value value) {
  std::vector<double> values;
  for (const StudyPoint& end : ends) values.push_back(value(end));
  const Summary summary = summary_of(values);
  return {summary.mean, all_reached ? summary.sd : std::nullopt};
}

AlgorithmResult result_of(std::span<const StudyRun> runs, const std::vector<double>& targets,
                          const StudyEvidence& evidence) {
  const StudyMetric metric = evidence.plan.metric;
  AlgorithmResult out;
  out.seeds = runs.size();
  std::vector<double> losses, accuracies;
  std::vector<StudyPoint> ends;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    out.scores.push_back(score_of(runs[i], metric));
    out.diverged += runs[i].diverged ? 1 : 0;
    if (!runs[i].diverged) losses.push_back(runs[i].final_loss);
    if (!runs[i].diverged && runs[i].final_accuracy) accuracies.push_back(*runs[i].final_accuracy);
    const auto first = first_at(runs[i], targets[i], metric);
    out.reached += first ? 1 : 0;
    ends.push_back(first.value_or(whole_run(runs[i], evidence.rounds)));
  }
  out.loss = summary_of(losses);
  out.accuracy = summary_of(accuracies);
  const bool all = out.reached == out.seeds;
  out.rounds = cost_of(ends, all, [](const StudyPoint& end) { return static_cast<double>(end.round); });
  out.bytes = cost_of(ends, all, [](const StudyPoint& end) { return static_cast<double>(end.bytes); });
  if (std::ranges::all_of(ends, [](const StudyPoint& end) { return end.seconds.has_value(); }))
    out.seconds = cost_of(ends, all, [](const StudyPoint& end) { return *end.seconds; });
  return out;
}

std::vector<double> cell_targets(const StudyEvidence& evidence, std::size_t cell,
                                 const StudyProblem& problem) {
  const StudyPlan& plan = evidence.plan;
  if (problem.target) return std::vector<double>(plan.seeds.size(), *problem.target);
  std::vector<double> targets;
  for (const StudyRun& run : evidence.runs_of(cell, plan.reference))
    targets.push_back(as_value(score_of(run, plan.metric), plan.metric));
  return targets;
}

CellResult cell_result(const StudyEvidence& evidence, std::size_t index, const StudyCell& cell) {
  const StudyPlan& plan = evidence.plan;
  CellResult out{
      .cell = cell, .targets = cell_targets(evidence, index, plan.problems[cell.problem]), .algorithms = {}};
  std::vector<double> means;
  for (std::size_t i = 0; i < plan.algorithms.size(); ++i) {
    out.algorithms.push_back(result_of(evidence.runs_of(index, i), out.targets, evidence));
    means.push_back(summary_of(out.algorithms.back().scores).mean);
  }
  out.best = static_cast<std::size_t>(std::ranges::min_element(means) - means.begin());
  for (std::size_t i = 0; i < out.algorithms.size(); ++i) {
    AlgorithmResult& result = out.algorithms[i];
    result.best = i == out.best;
    result.to_best = compare_paired(result.scores, out.algorithms[out.best].scores);
  }
  return out;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += portable_log(value);
  return portable_exp(sum / static_cast<double>(values.size()));
}

}  // namespace

std::optional<StudyPoint> first_at(const StudyRun& run, double target, StudyMetric metric) {
  if (!std::isfinite(target)) return std::nullopt;
  const auto found = std::ranges::find_if(run.points, [&](const StudyPoint& point) {
    return less_is_better(metric) ? point.value <= target : point.value >= target;
  });
  return found == run.points.end() ? std::nullopt : std::optional(*found);
}

StudyResults results_of(const StudyEvidence& evidence) {
  StudyResults out;
  std::vector<std::vector<std::vector<double>>> scores;
  const std::vector<StudyCell> cells = cells_of(evidence.plan);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out.cells.push_back(cell_result(evidence, i, cells[i]));
    scores.emplace_back();
    for (const AlgorithmResult& result : out.cells.back().algorithms) scores.back().push_back(result.scores);
  }
  out.ranking = mean_ranks(scores);
  out.order.resize(evidence.plan.algorithms.size());
  std::iota(out.order.begin(), out.order.end(), std::size_t{0});
  std::ranges::stable_sort(out.order, {}, [&](std::size_t i) { return out.ranking[i].rank; });
  return out;
}

std::vector<CellComparison> compare_algorithms(const StudyResults& results, std::size_t a, std::size_t b) {
  std::vector<CellComparison> out;
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const auto& algorithms = results.cells[i].algorithms;
    out.push_back({i, compare_paired(algorithms[a].scores, algorithms[b].scores)});
  }
  return out;
}

std::optional<CostRatio> cost_ratio(const StudyResults& results, std::size_t a, std::size_t b) {
  std::vector<double> rounds, bytes, seconds;
  for (const CellResult& cell : results.cells) {
    const AlgorithmResult &first = cell.algorithms[a], &second = cell.algorithms[b];
    const bool reached = first.reached == first.seeds && second.reached == second.seeds;
    if (!reached || first.rounds.mean <= 0 || second.rounds.mean <= 0) continue;
    rounds.push_back(first.rounds.mean / second.rounds.mean);
    bytes.push_back(first.bytes.mean / second.bytes.mean);
    if (first.seconds && second.seconds) seconds.push_back(first.seconds->mean / second.seconds->mean);
  }
  if (rounds.empty()) return std::nullopt;
  CostRatio out{geometric_mean(rounds), geometric_mean(bytes), {}, rounds.size()};
  if (seconds.size() == rounds.size()) out.seconds = geometric_mean(seconds);
  return out;
}

}  // namespace mfl
