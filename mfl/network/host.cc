#include "mfl/network/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/base/files.h"
#include "mfl/base/json.h"
#include "mfl/base/version.h"
#include "mfl/config/factory.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/preparation.h"
#include "mfl/federation/run_warnings.h"
#include "mfl/federation/state_folder.h"
#include "mfl/federation/store_log.h"
#include "mfl/federation/write_behind.h"
#include "mfl/load/problem.h"
#include "mfl/model/models.h"
#include "mfl/model/starting_model.h"
#include "mfl/run/initial_model.h"
#include "mfl/run/outcome.h"
#include "mfl/run/step_size.h"
#include "mfl/run/training.h"

namespace mfl {
namespace {

constexpr std::chrono::milliseconds kHostBeat{20};
constexpr const char* kPlaintextWarning =
    "plaintext: messages are neither encrypted nor authenticated, and any local process can join";

// A server's configuration without the data of whoever wrote it: the data is the nodes' own, and so is its default task.
Config without_data(Config config) {
  config.data.source = kFederationSource;
  config.data.test_source.clear();
  config.data.train.reset();
  config.data.test.reset();
  return config;
}

// Leaves out what may change when the server is restarted.
std::string lasting_digest(Config config) {
  const FederationConfig defaults;
  config.federation.min_available_nodes = defaults.min_available_nodes;
  config.federation.quorum = defaults.quorum;
  config.federation.round_deadline = defaults.round_deadline;
  return config_digest(config);
}

RunSpec spec_of(const Config& config, const Algorithm& algorithm, std::size_t nodes) {
  RunSpec spec;
  spec.name = config.run.name;
  spec.config = to_toml(config);
  spec.config_digest = lasting_digest(config);
  // The data is the nodes' own: runs over a network are comparable with each other, not with a simulation.
  spec.problem = function_digest(config, kFederationSource);
  spec.mfl_version = version();
  spec.data = config.data.source;
  spec.model = config.model.name;
  spec.algorithm = algorithm.name;
  spec.precision = config.run.precision == Precision::kF32 ? "f32" : "f64";
  spec.nodes = nodes;
  spec.eta = effective_eta(config.algorithm);
  if (uses_gamma(config.algorithm)) spec.gamma = config.algorithm.gamma;
  if (!counts_epochs(config.algorithm)) spec.tau = round_length(config.algorithm);
  spec.sampled = config.federation.fraction_train < 1 || config.federation.quorum != 0;
  spec.planned_steps = run_length(config);
  return spec;
}

Plan plan_of(const Config& config, const std::string& run_id) {
  return {.run_id = run_id,
          .config_digest = lasting_digest(config),
          .experiment = to_toml(config),
          .bits = config.run.precision == Precision::kF32 ? 32U : 64U};
}

void log_text(const HostOptions& options, LogLine::Level level, std::string event, std::string text) {
  if (options.server.log) options.server.log({level, std::move(event), {{"text", std::move(text)}}});
}

// A server of an earlier version, which holds no lock: one that was told to stop is given the time to write its last status.
Result<RunRow> wait_for_owner(const Store& store, RunRow run, const HostOptions& options) {
  constexpr std::chrono::seconds kPatience{3};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const auto owned = [&] {
    return run.status == RunStatus::kRunning && owner_alive(run) && run.owner.pid != this_process().pid;
  };
  if (owned())
    log_text(options, LogLine::Level::kInfo, "waiting",
             fmt::format("process {} still serves run {}", run.owner.pid, run.id));
  while (owned() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kHostBeat);
    MFL_TRY(run, store.get(run.id));
  }
  return run;
}

// The folder and the store in it hold the model. What existed already keeps its permissions.
void warn_of_readers(const HostOptions& options) {
  constexpr mode_t kOthers = 077;
  for (const auto& path : {options.state, options.state / "runs.db"}) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 || (info.st_mode & kOthers) == 0) continue;
    log_text(options, LogLine::Level::kWarning, "permissions",
             fmt::format("other users may read {}: chmod go= {}", path.string(), path.string()));
  }
}

