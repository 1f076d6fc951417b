#include "mfl/study/conclusions.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "mfl/experiment/experiment.h"

namespace mfl {
namespace {

// Whether nodes start, and report their loss, at another point than w.
bool looks_ahead(const StudyAlgorithm& algorithm) {
  Config config;
  if (!set_key(config, "algorithm.name", algorithm.spec)) return false;
  for (const auto& [key, text] : algorithm.set)
    if (!set_key(config, key, text)) return false;
  return validate(config) && Experiment(config).losses.elsewhere;
}

std::string listed_items(const std::vector<std::string>& items) {
  if (items.size() < 2) return items.empty() ? "" : items.front();
  const std::span most = std::span(items).first(items.size() - 1);
  return fmt::format("{} and {}", fmt::join(most, ", "), items.back());
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string better_word(StudyMetric metric) {
  return less_is_better(metric) ? "the lowest final training loss" : "the highest final test accuracy";
}

std::string rank_text(const MeanRank& rank) {
  if (!rank.interval) return fmt::format("{:.2f}", rank.rank);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", rank.rank, rank.interval->low, rank.interval->high);
}

// "0.0312 (8.1 %)" of a loss, "1.52 points" of an accuracy.
std::string amount_text(double difference, double of, StudyMetric metric) {
  if (!std::isfinite(difference)) return "because it diverged";
  if (metric == StudyMetric::kTestAccuracy)
    return fmt::format("by {:.2f} points", 100 * std::abs(difference));
  return fmt::format("by {:.3g} ({:.1f} %)", std::abs(difference), 100 * std::abs(difference / of));
}

class Writer {
 public:
  Writer(const StudyEvidence& evidence, const StudyResults& results)
      : plan_(evidence.plan), results_(results) {}

  std::vector<Conclusion> write() {
    add_ranking();
    add_splits();
    if (plan_.focus) add_focus(*plan_.focus);
    add_costs();
    return std::move(out_);
  }

 private:
  const std::string& label(std::size_t algorithm) const { return plan_.algorithms[algorithm].label; }
  bool one_seed() const { return plan_.seeds.size() < 2; }

  void add_ranking() {
    std::vector<std::string> places;
    for (const std::size_t i : results_.order)
      places.push_back(fmt::format("{} {}", label(i), rank_text(results_.ranking[i])));
    std::string text = fmt::format("Mean rank over {}, by {}: {}.", counted(results_.cells.size(), "cell"),
                                   better_word(plan_.metric), listed_items(places));
    out_.push_back({"ranking", text + leaders_text()});
  }

  // Names the algorithms whose interval overlaps the interval of the first.
  std::string leaders_text() const {
    const MeanRank& first = results_.ranking[results_.order.front()];
    if (!first.interval) return " One seed: the ranking has no uncertainty and may change with another.";
    std::vector<std::string> close;
    for (const std::size_t i : results_.order)
      if (i != results_.order.front() && results_.ranking[i].interval->low <= first.interval->high)
        close.push_back(label(i));
    const std::string& name = label(results_.order.front());
    if (close.empty()) return fmt::format(" {} is first beyond the uncertainty of the seeds.", name);
    return fmt::format(" The interval of {} overlaps {} of {}: the difference is not significant.", name,
                       close.size() == 1 ? "that" : "those", listed_items(close));
  }

  // Algorithms that are the best of a cell, or tie with it.
  std::vector<std::size_t> leaders(const CellResult& cell) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < cell.algorithms.size(); ++i)
      if (cell.algorithms[i].best ||
          (!one_seed() && cell.algorithms[i].to_best.verdict == PairedVerdict::kTie))
        out.push_back(i);
    return out;
  }

