#include "mfl/network/node_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mfl/algorithm/aggregation.h"
#include "mfl/experiment/engines.h"
#include "mfl/federation/preparation.h"
#include "mfl/model/tensors.h"
#include "mfl/run/step_size.h"

namespace mfl {
namespace {

template <class T>
class TrainingOf final : public NodeTraining {
 public:
  TrainingOf(Experiment experiment, Problem<T> problem, KeptFile<T> kept, const std::atomic<bool>* stop)
      : experiment_(std::move(experiment)),
        problem_(std::move(problem)),
        kept_(std::move(kept)),
        stop_(stop) {}

  Result<double> smoothness() override {
    return node_smoothness(experiment_, problem_.federation, problem_.federation.nodes.front());
  }

  Result<std::string> initial_weights() override {
    return catch_external([&]() -> Result<std::string> {
      Vector<T> w(problem_.federation.model->parameters());
      problem_.federation.external->initialise(w, experiment_.config.run.seed, stop_poll(stop_));
      return number_bytes(w);
    });
  }

  Result<Trained> train(const Assignment& task) override {
    if (!trainer_) {
      if (task.eta != 0) experiment_.settle_eta(task.eta);
      trainer_ = make_trainer<T>(
          problem_.federation, setting_of(experiment_),
          problem_.federation.external ? serial_workers() : make_workers(experiment_.config.run), stop_,
          {experiment_.batching, experiment_.losses.in_federation(), experiment_.codecs,
           experiment_.budget.adaptive ? experiment_.budget.adaptive->tau_max : 0},
          std::move(kept_));
    }
    return catch_external([&] { return trainer_->train(task); });
  }

 private:
  Experiment experiment_;
  Problem<T> problem_;
  KeptFile<T> kept_;
  const std::atomic<bool>* stop_;
  std::unique_ptr<Trainer> trainer_;
};

template <class T>
Result<std::unique_ptr<NodeTraining>> training_as(Experiment experiment, NodeSource& data,
                                                  const std::string& run_id, const std::string& name,
                                                  const NodeOptions& options) {
  MFL_TRY(Problem<T> problem, data.problem<T>(experiment));
  problem.federation.names = {name};
  const Algorithm& algorithm = experiment.algorithm;
  const std::size_t parameters = problem.federation.model->parameters();
  const std::size_t vectors = std::max(algorithm.vectors().down().size(), algorithm.vectors().up().size());
  if (parameters > options.max_payload / (vectors * sizeof(T)))
    return fail(
        ErrorCode::kNetwork,
        fmt::format(
            "the run's State has {} vectors of {} numbers, more than the {} bytes that this node takes",
            vectors, parameters, options.max_payload),
        "check the classes and the features of the run");
  const bool keeps = keeps_at_nodes(algorithm, experiment.codecs);
  if (keeps && options.state.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} keeps vectors at this node, and there is no file for them",
                            algorithm.keeps_at_nodes() ? algorithm.name : experiment.codecs.spec()),
                "give --state FILE, the same one at every start of this node");
  MFL_TRY(KeptFile<T> kept,
          KeptFile<T>::open(keeps ? options.state : "", run_id, name, experiment.config.run.keep_states));
  return std::make_unique<TrainingOf<T>>(std::move(experiment), std::move(problem), std::move(kept),
                                         options.stop);
}

}  // namespace

NodeTasks::NodeTasks(NodeSource data, std::string run_id, std::string name, const NodeOptions& options)
    : data_(std::move(data)),
      experiment_(data_.experiment()),
      run_id_(std::move(run_id)),
      name_(std::move(name)),
      options_(options) {}

bool NodeTasks::measures_eta_here() const {
  return measures_eta(experiment_.config.algorithm, schema().own_data.value_or(false));
}

Result<void> NodeTasks::settle_in(const Preprocessing& preprocessing) {
  training_.reset();
  Experiment experiment = experiment_;
  experiment.config.schema.preprocessing = preprocessing;
  const auto make =
      experiment.config.run.precision == Precision::kF32 ? training_as<float> : training_as<double>;
  MFL_TRY(training_, make(std::move(experiment), data_, run_id_, name_, options_));
  return {};
}

