#include "mfl/network/node_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "mfl/config/entries.h"
#include "mfl/data/fleet.h"
#include "mfl/run/external_run.h"

namespace mfl {
namespace {

Result<Experiment> experiment_of(const Plan& plan, const NodeOptions& options) {
  if (is_fleet(options.data.source))
    return fail(ErrorCode::kBadConfig,
                fmt::format("--data {}: a fleet is many nodes, this is one", options.data.source),
                "give the node's own data; mfl run simulates fleets");
  MFL_TRY(Config config, parse_config(plan.experiment, "the server's experiment"));
  MFL_CHECK(validate(config));
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
  Experiment experiment(std::move(config));
  if (experiment.external() != options.trainer.has_value())
    return fail(ErrorCode::kBadConfig,
                options.trainer ? fmt::format("--trainer: mfl itself trains the model {} of this run",
                                              experiment.model->name)
                                : "the model of this run is trained by programs of its nodes",
                options.trainer ? "leave --trainer out and give --data" : "name yours with --trainer");
  return experiment;
}

}  // namespace

Result<NodeSource> NodeSource::open(const Plan& plan, const NodeOptions& options, const std::string& name) {
  MFL_TRY(Experiment experiment, experiment_of(plan, options));
  NodeSource out(std::move(experiment), options);
  if (out.experiment_.external()) {
    MFL_CHECK(out.start_trainer(name));
  } else {
    MFL_CHECK(out.read(plan.schema.columns));
    MFL_CHECK(out.describe(plan.schema));
  }
  return out;
}

Result<void> NodeSource::start_trainer(const std::string& name) {
  TrainerSetup setup = *options_->trainer;
  if (setup.max_norm == 0) setup.max_norm = experiment_.config.federation.max_update_norm;
  setup.stop = options_->stop;
  setup.waiting = [log = options_->log](const std::string& text) {
    say(log, LogLine::Level::kInfo, "waiting", {{"text", text}});
  };
  MFL_TRY(trainers_, catch_external([&] {
            return Trainers::open(std::move(setup), introduction_of(experiment_, {name}));
          }));
  schema_ = trainers_->facts().schema;
  samples_ = trainers_->facts().samples.front();
  columns_ = schema_.columns;
  return {};
}

Result<void> NodeSource::read(std::uint64_t columns) {
  DataOptions data = data_options(experiment_.config);
  data.seed = options_->seed;
  data.csv.group.clear();  // all rows are this node's
  MFL_TRY(data_, load(data));
  // Columns that a sparse file never names are zero.
  if (is_sparse(data_.train)) data_.train.columns = std::max<std::size_t>(data_.train.columns, columns);
  return {};
}

// Labels are looked at as the run sees them, unless the node's columns or its own --task are others: the
// server is told so and refuses.
Result<void> NodeSource::describe(const Schema& run) {
  Config config = experiment_.config;
  const Dataset& data = data_.train;
  samples_ = data.rows;
  columns_ = data.columns;
  if (stated_task(config) == LabelTask::kUnknown) config.schema.task = run.task;
  schema_.columns = columns_;
  schema_.task = effective_label_task(config);
  schema_.own_data = has_own_data(config, data);
  if (data.origin) {
    schema_.features = data.origin->features;
    schema_.label = data.origin->label;
  }
  schema_.positive = class_name(config.data.positive);
  MFL_CHECK(check_targets(schema_, experiment_.model->targets, fmt::format("model {}", config.model.name)));
  if (difference(run, schema_)) return {};
  MFL_TRY(Schema seen, observe(data, schema_.task));
  seen.positive = schema_.positive;
  seen.own_data = schema_.own_data;
  schema_ = std::move(seen);
  return {};
}

Result<const Dataset*> NodeSource::rows(std::uint64_t columns) {
  const bool held = data_.train.rows != 0;
  if (held && !digest_.empty()) return &data_.train;
  if (!held) MFL_CHECK(read(columns));
  const std::string digest = data_digest(data_.train);
  if (std::exchange(digest_, digest) != digest && !held)
    return fail(
        ErrorCode::kBadData,
        fmt::format("{}: the data has changed since this node joined", experiment_.config.data.source),
        "start the node again");
  return &data_.train;
}

template <class T>
Result<Problem<T>> NodeSource::problem(const Experiment& run) {
  if (trainers_) return external_problem<T>(trainers_);
  MFL_CHECK(rows(run.config.schema.columns));
  return make_problem<T>(run, std::exchange(data_, {}));
}

template Result<Problem<float>> NodeSource::problem(const Experiment&);
template Result<Problem<double>> NodeSource::problem(const Experiment&);

}  // namespace mfl