  void add_splits() {
    for (std::size_t split = 0; split < plan_.splits.size(); ++split) {
      std::vector<std::size_t> best(plan_.algorithms.size(), 0), tied(plan_.algorithms.size(), 0);
      std::size_t cells = 0;
      for (const CellResult& cell : results_.cells) {
        if (cell.cell.split != split) continue;
        ++cells;
        ++best[cell.best];
        for (const std::size_t i : leaders(cell))
          if (i != cell.best) ++tied[i];
      }
      out_.push_back({fmt::format("split-{}", split + 1), split_text(split, cells, best, tied)});
    }
  }

  std::string split_text(std::size_t split, std::size_t cells, const std::vector<std::size_t>& best,
                         const std::vector<std::size_t>& tied) const {
    std::vector<std::string> winners, ties;
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (best[i] > 0)
        winners.push_back(fmt::format("{} in {} of {}", label(i), best[i], counted(cells, "problem")));
      if (tied[i] > 0) ties.push_back(fmt::format("{} in {}", label(i), tied[i]));
    }
    std::string text = fmt::format("Split {}: {} is that of {}.", plan_.splits[split],
                                   better_word(plan_.metric), listed_items(winners));
    if (!ties.empty()) text += fmt::format(" Within the uncertainty as good: {}.", listed_items(ties));
    return text;
  }

  void add_focus(std::size_t focus) {
    std::vector<std::string> losses;
    std::size_t wins = 0, ties = 0, unknown = 0;
    for (const CellComparison& one : compare_algorithms(results_, focus, plan_.reference)) {
      const CellResult& cell = results_.cells[one.cell];
      const bool behind = one.difference.verdict == PairedVerdict::kWorse ||
                          (one.difference.verdict == PairedVerdict::kUnknown && one.difference.mean > 0);
      const double of = summary_of(cell.algorithms[plan_.reference].scores).mean;
      if (behind)
        losses.push_back(fmt::format("{} {}", cell_text(plan_, cell.cell),
                                     amount_text(one.difference.mean, of, plan_.metric)));
      wins += one.difference.verdict == PairedVerdict::kBetter ||
                      (one.difference.verdict == PairedVerdict::kUnknown && one.difference.mean < 0)
                  ? 1
                  : 0;
      ties += one.difference.verdict == PairedVerdict::kTie ? 1 : 0;
      unknown += one.difference.verdict == PairedVerdict::kUnknown ? 1 : 0;
    }
    const std::string ours = label(focus), theirs = label(plan_.reference);
    out_.push_back(
        {"focus", fmt::format("Each with its own tuned settings, {} is better than {} in {} of {}, worse in "
                              "{} and tied in {}.{}",
                              ours, theirs, wins, counted(results_.cells.size(), "cell"), losses.size(), ties,
                              unknown > 0 ? " One seed: which differences would last is not known." : "")});
    out_.push_back({"focus-losses", losses.empty() ? fmt::format("{} loses to {} nowhere.", ours, theirs)
                                                   : fmt::format("{} loses to {} on {}.", ours, theirs,
                                                                 fmt::join(losses, "; "))});
    add_focus_to_best(focus);
  }

  void add_focus_to_best(std::size_t focus) {
    std::size_t behind = 0, ahead = 0;
    std::vector<std::string> better;
    for (std::size_t i = 0; i < plan_.algorithms.size(); ++i) {
      if (i == focus) continue;
      std::size_t wins = 0;
      for (const CellComparison& one : compare_algorithms(results_, i, focus))
        wins += one.difference.verdict == PairedVerdict::kBetter ? 1 : 0;
      if (wins > 0) better.push_back(fmt::format("{} in {}", label(i), wins));
      behind += wins;
    }
    for (const CellResult& cell : results_.cells) {
      const auto first = leaders(cell);
      ahead += std::ranges::find(first, focus) != first.end() ? 1 : 0;
    }
    std::string text = fmt::format("{} is the best, or tied with the best, in {} of {}.", label(focus), ahead,
                                   counted(results_.cells.size(), "cell"));
    if (behind > 0) text += fmt::format(" Better than it beyond the uncertainty: {}.", listed_items(better));
    out_.push_back({"focus-to-best", text});
  }