Result<StateFolder> open_state(const Config& config, const HostOptions& options) {
  StateFolderOptions out;
  out.folder = options.state;
  out.keep_states = config.run.keep_states;
  out.from_round = options.from_round;
  out.drop_all_rounds = options.drop_all_rounds;
  out.waiting = [&options](const std::string& text) {
    log_text(options, LogLine::Level::kInfo, "waiting", text);
  };
  out.stopped = [stop = options.stop] { return stop != nullptr && stop->load(); };
  MFL_TRY(StateFolder folder, StateFolder::open(std::move(out)));
  warn_of_readers(options);
  return folder;
}

bool has_ended(const RunRow& run) {
  return run.status == RunStatus::kDone || run.status == RunStatus::kDiverged;
}

// The run of the state folder, ready to be served.
template <class T>
struct ServedRun {
  RunRow run;
  std::optional<Resumption<T>> from;
};

template <class T>
Result<ServedRun<T>> find_run(StateFolder& folder, const RunSpec& spec, const HostOptions& options) {
  MFL_TRY(FoundRun found, folder.find_or_create(spec));
  MFL_TRY(RunRow run, wait_for_owner(folder.store(), std::move(found.run), options));
  ServedRun<T> out;
  if (options.from_round || (!found.created && !has_ended(run))) {
    MFL_TRY(out.from, folder.resume<T>(run.id));
  }
  MFL_CHECK(folder.settle(run.id));
  for (const std::string& warning : folder.warnings())
    log_text(options, LogLine::Level::kWarning, "resumed", warning);
  MFL_TRY(out.run, folder.store().get(run.id));
  return out;
}

// Of that round, as its row will have it: the row is written with the next round.
Result<std::optional<double>> batch_loss_of(const Store& store, const std::string& run, std::uint64_t round) {
  MFL_TRY(const auto nodes, store.nodes(run, round));
  ExactMean mean(1);
  for (const NodeRow& node : nodes)
    if (node.batch_loss) (void)mean.add(std::span(&*node.batch_loss, 1), node.weight);
  double loss = 0;
  if (mean.total_weight() == 0) return std::nullopt;
  mean.mean(std::span(&loss, 1));
  return loss;
}

// Nodes' samples are not known before they join: where their number decides, F(w) is evaluated about ten times.
Config with_evaluations_of_nodes(const Config& config) {
  std::optional<SamplesRead> read;
  if (counts_epochs(config.algorithm) || config.algorithm.batch_size == 0)
    read = SamplesRead{round_length(config.algorithm), 1};
  return with_evaluations(config, make_cadence(config).record_every, read);
}

// Where nodes do not start at w, they do not know it before the end.
Result<void> check_stop_rule(const Config& config) {
  if (!make_loss_rule(config).elsewhere || (!config.run.target_loss && config.run.patience == 0)) return {};
  return fail(
      ErrorCode::kBadConfig,
      fmt::format(
          "target_loss and patience judge F(w), and the nodes of {} start elsewhere: in a federation it "
          "is measured at the end alone",
          config.algorithm.name),
      "leave them out, or use target_accuracy with --test-data");
}

std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

std::size_t bytes_of_number(const Config& config) {
  return config.run.precision == Precision::kF32 ? sizeof(float) : sizeof(double);
}

