#pragma once
#include "mfl/config/entries.h"
#include "mfl/experiment/engines.h"
#include "mfl/experiment/evaluations.h"
#include "mfl/experiment/experiment.h"
#include "mfl/model/tensors.h"
namespace mfl {
template <class T>
std::shared_ptr<const Model<T>> make_model(const ModelConfig& model, std::size_t columns,
                                           const Schema& schema) {
  ModelShape shape{columns, schema.classes.size(),
                   effective_intercept(model, schema.own_data.value_or(false))};
  if (!schema.tensors.empty()) shape.tensors = parse_tensors(schema.tensors).value();
  return entry_of(model).make<T>(shape);
}
inline TargetKind target_kind(const ModelConfig& model) { return entry_of(model).targets; }
inline bool is_external(const ModelConfig& model) { return entry_of(model).external; }
inline bool is_centralised(const AlgorithmConfig& algorithm) { return entry_of(algorithm).centralised; }
inline Setting setting_of(const Config& c, const Algorithm& a) { return {a, effective_lambda(c.model)}; }
inline Batching make_batching(const Config& c) { return Experiment(c).batching; }
inline std::shared_ptr<const Aggregator> aggregator_of(const Config& c) { return Experiment(c).aggregator; }
inline CodecChain codecs_of(const Config& c) { return Experiment(c).codecs; }
inline LossRule make_loss_rule(const Config& c) { return Experiment(c).losses; }
inline StopRule make_stop_rule(const Config& c) { return Experiment(c).stop; }
inline Cadence make_cadence(const Config& c) { return Experiment(c).cadence; }
inline Config with_evaluations(const Config& c, std::uint64_t, const std::optional<SamplesRead>& r) {
  Experiment e(c);
  settle_evaluations(e, r);
  return e.config;
}
}  // namespace mfl
