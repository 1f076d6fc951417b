#include "mfl/report/compare.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "mfl/record/export.h"
#include "mfl/report/runs.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

using Group = std::tuple<std::string, std::string>;
using Family = std::tuple<std::string, std::string, std::string, std::string>;

Group group_of(const RunRow& run) { return {run.model, run.problem}; }
Family family_of(const RunRow& run) { return {run.problem, run.model, run.algorithm, run.precision}; }

bool is_baseline(const RunRow& run, const CompareOptions& options) {
  return run.algorithm == options.baseline && run.status == RunStatus::kDone && run.summary &&
         std::isfinite(run.summary->final.train_loss);
}

// Those whose losses can be compared with a loss over all samples.
Result<std::vector<RoundRow>> comparable_rounds(const Store& store, const RunRow& run) {
  MFL_TRY(auto rounds, store.rounds(run.id));
  const RecordedLosses losses = recorded_losses(run);
  const bool done = run.status == RunStatus::kDone && run.summary;
  std::erase_if(rounds, [&](const RoundRow& row) {
    return !losses.over_samples(row.round, done && row.round == run.summary->rounds);
  });
  return rounds;
}

bool compares_end_only(const RecordedLosses& losses) { return losses.batches && losses.evaluate_every == 0; }

Result<double> final_loss(const Store& store, const RunRow& run) {
  if (!run.sampled) return run.summary->final.train_loss;
  MFL_TRY(const auto rounds, comparable_rounds(store, run));
  return rounds.empty() ? run.summary->final.train_loss : smoothed_losses(rounds).back();
}

Result<void> set_targets(const Store& store, Comparison& comparison, const CompareOptions& options) {
  std::map<Group, Target> targets;
  for (const CompareRow& row : comparison.rows) {
    const RunRow& run = row.run;
    if (targets.contains(group_of(run))) continue;
    if (options.target) {
      targets[group_of(run)] = Target{run.model, run.data, *options.target, ""};
    } else if (is_baseline(run, options)) {
      MFL_TRY(const double loss, final_loss(store, run));
      targets[group_of(run)] = Target{run.model, run.data, loss, run.id};
    }
  }
  std::map<Group, bool> listed;
  for (CompareRow& row : comparison.rows) {
    const auto found = targets.find(group_of(row.run));
    if (found == targets.end()) continue;
    row.target = found->second.loss;
    if (!std::exchange(listed[found->first], true)) comparison.targets.push_back(found->second);
  }
  return {};
}

Result<std::optional<RoundRow>> first_round_at(const Store& store, const RunRow& run, double target) {
  const RecordedLosses recorded = recorded_losses(run);
  if (compares_end_only(recorded)) return std::nullopt;
  if (!run.sampled && !recorded.batches) return store.first_round_at(run.id, target);
  MFL_TRY(auto rounds, comparable_rounds(store, run));
  const std::vector<double> smoothed = run.sampled ? smoothed_losses(rounds) : std::vector<double>{};
  for (std::size_t i = 0; i < rounds.size(); ++i)
    if ((run.sampled ? smoothed[i] : rounds[i].train_loss) <= target) return std::move(rounds[i]);
  return std::nullopt;
}

// The round of last_known().
Result<std::uint64_t> last_round(const Store& store, const RunRow& run) {
  if (run.summary) return run.summary->rounds;
  MFL_TRY(const auto rounds, store.rounds(run.id));
  return rounds.empty() ? 0 : rounds.back().round;
}

Result<std::optional<RunSummary::Final>> last_known(const Store& store, const RunRow& run) {
  if (run.summary) return run.summary->final;
  MFL_TRY(const auto records, store.records(run.id));
  MFL_TRY(const auto rounds, store.rounds(run.id));
  if (rounds.empty()) return std::nullopt;
  RunSummary::Final last{rounds.back().step, rounds.back().train_loss, {}, {}};
  if (!records.empty()) {
    last.test_loss = records.back().test_loss;
    last.test_accuracy = records.back().test_accuracy;
  }
  return last;
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

Json number_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json count_json(const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(nullptr); }

std::string target_text(const Target& target, const std::string& baseline) {
  const std::string where = fmt::format("{} on {}", printable(target.model), printable(target.data));
  if (target.run.empty()) return fmt::format("target for {}: train loss {:.9g}\n", where, target.loss);
  return fmt::format("target for {}: train loss {:.9g}, where {} (run {}) ended\n", where, target.loss,
                     baseline, target.run);
}

std::string loss_at_end_text(const CompareRow& row) {
  return number_text(row.last->train_loss) + (row.last_over_batches ? " (batches)" : "");
}

std::string names_of(const std::vector<std::string>& runs) {
  return fmt::format("{} {}", runs.size() == 1 ? "run" : "runs", fmt::join(runs, ", "));
}

}  // namespace

RecordedLosses recorded_losses(const RunRow& run) {
  RecordedLosses losses{config_number(run, "batch_size").value_or(0) != 0,
                        config_number(run, "evaluate_every").value_or(0)};
  if (!losses.batches || losses.evaluate_every == 1) losses = {};
  return losses;
}

std::string losses_text(const RecordedLosses& losses) {
  if (!losses.batches) return "samples";
  if (losses.evaluate_every == 0) return "batches";
  return fmt::format("batches, samples every {} rounds", losses.evaluate_every);
}

bool has_batches(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const CompareRow& row) { return row.losses.batches; });
}

