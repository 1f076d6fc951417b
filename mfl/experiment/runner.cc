#include "mfl/experiment/runner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "mfl/base/files.h"
#include "mfl/base/version.h"
#include "mfl/data/npy.h"
#include "mfl/experiment/factory.h"
#include "mfl/experiment/problem.h"
#include "mfl/experiment/training.h"
#include "mfl/record/checkpoint.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

template <class T>
RunSpec make_spec(const Config& config, const Algorithm& algorithm, const Problem<T>& problem) {
  RunSpec spec;
  spec.name = config.run.name;
  spec.config = to_toml(config);
  spec.config_digest = config_digest(config);
  spec.data_digest = problem.data_digest;
  spec.problem = problem.digest;
  spec.mfl_version = version();
  spec.data = config.data.source;
  spec.model = config.model.name;
  spec.algorithm = algorithm.name;
  spec.precision = sizeof(T) == sizeof(float) ? "f32" : "f64";
  spec.nodes = problem.federation.nodes.size();
  spec.eta = config.algorithm.eta;
  if (std::holds_alternative<Momentum>(algorithm.rule)) spec.gamma = config.algorithm.gamma;
  if (!algorithm.centralised) spec.tau = config.algorithm.tau;
  spec.planned_steps = config.run.steps;
  spec.load_seconds = problem.load_seconds;
  return spec;
}

RunOutcome make_outcome(const RunRow& run, Config config) {
  RunOutcome out;
  out.run_id = run.id;
  out.status = run_status_name(run.status);
  out.message = run.message;
  out.config = std::move(config);
  out.load_seconds = run.load_seconds;
  out.wall_seconds = run.wall_seconds;
  if (run.summary) {
    const RunSummary& summary = *run.summary;
    out.final = {summary.final.step, summary.final.train_loss, summary.final.test_loss, summary.final.test_accuracy};
    out.best_step = summary.best.step;
    out.best_train_loss = summary.best.train_loss;
    out.rounds = summary.rounds;
    out.bytes_up = summary.bytes_up;
    out.bytes_down = summary.bytes_down;
    out.digest = summary.digest;
  }
  return out;
}

// Where a run starts: at the beginning, or at its last checkpoint.
template <class T>
struct Start {
  std::string id;
  State<T> state;
  bool recorded = false;
  double wall_seconds = 0;
};

template <class T>
Result<Start<T>> resume(Store& store, const RunRow& run, State<T> initial) {
  MFL_TRY(const auto checkpoint, store.latest_checkpoint(run.id));
  if (!checkpoint) {
    MFL_CHECK(store.rewind(run.id, std::nullopt));
    return Start<T>{run.id, std::move(initial), false, 0};
  }
  auto state = decode_state<T>(checkpoint->blob);
  if (!state) return fail_because(state.error(), fmt::format("cannot resume run {}", run.id));
  MFL_CHECK(store.rewind(run.id, checkpoint->round));
  MFL_TRY(const auto records, store.records(run.id));
  return Start<T>{run.id, *std::move(state), true, records.empty() ? 0 : records.back().wall_seconds};
}

template <class T>
Result<RunOutcome> run_as(const Config& config, const std::optional<RunRow>& resumed, const RunOptions& options,
                          const RunHooks& hooks) {
  MFL_TRY(const Problem<T> problem, load_problem<T>(config));
  MFL_TRY(Store store, Store::open(options.store.empty() ? default_store_path() : options.store));
  const Algorithm algorithm = make_algorithm(config.algorithm);
  const RunSpec spec = make_spec(config, algorithm, problem);
  Start<T> start{{}, initial_state<T>(algorithm, problem.federation.train.columns()), false, 0};
  if (resumed) {
    if (resumed->data_digest != spec.data_digest)
      return fail(ErrorCode::kBadData, fmt::format("cannot resume run {}: the data is not what it was", resumed->id),
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

  const auto engine = local_engine(problem.federation, algorithm, make_workers(config.run));
  Journal journal(store, start.id);
  Training<T> training(algorithm, *engine, problem.federation.nodes.size(), problem.has_accuracy,
                       make_cadence(config.run), journal, std::move(start.state), start.recorded, start.wall_seconds);
  if (const auto ending = training.run(config.run.steps, hooks); !ending) {
    (void)store.set_status(start.id, RunStatus::kFailed, ending.error().text());  // best effort: the store may be the cause
    return tl::unexpected<Error>(ending.error());
  }
  if (!options.weights_out.empty())
    MFL_CHECK(write_npy(options.weights_out, std::span<const T>(training.state().w())));
  MFL_TRY(const RunRow run, store.get(start.id));
  return make_outcome(run, config);
}

// Better said before the training than after it.
Result<void> check_weights_out(const std::filesystem::path& path) {
  if (path.empty()) return {};
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) == 0 && !std::filesystem::is_directory(path)) return {};
  return fail(ErrorCode::kBadConfig, fmt::format("--weights-out {}: cannot be written", path.string()),
              fmt::format("name a file in a folder that is there and writable, {} is not", folder.string()));
}

Result<RunOutcome> run_any(const Config& config, const std::optional<RunRow>& resumed, const RunOptions& options,
                           const RunHooks& hooks) {
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
    MFL_TRY(const Store store, Store::open(options.store.empty() ? default_store_path() : options.store, read_only));
    MFL_TRY(run, store.get(options.resume_id));
  }
  if (run.status == RunStatus::kDone || run.status == RunStatus::kDiverged)
    return fail(ErrorCode::kBadConfig, fmt::format("run {} is {}: there is nothing to resume", run.id,
                                                   run_status_name(run.status)),
                fmt::format("see: mfl runs show {}", run.id));
  MFL_TRY(Config stored, parse_config(run.config, "run " + run.id));
  stored.run.engine = config.run.engine;
  stored.run.threads = config.run.threads;
  return run_any(stored, run, options, hooks);
}

}  // namespace mfl
