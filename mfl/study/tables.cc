#include "mfl/study/tables.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "mfl/study/conclusions.h"

namespace mfl {
namespace {

using Cells = std::vector<std::string>;

std::string exact(double value) { return std::isfinite(value) ? fmt::format("{:.17g}", value) : ""; }
std::string exact(const std::optional<double>& value) { return value ? exact(*value) : ""; }

bool has_seconds(const StudyResults& results) {
  for (const CellResult& cell : results.cells)
    for (const AlgorithmResult& result : cell.algorithms)
      if (!result.seconds) return false;
  return true;
}

bool has_accuracy(const StudyResults& results) {
  for (const CellResult& cell : results.cells)
    for (const AlgorithmResult& result : cell.algorithms)
      if (result.accuracy.count > 0) return true;
  return false;
}

// Powers of 1000 of bytes, so that mean and deviation have one unit.
CostToTarget in_megabytes(const CostToTarget& cost) {
  return {cost.mean / 1e6, cost.sd ? std::optional(*cost.sd / 1e6) : std::nullopt};
}

std::string place_text(const AlgorithmResult& result, bool one_seed) {
  if (result.best) return "best";
  if (one_seed) return "";
  return result.to_best.verdict == PairedVerdict::kTie ? "tie" : "";
}

std::vector<Column> result_columns(const StudyResults& results) {
  std::vector<Column> columns = {{"split"}, {"algorithm"}, {"training loss", Align::kRight}};
  if (has_accuracy(results)) columns.push_back({"test accuracy", Align::kRight});
  columns.push_back({"rounds to target", Align::kRight});
  columns.push_back({"MB to target", Align::kRight});
  if (has_seconds(results)) columns.push_back({"virtual s to target", Align::kRight});
  columns.push_back({"reached", Align::kRight});
  columns.push_back({"place"});
  return columns;
}

Cells result_cells(const StudyPlan& plan, const StudyResults& results, const CellResult& cell,
                   std::size_t algorithm) {
  const AlgorithmResult& result = cell.algorithms[algorithm];
  Cells cells = {plan.splits[cell.cell.split], plan.algorithms[algorithm].label,
                 summary_text(result.loss, StudyMetric::kTrainLoss)};
  if (has_accuracy(results)) cells.push_back(summary_text(result.accuracy, StudyMetric::kTestAccuracy));
  cells.push_back(cost_text(result.rounds, result));
  cells.push_back(cost_text(in_megabytes(result.bytes), result));
  if (has_seconds(results)) cells.push_back(cost_text(*result.seconds, result));
  cells.push_back(fmt::format("{} of {}", result.reached, result.seeds));
  cells.push_back(place_text(result, plan.seeds.size() < 2));
  return cells;
}

std::string_view verdict_word(PairedVerdict verdict) {
  switch (verdict) {
    case PairedVerdict::kBetter: return "better";
    case PairedVerdict::kTie: return "tie";
    case PairedVerdict::kWorse: return "worse";
    case PairedVerdict::kUnknown: break;
  }
  return "unknown";
}

Cells run_cells(const StudyPlan& plan, const StudyRunKey& key) {
  return {plan.problems[key.cell.problem].label, plan.splits[key.cell.split],
          plan.algorithms[key.algorithm].label, fmt::format("{}", key.seed)};
}

}  // namespace

std::string summary_text(const Summary& summary, StudyMetric metric) {
  if (summary.count == 0) return "diverged";
  const bool loss = metric == StudyMetric::kTrainLoss;
  const double scale = loss ? 1 : 100;
  const std::string mean = fmt::format("{:.{}f}", scale * summary.mean, loss ? 4 : 2);
  const std::string unit = loss ? "" : " %";
  return summary.sd ? fmt::format("{} ± {:.{}f}{}", mean, scale * *summary.sd, loss ? 4 : 2, unit)
                    : mean + unit;
}

std::string cost_text(const CostToTarget& cost, const AlgorithmResult& result) {
  if (result.reached == 0) return "not reached";
  if (result.reached < result.seeds)
    return fmt::format("> {:.1f} ({} of {})", cost.mean, result.reached, result.seeds);
  return cost.sd ? fmt::format("{:.1f} ± {:.1f}", cost.mean, *cost.sd) : fmt::format("{:.1f}", cost.mean);
}

Table results_table(const StudyEvidence& evidence, const StudyResults& results) {
  std::vector<Column> columns = result_columns(results);
  columns.insert(columns.begin(), Column{"problem"});
  Table table(std::move(columns));
  for (const CellResult& cell : results.cells)
    for (std::size_t i = 0; i < cell.algorithms.size(); ++i) {
      Cells cells = result_cells(evidence.plan, results, cell, i);
      cells.insert(cells.begin(), evidence.plan.problems[cell.cell.problem].label);
      table.add(std::move(cells));
    }
  return table;
}

Table problem_table(const StudyEvidence& evidence, const StudyResults& results, std::size_t problem) {
  Table table(result_columns(results));
  for (const CellResult& cell : results.cells)
    if (cell.cell.problem == problem)
      for (std::size_t i = 0; i < cell.algorithms.size(); ++i)
        table.add(result_cells(evidence.plan, results, cell, i));
  return table;
}

Table results_data(const StudyEvidence& evidence, const StudyResults& results) {
  const StudyPlan& plan = evidence.plan;
  std::vector<Column> columns;
  for (const char* title :
       {"problem",     "split",        "algorithm",          "eta",          "tuned",
        "tuned_value", "seeds",        "diverged",           "reached",      "target_mean",
        "loss_mean",   "loss_sd",      "accuracy_mean",      "accuracy_sd",  "rounds_mean",
        "rounds_sd",   "bytes_mean",   "bytes_sd",           "seconds_mean", "seconds_sd",
        "best",        "against_best", "difference_to_best", "margin"})
    columns.push_back({title});
  Table table(std::move(columns));
  for (std::size_t c = 0; c < results.cells.size(); ++c)
    for (std::size_t i = 0; i < plan.algorithms.size(); ++i) {
      const CellResult& cell = results.cells[c];
      const AlgorithmResult& r = cell.algorithms[i];
      const StudyCandidate chosen = candidates(plan, cell.cell.problem, i)[evidence.tuned[c][i].chosen];
      const bool accuracy = r.accuracy.count > 0, loss = r.loss.count > 0;
      table.add({plan.problems[cell.cell.problem].label,
                 plan.splits[cell.cell.split],
                 plan.algorithms[i].label,
                 exact(chosen.eta),
                 plan.algorithms[i].tuned,
                 exact(chosen.value),
                 fmt::format("{}", r.seeds),
                 fmt::format("{}", r.diverged),
                 fmt::format("{}", r.reached),
                 exact(summary_of(cell.targets).mean),
                 loss ? exact(r.loss.mean) : "",
                 exact(r.loss.sd),
                 accuracy ? exact(r.accuracy.mean) : "",
                 exact(r.accuracy.sd),
                 exact(r.rounds.mean),
                 exact(r.rounds.sd),
                 exact(r.bytes.mean),
                 exact(r.bytes.sd),
                 r.seconds ? exact(r.seconds->mean) : "",
                 r.seconds ? exact(r.seconds->sd) : "",
                 r.best ? "1" : "0",
                 std::string(verdict_word(r.to_best.verdict)),
                 exact(r.to_best.mean),
                 exact(r.to_best.margin)});
    }
  return table;
}

Table ranking_table(const StudyEvidence& evidence, const StudyResults& results) {
  Table table({{"algorithm"},
               {"mean rank", Align::kRight},
               {"95 % interval", Align::kRight},
               {"best in", Align::kRight},
               {"best or tied in", Align::kRight}});
  for (const std::size_t i : results.order) {
    const MeanRank& rank = results.ranking[i];
    std::size_t best = 0, tied = 0;
    for (const CellResult& cell : results.cells) {
      best += cell.best == i ? 1 : 0;
      tied += cell.best == i || cell.algorithms[i].to_best.verdict == PairedVerdict::kTie ? 1 : 0;
    }
    const std::size_t cells = results.cells.size();
    table.add({evidence.plan.algorithms[i].label, fmt::format("{:.2f}", rank.rank),
               rank.interval ? fmt::format("{:.2f} to {:.2f}", rank.interval->low, rank.interval->high) : "-",
               fmt::format("{} of {}", best, cells), fmt::format("{} of {}", tied, cells)});
  }
  return table;
}

Table ranking_data(const StudyEvidence& evidence, const StudyResults& results) {
  Table table({{"algorithm"}, {"mean_rank"}, {"low"}, {"high"}});
  for (const std::size_t i : results.order) {
    const MeanRank& rank = results.ranking[i];
    table.add({evidence.plan.algorithms[i].label, exact(rank.rank),
               rank.interval ? exact(rank.interval->low) : "",
               rank.interval ? exact(rank.interval->high) : ""});
  }
  return table;
}

Table costs_table(const StudyEvidence& evidence, const StudyResults& results) {
  const StudyPlan& plan = evidence.plan;
  Table table({{"algorithm"},
               {"rounds", Align::kRight},
               {"bytes", Align::kRight},
               {"virtual time", Align::kRight},
               {"cells", Align::kRight},
               {"runs that reached it", Align::kRight}});
  for (const std::size_t i : results.order) {
    const auto ratio = cost_ratio(results, i, plan.reference);
    std::size_t reached = 0, runs = 0;
    for (const CellResult& cell : results.cells) {
      reached += cell.algorithms[i].reached;
      runs += cell.algorithms[i].seeds;
    }
    const auto text = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.2f}", *value) : std::string("-");
    };
    table.add({plan.algorithms[i].label, text(ratio ? std::optional(ratio->rounds) : std::nullopt),
               text(ratio ? std::optional(ratio->bytes) : std::nullopt),
               text(ratio ? ratio->seconds : std::nullopt),
               fmt::format("{} of {}", ratio ? ratio->cells : 0, results.cells.size()),
               fmt::format("{} of {}", reached, runs)});
  }
  return table;
}

