#include "mfl/network/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>
#include <variant>

#include "mfl/config/factory.h"
#include "mfl/data/fleet.h"
#include "mfl/federation/participant.h"
#include "mfl/federation/preparation.h"
#include "mfl/federation/trainer.h"
#include "mfl/load/problem.h"
#include "mfl/model/tensors.h"
#include "mfl/network/certificate.h"
#include "mfl/network/expiry.h"
#include "mfl/network/transport/tls.h"
#include "mfl/run/external_run.h"
#include "mfl/run/step_size.h"

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The server's plan over this node's data, as the configuration of a federation with one node.
Result<Config> config_of(const Plan& plan, const NodeOptions& options) {
  if (is_fleet(options.data.source))
    return fail(ErrorCode::kBadConfig,
                fmt::format("--data {}: a fleet is many nodes, this is one", options.data.source),
                "give the node's own data; mfl run simulates fleets");
  MFL_TRY(Config config, parse_config(plan.experiment, "the server's experiment"));
  MFL_CHECK(validate(config));
  if (is_external(config.model) != options.trainer.has_value())
    return fail(ErrorCode::kBadConfig,
                options.trainer
                    ? fmt::format("--trainer: mfl itself trains the model {} of this run", config.model.name)
                    : "the model of this run is trained by programs of its nodes",
                options.trainer ? "leave --trainer out and give --data" : "name yours with --trainer");
  config.data = options.data;
  config.data.test = 0;
  config.data.test_source.clear();
  config.schema = {};
  config.federation = {.nodes = 1,
                       .partition = "contiguous",
                       .codecs = config.federation.codecs,
                       .max_update_norm = config.federation.max_update_norm};
  config.devices = {};
  config.network = {};
  config.run.threads = options.threads;
  return config;
}

// What the node says of its data. Labels are looked at as the run sees them, unless the node's columns or its own --task are
// others: the server is told so and refuses.
Result<Schema> schema_to_send(Config config, const Schema& run, const Dataset& data) {
  if (stated_task(config) == LabelTask::kUnknown) config.schema.task = run.task;
  Schema outline;
  outline.columns = data.columns;
  outline.task = effective_label_task(config);
  outline.own_data = has_own_data(config, data);
  if (data.origin) {
    outline.features = data.origin->features;
    outline.label = data.origin->label;
  }
  outline.positive = class_name(config.data.positive);
  MFL_CHECK(check_targets(outline, target_kind(config.model), fmt::format("model {}", config.model.name)));
  if (difference(run, outline)) return outline;
  MFL_TRY(Schema seen, observe(data, outline.task));
  seen.positive = outline.positive;
  seen.own_data = outline.own_data;
  return seen;
}

std::uint64_t random_instance() {
  std::random_device device;
  return ((std::uint64_t{device()} << 32U) | device()) | 1U;  // 0 is none
}

Joining joining_of(const Plan& plan, const Config& config, const Schema& schema, const NodeOutcome& node) {
  return {plan.config_digest,
          node.samples,
          node.columns,
          config.run.precision == Precision::kF32 ? 32U : 64U,
          schema,
          random_instance()};
}

// Which node of which run.
struct Identity {
  std::string run_id, node;
};

// Owns what a trainer works on.
class Workplace {
 public:
  virtual ~Workplace() = default;
  // Of the node's loss; see node_smoothness().
  virtual Result<double> smoothness() = 0;
  // The weights that its trainer starts from, as bytes.
  virtual Result<std::string> initial_weights() = 0;
  // With this step size, the same every time; 0: that of the experiment.
  virtual Trainer& trainer(double eta) = 0;
};

template <class T>
class LoadedWorkplace final : public Workplace {
 public:
  LoadedWorkplace(Problem<T> problem, const Config& config, const Identity& who, KeptFile<T> kept,
                  const std::atomic<bool>* stop)
      : problem_(std::move(problem)), config_(config), kept_(std::move(kept)), stop_(stop) {
    problem_.federation.names = {who.node};
  }