  std::string ratio_text(std::size_t algorithm) const {
    const auto ratio = cost_ratio(results_, algorithm, plan_.reference);
    std::size_t reached = 0, seeds = 0;
    for (const CellResult& cell : results_.cells) {
      reached += cell.algorithms[algorithm].reached;
      seeds += cell.algorithms[algorithm].seeds;
    }
    const std::string runs = fmt::format("{} of {} runs", reached, seeds);
    if (!ratio)
      return fmt::format("{} reached it in {} and in no cell with every seed", label(algorithm), runs);
    std::string text = fmt::format("{} in {:.2f} of the rounds and {:.2f} of the bytes", label(algorithm),
                                   ratio->rounds, ratio->bytes);
    if (ratio->seconds) text += fmt::format(" and {:.2f} of the virtual time", *ratio->seconds);
    return fmt::format("{} ({}; every seed in {})", text, runs, counted(ratio->cells, "cell"));
  }

  void add_costs() {
    std::vector<std::string> parts;
    for (const std::size_t i : results_.order)
      if (i != plan_.reference &&
          (i == plan_.focus || i == results_.order.front() || plan_.algorithms.size() < 4))
        parts.push_back(ratio_text(i));
    if (parts.empty()) return;
    out_.push_back(
        {"costs",
         fmt::format("The target, relative to {} (geometric mean over the cells where both reached it with "
                     "every seed): {}.",
                     label(plan_.reference), fmt::join(parts, "; "))});
  }

  const StudyPlan& plan_;
  const StudyResults& results_;
  std::vector<Conclusion> out_;
};

// The cells in which something happened to an algorithm.
struct CellLists {
  std::vector<std::string> low, high, failed, diverged;
};

CellLists lists_of(const StudyEvidence& evidence, const StudyResults& results, std::size_t algorithm) {
  CellLists out;
  for (std::size_t cell = 0; cell < results.cells.size(); ++cell) {
    const TunedSetting& tuned = evidence.tuned[cell][algorithm];
    const AlgorithmResult& result = results.cells[cell].algorithms[algorithm];
    const std::string where = cell_text(evidence.plan, results.cells[cell].cell);
    if (tuned.all_diverged)
      out.failed.push_back(where);
    else if (tuned.at_low_edge)
      out.low.push_back(where);
    else if (tuned.at_high_edge)
      out.high.push_back(where);
    if (result.diverged > 0)
      out.diverged.push_back(
          fmt::format("{} with {} of {}", where, result.diverged, counted(result.seeds, "seed")));
  }
  return out;
}

void add_caution(std::vector<std::string>& out, const std::vector<std::string>& cells, std::string_view what,
                 const std::string& algorithm) {
  if (!cells.empty())
    out.push_back(fmt::format("{} was selected {}: on {}.", algorithm, what, fmt::join(cells, "; ")));
}

void add_targets(std::vector<std::string>& out, const StudyPlan& plan) {
  std::vector<std::string> given;
  bool derived = false;
  for (const StudyProblem& problem : plan.problems) {
    if (problem.target) given.push_back(fmt::format("{} {:g}", problem.label, *problem.target));
    derived = derived || !problem.target;
  }
  if (derived)
    out.push_back(fmt::format(
        "The target of a cell is the final {} of {} with the same seed: the same for all algorithms.",
        metric_text(plan.metric), plan.algorithms[plan.reference].label));
  if (!given.empty())
    out.push_back(fmt::format("Targets given by the study ({}): {}.", metric_text(plan.metric),
                              fmt::join(given, "; ")));
}

}  // namespace

std::string cell_text(const StudyPlan& plan, const StudyCell& cell) {
  return fmt::format("{}, {}", plan.problems[cell.problem].label, plan.splits[cell.split]);
}

std::vector<Conclusion> conclusions_of(const StudyEvidence& evidence, const StudyResults& results) {
  return Writer(evidence, results).write();
}