Result<bool> NodeTasks::follow(const Schema& run) {
  if (following_ && run == schema()) return true;
  if (!is_complete(run)) return false;
  if (following_)
    return fail(
        ErrorCode::kNetwork,
        fmt::format("the run's schema has changed from {} to {}", schema_text(schema()), schema_text(run)),
        "start the node again");
  // What labels mean is the run's to say.
  Config& config = experiment_.config;
  config.schema = run;
  config.data.task.reset();
  config.data.positive.clear();
  if (!measures_of(config, run).any() && !measures_eta_here()) MFL_CHECK(settle_in({}));
  following_ = true;
  say(options_.log, LogLine::Level::kInfo, "schema", {{"text", schema_text(run)}});
  return true;
}

Result<Trained> NodeTasks::measure() {
  if (!options_.allow_measure || !measures_of(experiment_.config, schema()).any())
    return fail(ErrorCode::kNetwork,
                fmt::format("the server asks for the sums of this node's columns, {}: nothing was sent",
                            options_.allow_measure ? "and its plan neither standardises nor weighs classes"
                                                   : "which --allow does not name"),
                "ask the operator of the server what for");
  if (sums_.empty()) {
    MFL_TRY(const Dataset* const rows, data_.rows(schema().columns));
    MFL_TRY(const ColumnSums sums, sums_of(experiment_.config, schema(), *rows));
    sums_ = sums.pack();
  }
  say(options_.log, LogLine::Level::kInfo, "measured", {{"text", "sums of the columns"}});
  return Trained{{}, {{"sums", kSumsEncoding, sums_.size()}}, sums_};
}

Result<Trained> NodeTasks::prepare(const Assignment& task) {
  if (prepared_digest_ != task.state_digest) {
    Preprocessing preprocessing;
    MFL_CHECK(decode_preprocessing(*task.payload, task.blocks, schema(), preprocessing));
    MFL_CHECK(settle_in(preprocessing));
    smoothness_ = 0;
    if (measures_eta_here()) {
      MFL_TRY(smoothness_, training_->smoothness());
    }
    prepared_digest_ = task.state_digest;
    say(options_.log, LogLine::Level::kInfo, "prepared",
        {{"smoothness", fmt::format("{:.6g}", smoothness_)}});
  }
  return Trained{
      {}, {{kSmoothness, "f64", 1}}, {reinterpret_cast<const char*>(&smoothness_), sizeof smoothness_}};
}

Result<Trained> NodeTasks::initialise() {
  if (!training_ || !experiment_.external())
    return fail(ErrorCode::kNetwork, "the server asks for the weights of a trainer, and there is none",
                "check that server and node have the same mfl");
  MFL_TRY(std::string w, training_->initial_weights());
  const char* const encoding = experiment_.config.run.precision == Precision::kF32 ? "f32" : "f64";
  return Trained{{}, {{"w", encoding, data_.columns()}}, std::move(w)};
}

Result<Trained> NodeTasks::work(const Assignment& task) {
  switch (task.work) {
    case Work::kMeasure: return measure();
    case Work::kPrepare: return prepare(task);
    case Work::kInitialise: return initialise();
    case Work::kTrain:
    case Work::kEvaluate: break;
  }
  if (!training_)
    return fail(ErrorCode::kNetwork, "the server asks for training before it has sent what was measured",
                "check that server and node have the same mfl");
  eta_ = task.eta;
  return training_->train(task);
}

bool NodeTasks::forget_if_outdated(const Assignment& task) {
  if (prepares(task.work) || !eta_ || *eta_ == task.eta) return false;
  say(options_.log, LogLine::Level::kInfo, "restarted",
      {{"text", "the run has another step size: preparing again"}});
  eta_.reset();
  prepared_digest_.clear();
  return true;
}

}  // namespace mfl