  Result<double> smoothness() override {
    return node_smoothness(Experiment(config_), problem_.federation, problem_.federation.nodes.front());
  }

  Result<std::string> initial_weights() override {
    return catch_external([&]() -> Result<std::string> {
      Vector<T> w(problem_.federation.model->parameters());
      problem_.federation.external->initialise(w, config_.run.seed, stop_poll(stop_));
      return number_bytes(w);
    });
  }

  Trainer& trainer(double eta) override {
    if (trainer_) return *trainer_;
    if (eta != 0) config_.algorithm.eta = eta;
    trainer_ =
        make_trainer<T>(problem_.federation, setting_of(config_, make_algorithm(config_.algorithm)),
                        problem_.federation.external ? serial_workers() : make_workers(config_.run), stop_,
                        {make_batching(config_), make_loss_rule(config_).in_federation(), codecs_of(config_)},
                        std::move(kept_));
    return *trainer_;
  }

 private:
  Problem<T> problem_;
  Config config_;
  KeptFile<T> kept_;
  const std::atomic<bool>* stop_;
  std::unique_ptr<Trainer> trainer_;
};

// What a node works with: data that mfl has read, or a trainer that has its own.
struct NodeMaterial {
  TrainTest data;
  std::shared_ptr<Trainers> trainers;
};

template <class T>
Result<std::unique_ptr<Workplace>> workplace_as(const Config& config, NodeMaterial material,
                                                const Identity& who, const NodeOptions& options) {
  auto made = material.trainers ? Result<Problem<T>>(external_problem<T>(std::move(material.trainers)))
                                : make_problem<T>(Experiment(config), std::move(material.data));
  MFL_TRY(Problem<T> problem, std::move(made));
  const Algorithm algorithm = make_algorithm(config.algorithm);
  const std::size_t vectors = std::max(algorithm.vectors().down().size(), algorithm.vectors().up().size());
  const std::size_t parameters = problem.federation.model->parameters();
  if (parameters > options.max_payload / (vectors * sizeof(T)))
    return fail(
        ErrorCode::kNetwork,
        fmt::format(
            "the run's State has {} vectors of {} numbers, more than the {} bytes that this node takes",
            vectors, parameters, options.max_payload),
        "check the classes and the features of the run");
  if (algorithm.keeps_at_nodes() && options.state.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} keeps vectors at this node, and there is no file for them", algorithm.name),
                "give --state FILE, the same one at every start of this node");
  MFL_TRY(KeptFile<T> kept,
          KeptFile<T>::open(algorithm.keeps_at_nodes() ? options.state : std::filesystem::path{}, who.run_id,
                            who.node, config.run.keep_states));
  return std::make_unique<LoadedWorkplace<T>>(std::move(problem), config, who, std::move(kept), options.stop);
}

// As the server knows this node: draws depend on it.
Result<std::string> own_name(const ClientOptions& options) {
  if (!options.tls) return options.name;
  MFL_TRY(const CertificateFacts facts, read_certificate(options.tls->certificate));
  return facts.name;
}

// What labels mean is the run's to say.
Config following(Config config, const Schema& run) {
  config.schema = run;
  config.data.task.reset();
  config.data.positive.clear();
  return config;
}

Result<std::unique_ptr<Workplace>> make_workplace(const Config& config, NodeMaterial material,
                                                  const Identity& who, const NodeOptions& options) {
  return config.run.precision == Precision::kF32
             ? workplace_as<float>(config, std::move(material), who, options)
             : workplace_as<double>(config, std::move(material), who, options);
}