std::vector<std::string> cautions_of(const StudyEvidence& evidence, const StudyResults& results) {
  const StudyPlan& plan = evidence.plan;
  std::vector<std::string> out;
  if (plan.quick)
    out.emplace_back(
        "This is the quick form of the study, with fewer samples, seeds, rounds or algorithms: an outlook, "
        "not a result.");
  if (plan.seeds.size() < 2) out.emplace_back("One reported seed: no number here has an uncertainty.");
  for (std::size_t i = 0; i < plan.algorithms.size(); ++i) {
    const CellLists lists = lists_of(evidence, results, i);
    const std::string& name = plan.algorithms[i].label;
    add_caution(out, lists.low, "at the lowest step size of the grid, and a smaller one may be better", name);
    add_caution(out, lists.high, "at the highest step size of the grid, and a larger one may be better",
                name);
    add_caution(out, lists.failed, "nowhere on the grid without divergence for a tuning seed", name);
    if (!lists.diverged.empty())
      out.push_back(fmt::format("{} diverged on {}.", name, fmt::join(lists.diverged, "; ")));
  }
  return out;
}

std::vector<std::string> methods_of(const StudyEvidence& evidence) {
  const StudyPlan& plan = evidence.plan;
  std::vector<std::string> tuned, plain;
  std::size_t grid = 0;
  for (const StudyAlgorithm& algorithm : plan.algorithms) {
    if (algorithm.tuned.empty()) {
      plain.push_back(algorithm.label);
      continue;
    }
    grid = algorithm.values.size();
    tuned.push_back(
        fmt::format("{}: {} in {}", algorithm.label, algorithm.tuned, fmt::join(algorithm.values, ", ")));
  }
  std::vector<std::string> out;
  out.push_back(
      fmt::format("Every algorithm has the same grid of step sizes in each problem, and runs the same {} on "
                  "the same samples, split and seeds.",
                  counted(evidence.rounds, "round")));
  if (!tuned.empty())
    out.push_back(fmt::format(
        "One further parameter of an algorithm is tuned on a grid of {} where it has one ({}).{}",
        counted(grid, "value"), fmt::join(tuned, "; "),
        plain.empty()
            ? ""
            : fmt::format(" Without one, and so with fewer settings tried: {}.", listed_items(plain))));
  out.push_back(
      fmt::format("Settings are selected per cell (problem and split) by the mean {} at the end of {} ({}); "
                  "a setting that diverges for one of them is the worst; of equal ones the smallest step "
                  "size is taken. No tuning seed is reported: the numbers here are those of seeds {}.",
                  metric_text(plan.metric), counted(plan.tuning_seeds.size(), "tuning seed"),
                  fmt::join(plan.tuning_seeds, ", "), fmt::join(plan.seeds, ", ")));
  std::vector<std::string> ahead;
  for (const StudyAlgorithm& algorithm : plan.algorithms)
    if (looks_ahead(algorithm)) ahead.push_back(algorithm.label);
  if (plan.metric == StudyMetric::kTrainLoss && !ahead.empty())
    out.push_back(
        fmt::format("Nodes of {} start ahead of the server's model and report the loss there: curves and "
                    "rounds to the target are of that point, final values of the model.",
                    listed_items(ahead)));
  add_targets(out, plan);
  out.emplace_back(
      "Where not every seed reached the target, the cost has the sign ≥: seeds that did not reach it count "
      "with their whole run, so the true mean is at least that.");
  out.emplace_back(
      "± is the standard deviation over seeds. Two algorithms tie in a cell where the 95 % interval of their "
      "mean difference, "
      "paired by seed (Student's t), includes 0. Intervals are not corrected for the number of comparisons.");
  out.push_back(
      fmt::format("Ranks: in each cell algorithms are ranked by their mean over seeds; the mean rank is over "
                  "cells, its 95 % interval from {} bootstrap samples of the seeds of every cell.",
                  kBootstrapSamples));
  return out;
}

}  // namespace mfl