CoordinatorOptions coordinator_options(const Config& config, const HostOptions& options, const RunRow& run) {
  CoordinatorOptions out;
  out.run_id = run.id;
  out.config_digest = run.config_digest;
  out.epoch = random_number();
  out.steps = run_length(config);
  out.seed = config.run.seed;
  const FederationConfig& federation = config.federation;
  out.min_available_nodes =
      federation.min_available_nodes != 0 ? federation.min_available_nodes : federation.nodes;
  out.nodes = federation.nodes;
  out.fraction_train = federation.fraction_train;
  out.quorum = federation.quorum;
  constexpr double kMilliseconds = 1000;
  out.round_deadline = std::max(Time{1}, Time{std::llround(kMilliseconds * federation.round_deadline)});
  out.columns = options.columns;
  out.max_payload = options.max_payload;
  out.max_samples = federation.max_samples;
  out.max_update_norm = federation.max_update_norm;
  out.least_loss = models().find(config.model.name)->least_loss;
  out.losses = make_loss_rule(config).in_federation();
  out.stop_rule = make_stop_rule(config);
  out.aggregator = aggregator_of(config);
  out.codecs = codecs_of(config);
  out.needs = [config](const Schema& schema) {
    const bool own_data = schema.own_data.value_or(false);
    const bool known = !schema.preprocessing.deviations.empty();  // of an initial model
    return PreparationNeeds{
        effective_intercept(config.model, own_data),
        known ? Standardise::kNone : config.model.standardise,
        config.model.balanced,
        measures_eta(config.algorithm, own_data),
        known,
        is_external(config.model) && config.run.init.empty() ? bytes_of_number(config) : 0};
  };
  out.step_size_of = step_size_of;
  out.algorithm_of = [config](double eta) {
    AlgorithmConfig algorithm = config.algorithm;
    algorithm.eta = eta;
    return make_algorithm(algorithm);
  };
  out.on_outlier = options.on_outlier;
  out.threads = static_cast<unsigned>(std::min<std::uint64_t>(config.run.threads, kMaxThreads));
  if (has_ended(run)) {
    out.ended_status = run_status_name(run.status);
    const RunSummary summary = run.summary.value_or(RunSummary{});
    out.ended_digest = summary.digest;
    out.ended_round = summary.rounds;
    out.ended_step = summary.final.step;
  }
  return out;
}

// The server's own test set.
template <class T>
class TestBench {
 public:
  static Result<std::unique_ptr<TestBench>> load(Config config, const Algorithm& algorithm,
                                                 const std::string& spec, const Schema& schema) {
    config.data.source = config.data.test_source = spec;
    config.data.task.reset();
    config.data.positive.clear();
    config.schema = schema;
    config.federation = {1, "contiguous"};
    MFL_TRY(Problem<T> problem, load_problem<T>(Experiment(config)));
    return std::unique_ptr<TestBench>(new TestBench(std::move(problem), config, algorithm));
  }

  // Of the test set: what nodes must have.
  const Schema& schema() const { return problem_.schema; }

  bool has_accuracy() const { return labels_.has_accuracy; }

  // Thread-safe.
  TestRow test(const std::string& weights, bool in_detail) {
    const std::lock_guard lock(mutex_);
    const std::size_t parameters = problem_.federation.model->parameters();
    const auto w =
        from_payload<T>(std::string_view(weights).substr(0, parameters * sizeof(T)), std::array{parameters});
    const auto metrics = engine_->test(0, w.front(), in_detail ? detail_of(labels_) : TestDetail::kNone);
    TestRow row;
    if (metrics) row.loss = metrics->loss;
    if (metrics && labels_.has_accuracy) row.accuracy = metrics->accuracy;
    if (metrics) row.details = metrics_text(*metrics, labels_);
    return row;
  }

 private:
  TestBench(Problem<T> problem, const Config& config, const Algorithm& algorithm)
      : problem_(std::move(problem)),
        labels_(test_labels(Experiment(config), problem_)),
        engine_(local_engine<T>(problem_.federation, {setting_of(config, algorithm)},
                                make_workers(config.run))) {}

  Problem<T> problem_;
  TestLabels labels_;
  std::unique_ptr<Engine<T>> engine_;
  std::mutex mutex_;
};

