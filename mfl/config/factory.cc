#include "mfl/config/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

#include "mfl/algorithm/estimating.h"
#include "mfl/model/tensors.h"

namespace mfl {
namespace {

const ModelEntry& entry_of(const ModelConfig& model) {
  const ModelEntry* const entry = models().find(model.name);
  assert(entry != nullptr);
  return *entry;
}

const AlgorithmEntry& entry_of(const AlgorithmConfig& algorithm) {
  return *parse_spec(algorithm.name, algorithms()).value().entry;
}

}  // namespace

std::string model_names(bool (*wanted)(const ModelEntry&)) {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : models())
    if (wanted(entry)) names.emplace_back(entry.name);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  return out;
}

std::string brief_algorithm(const AlgorithmConfig& algorithm) {
  const auto spec = parse_spec(algorithm.name, algorithms()).value();
  return brief_text(*spec.entry, spec.values) + make_algorithm(algorithm).name.substr(spec.text.size());
}

std::optional<Loss> linear_loss(const ModelConfig& model) { return entry_of(model).loss; }

Result<Loss> require_linear(const ModelConfig& model, std::string_view what) {
  if (const auto loss = linear_loss(model)) return *loss;
  return fail(ErrorCode::kBadConfig,
              fmt::format("{} measures linear models, and the model is {}", what, model.name),
              "use " + model_names([](const ModelEntry& entry) { return entry.loss.has_value(); }));
}

Result<Config> without_intercept(Config config, std::string_view what) {
  if (config.model.intercept.value_or(false))
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} measures the paper's losses, which regularise every parameter", what),
                "add --intercept false");
  if (config.model.weighs_classes())
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} measures the paper's losses, in which samples count alike", what),
                "leave class_weight out");
  if (is_own_data(config.data.source)) config.model.intercept = false;
  return config;
}

template <class T>
std::shared_ptr<const Model<T>> make_model(const ModelConfig& model, std::size_t columns,
                                           const Schema& schema) {
  ModelShape shape{columns, schema.classes.size(),
                   effective_intercept(model, schema.own_data.value_or(false))};
  if (!schema.tensors.empty()) shape.tensors = parse_tensors(schema.tensors).value();
  return entry_of(model).make<T>(shape);
}

TargetKind target_kind(const ModelConfig& model) { return entry_of(model).targets; }
bool is_external(const ModelConfig& model) { return entry_of(model).external; }

LabelTask stated_task(const Config& config) {
  if (config.schema.task != LabelTask::kUnknown) return config.schema.task;
  return config.data.task ? label_task(*config.data.task, target_kind(config.model)) : LabelTask::kUnknown;
}

LabelTask effective_label_task(const Config& config) {
  const LabelTask stated = stated_task(config);
  if (stated != LabelTask::kUnknown) return stated;
  return label_task(effective_task(config), target_kind(config.model));
}

Schema stated_schema(const Config& config) {
  Schema schema = config.schema;
  schema.task = stated_task(config);
  if (schema.positive.empty()) schema.positive = class_name(config.data.positive);
  return schema;
}

StepOptions step_options(const AlgorithmConfig& algorithm) {
  return {.eta = effective_eta(algorithm),
          .gamma = algorithm.gamma,
          .correction = algorithm.correction,
          .momentum = algorithm.momentum,
          .server_step = algorithm.server_step,
          .sync_momentum = algorithm.sync_momentum};
}

Algorithm make_algorithm(const AlgorithmConfig& algorithm) {
  Algorithm made = make_algorithm(algorithm.name, step_options(algorithm), round_length(algorithm)).value();
  return algorithm.adaptive_tau ? estimating(made) : made;
}

bool is_centralised(const AlgorithmConfig& algorithm) { return entry_of(algorithm).centralised; }
bool uses_gamma(const AlgorithmConfig& algorithm) {
  return uses_gamma(algorithm.name, step_options(algorithm));
}

Setting setting_of(const Config& config, const Algorithm& algorithm) {
  return {algorithm, effective_lambda(config.model)};
}

std::unique_ptr<Workers> make_workers(const RunConfig& run, const Ranks& ranks) {
  if (run.engine == "serial") return serial_workers();
  assert(run.engine == "threads" || run.engine == "mpi");
  const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(run.threads, kMaxThreads));
  return thread_workers(threads == 0 && ranks.size() > 1 ? cores_each(ranks.on_this_machine()) : threads);
}

Batching make_batching(const Config& config) {
  return {.batch_size = config.algorithm.batch_size,
          .drop_last = config.algorithm.drop_last,
          .by_epochs = counts_epochs(config.algorithm),
          .seed = config.run.seed};
}

std::shared_ptr<const Aggregator> aggregator_of(const Config& config) {
  return make_aggregator(is_centralised(config.algorithm) ? "mean" : config.federation.aggregator).value();
}

CodecChain codecs_of(const Config& config) {
  return CodecChain::parse(is_centralised(config.algorithm) ? "" : config.federation.codecs).value();
}

EngineOptions engine_options(const Config& config) {
  return {.batching = make_batching(config),
          .aggregator = aggregator_of(config),
          .codecs = codecs_of(config),
          .update_digests = true};
}

bool needs_evaluations(const Config& config) {
  return make_loss_rule(config).passing != LossRule::Passing::kTrain;
}

LossRule make_loss_rule(const Config& config) {
  using Passing = LossRule::Passing;
  const bool elsewhere = !make_algorithm(config.algorithm).starts_at_w();
  const bool batches = config.algorithm.batch_size != 0 || is_external(config.model);
  return {batches     ? Passing::kBatch
          : elsewhere ? Passing::kStart
                      : Passing::kTrain,
          config.run.evaluate_every.value_or(0), elsewhere};
}

StopRule make_stop_rule(const Config& config) {
  return {config.run.target_loss, config.run.target_accuracy, config.run.patience};
}

template <class T>
std::unique_ptr<Engine<T>> make_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                       const Config& config, Ranks& ranks) {
  auto workers =
      federation.external ? thread_workers(federation.external->workers()) : make_workers(config.run, ranks);
  EngineOptions options = engine_options(config);
  if (ranks.size() == 1)
    return local_engine<T>(federation, std::move(settings), std::move(workers), std::move(options));
  return shared_engine<T>(federation, std::move(settings), std::move(workers), ranks, std::move(options));
}

template std::shared_ptr<const Model<float>> make_model(const ModelConfig&, std::size_t, const Schema&);
template std::shared_ptr<const Model<double>> make_model(const ModelConfig&, std::size_t, const Schema&);
template std::unique_ptr<Engine<float>> make_engine(const Federation<float>&, std::vector<Setting>,
                                                    const Config&, Ranks&);
template std::unique_ptr<Engine<double>> make_engine(const Federation<double>&, std::vector<Setting>,
                                                     const Config&, Ranks&);

}  // namespace mfl
