// Turns names into types; no other file does. Names must have passed validate().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/algorithm/algorithms.h"
#include "mfl/algorithm/early_stop.h"
#include "mfl/config/config.h"
#include "mfl/data/task.h"
#include "mfl/engine/engine.h"
#include "mfl/engine/ranks.h"
#include "mfl/engine/workers.h"
#include "mfl/model/models.h"

namespace mfl {

// The algorithm in few words, without what is at its default: "fedadam", "fedprox(mu=0.1)", "mfl momentum=reset".
std::string brief_algorithm(const AlgorithmConfig& algorithm);

// The models of the table that `wanted` accepts, for a hint: "svm, linear or logistic".
std::string model_names(bool (*wanted)(const ModelEntry&));

// Of a linear model; nothing for the others.
std::optional<Loss> linear_loss(const ModelConfig& model);
// kBadConfig unless the model is linear, which `what` ("mfl theory") requires.
Result<Loss> require_linear(const ModelConfig& model, std::string_view what);
// The paper's losses regularise every parameter: an intercept that is asked for is kBadConfig, and one by default is left out.
Result<Config> without_intercept(Config config, std::string_view what);
// For data of a complete schema with this many columns.
template <class T>
std::shared_ptr<const Model<T>> make_model(const ModelConfig& model, std::size_t columns,
                                           const Schema& schema);
TargetKind target_kind(const ModelConfig& model);
// Trained by a program of the user's, which mfl calls (mfl/external).
bool is_external(const ModelConfig& model);

// What the labels mean as far as the configuration says: [schema] task, else [data] task. kUnknown where neither does.
LabelTask stated_task(const Config& config);
// The same, with what the source means when nothing is said (default_task).
LabelTask effective_label_task(const Config& config);
// The schema that data must fit: [schema] with the stated task and [data] positive. What nobody states is open.
Schema stated_schema(const Config& config);

StepOptions step_options(const AlgorithmConfig& algorithm);
Algorithm make_algorithm(const AlgorithmConfig& algorithm);
// All samples in one place: no nodes to speak of.
bool is_centralised(const AlgorithmConfig& algorithm);
bool uses_gamma(const AlgorithmConfig& algorithm);
Setting setting_of(const Config& config, const Algorithm& algorithm);
// With threads = 0: one thread per core, divided among the processes of the run on this machine.
std::unique_ptr<Workers> make_workers(const RunConfig& run, const Ranks& ranks = alone());
Batching make_batching(const Config& config);
// Of a valid configuration. A centralised algorithm has the mean.
std::shared_ptr<const Aggregator> aggregator_of(const Config& config);
// The same; a centralised algorithm sends nothing and has none.
CodecChain codecs_of(const Config& config);
EngineOptions engine_options(const Config& config);
// Whether rounds do not measure F(w) in passing (LossRule).
bool needs_evaluations(const Config& config);
// With evaluate_every resolved (evaluations.h).
LossRule make_loss_rule(const Config& config);
StopRule make_stop_rule(const Config& config);
// For settings that share the data, the batches and where nodes run.
template <class T>
std::unique_ptr<Engine<T>> make_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                       const Config& config, Ranks& ranks);

}  // namespace mfl
