#include "mfl/network/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/experiment/evaluations.h"
#include "mfl/federation/write_behind.h"
#include "mfl/model/starting_model.h"
#include "mfl/network/served_rounds.h"
#include "mfl/network/served_run.h"
#include "mfl/network/served_schema.h"
#include "mfl/network/test_bench.h"
#include "mfl/run/initial_model.h"
#include "mfl/run/outcome.h"
#include "mfl/run/step_size.h"

namespace mfl {
namespace {

// A server's configuration without the data of whoever wrote it: the data is the nodes' own, and so is its
// default task.
Config without_data(Config config) {
  config.data.source = kFederationSource;
  config.data.test_source.clear();
  config.data.train.reset();
  config.data.test.reset();
  return config;
}

Result<void> require_servable(const Experiment& experiment, const HostOptions& options) {
  const Config& config = experiment.config;
  // Where nodes do not start at w, they do not know it before the end.
  if (experiment.losses.elsewhere && (experiment.stop.target_loss || experiment.stop.patience != 0))
    return fail(
        ErrorCode::kBadConfig,
        fmt::format(
            "target_loss and patience judge F(w), and the nodes of {} start elsewhere: in a federation it "
            "is measured at the end alone",
            config.algorithm.name),
        "leave them out, or use target_accuracy with --test-data");
  if (experiment.centralised())
    return fail(ErrorCode::kBadConfig,
                fmt::format("algorithm {} has all data in one place", experiment.algorithm.name),
                "a federation runs fl or mfl");
  if (!config.model.class_weights.empty())
    return fail(ErrorCode::kBadConfig, "class_weight with a number per class is not supported by a server",
                "use class_weight = balanced, or leave it out");
  if (!options.test_data.empty() && experiment.external())
    return fail(ErrorCode::kBadConfig, "--test-data: the server cannot evaluate an external model",
                "leave it out: trainers may report test_loss and test_accuracy");
  // Whether the nodes have data of their own, so that eta is measured, is known only when they join.
  return config.algorithm.eta ? Result<void>() : require_step_bound(*experiment.model);
}

std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

void take_experiment(const Experiment& experiment, CoordinatorOptions& out) {
  const FederationConfig& federation = experiment.config.federation;
  out.steps = experiment.steps;
  out.seed = experiment.config.run.seed;
  out.min_available_nodes = nodes_to_start(federation);
  out.nodes = federation.nodes;
  out.fraction_train = federation.fraction_train;
  out.quorum = federation.quorum;
  constexpr double kMilliseconds = 1000;
  out.round_deadline = std::max(Time{1}, Time{std::llround(kMilliseconds * federation.round_deadline)});
  out.max_samples = federation.max_samples;
  out.max_update_norm = federation.max_update_norm;
  out.least_loss = experiment.model->least_loss;
  out.losses = experiment.losses.in_federation();
  out.stop_rule = experiment.stop;
  out.aggregator = experiment.aggregator;
  out.codecs = experiment.codecs;
  out.step_size_of = step_size_of;
  out.threads = static_cast<unsigned>(std::min<std::uint64_t>(experiment.config.run.threads, kMaxThreads));
}

template <class T>
CoordinatorOptions coordinator_options(const Experiment& experiment, const HostOptions& options,
                                       const ServedRun<T>& served) {
  constexpr const char* kPlaintextWarning =
      "plaintext: messages are neither encrypted nor authenticated, and any local process can join";
  CoordinatorOptions out;
  take_experiment(experiment, out);
  out.run_id = served.run.id;
  out.config_digest = served.run.config_digest;
  out.epoch = random_number();
  out.max_payload = options.max_payload;
  out.on_outlier = options.on_outlier;
  out.warnings = served.folder.warnings();
  if (!options.server.tls) out.warnings.emplace_back(kPlaintextWarning);
  const auto settled = std::make_shared<Experiment>(experiment);
  out.algorithm_of = [settled](double eta) {
    settled->settle_eta(eta);
    return settled->algorithm;
  };
  out.rounds = round_policy(settled, served.run.wall_seconds);
  for (const RoundRow& row : served.rounds)
    if (row.train_loss) out.past_losses.push_back({row.round, *row.train_loss});
  out.batch_loss = served.batch_loss;
  if (has_ended(served.run)) {
    out.ended_status = run_status_name(served.run.status);
    const RunSummary summary = served.run.summary.value_or(RunSummary{});
    out.ended_digest = summary.digest;
    out.ended_round = summary.rounds;
    out.ended_step = summary.final.step;
  }
  return out;
}

template <class T>
StoreLogOptions log_options(const Experiment& experiment, ServedRun<T>& served) {
  StoreLogOptions out{.record_every = experiment.cadence.record_every,
                      .wall_before = served.run.wall_seconds};
  if (!served.rounds.empty()) out.last_step = served.rounds.back().step;
  out.committed = [&served](std::uint64_t round, std::string_view digest) {
    return served.folder.note(round, digest);
  };
  return out;
}

// Loads the test set that `spec` names, if it names one, for the records and the stop rule, which use `bench`
// while the run is served.
Result<void> set_up_bench(const Experiment& experiment, const std::string& spec,
                          std::optional<TestBench>& bench, CoordinatorOptions& coordinator,
                          StoreLogOptions& log) {
  if (!spec.empty()) {
    Experiment known = experiment;
    if (!coordinator.prepared) {
      known.config.model.standardise = Standardise::kNone;
      known.config.model.balanced = false;
      log.prepared = [&experiment, spec, &bench](const std::string& data_schema) -> Result<void> {
        MFL_TRY(const Schema schema, parse_schema(data_schema));
        MFL_TRY(bench, load_test_bench(experiment, spec, schema));
        return {};
      };
    }
    MFL_TRY(bench, load_test_bench(std::move(known), spec, coordinator.schema));
    MFL_CHECK(take_test_schema(bench->schema, spec, coordinator));
    log.test = [&bench](const std::string& weights, bool in_detail) {
      return bench->test(weights, in_detail);
    };
    coordinator.test_accuracy = [&bench](const std::string& weights) {
      return bench->test(weights, false).accuracy;
    };
  }
  if (!experiment.stop.target_accuracy || (bench && bench->has_accuracy)) return {};
  return fail(
      ErrorCode::kBadConfig,
      bench ? "target_accuracy needs labels that are classes" : "target_accuracy needs a test set",
      bench ? "use target_loss or patience" : "name one with --test-data, or leave target_accuracy out");
}

template <class T>
Result<ModelOf<T>> make_served_model(const Experiment& experiment, const TrainedModel* initial,
                                     const Schema& schema) {
  const ModelOf<T> plain = [&experiment](const Schema& settled) {
    return experiment.make_model<T>(static_cast<std::size_t>(settled.columns), settled);
  };
  if (initial == nullptr) return plain;
  MFL_CHECK(starting_from(*initial, schema, std::nullopt, plain(schema)));
  return ModelOf<T>([plain, w = weights_of<T>(*initial)](const Schema& settled) {
    auto model = plain(settled);
    return model->parameters() == w.size() ? starting_from(std::move(model), w) : model;
  });
}

// Until the run ends and the nodes know, or somebody stops it.
void wait_for_end(const FederationServer& server, const HostOptions& options, bool ended_before) {
  constexpr std::chrono::milliseconds kBeat{20};
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  while (!stopped() && !server.failure() && server.status().digest.empty())
    std::this_thread::sleep_for(kBeat);
  if (stopped() || server.failure()) return;
  const auto until = std::chrono::steady_clock::now() + options.linger;
  while (!stopped() && std::chrono::steady_clock::now() < until && (ended_before || server.unaware() > 0))
    std::this_thread::sleep_for(kBeat);
}

// Closes the server and writes how its part of the run ended.
Result<HostOutcome> conclude(FederationServer& server, Store& store, const std::string& run_id,
                             const Experiment& experiment) {
  server.close();  // from here on the store does not change any more
  const FederationStatus status = server.status();
  const auto failure = server.failure();
  const Measurement measured = server.measured();
  if (failure) {
    (void)store.set_status(run_id, RunStatus::kFailed, failure->text());  // the store itself may be the cause
    return tl::unexpected<Error>(*failure);
  }
  // Before the transport ends: a server that is started meanwhile finds a run that nobody serves.
  if (status.digest.empty())
    MFL_CHECK(store.set_status(run_id, RunStatus::kInterrupted,
                               fmt::format("stopped after round {}", status.round)));
  server.stop();
  MFL_TRY(const RunRow now, store.get(run_id));
  HostOutcome outcome{make_outcome(now, experiment), {}};
  if (status.digest.empty()) {
    MFL_TRY(const auto committed, store.rounds(run_id));
    auto loss = outcome.run.final.train_loss;
    for (const RoundRow& row : committed)
      if (row.train_loss) loss = row.train_loss;
    outcome.run.final = {status.step, loss, status.test_loss, status.test_accuracy};
    outcome.run.rounds = status.round;
    outcome.run.bytes_up = status.bytes_up;
    outcome.run.bytes_down = status.bytes_down;
  }
  if (const auto model = model_of({measured.asked, measured.answers}))
    outcome.measured = measured_toml(*model);
  return outcome;
}

template <class T>
Result<HostOutcome> host_as(const Experiment& experiment, const TrainedModel* initial,
                            const HostOptions& options) {
  MFL_TRY(ServedRun<T> served, open_served_run<T>(experiment, options));
  const RunRow& run = served.run;
  CoordinatorOptions coordinator = coordinator_options(experiment, options, served);
  MFL_CHECK(take_schema(experiment, options, run, initial, coordinator));
  StoreLogOptions record = log_options(experiment, served);
  std::optional<TestBench> bench;
  MFL_CHECK(set_up_bench(experiment, options.test_data, bench, coordinator, record));
  coordinator.columns = coordinator.schema.columns;
  MFL_TRY(ModelOf<T> model, make_served_model<T>(experiment, initial, coordinator.schema));
  Store& store = served.folder.store();
  StoreLog store_log(store, run.id, std::move(record));
  WriteBehind log(store_log);
  MFL_TRY(const auto server,
          FederationServer::start(make_coordinator<T>(experiment.algorithm, std::move(coordinator), log,
                                                      std::move(served.from), std::move(model)),
                                  {.run_id = run.id,
                                   .config_digest = run.config_digest,
                                   .experiment = to_toml(experiment.config),
                                   .bits = 8 * sizeof(T)},
                                  options.server));
  MFL_CHECK(write_file(options.state / "address", server->address() + "\n"));
  const FederationStatus status = server->status();
  say(options.server.log, LogLine::Level::kInfo, "serving",
      {{"address", server->address()},
       {"run", run.id},
       {"round", fmt::to_string(status.round)},
       {"schema", status.schema},
       {"nodes_needed", fmt::to_string(status.needed)},
       {"config", run.config_digest.substr(0, 12)}});
  wait_for_end(*server, options, has_ended(run));
  return conclude(*server, store, run.id, experiment);
}

}  // namespace

Result<HostOutcome> host_run(const Config& given_config, const HostOptions& given) {
  Config config = without_data(given_config);
  MFL_TRY(const auto initial, take_initial_model(config, default_store_path()));
  Experiment experiment(std::move(config));
  // Nodes' samples are not known before they join: where their number decides, F(w) is evaluated about ten
  // times.
  const bool reads_all = experiment.batching.by_epochs || experiment.batching.batch_size == 0;
  settle_evaluations(experiment,
                     reads_all ? std::optional(SamplesRead{experiment.round_length(), 1}) : std::nullopt);
  MFL_CHECK(require_servable(experiment, given));
  HostOptions options = given;
  options.server.log = serialised(given.server.log);
  if (experiment.config.federation.min_available_nodes == 0)
    options.server.nodes = experiment.config.federation.nodes;
  return experiment.config.run.precision == Precision::kF32
             ? host_as<float>(experiment, initial.get(), options)
             : host_as<double>(experiment, initial.get(), options);
}

}  // namespace mfl