Table settings_table(const StudyEvidence& evidence, const StudyResults& results) {
  const StudyPlan& plan = evidence.plan;
  Table table({{"problem"},
               {"split"},
               {"algorithm"},
               {"selected"},
               {"tried", Align::kRight},
               {"diverged", Align::kRight},
               {"step size"}});
  for (std::size_t c = 0; c < results.cells.size(); ++c)
    for (std::size_t i = 0; i < plan.algorithms.size(); ++i) {
      const StudyCell& cell = results.cells[c].cell;
      const TunedSetting& tuned = evidence.tuned[c][i];
      std::size_t diverged = 0;
      for (const double score : tuned.scores) diverged += std::isfinite(score) ? 0 : 1;
      const char* edge = tuned.at_low_edge    ? "lowest of the grid"
                         : tuned.at_high_edge ? "highest of the grid"
                                              : "inside";
      table.add({plan.problems[cell.problem].label, plan.splits[cell.split], plan.algorithms[i].label,
                 candidate_text(plan, i, candidates(plan, cell.problem, i)[tuned.chosen]),
                 fmt::format("{}", tuned.scores.size()), fmt::format("{}", diverged), edge});
    }
  return table;
}

Table runs_data(const StudyEvidence& evidence) {
  Table table({{"problem"},
               {"split"},
               {"algorithm"},
               {"seed"},
               {"diverged"},
               {"final_loss"},
               {"final_accuracy"},
               {"digest"}});
  for (const StudyRun& run : evidence.runs) {
    Cells cells = run_cells(evidence.plan, run.key);
    for (std::string cell : {std::string(run.diverged ? "1" : "0"), exact(run.final_loss),
                             exact(run.final_accuracy), run.digest})
      cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  return table;
}

Table points_data(const StudyEvidence& evidence) {
  const char* value = evidence.plan.metric == StudyMetric::kTrainLoss ? "training_loss" : "test_accuracy";
  Table table(
      {{"problem"}, {"split"}, {"algorithm"}, {"seed"}, {"round"}, {value}, {"bytes"}, {"virtual_seconds"}});
  for (const StudyRun& run : evidence.runs)
    for (const StudyPoint& point : run.points) {
      Cells cells = run_cells(evidence.plan, run.key);
      for (std::string cell : {fmt::format("{}", point.round), exact(point.value),
                               fmt::format("{}", point.bytes), exact(point.seconds)})
        cells.push_back(std::move(cell));
      table.add(std::move(cells));
    }
  return table;
}

}  // namespace mfl
