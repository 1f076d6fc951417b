// Turns names into types; no other file does. Names must have passed validate().
#pragma once

#include <memory>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/data/task.h"
#include "mfl/engine/engine.h"
#include "mfl/engine/ranks.h"
#include "mfl/engine/workers.h"
#include "mfl/experiment/config.h"
#include "mfl/model/objective.h"
#include "mfl/solve/node.h"

namespace mfl {

Loss make_loss(const ModelConfig& model);
TargetKind target_kind(const ModelConfig& model);
Algorithm make_algorithm(const AlgorithmConfig& algorithm);
Setting setting_of(const Config& config, const Algorithm& algorithm);
// With threads = 0: one thread per core, divided among the processes of the run on this machine.
std::unique_ptr<Workers> make_workers(const RunConfig& run, const Ranks& ranks = alone());
template <class T>
std::unique_ptr<Engine<T>> make_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                       const RunConfig& run, Ranks& ranks);

}  // namespace mfl
