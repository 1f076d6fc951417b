#include "mfl/reproduce/reproduce.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/record/store.h"
#include "mfl/run/sweep.h"

namespace mfl {
namespace {

Result<std::vector<RunOutcome>> train(const std::vector<Config>& configs, const std::filesystem::path& store,
                                      bool reuse, const RunHooks& hooks) {
  if (configs.empty()) return std::vector<RunOutcome>{};
  MFL_TRY(std::vector<RunOutcome> outcomes, run_sweep(configs, {store, {}, reuse, {}}, hooks));
  const auto finished = static_cast<std::size_t>(std::ranges::count_if(
      outcomes, [](const RunOutcome& run) { return run.status == "done" || run.status == "diverged"; }));
  if (finished == configs.size()) return outcomes;
  return fail(ErrorCode::kRunFailed, fmt::format("interrupted after {} of {} runs", finished, configs.size()),
              "run the same command again: it trains only what is missing");
}

// Steps of the paper are on all samples, so that every round has one.
double loss_of(const std::optional<double>& train_loss) {
  return train_loss.value_or(std::numeric_limits<double>::quiet_NaN());
}

// A run in the store may have been recorded at other steps than the figures need.
Result<bool> has_records(const Store& store, const PlannedRun& planned, const std::string& id) {
  const std::uint64_t every = planned.config.run.record_every;
  if (!planned.accuracy || every == 0) return true;
  MFL_TRY(const auto records, store.records(id));
  std::uint64_t next = 0;
  for (const RecordRow& record : records)
    if (record.step == next) next += every;
  return next > run_length(planned.config) - run_length(planned.config) % every;
}

Result<RunEvidence> evidence_of(const Store& store, const PlannedRun& planned, const RunOutcome& outcome) {
  const Config& config = planned.config;
  MFL_TRY(const RunRow row, store.get(outcome.run_id));
  RunEvidence run{.model = config.model.name,
                  .algorithm = row.algorithm,
                  .gamma = row.gamma.value_or(0),
                  .tau = row.tau.value_or(0),
                  .steps = run_length(config),
                  .seed = config.run.seed,
                  .diverged = outcome.status == "diverged",
                  .rounds = {},
                  .accuracy = {},
                  .final_loss = loss_of(outcome.final.train_loss),
                  .final_accuracy = outcome.final.test_accuracy,
                  .bytes_up = outcome.bytes_up,
                  .bytes_down = outcome.bytes_down,
                  .id = outcome.run_id,
                  .digest = outcome.digest};
  MFL_TRY(const auto records, store.records(run.id));
  if (!records.empty()) run.start_loss = loss_of(records.front().train_loss);
  for (const RecordRow& record : records)
    if (planned.accuracy && record.test_accuracy &&
        (config.run.record_every == 0 || record.step % config.run.record_every == 0))
      run.accuracy.push_back({record.step, *record.test_accuracy});
  if (!planned.rounds) return run;
  MFL_TRY(const auto rounds, store.rounds(run.id));
  for (const RoundRow& round : rounds)
    run.rounds.push_back(
        {round.step, round.round, loss_of(round.train_loss), round.bytes_up, round.bytes_down});
  return run;
}

Result<void> complete_records(const FigurePlan& plan, std::vector<RunOutcome>& outcomes,
                              const std::filesystem::path& path, const RunHooks& hooks) {
  std::vector<std::size_t> lacking;
  {
    MFL_TRY(const Store store, Store::open(path, {.read_only = true}));
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i].reused) continue;
      MFL_TRY(const bool complete, has_records(store, plan.runs[i], outcomes[i].run_id));
      if (!complete) lacking.push_back(i);
    }
  }
  std::vector<Config> again;
  again.reserve(lacking.size());
  for (const std::size_t i : lacking) again.push_back(plan.runs[i].config);
  MFL_TRY(std::vector<RunOutcome> trained, train(again, path, false, hooks));
  for (std::size_t i = 0; i < lacking.size(); ++i) outcomes[lacking[i]] = std::move(trained[i]);
  return {};
}

}  // namespace

Result<Reproduction> reproduce(const PlanOptions& options, const std::filesystem::path& store_path,
                               const RunHooks& hooks) {
  const std::filesystem::path path = store_path.empty() ? default_store_path() : store_path;
  MFL_TRY(const FigurePlan plan, make_plan(options));
  std::vector<Config> configs;
  configs.reserve(plan.runs.size());
  for (const PlannedRun& run : plan.runs) configs.push_back(run.config);
  MFL_TRY(std::vector<RunOutcome> outcomes, train(configs, path, true, hooks));
  MFL_CHECK(complete_records(plan, outcomes, path, hooks));

  Reproduction out;
  out.evidence = {plan.gamma, plan.tau, plan.steps, plan.long_steps, {}, options.figures};
  out.runs = outcomes.size();
  MFL_TRY(const Store store, Store::open(path, {.read_only = true}));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].reused) ++out.reused;
    MFL_TRY(RunEvidence run, evidence_of(store, plan.runs[i], outcomes[i]));
    out.evidence.runs.push_back(std::move(run));
  }
  out.claims = judge(out.evidence);
  return out;
}

}  // namespace mfl
