#include "mfl/run/runner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "mfl/base/files.h"
#include "mfl/base/message.h"
#include "mfl/config/factory.h"
#include "mfl/data/npy.h"
#include "mfl/load/problem.h"
#include "mfl/load/share.h"
#include "mfl/record/checkpoint.h"
#include "mfl/record/store.h"
#include "mfl/run/monitor.h"
#include "mfl/run/outcome.h"
#include "mfl/run/recorder.h"
#include "mfl/run/same_ranks.h"
#include "mfl/run/training.h"

namespace mfl {
namespace {

template <class T>
Result<Start<T>> resume(Store& store, const RunRow& run, State<T> initial) {
  MFL_TRY(const Unfinished unfinished, read_unfinished(store, run.id));
  MFL_TRY(Start<T> start, resumed_start(unfinished, std::move(initial)));
  MFL_CHECK(store.rewind(run.id, unfinished.round()));
  return start;
}

// The start of a run for the other ranks.
template <class T>
std::string start_bytes(const Start<T>& start) {
  MessageWriter out;
  out.put_text(start.id);
  out.put_text(encode_state(start.state, start.kept));
  out.put(start.recorded);
  out.put(start.wall_seconds);
  out.put(start.virtual_seconds.has_value());
  out.put(start.virtual_seconds.value_or(0));
  out.put(start.bytes_up);
  out.put(start.bytes_down);
  return out.bytes();
}

template <class T>
Result<Start<T>> read_start(std::string_view bytes) {
  MessageReader in(bytes);
  Start<T> start;
  start.id = in.take_text();
  MFL_TRY(Snapshot<T> snapshot, decode_snapshot<T>(in.take_text()));
  start.state = std::move(snapshot.state);
  start.kept = std::move(snapshot.kept);
  start.recorded = in.take<bool>();
  start.wall_seconds = in.take<double>();
  const bool has_virtual_seconds = in.take<bool>();
  const double virtual_seconds = in.take<double>();
  if (has_virtual_seconds) start.virtual_seconds = virtual_seconds;
  start.bytes_up = in.take<std::uint64_t>();
  start.bytes_down = in.take<std::uint64_t>();
  return start;
}

// Opens the run in the store. `start` has the initial state. Returns nothing when a recorded run can be reused, which is then in
// `reused`.
template <class T>
Result<std::optional<Start<T>>> open_run(Store& store, const RunSpec& spec,
                                         const std::optional<RunRow>& resumed, bool reuse, Start<T> start,
                                         std::optional<RunRow>& reused) {
  if (resumed) {
    if (resumed->data_digest != spec.data_digest)
      return fail(ErrorCode::kBadData,
                  fmt::format("cannot resume run {}: the training data has changed since the run started",
                              resumed->id),
                  "restore the data, or start a new run");
    MFL_TRY(start, resume(store, *resumed, std::move(start.state)));
    return start;
  }
  if (reuse) {
    MFL_TRY(reused, store.find_done(spec.config_digest, spec.data_digest, spec.mfl_version));
    if (reused) return std::nullopt;
  }
  MFL_TRY(start.id, store.create_run(spec));
  return start;
}

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

template <class T>
Result<RunOutcome> run_as(const Config& config, const std::optional<RunRow>& resumed,
                          const RunOptions& options, const RunHooks& hooks) {
  Ranks& ranks = options.ranks != nullptr ? *options.ranks : alone();
  MFL_TRY(const Problem<T> problem, load_share<T>(config, ranks));
  const Algorithm algorithm = make_algorithm(config.algorithm);
  std::optional<Store> store;  // of the first rank
  std::optional<RunRow> reused;
  std::optional<Start<T>> start;
  MFL_TRY(const std::string told, ranks.from_first([&]() -> Result<std::string> {
    MFL_TRY(store, Store::open(options.store.empty() ? default_store_path() : options.store));
    MFL_TRY(start, open_run<T>(*store, make_spec(config, algorithm, problem), resumed, options.reuse,
                               {{}, initial_state<T>(algorithm, *problem.federation.model, config.run.seed)},
                               reused));
    return start && ranks.size() > 1 ? start_bytes(*start) : std::string();
  }));
  if (!ranks.first() && !told.empty()) {
    MFL_TRY(start, read_start<T>(told));
  }
  if (!start) {
    RunOutcome out = reused ? make_outcome(*reused, config) : RunOutcome{};
    tell_origin(problem.origin, out);
    out.reused = true;
    return out;
  }

  const std::string id = start->id;
  const auto recorder = store ? ledger_of(*store) : no_recorder();
  const auto engine = make_engine<T>(problem.federation, {setting_of(config, algorithm)}, config, ranks);
  Training<T> training(0, algorithm, run_length(config), *engine, population_of(config, problem),
                       test_labels(config, problem), make_cadence(config), make_loss_rule(config), *recorder,
                       *std::move(start));
  std::optional<Monitor> monitor;
  if (options.monitor) {
    const auto descent = algorithm.method().descent();
    if (!descent)
      return fail(ErrorCode::kBadConfig,
                  fmt::format("--monitor judges the paper's steps, and not those of {}", algorithm.name),
                  "leave --monitor out, or use an algorithm of the paper");
    MFL_TRY(const auto beta, monitored_beta(problem.federation, effective_lambda(config.model), ranks));
    monitor.emplace(*descent, beta, hooks.warn);
    training.watch(&*monitor);
  }
  if (const auto trained = train_together(*engine, std::span(&training, 1), hooks); !trained) {
    recorder->give_up(id, trained.error().text());
    return tl::unexpected<Error>(trained.error());
  }
  RunOutcome out;
  const auto closed = ranks.from_first([&]() -> Result<std::string> {
    if (!options.weights_out.empty()) {
      MFL_CHECK(write_npy(options.weights_out, std::span<const T>(training.state().w())));
      if (!is_stream(options.weights_out))
        MFL_CHECK(write_file(schema_path(options.weights_out), schema_json(problem.schema) + "\n"));
    }
    MFL_TRY(const RunRow run, store->get(id));
    out = make_outcome(run, config);
    tell_origin(problem.origin, out);
    return std::string();
  });
  MFL_CHECK(closed);
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

Result<RunOutcome> run_any(const Config& config, const std::optional<RunRow>& resumed,
                           const RunOptions& options, const RunHooks& hooks) {
  return config.run.precision == Precision::kF32 ? run_as<float>(config, resumed, options, hooks)
                                                 : run_as<double>(config, resumed, options, hooks);
}

// The run to resume, from the store of the first rank.
Result<RunRow> find_resumed(const RunOptions& options) {
  MFL_TRY(const Store store, Store::open(options.store.empty() ? default_store_path() : options.store,
                                         StoreOptions{.read_only = true}));
  MFL_TRY(RunRow run, store.get(options.resume_id));
  if (run.status == RunStatus::kDone || run.status == RunStatus::kDiverged)
    return fail(ErrorCode::kBadConfig,
                fmt::format("run {} is {}: there is nothing to resume", run.id, run_status_name(run.status)),
                fmt::format("see: mfl runs show {}", run.id));
  return run;
}

}  // namespace

Result<RunOutcome> run_experiment(const Config& config, const RunOptions& options, const RunHooks& hooks) {
  Ranks& ranks = options.ranks != nullptr ? *options.ranks : alone();
  MFL_CHECK(require_same_command("run", std::span(&config, 1), options, ranks));
  std::optional<RunRow> resumed;
  MFL_TRY(const std::string stored_config, ranks.from_first([&]() -> Result<std::string> {
    MFL_CHECK(check_weights_out(options.weights_out));
    if (options.resume_id.empty()) return std::string();
    MFL_TRY(resumed, find_resumed(options));
    return resumed->config;
  }));
  if (options.resume_id.empty()) return run_any(config, std::nullopt, options, hooks);
  MFL_TRY(Config stored, parse_config(stored_config, "run " + (resumed ? resumed->id : options.resume_id)));
  stored.run.engine = config.run.engine;
  stored.run.threads = config.run.threads;
  return run_any(stored, resumed, options, hooks);
}

}  // namespace mfl
