#include "mfl/config/entries.h"

#include <fmt/core.h>

#include <cassert>
#include <string_view>
#include <vector>

#include "mfl/algorithm/estimating.h"
#include "mfl/base/digest.h"

namespace mfl {

const ModelEntry& entry_of(const ModelConfig& model) {
  const ModelEntry* const entry = models().find(model.name);
  assert(entry != nullptr);
  return *entry;
}

const AlgorithmEntry& entry_of(const AlgorithmConfig& algorithm) {
  return *parse_spec(algorithm.name, algorithms()).value().entry;
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

bool uses_gamma(const AlgorithmConfig& algorithm) {
  return uses_gamma(algorithm.name, step_options(algorithm));
}

LossRule loss_rule_of(const Config& config, const Algorithm& algorithm) {
  using Passing = LossRule::Passing;
  const bool elsewhere = !algorithm.starts_at_w();
  const bool batches = config.algorithm.batch_size != 0 || entry_of(config.model).external;
  return {batches     ? Passing::kBatch
          : elsewhere ? Passing::kStart
                      : Passing::kTrain,
          config.run.evaluate_every.value_or(0), elsewhere};
}

std::string brief_algorithm(const AlgorithmConfig& algorithm) {
  const auto spec = parse_spec(algorithm.name, algorithms()).value();
  return brief_text(*spec.entry, spec.values) + make_algorithm(algorithm).name.substr(spec.text.size());
}

std::string model_names(bool (*wanted)(const ModelEntry&)) {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : models())
    if (wanted(entry)) names.emplace_back(entry.name);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  return out;
}

LabelTask stated_task(const Config& config) {
  if (config.schema.task != LabelTask::kUnknown) return config.schema.task;
  return config.data.task ? label_task(*config.data.task, entry_of(config.model).targets)
                          : LabelTask::kUnknown;
}

LabelTask effective_label_task(const Config& config) {
  const LabelTask stated = stated_task(config);
  if (stated != LabelTask::kUnknown) return stated;
  return label_task(effective_task(config), entry_of(config.model).targets);
}

Schema stated_schema(const Config& config) {
  Schema schema = config.schema;
  schema.task = stated_task(config);
  if (schema.positive.empty()) schema.positive = class_name(config.data.positive);
  return schema;
}

std::string function_digest(const Config& config, const std::string& train_digest) {
  Sha256 digest;
  digest.update(train_digest)
      .update(config.model.name)
      .update(effective_lambda(config.model))
      .update(task_name(effective_task(config)));
  if (effective_intercept(config.model, is_own_data(config.data.source))) digest.update("intercept");
  if (config.model.standardise != Standardise::kNone)
    digest.update(standardise_name(config.model.standardise));
  if (config.model.balanced) digest.update("balanced");
  for (const double weight : config.model.class_weights) digest.update(weight);
  if (const FederationConfig& nodes = config.federation; nodes.skews_features())
    digest.update(nodes.feature_skew).update(nodes.partition).update(nodes.nodes).update(config.run.seed);
  return digest.finish_hex();
}

}  // namespace mfl