std::vector<std::string> batch_notes(const Comparison& comparison) {
  std::vector<std::string> none, some, notes;
  for (const CompareRow& row : comparison.rows)
    if (row.target && row.losses.batches) (compares_end_only(row.losses) ? none : some).push_back(row.run.id);
  if (!none.empty())
    notes.push_back(
        fmt::format("No steps to target for {}: losses over batches do not compare with a target over all "
                    "samples. Train with evaluate_every to record both.",
                    names_of(none)));
  if (!some.empty())
    notes.push_back(fmt::format(
        "Steps to target of {} are read off rounds with a loss over all samples only.", names_of(some)));
  return notes;
}

Result<Comparison> compare_runs(const Store& store, std::span<const std::string> ids,
                                const CompareOptions& options) {
  Comparison comparison;
  comparison.baseline = options.baseline;
  for (const std::string& id : ids) {
    MFL_TRY(RunRow run, store.get(id));
    MFL_TRY(const auto last, last_known(store, run));
    MFL_TRY(const std::uint64_t round, last_round(store, run));
    const RecordedLosses losses = recorded_losses(run);
    const bool over_batches = !losses.over_samples(round, run.status == RunStatus::kDone);
    comparison.rows.push_back({.run = std::move(run),
                               .last = last,
                               .target = {},
                               .steps_to_target = {},
                               .bytes_to_target = {},
                               .seconds_to_target = {},
                               .losses = losses,
                               .last_over_batches = over_batches});
  }
  MFL_CHECK(set_targets(store, comparison, options));
  for (CompareRow& row : comparison.rows) {
    if (!row.target) continue;
    MFL_TRY(const auto reached, first_round_at(store, row.run, *row.target));
    if (!reached) continue;
    row.steps_to_target = reached->step;
    row.bytes_to_target = reached->bytes_up + reached->bytes_down;
    if (reached->time) row.seconds_to_target = reached->time->total_seconds;
  }
  MFL_TRY(comparison.partings, partings_of(store, comparison.rows));
  return comparison;
}

std::string parting_text(const Parting& parting) {
  if (parting.parted) return fmt::format("part at round {}", *parting.parted);
  return fmt::format("identical for all {}{} rounds", parting.common_rounds,
                     parting.same_length ? "" : " common");
}

bool has_virtual_time(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const CompareRow& row) {
    return row.run.summary && row.run.summary->virtual_seconds;
  });
}

std::string compare_text(const Comparison& comparison) {
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
  const bool batches = has_batches(comparison);
  if (batches) columns.insert(columns.begin() + 7, {"losses over"});
  Table table(std::move(columns));
  for (const CompareRow& row : comparison.rows) {
    const RunRow& run = row.run;
    std::vector<std::string> cells = {
        run.id, run.model, run.algorithm, number_text(run.eta), number_text(run.gamma), count_text(run.tau)};
    const std::string status = run.summary ? "" : fmt::format(" ({})", shown_status(run));
    if (row.last)
      cells.insert(cells.end(), {fmt::format("{}{}", row.last->step, status), loss_at_end_text(row),
                                 percent_text(row.last->test_accuracy)});
    else
      cells.insert(cells.end(), {shown_status(run), "-", "-"});
    cells.insert(cells.end(), {count_text(row.steps_to_target), bytes_text(row.bytes_to_target)});
    if (timed) cells.push_back(seconds_text(row.seconds_to_target));
    cells.push_back(digest_text(run.summary ? run.summary->digest : ""));
    if (batches) cells.insert(cells.begin() + 7, losses_text(row.losses));
    table.add(std::move(cells));
  }
  std::string out = table.text();
  if (!comparison.targets.empty() || !comparison.partings.empty()) out += "\n";
  for (const Target& target : comparison.targets) out += target_text(target, comparison.baseline);
  if (has_sampled_target(comparison)) out += fmt::format("{}\n", kSampledNote);
  for (const std::string& note : batch_notes(comparison)) out += note + "\n";
  for (const Parting& parting : comparison.partings)
    out += fmt::format("{} and {}: {}\n", parting.first, parting.second, parting_text(parting));
  return out;
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
    for (std::size_t j = first; j <= last; ++j) sum += rounds[j].train_loss;
    out.push_back(sum / static_cast<double>(last - first + 1));
  }
  return out;
}

Json compare_json(const Comparison& comparison) {
  Json out = {{"runs", Json::array()}, {"targets", Json::array()}, {"partings", Json::array()}};
  for (const CompareRow& row : comparison.rows) {
    Json one = run_json(row.run);
    one.erase("config");
    one.erase("test_metrics");
    one["shown_status"] = shown_status(row.run);
    one["losses_over"] = row.losses.batches ? "batches" : "samples";
    one["evaluate_every"] = row.losses.evaluate_every;
    one["last_loss_over"] = row.last_over_batches ? "batches" : "samples";
    one["target"] = number_json(row.target);
    one["steps_to_target"] = count_json(row.steps_to_target);
    one["bytes_to_target"] = count_json(row.bytes_to_target);
    one["virtual_seconds_to_target"] = number_json(row.seconds_to_target);
    out["runs"].push_back(std::move(one));
  }
  for (const Target& target : comparison.targets)
    out["targets"].push_back({{"model", target.model},
                              {"data", target.data},
                              {"train_loss", number_json(target.loss)},
                              {"baseline_run", target.run.empty() ? Json(nullptr) : Json(target.run)}});
  for (const Parting& parting : comparison.partings)
    out["partings"].push_back({{"first", parting.first},
                               {"second", parting.second},
                               {"common_rounds", parting.common_rounds},
                               {"same_length", parting.same_length},
                               {"parted_at_round", count_json(parting.parted)}});
  return out.sorted();
}

}  // namespace mfl
