#include "mfl/experiment/runner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "mfl/base/files.h"
#include "mfl/data/npy.h"
#include "mfl/experiment/factory.h"
#include "mfl/experiment/monitor.h"
#include "mfl/experiment/outcome.h"
#include "mfl/experiment/problem.h"
#include "mfl/experiment/training.h"
#include "mfl/record/checkpoint.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

template <class T>
Result<Start<T>> resume(Store& store, const RunRow& run, State<T> initial) {
  MFL_TRY(const auto checkpoint, store.latest_checkpoint(run.id));
  if (!checkpoint) {
    MFL_CHECK(store.rewind(run.id, std::nullopt));
    return Start<T>{run.id, std::move(initial)};
  }
  auto state = decode_state<T>(checkpoint->blob);
  if (!state) return fail_because(state.error(), fmt::format("cannot resume run {}", run.id));
  MFL_CHECK(store.rewind(run.id, checkpoint->round));
  MFL_TRY(const auto records, store.records(run.id));
  MFL_TRY(const auto rounds, store.rounds(run.id));
  Start<T> start{run.id, *std::move(state), true, records.empty() ? 0 : records.back().wall_seconds};
  if (!rounds.empty()) {
    start.bytes_up = rounds.back().bytes_up;
    start.bytes_down = rounds.back().bytes_down;
    if (rounds.back().time) start.virtual_seconds = rounds.back().time->total_seconds;
  }
  return start;
}

template <class T>
Result<RunOutcome> run_as(const Config& config, const std::optional<RunRow>& resumed,
                          const RunOptions& options, const RunHooks& hooks) {
  MFL_TRY(const Problem<T> problem, load_problem<T>(config));
  MFL_TRY(Store store, Store::open(options.store.empty() ? default_store_path() : options.store));
  const Algorithm algorithm = make_algorithm(config.algorithm);
  const RunSpec spec = make_spec(config, algorithm, problem);
  Start<T> start{{}, initial_state<T>(algorithm, problem.federation.train.columns())};
  if (resumed) {
    if (resumed->data_digest != spec.data_digest)
      return fail(ErrorCode::kBadData,
                  fmt::format("cannot resume run {}: the data is not what it was", resumed->id),
                  "put the data back, or start a new run");
    MFL_TRY(start, resume(store, *resumed, std::move(start.state)));
  } else {
    if (options.reuse) {
      MFL_TRY(const auto done, store.find_done(spec.config_digest, spec.data_digest, spec.mfl_version));
      if (done) {
        RunOutcome out = make_outcome(*done, config);
        out.reused = true;
        return out;
      }
    }
    MFL_TRY(start.id, store.create_run(spec));
  }

  const std::string id = start.id;
  const auto engine =
      local_engine<T>(problem.federation, {setting_of(config, algorithm)}, make_workers(config.run));
  Training<T> training(0, algorithm, config.run.steps, *engine, crowd_of(config, problem),
                       problem.has_accuracy, make_cadence(config.run), store, std::move(start));
  std::optional<Monitor> monitor;
  if (options.monitor) {
    MFL_TRY(const auto beta, monitored_beta(problem.federation, effective_lambda(config.model)));
    monitor.emplace(algorithm.rule, beta, hooks.warn);
    training.watch(&*monitor);
  }
  if (const auto trained = train_together(*engine, std::span(&training, 1), hooks); !trained) {
    (void)store.set_status(id, RunStatus::kFailed,
                           trained.error().text());  // the store itself may be the cause
    return tl::unexpected<Error>(trained.error());
  }
  if (!options.weights_out.empty())
    MFL_CHECK(write_npy(options.weights_out, std::span<const T>(training.state().w())));
  MFL_TRY(const RunRow run, store.get(id));
  RunOutcome out = make_outcome(run, config);
  if (monitor) out.warnings = monitor->warnings();
  return out;
}

// Better said before the training than after it.
Result<void> check_weights_out(const std::filesystem::path& path) {
  if (path.empty()) return {};
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) == 0 && !std::filesystem::is_directory(path)) return {};
  return fail(ErrorCode::kBadConfig, fmt::format("--weights-out {}: cannot be written", path.string()),
              fmt::format("name a file in a folder that is there and writable, {} is not", folder.string()));
}

Result<RunOutcome> run_any(const Config& config, const std::optional<RunRow>& resumed,
                           const RunOptions& options, const RunHooks& hooks) {
  return config.run.precision == Precision::kF32 ? run_as<float>(config, resumed, options, hooks)
                                                 : run_as<double>(config, resumed, options, hooks);
}

}  // namespace

Result<RunOutcome> run_experiment(const Config& config, const RunOptions& options, const RunHooks& hooks) {
  MFL_CHECK(check_weights_out(options.weights_out));
  if (options.resume_id.empty()) return run_any(config, std::nullopt, options, hooks);
  RunRow run;
  {
    StoreOptions read_only;
    read_only.read_only = true;
    MFL_TRY(const Store store,
            Store::open(options.store.empty() ? default_store_path() : options.store, read_only));
    MFL_TRY(run, store.get(options.resume_id));
  }
  if (run.status == RunStatus::kDone || run.status == RunStatus::kDiverged)
    return fail(ErrorCode::kBadConfig,
                fmt::format("run {} is {}: there is nothing to resume", run.id, run_status_name(run.status)),
                fmt::format("see: mfl runs show {}", run.id));
  MFL_TRY(Config stored, parse_config(run.config, "run " + run.id));
  stored.run.engine = config.run.engine;
  stored.run.threads = config.run.threads;
  return run_any(stored, run, options, hooks);
}

}  // namespace mfl
