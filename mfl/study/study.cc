#include "mfl/study/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/record/store.h"
#include "mfl/run/sweep.h"

namespace mfl {
namespace {

// What both sweeps of a study have in common.
struct Sweeps {
  const StudyPlan& plan;
  std::filesystem::path store;
  const RunHooks& hooks;
  std::size_t all_runs;  // runs of both sweeps
  std::size_t done = 0;  // runs of earlier sweeps that are done
  std::uint64_t length;  // steps of a run
  std::size_t reused = 0;

  RunHooks hooks_of_sweep() const {
    if (!hooks.progress) return {.progress = {}, .stop = hooks.stop};
    return {.progress =
                [this](Progress progress) {
                  progress.step += done * length;
                  progress.steps = all_runs * length;
                  progress.settings_done += done;
                  progress.settings = all_runs;
                  hooks.progress(progress);
                },
            .stop = hooks.stop};
  }
};

std::vector<Config> configs_of(const std::vector<PlannedStudyRun>& planned) {
  std::vector<Config> configs;
  configs.reserve(planned.size());
  for (const PlannedStudyRun& run : planned) configs.push_back(run.config);
  return configs;
}

Result<std::vector<RunOutcome>> train(const Sweeps& sweeps, const std::vector<Config>& configs, bool reuse) {
  if (configs.empty()) return std::vector<RunOutcome>{};
  MFL_TRY(std::vector<RunOutcome> outcomes,
          run_sweep(configs, {.store = sweeps.store, .reuse = reuse}, sweeps.hooks_of_sweep()));
  const auto finished = static_cast<std::size_t>(std::ranges::count_if(
      outcomes, [](const RunOutcome& run) { return run.status == "done" || run.status == "diverged"; }));
  if (finished == configs.size()) return outcomes;
  return fail(ErrorCode::kRunFailed,
              fmt::format("interrupted after {} of {} runs", sweeps.done + finished, sweeps.all_runs),
              "run the same command again: it trains only what is missing");
}

// A run in the store may have been recorded at other rounds than the study needs.
Result<bool> recorded_alike(const Store& store, const Config& config, const std::string& id) {
  MFL_TRY(const RunRow row, store.get(id));
  MFL_TRY(const Config kept, parse_config(row.config, "run " + id));
  return kept.run.record_every == config.run.record_every &&
         (!config.run.evaluate_every || kept.run.evaluate_every == config.run.evaluate_every);
}

Result<void> complete_records(const Sweeps& sweeps, const std::vector<Config>& configs,
                              std::vector<RunOutcome>& outcomes) {
  std::vector<std::size_t> lacking;
  {
    MFL_TRY(const Store store, Store::open(sweeps.store, {.read_only = true}));
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i].reused) continue;
      MFL_TRY(const bool alike, recorded_alike(store, configs[i], outcomes[i].run_id));
      if (!alike) lacking.push_back(i);
    }
  }
  std::vector<Config> again;
  for (const std::size_t i : lacking) again.push_back(configs[i]);
  MFL_TRY(std::vector<RunOutcome> trained, train(sweeps, again, false));
  for (std::size_t i = 0; i < lacking.size(); ++i) outcomes[lacking[i]] = std::move(trained[i]);
  return {};
}

StudyRun ended(const PlannedStudyRun& planned, const RunOutcome& outcome) {
  return {.key = planned.key,
          .diverged = outcome.status == "diverged",
          .final_loss = outcome.final.train_loss.value_or(std::numeric_limits<double>::quiet_NaN()),
          .final_accuracy = outcome.final.test_accuracy,
          .digest = outcome.digest};
}

Result<std::vector<StudyPoint>> loss_points(const Store& store, const std::string& id) {
  MFL_TRY(const auto rounds, store.rounds(id));
  std::vector<StudyPoint> points;
  for (const RoundRow& round : rounds)
    if (round.train_loss)
      points.push_back({round.round, *round.train_loss, round.bytes_up + round.bytes_down,
                        round.time ? std::optional(round.time->total_seconds) : std::nullopt});
  return points;
}

Result<std::vector<StudyPoint>> accuracy_points(const Store& store, const std::string& id) {
  MFL_TRY(const auto records, store.records(id));
  std::vector<StudyPoint> points;
  for (const RecordRow& record : records)
    if (record.test_accuracy)
      points.push_back(
          {record.round, *record.test_accuracy, record.bytes_up + record.bytes_down, record.virtual_seconds});
  return points;
}

Result<void> require_accuracy(const StudyPlan& plan, const std::vector<StudyRun>& runs) {
  if (plan.metric != StudyMetric::kTestAccuracy) return {};
  for (const StudyRun& run : runs)
    if (!run.diverged && !run.final_accuracy)
      return fail(
          ErrorCode::kBadConfig,
          fmt::format("metric = \"test-accuracy\": {} has none", plan.problems[run.key.cell.problem].label),
          "use data with test samples and a model of classes, or metric = \"train-loss\"");
  return {};
}

Result<std::vector<StudyRun>> tune(Sweeps& sweeps) {
  MFL_TRY(const auto planned, tuning_runs(sweeps.plan));
  MFL_TRY(const auto outcomes, train(sweeps, configs_of(planned), true));
  std::vector<StudyRun> runs;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    runs.push_back(ended(planned[i], outcomes[i]));
    sweeps.reused += outcomes[i].reused ? 1 : 0;
  }
  sweeps.done += planned.size();
  MFL_CHECK(require_accuracy(sweeps.plan, runs));
  return runs;
}

Result<std::vector<StudyRun>> report(Sweeps& sweeps, const ChosenCandidates& chosen) {
  MFL_TRY(const auto planned, reported_runs(sweeps.plan, chosen));
  const std::vector<Config> configs = configs_of(planned);
  MFL_TRY(auto outcomes, train(sweeps, configs, true));
  MFL_CHECK(complete_records(sweeps, configs, outcomes));
  MFL_TRY(const Store store, Store::open(sweeps.store, {.read_only = true}));
  std::vector<StudyRun> runs;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const bool of_loss = sweeps.plan.metric == StudyMetric::kTrainLoss;
    runs.push_back(ended(planned[i], outcomes[i]));
    MFL_TRY(runs.back().points,
            of_loss ? loss_points(store, outcomes[i].run_id) : accuracy_points(store, outcomes[i].run_id));
    sweeps.reused += outcomes[i].reused ? 1 : 0;
  }
  MFL_CHECK(require_accuracy(sweeps.plan, runs));
  return runs;
}

}  // namespace

Result<StudyOutcome> run_study(const StudyPlan& plan, const std::filesystem::path& store,
                               const RunHooks& hooks) {
  MFL_TRY(const auto tuning, tuning_runs(plan));
  const std::size_t reported = cells_of(plan).size() * plan.algorithms.size() * plan.seeds.size();
  const std::uint64_t length = run_length(plan.base), per_round = round_length(plan.base.algorithm);
  Sweeps sweeps{.plan = plan,
                .store = store.empty() ? default_store_path() : store,
                .hooks = hooks,
                .all_runs = tuning.size() + reported,
                .length = length};
  MFL_TRY(const auto tuning_results, tune(sweeps));
  StudyOutcome out;
  out.evidence = {plan, select_settings(plan, tuning_results), {}, (length + per_round - 1) / per_round};
  MFL_TRY(out.evidence.runs, report(sweeps, chosen_of(out.evidence.tuned)));
  out.runs = sweeps.all_runs;
  out.reused = sweeps.reused;
  return out;
}

}  // namespace mfl
