// The entries of tables that a configuration names, and what validation asks of them. Names must be
// canonical, as reading and setting leave them. Whoever trains asks an Experiment (mfl/experiment), which is
// made once.
#pragma once

#include <string>

#include "mfl/algorithm/algorithms.h"
#include "mfl/algorithm/losses.h"
#include "mfl/config/config.h"
#include "mfl/data/schema.h"
#include "mfl/data/task.h"
#include "mfl/model/models.h"

namespace mfl {

const ModelEntry& entry_of(const ModelConfig& model);
const AlgorithmEntry& entry_of(const AlgorithmConfig& algorithm);
// With the step size that is given, else kPaperEta.
StepOptions step_options(const AlgorithmConfig& algorithm);
Algorithm make_algorithm(const AlgorithmConfig& algorithm);
bool uses_gamma(const AlgorithmConfig& algorithm);
// `algorithm` is that of the configuration.
LossRule loss_rule_of(const Config& config, const Algorithm& algorithm);

// The algorithm in few words, without what is at its default: "fedadam", "fedprox(mu=0.1)", "mfl
// momentum=reset".
std::string brief_algorithm(const AlgorithmConfig& algorithm);
// The models of the table that `wanted` accepts, for a hint: "svm, linear or logistic".
std::string model_names(bool (*wanted)(const ModelEntry&));

// What the labels mean as far as the configuration says: [schema] task, else [data] task. kUnknown where
// neither does.
LabelTask stated_task(const Config& config);
// stated_task(), or the task that the source implies when none is stated (default_task).
LabelTask effective_label_task(const Config& config);
// The schema that data must fit: [schema] with the stated task and [data] positive. What nobody states is
// open.
Schema stated_schema(const Config& config);

}  // namespace mfl