// Exponential, with jitter.
class Backoff {
 public:
  void reset() { longest_ = kFirst; }
  std::chrono::milliseconds next() {
    constexpr std::chrono::milliseconds kMost{5'000};
    const auto span = std::exchange(longest_, std::min(2 * longest_, kMost));
    return std::chrono::milliseconds(
        span.count() / 2 +
        static_cast<std::int64_t>(device_() % static_cast<unsigned>(span.count() / 2 + 1)));
  }

 private:
  static constexpr std::chrono::milliseconds kFirst{100};
  std::random_device device_;
  std::chrono::milliseconds longest_ = kFirst;
};

// Turns the stop flag into a cancelled call.
class StopWatch {
 public:
  StopWatch(FederationClient& client, const std::atomic<bool>* stop) {
    if (stop == nullptr) return;
    thread_ = std::thread([this, &client, stop] {
      constexpr std::chrono::milliseconds kBeat{50};
      while (!done_) {
        if (stop->load()) return client.cancel();
        std::this_thread::sleep_for(kBeat);
      }
    });
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  ~StopWatch() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

class NodeRun {
 public:
  explicit NodeRun(const NodeOptions& options) : options_(options), digest_(options.config_digest) {}

  Result<NodeOutcome> run() {
    Clock::time_point last_heard = Clock::now();
    for (;;) {
      const std::uint64_t before = outcome_.connections;
      const auto ended = once();
      if (!ended) return tl::unexpected<Error>(ended.error());
      if (*ended) return outcome_;
      if (outcome_.connections != before) {
        last_heard = Clock::now();
        backoff_.reset();
      }
      if (options_.give_up_after && Clock::now() - last_heard >= *options_.give_up_after)
        return fail(ErrorCode::kNetwork, fmt::format("gave up: {}", trouble_),
                    "check the server, or raise --give-up-after");
      pause();
    }
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  void pause() {
    const auto until = Clock::now() + backoff_.next();
    while (!stopped() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  void log(LogLine::Level level, std::string event,
           std::vector<std::pair<std::string, std::string>> fields) const {
    if (options_.log) options_.log({level, std::move(event), std::move(fields)});
  }

  // What follows a failed call: an error when trying again would not help, else false: not over.
  Result<bool> after(const CallError& failed) {
    if (stopped()) return stop_here();
    if (failed.final) return tl::unexpected<Error>(failed.error);
    if (trouble_ != failed.error.text())
      log(LogLine::Level::kWarning, "disconnected", {{"text", failed.error.text()}});
    trouble_ = failed.error.text();
    return false;
  }

  Result<bool> stop_here() {
    outcome_.status = "stopped";
    return true;
  }

  // One connection, from greeting to its end. True when all is over.
  Result<bool> once() {
    if (stopped()) return stop_here();
    MFL_TRY(const auto client, FederationClient::make(options_.client));
    const StopWatch watch(*client, options_.stop);
    const auto plan = client->greet(digest_);
    if (!plan) return after(plan.error());
    server_certificate_ = client->server_certificate();
    warn_of_expiry();
    if (const auto ready = prepare(*plan); !ready)
      return stopped() ? stop_here() : tl::unexpected<Error>(ready.error());
    const auto attended = client->attend(joining_, options_.max_payload);
    if (!attended) return after(attended.error());
    ++outcome_.connections;
    trouble_.clear();
    log(LogLine::Level::kInfo, "joined",
        {{"run", plan->run_id}, {"samples", fmt::to_string(outcome_.samples)}});
    const auto asked = Clock::now();
    const auto joined = client->greet(digest_);
    if (!joined) return after(joined.error());
    timing_.round_trip = seconds_since(asked);
    MFL_TRY(const bool ready, follow(joined->schema));
    if (!ready) return false;
    participant_->joined();
    const auto over = take_part(*client);
    participant_->lost();
    return over;
  }

  // Loads the data, once.
  Result<void> prepare(const Plan& plan) {
    if (prepared_) return {};
    MFL_TRY(config_, config_of(plan, options_));
    Schema schema;
    if (is_external(config_.model)) {
      MFL_CHECK(start_trainer());
      schema = trainers_->facts().schema;
      outcome_.samples = trainers_->facts().samples.front();
      outcome_.columns = schema.columns;
    } else {
      MFL_CHECK(load_data(plan.schema.columns));
      MFL_TRY(schema, schema_to_send(config_, plan.schema, data_.train));
      outcome_.samples = data_.train.rows;
      outcome_.columns = data_.train.columns;
    }
    joining_ = joining_of(plan, config_, schema, outcome_);
    if (!options_.allow_measure) joining_.withheld.push_back(Work::kMeasure);
    digest_ = plan.config_digest;
    outcome_.run_id = plan.run_id;
    participant_.emplace(joining_.weight);
    prepared_ = true;
    log(LogLine::Level::kInfo, "loaded",
        {{"samples", fmt::to_string(outcome_.samples)},
         {"features", fmt::to_string(outcome_.columns)},
         {"labels", labels_text(schema)}});
    return {};
  }

  Result<void> start_trainer() {
    MFL_TRY(const std::string name, own_name(options_.client));
    TrainerSetup setup = *options_.trainer;
    if (setup.max_norm == 0) setup.max_norm = config_.federation.max_update_norm;
    setup.stop = options_.stop;
    setup.waiting = [this](const std::string& text) {
      log(LogLine::Level::kInfo, "waiting", {{"text", text}});
    };
    MFL_TRY(trainers_, catch_external([&] {
              return Trainers::open(std::move(setup), introduction_of(Experiment(config_), {name}));
            }));
    return {};
  }

  Result<void> load_data(std::uint64_t columns) {
    DataOptions data = data_options(config_);
    data.seed = options_.seed;
    data.csv.group.clear();  // all rows are this node's
    MFL_TRY(data_, load(data));
    // Columns that a sparse file never names are zero.
    if (is_sparse(data_.train)) data_.train.columns = std::max<std::size_t>(data_.train.columns, columns);
    return {};
  }

  // Loads the data again where an earlier workplace has taken it. It must still be what this node joined with.
  Result<void> have_data() {
    if (data_.train.rows != 0) {
      if (data_digest_.empty()) data_digest_ = data_digest(data_.train);
      return {};
    }
    MFL_CHECK(load_data(schema_.columns));
    if (data_digest(data_.train) == data_digest_) return {};
    return fail(ErrorCode::kBadData,
                fmt::format("{}: the data has changed since this node joined", config_.data.source),
                "start the node again");
  }

  // Makes the workplace, with the node's data.
  Result<void> settle_in(const Preprocessing& preprocessing) {
    workplace_.reset();
    if (!trainers_) MFL_CHECK(have_data());
    Schema run = schema_;
    run.preprocessing = preprocessing;
    MFL_TRY(const std::string name, own_name(options_.client));
    MFL_TRY(workplace_, make_workplace(following(config_, run), {std::exchange(data_, {}), trainers_},
                                       {outcome_.run_id, name}, options_));
    return {};
  }

  bool measures_eta_here() const { return measures_eta(config_.algorithm, schema_.own_data.value_or(false)); }

  // Takes up the run's schema once this node has joined. False when the server has lost this node in between.
  Result<bool> follow(const Schema& run) {
    if (following_ && run == schema_) return true;
    if (!is_complete(run)) return false;
    if (following_)
      return fail(
          ErrorCode::kNetwork,
          fmt::format("the run's schema has changed from {} to {}", schema_text(schema_), schema_text(run)),
          "start the node again");
    schema_ = run;
    if (!measures_of(config_, run).any() && !measures_eta_here()) MFL_CHECK(settle_in({}));
    following_ = true;
    log(LogLine::Level::kInfo, "schema", {{"text", schema_text(run)}});
    return true;
  }

  Result<Trained> measure() {
    MFL_CHECK(check_measure());
    if (sums_.empty()) {
      MFL_CHECK(have_data());
      MFL_TRY(const ColumnSums sums, sums_of(following(config_, schema_), schema_, data_.train));
      sums_ = sums.pack();
    }
    log(LogLine::Level::kInfo, "measured", {{"text", "sums of the columns"}});
    return Trained{{}, {{"sums", kSumsEncoding, sums_.size()}}, sums_};
  }

  Result<Trained> prepare(const Assignment& task) {
    if (prepared_digest_ != task.state_digest) {
      Preprocessing preprocessing;
      MFL_CHECK(decode_preprocessing(*task.payload, task.blocks, schema_, preprocessing));
      MFL_CHECK(settle_in(preprocessing));
      smoothness_ = 0;
      if (measures_eta_here()) {
        MFL_TRY(smoothness_, workplace_->smoothness());
      }
      prepared_digest_ = task.state_digest;
      log(LogLine::Level::kInfo, "prepared", {{"smoothness", fmt::format("{:.6g}", smoothness_)}});
    }
    return Trained{
        {}, {{kSmoothness, "f64", 1}}, {reinterpret_cast<const char*>(&smoothness_), sizeof smoothness_}};
  }

  Result<Trained> initialise() {
    if (!workplace_ || !trainers_)
      return fail(ErrorCode::kNetwork, "the server asks for the weights of a trainer, and there is none",
                  "check that server and node have the same mfl");
    MFL_TRY(std::string w, workplace_->initial_weights());
    const char* const encoding = config_.run.precision == Precision::kF32 ? "f32" : "f64";
    return Trained{{}, {{"w", encoding, outcome_.columns}}, std::move(w)};
  }

  Result<Trained> work(const Assignment& task) {
    switch (task.work) {
      case Work::kMeasure: return measure();
      case Work::kPrepare: return prepare(task);
      case Work::kInitialise: return initialise();
      case Work::kTrain: break;
    }
    if (!workplace_)
      return fail(ErrorCode::kNetwork, "the server asks for training before it has sent what was measured",
                  "check that server and node have the same mfl");
    eta_ = task.eta;
    return catch_external([&] { return workplace_->trainer(task.eta).train(task); });
  }

  // That the plan needs sums, and that the operator of this node allows them.
  Result<void> check_measure() const {
    if (options_.allow_measure && measures_of(config_, schema_).any()) return {};
    return fail(ErrorCode::kNetwork,
                fmt::format("the server asks for the sums of this node's columns, {}: nothing was sent",
                            options_.allow_measure ? "and its plan neither standardises nor weighs classes"
                                                   : "which --allow does not name"),
                "ask the operator of the server what for");
  }

  // A run that was prepared again has another step size: this node must be prepared for it too.
  bool is_prepared_anew(const Assignment& task) {
    if (task.work != Work::kTrain || !eta_ || *eta_ == task.eta) return false;
    log(LogLine::Level::kInfo, "restarted", {{"text", "the run has another step size: preparing again"}});
    eta_.reset();
    prepared_digest_.clear();
    return true;
  }

  Result<bool> take_part(FederationClient& client) {
    for (;;) {
      if (stopped()) return stop_here();
      switch (participant_->next()) {
        case Participant::Next::kJoin: return false;
        case Participant::Next::kWait: {
          auto order = client.next_order();
          if (!order) return after(order.error());
          if (order->kind == Order::Kind::kEnded)
            return after({{ErrorCode::kNetwork, order->status, {}, nullptr}, false});
          participant_->ordered(*std::move(order));
          timing_.down = client.arrival_seconds();
          break;
        }
        case Participant::Next::kTrain: {
          if (is_prepared_anew(participant_->task())) return false;
          const auto start = Clock::now();
          auto trained = work(participant_->task());
          if (stopped()) return stop_here();
          if (!trained) return tl::unexpected<Error>(std::move(trained).error());
          timing_.compute = seconds_since(start);
          participant_->trained(trained->losses, std::move(trained->blocks), std::move(trained->payload),
                                std::move(trained->metrics));
          break;
        }
        case Participant::Next::kSubmit: {
          Update update = participant_->update();
          update.timing = timing_;
          const auto verdict = client.submit(update);
          if (!verdict) return after(verdict.error());
          participant_->judged(*verdict);
          note(update, *verdict);
          break;
        }
        case Participant::Next::kStop: return conclude(client);
      }
    }
  }

  void note(const Update& update, const Verdict& verdict) {
    const auto [name, value] = loss_of_rounds(update.losses);
    const std::string round = fmt::to_string(update.ticket.round);
    const std::pair loss(std::string(name), fmt::format("{:.9g}", value.value_or(0)));
    if (!verdict.counts()) {
      log(LogLine::Level::kWarning, "refused",
          {{"round", round}, {"reason", std::string(reason_name(verdict.reason))}, {"text", verdict.text}});
    } else if (update.ticket.round == 0) {
      // told when it was done
    } else if (update.payload.empty()) {
      log(LogLine::Level::kDebug, "evaluated", {loss});  // the final model; not a round
    } else {
      ++outcome_.rounds;
      log(LogLine::Level::kDebug, "sent",
          {{"round", round}, loss, {"seconds", fmt::format("{:.3g}", update.timing.compute)}});
      report_progress(round, loss);
    }
    if (Clock::now() - expiry_checked_ > std::chrono::hours(24)) warn_of_expiry();
  }

  void report_progress(const std::string& round, const std::pair<std::string, std::string>& loss) {
    constexpr std::chrono::seconds kPause{30};
    const auto now = Clock::now();
    if (now - reported_ < kPause) return;
    const double rate = static_cast<double>(outcome_.rounds - reported_rounds_) /
                        std::chrono::duration<double>(now - reported_).count();
    reported_ = now;
    reported_rounds_ = outcome_.rounds;
    log(LogLine::Level::kInfo, "progress",
        {{"round", round}, loss, {"rounds_per_minute", fmt::format("{:.3g}", 60 * rate)}});
  }

  void warn_of_expiry() {
    expiry_checked_ = Clock::now();
    const auto warn = [&](std::string_view whose, const std::string& pem) {
      const auto facts = read_certificate(pem);
      if (!facts || days_left(facts->expires) >= kExpiryWarningDays) return;
      log(LogLine::Level::kWarning, "expiring",
          {{"text", fmt::format("the certificate of {} {}: renew it with mfl certs renew", whose,
                                expiry_text(facts->expires))}});
    };
    if (!options_.client.tls) return;
    warn("this node", options_.client.tls->certificate);
    warn("the server", server_certificate_);
  }

  Result<bool> conclude(FederationClient& client) {
    if (const auto& refusal = participant_->refusal())
      return fail(ErrorCode::kNetwork,
                  fmt::format("the server refused this node's update: {} ({})", refusal->text,
                              reason_name(refusal->reason)),
                  "check that server and node have the same mfl and that the data has not changed");
    (void)client.watch();  // so that the server need not wait for this node
    outcome_.status = participant_->ending()->status;
    outcome_.digest = participant_->ending()->digest;
    return true;
  }

  const NodeOptions& options_;
  NodeOutcome outcome_;
  std::string digest_;
  std::string trouble_;
  Timing timing_;
  std::string server_certificate_;  // PEM
  Clock::time_point expiry_checked_;
  Clock::time_point reported_ = Clock::now();
  std::uint64_t reported_rounds_ = 0;
  Backoff backoff_;
  bool prepared_ = false;
  Config config_;
  TrainTest data_;                      // until workplace_ has it
  std::shared_ptr<Trainers> trainers_;  // of an external model
  Joining joining_;
  Schema schema_;                // of the run, once following_
  bool following_ = false;       // the run has said what data means
  std::string sums_;             // that this node has measured; empty: not yet
  std::string prepared_digest_;  // of the task that workplace_ was made by; empty where there was none
  double smoothness_ = 0;
  std::string data_digest_;    // of the data that was measured or trained on; empty: none yet
  std::optional<double> eta_;  // of the tasks so far
  std::unique_ptr<Workplace> workplace_;
  std::optional<Participant> participant_;
};

}  // namespace

Result<NodeOutcome> run_node(const NodeOptions& options) {
  if (options.client.tls) MFL_CHECK(check_identity(*options.client.tls, CertificateFacts::Role::kNode));
  return NodeRun(options).run();
}

}  // namespace mfl
