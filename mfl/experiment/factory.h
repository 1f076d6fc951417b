// Names become types here and nowhere else. Names have passed validate().
#pragma once

#include <memory>

#include "mfl/algorithm/algorithm.h"
#include "mfl/data/task.h"
#include "mfl/engine/workers.h"
#include "mfl/experiment/config.h"
#include "mfl/model/objective.h"
#include "mfl/solve/node.h"

namespace mfl {

Loss make_loss(const ModelConfig& model);
TargetKind target_kind(const ModelConfig& model);
Algorithm make_algorithm(const AlgorithmConfig& algorithm);
Setting setting_of(const Config& config, const Algorithm& algorithm);
std::unique_ptr<Workers> make_workers(const RunConfig& run);

}  // namespace mfl