// For test data that is looked at before the run has measured anything.
Config without_measures(Config config) {
  config.model.standardise = Standardise::kNone;
  config.model.balanced = false;
  return config;
}

// What the store says of the run's nodes, beside its schema.
void take_nodes(const Json& kept, CoordinatorOptions& out) {
  std::vector<std::string> names;
  if (const Json* measured = kept.find(kMeasuredBy))
    for (const Json& name : measured->elements()) names.emplace_back(name.text());
  if (!names.empty()) out.warnings.push_back(measured_text(names, out.nodes));
  const Json* const excluded = kept.find(kExcluded);
  if (excluded == nullptr) return;
  for (const auto& [node, why] : excluded->members()) {
    out.excluded.emplace(node, why.text());
    out.warnings.push_back(excluded_text(why.text()));
  }
}

// What the run says of its data before a node has joined: what the store has, or what the configuration states.
Result<void> state_schema(const Config& config, const HostOptions& options, const RunRow& run,
                          const std::optional<TrainedModel>& initial, CoordinatorOptions& out) {
  out.schema = stated_schema(config);
  if (options.columns != 0 && out.schema.columns != 0 && options.columns != out.schema.columns)
    return fail(ErrorCode::kBadConfig,
                fmt::format("--features says {} and [schema] {}", options.columns, out.schema.columns),
                "leave one of them out");
  if (options.columns != 0) out.schema.columns = options.columns;
  if (out.schema.task == LabelTask::kUnknown && target_kind(config.model) == TargetKind::kIndex)
    out.schema.task = LabelTask::kMulticlass;
  if (is_external(config.model)) out.schema.task = LabelTask::kExternal;
  if (out.schema.task == LabelTask::kEvenOdd) out.schema.classes = {"odd", "even"};
  if (out.schema.task != LabelTask::kMulticlass && out.schema.classes.size() == 2 &&
      out.schema.positive.empty())
    out.schema.positive = out.schema.classes.back();
  if (out.schema != Schema{}) out.schema_from = "the experiment file";
  if (initial) {
    auto settled = settle(out.schema, initial->schema);
    if (!settled) return fail_because(settled.error(), "the initial model does not fit this run");
    out.schema = *std::move(settled);
    out.schema.preprocessing = prepared_as(config, *initial).schema.preprocessing;
    out.schema_from = "the initial model";
  }
  if (run.data_schema.empty()) return {};
  auto stored = parse_schema(run.data_schema);
  if (stored) stored = settle(out.schema, *stored);
  if (!stored)
    return fail_because(stored.error(),
                        fmt::format("cannot continue run {}: its schema does not fit", run.id));
  out.schema = *std::move(stored);
  out.schema_from = "the run's store";
  take_nodes(Json::parse(run.data_schema).value(), out);
  if (!out.schema.own_data)
    out.schema.own_data = false;  // a run of an earlier version, which measured nothing
  if (const PreparationNeeds needs = out.needs(out.schema); needs.any() && needs.initial_weights == 0) {
    out.schema.preprocessing = parse_schema(run.data_schema)->preprocessing;
    out.prepared = Prepared{out.schema.preprocessing, needs.step_size ? run.eta : 0};
    out.prepared_needs = needs;
  }
  return {};
}

// The server's test set tells what is still open.
template <class T>
Result<void> take_test_schema(const TestBench<T>& bench, const std::string& spec, CoordinatorOptions& out) {
  if (out.schema == bench.schema()) return {};
  if (!is_complete(bench.schema()))
    return fail(ErrorCode::kBadData,
                fmt::format("--test-data {}: samples of one class only do not tell the two classes", spec),
                "name them in [schema] classes of the experiment file");
  out.schema = bench.schema();
  out.schema_from = "--test-data";
  return {};
}

