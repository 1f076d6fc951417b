#include "mfl/report/compare.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "mfl/report/brief_names.h"
#include "mfl/report/compare_settings.h"
#include "mfl/report/runs.h"

namespace mfl {
namespace {

using FunctionKey = std::tuple<std::string, std::string>;
using Family = std::tuple<std::string, std::string, std::string, std::string>;

FunctionKey group_of(const RunRow& run) { return {run.model, run.problem}; }
Family family_of(const RunRow& run) { return {run.problem, run.model, run.algorithm, run.precision}; }

bool is_baseline(const RunRow& run, const CompareOptions& options) {
  return is_algorithm(run.algorithm, options.baseline) && run.status == RunStatus::kDone && run.summary &&
         run.summary->final.train_loss && std::isfinite(*run.summary->final.train_loss);
}

// The rounds whose F(w) was measured.
Result<std::vector<RoundRow>> comparable_rounds(const Store& store, const RunRow& run) {
  MFL_TRY(auto rounds, store.rounds(run.id));
  std::erase_if(rounds, [](const RoundRow& row) { return !row.train_loss; });
  return rounds;
}

// The final loss of a baseline.
Result<double> comparable_final_loss(const Store& store, const RunRow& run) {
  if (!run.sampled) return *run.summary->final.train_loss;
  MFL_TRY(const auto rounds, comparable_rounds(store, run));
  return rounds.empty() ? *run.summary->final.train_loss : smoothed_losses(rounds).back();
}

std::optional<std::uint64_t> seed_of(const RunRow& run) { return config_number(run, "seed"); }

// The run of the baseline whose end is the target of `row`; null where there is none.
const CompareRow* baseline_of(const Comparison& comparison, const RunRow& run,
                              const CompareOptions& options) {
  const CompareRow* first = nullptr;
  const RunSetting* setting = nullptr;
  for (const bool same_layout : {true, false})
    for (const RunSetting& one : comparison.settings.all)
      for (const std::size_t i : one.runs) {
        const CompareRow& row = comparison.rows[i];
        if (first != nullptr || !is_baseline(row.run, options) || group_of(row.run) != group_of(run))
          continue;
        if (same_layout && layout_of(row.run) != layout_of(run)) continue;
        first = &row;
        setting = &one;
      }
  if (first == nullptr || setting->runs.size() == 1) return first;
  for (const std::size_t i : setting->runs)
    if (const RunRow& row = comparison.rows[i].run;
        seed_of(row) == seed_of(run) && group_of(row) == group_of(run))
      return &comparison.rows[i];
  return nullptr;
}

Result<void> set_targets(const Store& store, Comparison& comparison, const CompareOptions& options) {
  std::map<std::string, Target> targets;  // by what they are called: a run, or a group
  for (CompareRow& row : comparison.rows) {
    const RunRow& run = row.run;
    const CompareRow* baseline = options.target ? nullptr : baseline_of(comparison, run, options);
    if (!options.target && baseline == nullptr) continue;
    const std::string name = baseline != nullptr ? baseline->run.id : run.model + "\n" + run.problem;
    if (!targets.contains(name)) {
      Target target{run.model, run.data, options.target.value_or(0), ""};
      if (baseline != nullptr) {
        MFL_TRY(target.loss, comparable_final_loss(store, baseline->run));
        target.run = baseline->run.id;
      }
      comparison.targets.push_back(target);
      targets.emplace(name, std::move(target));
    }
    row.target = targets.at(name).loss;
    row.target_run = targets.at(name).run;
  }
  return {};
}

Result<std::optional<RoundRow>> first_round_at(const Store& store, const CompareRow& row) {
  if (row.losses.end_only()) return std::nullopt;
  if (!row.run.sampled) return store.first_round_at(row.run.id, *row.target);
  MFL_TRY(auto rounds, comparable_rounds(store, row.run));
  const std::vector<double> smoothed = smoothed_losses(rounds);
  for (std::size_t i = 0; i < rounds.size(); ++i)
    if (smoothed[i] <= *row.target) return std::move(rounds[i]);
  return std::nullopt;
}

Result<std::optional<RunSummary::Final>> last_known(const Store& store, const RunRow& run,
                                                    const std::vector<RoundRow>& rounds) {
  if (run.summary) return run.summary->final;
  MFL_TRY(const auto records, store.records(run.id));
  if (rounds.empty()) return std::nullopt;
  RunSummary::Final last{rounds.back().step, rounds.back().train_loss, {}, {}};
  if (!records.empty()) {
    last.test_loss = records.back().test_loss;
    last.test_accuracy = records.back().test_accuracy;
  }
  return last;
}

// The digests of the updates that led to a round, by node.
Result<std::map<std::string, std::string>> updates_of(const Store& store, const std::string& run,
                                                      std::uint64_t round) {
  MFL_TRY(const auto nodes, store.nodes(run));
  std::map<std::string, std::string> out;
  for (const NodeRow& node : nodes)
    if (node.round == round && !node.digest.empty()) out[node.node] = node.digest;
  return out;
}

Result<std::vector<std::string>> nodes_that_differ(const Store& store, const Parting& parting) {
  MFL_TRY(const auto left, updates_of(store, parting.first, *parting.parted));
  MFL_TRY(const auto right, updates_of(store, parting.second, *parting.parted));
  std::vector<std::string> out;
  for (const auto& [node, digest] : left)
    if (const auto other = right.find(node); other != right.end() && other->second != digest)
      out.push_back(node);
  return out;
}

Result<Parting> part(const Store& store, const std::string& first, const std::string& second) {
  MFL_TRY(const auto left, store.rounds(first));
  MFL_TRY(const auto right, store.rounds(second));
  Parting parting{first, second, 0, std::nullopt, true};
  auto a = left.begin();
  auto b = right.begin();
  while (a != left.end() && b != right.end()) {
    if (a->round != b->round) {
      ++(a->round < b->round ? a : b);
      continue;
    }
    parting.common_rounds = a->round;
    if (!parting.parted && a->digest != b->digest) parting.parted = a->round;
    ++a, ++b;
  }
  if (parting.parted) {
    MFL_TRY(parting.nodes, nodes_that_differ(store, parting));
  }
  parting.same_length =
      left.empty() == right.empty() && (left.empty() || left.back().round == right.back().round);
  return parting;
}

Result<std::vector<Parting>> partings_of(const Store& store, const std::vector<CompareRow>& rows) {
  std::map<Family, std::string> firsts;
  std::vector<Parting> partings;
  for (const CompareRow& row : rows) {
    const auto [first, fresh] = firsts.try_emplace(family_of(row.run), row.run.id);
    if (fresh) continue;
    MFL_TRY(Parting parting, part(store, first->second, row.run.id));
    partings.push_back(std::move(parting));
  }
  return partings;
}

}  // namespace

Result<Comparison> compare_runs(const Store& store, std::span<const std::string> ids,
                                const CompareOptions& options) {
  Comparison comparison;
  comparison.baseline = options.baseline;
  for (const std::string& id : ids) {
    MFL_TRY(RunRow run, store.get(id));
    MFL_TRY(const auto rounds, store.rounds(run.id));
    MFL_TRY(const auto last, last_known(store, run, rounds));
    const auto measured = static_cast<std::size_t>(
        std::ranges::count_if(rounds, [](const RoundRow& row) { return row.train_loss.has_value(); }));
    comparison.rows.push_back({.run = std::move(run),
                               .last = last,
                               .target = {},
                               .steps_to_target = {},
                               .rounds_to_target = {},
                               .bytes_to_target = {},
                               .seconds_to_target = {},
                               .losses = {rounds.size(), measured}});
  }
  std::vector<RunRow> runs;
  for (const CompareRow& row : comparison.rows) runs.push_back(row.run);
  comparison.settings = settings_of(runs, options.labels);
  for (const RunSetting& setting : comparison.settings.all) {
    const std::string& called = setting.label.empty() ? setting.algorithm : setting.label;
    for (const std::size_t i : setting.runs) comparison.rows[i].algorithm = called;
    for (const RunSetting::LeftOut& one : setting.left_out) comparison.rows[one.run].algorithm = called;
  }
  MFL_CHECK(set_targets(store, comparison, options));
  for (CompareRow& row : comparison.rows) {
    if (!row.target) continue;
    MFL_TRY(const auto reached, first_round_at(store, row));
    if (!reached) continue;
    row.steps_to_target = reached->step;
    row.rounds_to_target = reached->round;
    row.bytes_to_target = reached->bytes_up + reached->bytes_down;
    if (reached->time) row.seconds_to_target = reached->time->total_seconds;
  }
  comparison.setting_rows = setting_rows(comparison);
  comparison.headlines = headlines_of(comparison, options);
  MFL_TRY(comparison.partings, partings_of(store, comparison.rows));
  return comparison;
}

std::string parting_text(const Parting& parting) {
  if (parting.parted && !parting.nodes.empty())
    return fmt::format(
        "part at round {}: {}{} sent another update", *parting.parted, parting.nodes.front(),
        parting.nodes.size() == 1 ? "" : fmt::format(" and {} more", parting.nodes.size() - 1));
  if (parting.parted) return fmt::format("part at round {}", *parting.parted);
  return fmt::format("identical for all {}{} rounds", parting.common_rounds,
                     parting.same_length ? "" : " common");
}

bool has_virtual_time(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const CompareRow& row) {
    return row.run.summary && row.run.summary->virtual_seconds;
  });
}

bool has_sampled_target(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows,
                             [](const CompareRow& row) { return row.run.sampled && row.target; });
}

std::vector<double> smoothed_losses(std::span<const RoundRow> rounds) {
  const std::size_t reach = rounds.size() / 20;
  std::vector<double> out;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const std::size_t first = i - std::min(i, reach), last = std::min(i + reach, rounds.size() - 1);
    double sum = 0;
    for (std::size_t j = first; j <= last; ++j) sum += rounds[j].train_loss.value_or(0);
    out.push_back(sum / static_cast<double>(last - first + 1));
  }
  return out;
}

}  // namespace mfl
