#include "mfl/run/runner.h"

#include <fmt/core.h>

#include <utility>

#include "mfl/base/files.h"
#include "mfl/config/factory.h"
#include "mfl/data/npy.h"
#include "mfl/load/share.h"
#include "mfl/run/external_run.h"
#include "mfl/run/initial_model.h"
#include "mfl/run/monitor.h"
#include "mfl/run/outcome.h"
#include "mfl/run/recorder.h"
#include "mfl/run/shared_run.h"
#include "mfl/run/step_size.h"
#include "mfl/run/training.h"

namespace mfl {
namespace {

void tell_origin(const std::shared_ptr<const Origin>& origin, RunOutcome& out) {
  if (!origin) return;
  out.label_column = origin->label_column;
  out.header_guessed = origin->header_guessed;
}

// Beside the weights: what their columns and the sign of a score mean.
std::filesystem::path schema_path(std::filesystem::path weights) {
  return weights.replace_extension(".schema.json");
}

// A device or FIFO, which gets the weights alone.
bool is_stream(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::is_character_file(status) || std::filesystem::is_fifo(status);
}

Result<void> write_weights(const std::filesystem::path& path, const auto& w, const Schema& schema) {
  if (path.empty()) return {};
  MFL_CHECK(write_npy(path, std::span(w)));
  if (is_stream(path)) return {};
  return write_file(schema_path(path), schema_json(schema) + "\n");
}

// An error matters only to a run that starts at the beginning.
using InitialModel = Result<std::optional<TrainedModel>>;

// Processes that end by their own clocks would part.
Result<void> check_clock(const Config& config, const Ranks& ranks) {
  if (!config.run.budget_seconds || make_virtual_time(config) || ranks.size() == 1) return {};
  return fail(ErrorCode::kBadConfig,
              "budget_seconds of several processes needs virtual time: their clocks differ",
              "describe devices or a network, or use budget_bytes");
}

template <class T>
Result<RunOutcome> run_as(const Config& asked, const InitialModel& initial, const RunOptions& options,
                          const RunHooks& hooks) {
  if (!initial && asked.model.standardise != Standardise::kNone)
    return tl::unexpected<Error>(initial.error());
  std::optional<TrainerSetup> trainer = options.trainer;
  if (trainer) trainer->stop = hooks.stop;
  auto loaded = is_external(asked.model)
                    ? start_trainers<T>(asked, trainer)
                    : load_problem<T>(prepared_as(asked, initial ? *initial : std::nullopt), options.where(),
                                      options.memory);
  MFL_TRY(Problem<T> problem, std::move(loaded));
  const Config given = with_evaluations(asked, problem);
  if (initial && *initial) {
    MFL_TRY(problem.federation.model,
            starting_from(**initial, problem.schema, problem.scale, problem.federation.model));
  }
  MFL_CHECK(options.where().agree(check_target_accuracy(given, problem)));
  MFL_CHECK(options.where().agree(check_clock(given, options.where())));
  MFL_TRY(const Config config, with_measured_eta(given, problem, options.where()));
  const Algorithm algorithm = make_algorithm(config.algorithm);
  MFL_CHECK(options.where().agree(
      require_a_round(make_budget_rule(config, algorithm),
                      round_bytes<T>(algorithm, 1, problem.federation.model->parameters(), codecs_of(config)),
                      population_of(config, problem))));
  MFL_TRY(const auto recorder, open_recorder(store_of(options), options.where()));
  const RunSpec spec = make_spec(given, algorithm, effective_eta(config.algorithm), problem);
  const auto outcome = [&](std::string_view id) -> Result<RunOutcome> {
    MFL_TRY(const RunRow run, recorder->get(id));
    RunOutcome out = make_outcome(run, config);
    tell_origin(problem.origin, out);
    return out;
  };
  MFL_TRY(const auto found, recorder->find(spec, {.run = options.resume_id, .finished = options.reuse}));
  if (found && found->finished) {
    MFL_TRY(RunOutcome out, outcome(found->run.id));
    out.reused = true;
    return out;
  }
  if (!initial && !(found && found->run.checkpoint)) return tl::unexpected<Error>(initial.error());
  MFL_TRY(Start<T> start,
          start_run<T>(found, spec, initial_state<T>(algorithm, *problem.federation.model, config.run.seed),
                       *recorder));

  const std::string id = start.id;
  const auto engine =
      make_engine<T>(problem.federation, {setting_of(config, algorithm)}, config, options.where());
  Training<T> training(0, algorithm, run_length(config), *engine, population_of(config, problem),
                       test_labels(config, problem), untrained_model(problem), make_cadence(config),
                       make_loss_rule(config), make_stop_rule(config), make_budget_rule(config, algorithm),
                       *recorder, std::move(start));
  training.warn(data_warnings(problem.constant_features));
  std::optional<Monitor> monitor;
  if (options.monitor) {
    if (is_external(given.model))
      return fail(ErrorCode::kBadConfig, "--monitor measures models that mfl trains", "leave --monitor out");
    const auto descent = algorithm.method().descent();
    if (!descent)
      return fail(ErrorCode::kBadConfig,
                  fmt::format("--monitor judges the paper's steps, and not those of {}", algorithm.name),
                  "leave --monitor out, or use an algorithm of the paper");
    MFL_TRY(const auto beta,
            monitored_beta(problem.federation, effective_lambda(config.model), options.where()));
    monitor.emplace(*descent, beta, hooks.warn);
    training.watch(&*monitor);
  }
  const auto train = [&] { return train_together(*engine, std::span(&training, 1), hooks); };
  if (const auto trained = catch_external(train); !trained) {
    recorder->give_up(id, trained.error().text());
    return tl::unexpected<Error>(trained.error());
  }
  if (recorder->keeps()) MFL_CHECK(write_weights(options.weights_out, training.state().w(), problem.schema));
  MFL_TRY(RunOutcome out, outcome(id));
  if (monitor)
    out.warnings.insert(out.warnings.begin(), monitor->warnings().begin(), monitor->warnings().end());
  return out;
}

// Checked before the training, so that no result is lost.
Result<void> check_weights_out(const std::filesystem::path& path) {
  if (path.empty()) return {};
  if (!is_stream(path) && path.extension() != ".npy")
    return fail(ErrorCode::kBadConfig,
                fmt::format("--weights-out {}: weights are written in NPY format", path.string()),
                "name a file that ends in .npy");
  if (auto prepared = prepare_output(path); !prepared) {
    Error error = std::move(prepared).error();
    error.code = ErrorCode::kBadConfig;
    return fail_because(std::move(error), fmt::format("--weights-out {}", path.string()));
  }
  return {};
}

Result<RunOutcome> run_any(Config config, const RunOptions& options, const RunHooks& hooks) {
  if (is_external(config.model) && options.where().size() > 1)
    return fail(ErrorCode::kBadConfig, "trainers run on this machine, not under MPI",
                "leave mpirun out and use --trainer-processes");
  const InitialModel initial = take_initial_model(config, store_of(options), options.where());
  if (!initial && options.resume_id.empty()) return tl::unexpected<Error>(initial.error());
  return config.run.precision == Precision::kF32 ? run_as<float>(config, initial, options, hooks)
                                                 : run_as<double>(config, initial, options, hooks);
}

}  // namespace

std::filesystem::path store_of(const RunOptions& options) {
  return options.store.empty() ? default_store_path() : options.store;
}

Result<RunOutcome> run_experiment(const Config& config, const RunOptions& options, const RunHooks& hooks) {
  MFL_CHECK(require_same_command("run", std::span(&config, 1), options, options.where()));
  MFL_CHECK(options.where().on_first([&] { return check_weights_out(options.weights_out); }));
  const RunHooks own = own_hooks(hooks, options.where());
  if (options.resume_id.empty()) return run_any(config, options, own);
  MFL_TRY(StoppedRun stopped, read_stopped(store_of(options), options.resume_id, options.where()));
  stopped.config.run.engine = config.run.engine;
  stopped.config.run.threads = config.run.threads;
  RunOptions exactly = options;
  exactly.resume_id = stopped.id;
  return run_any(stopped.config, exactly, own);
}

}  // namespace mfl