// Until the run ends and the nodes know, or somebody stops it.
void wait_for_end(const FederationServer& server, const HostOptions& options, bool ended_before) {
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  while (!stopped() && !server.failure() && server.status().digest.empty())
    std::this_thread::sleep_for(kHostBeat);
  if (stopped() || server.failure()) return;
  const auto until = std::chrono::steady_clock::now() + options.linger;
  while (!stopped() && std::chrono::steady_clock::now() < until && (ended_before || server.unaware() > 0))
    std::this_thread::sleep_for(kHostBeat);
}

template <class T>
Result<ModelOf<T>> make_served_model(const Config& config, const std::optional<TrainedModel>& initial,
                                     const Schema& schema) {
  const ModelOf<T> plain = [&config](const Schema& settled) {
    return make_model<T>(config.model, static_cast<std::size_t>(settled.columns), settled);
  };
  if (!initial) return plain;
  MFL_CHECK(starting_from(*initial, schema, std::nullopt, plain(schema)));
  return ModelOf<T>([plain, w = weights_of<T>(*initial)](const Schema& settled) {
    auto model = plain(settled);
    return model->parameters() == w.size() ? starting_from(std::move(model), w) : model;
  });
}

template <class T>
Result<HostOutcome> host_as(const Config& config, const std::optional<TrainedModel>& initial,
                            const HostOptions& options) {
  const Algorithm algorithm = make_algorithm(config.algorithm);
  if (algorithm.centralised)
    return fail(ErrorCode::kBadConfig, fmt::format("algorithm {} has all data in one place", algorithm.name),
                "a federation runs fl or mfl");
  if (!config.model.class_weights.empty())
    return fail(ErrorCode::kBadConfig, "class_weight with a number per class is not supported by a server",
                "use class_weight = balanced, or leave it out");
  // Whether the nodes have data of their own, so that eta is measured, is known only when they join.
  if (!config.algorithm.eta) MFL_CHECK(require_step_bound(entry_of(config.model)));
  MFL_TRY(StateFolder folder, open_state(config, options));
  Store& store = folder.store();
  const CoordinatorOptions defaults = coordinator_options(config, options, {});
  MFL_TRY(ServedRun<T> served,
          find_run<T>(folder, spec_of(config, algorithm, defaults.min_available_nodes), options));
  const RunRow& run = served.run;
  const bool ended = has_ended(run);
  MFL_TRY(const auto rows, store.rounds(run.id));
  StoreLogOptions log_options{make_cadence(config).record_every, run.wall_seconds, {}, {}, {}};
  log_options.committed = [&folder](std::uint64_t round, std::string_view digest) {
    return folder.note(round, digest);
  };
  if (!rows.empty()) log_options.last_step = rows.back().step;
  std::unique_ptr<TestBench<T>> bench;
  CoordinatorOptions coordinator = coordinator_options(config, options, run);
  coordinator.warnings = folder.warnings();
  for (const RoundRow& row : rows)
    if (row.train_loss) coordinator.past_losses.push_back({row.round, *row.train_loss});
  if (served.from) {
    MFL_TRY(coordinator.batch_loss, batch_loss_of(store, run.id, served.from->state.round));
  }
  if (!options.server.tls) coordinator.warnings.emplace_back(kPlaintextWarning);
  MFL_CHECK(state_schema(config, options, run, initial, coordinator));
  if (!options.test_data.empty() && is_external(config.model))
    return fail(ErrorCode::kBadConfig, "--test-data: the server cannot evaluate an external model",
                "leave it out: trainers may report test_loss and test_accuracy");
  if (!options.test_data.empty()) {
    const bool measured = coordinator.prepared.has_value();
    const Config& load_with = measured ? config : without_measures(config);
    MFL_TRY(bench, TestBench<T>::load(load_with, algorithm, options.test_data, coordinator.schema));
    MFL_CHECK(take_test_schema(*bench, options.test_data, coordinator));
    if (!measured)
      log_options.prepared = [&](const std::string& data_schema) -> Result<void> {
        MFL_TRY(const Schema schema, parse_schema(data_schema));
        MFL_TRY(bench, TestBench<T>::load(config, algorithm, options.test_data, schema));
        return {};
      };
    log_options.test = [&bench](const std::string& weights, bool in_detail) {
      return bench->test(weights, in_detail);
    };
    coordinator.test_accuracy = [&bench](const std::string& weights) {
      return bench->test(weights, false).accuracy;
    };
  }
  if (config.run.target_accuracy && !(bench && bench->has_accuracy()))
    return fail(
        ErrorCode::kBadConfig,
        bench ? "target_accuracy needs labels that are classes" : "target_accuracy needs a test set",
        bench ? "use target_loss or patience" : "name one with --test-data, or leave target_accuracy out");
  coordinator.columns = coordinator.schema.columns;
  MFL_TRY(const ModelOf<T> served_model, make_served_model<T>(config, initial, coordinator.schema));
  StoreLog store_log(store, run.id, std::move(log_options));
  WriteBehind log(store_log);
  MFL_TRY(const auto server,
          FederationServer::start(make_coordinator<T>(algorithm, std::move(coordinator), log,
                                                      std::move(served.from), served_model),
                                  plan_of(config, run.id), options.server));
  MFL_CHECK(write_file(options.state / "address", server->address() + "\n"));
  if (options.server.log)
    options.server.log({LogLine::Level::kInfo,
                        "serving",
                        {{"address", server->address()},
                         {"run", run.id},
                         {"round", fmt::to_string(server->status().round)},
                         {"schema", server->status().schema},
                         {"nodes_needed", fmt::to_string(server->status().needed)},
                         {"config", run.config_digest.substr(0, 12)}}});
  wait_for_end(*server, options, ended);
  server->close();  // from here on the store does not change any more
  const FederationStatus status = server->status();
  const auto failure = server->failure();
  const Measurement measured = server->measured();
  if (failure) {
    (void)store.set_status(run.id, RunStatus::kFailed, failure->text());  // the store itself may be the cause
    return tl::unexpected<Error>(*failure);
  }
  // Before the transport ends: a server that is started meanwhile finds a run that nobody serves.
  if (status.digest.empty())
    MFL_CHECK(store.set_status(run.id, RunStatus::kInterrupted,
                               fmt::format("stopped after round {}", status.round)));
  server->stop();
  MFL_TRY(const RunRow now, store.get(run.id));
  HostOutcome outcome{make_outcome(now, config), {}};
  if (status.digest.empty()) {
    MFL_TRY(const auto committed, store.rounds(run.id));
    outcome.run.rounds = status.round;
    outcome.run.final.step = status.step;
    for (const RoundRow& row : committed)
      if (row.train_loss) outcome.run.final.train_loss = row.train_loss;
    outcome.run.final.test_loss = status.test_loss;
    outcome.run.final.test_accuracy = status.test_accuracy;
    outcome.run.bytes_up = status.bytes_up;
    outcome.run.bytes_down = status.bytes_down;
  }
  if (const auto model = model_of({measured.asked, measured.answers}))
    outcome.measured = measured_toml(*model);
  return outcome;
}

}  // namespace

Result<HostOutcome> host_run(const Config& given_config, const HostOptions& given) {
  Config config = with_evaluations_of_nodes(without_data(given_config));
  MFL_CHECK(check_stop_rule(config));
  MFL_TRY(const auto initial_model, take_initial_model(config, default_store_path()));
  std::optional<TrainedModel> initial;
  if (initial_model) initial = *initial_model;
  HostOptions options = given;
  options.server.log = serialised(given.server.log);
  if (config.federation.min_available_nodes == 0) options.server.nodes = config.federation.nodes;
  return config.run.precision == Precision::kF32 ? host_as<float>(config, initial, options)
                                                 : host_as<double>(config, initial, options);
}

}  // namespace mfl
