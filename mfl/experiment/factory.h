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

// What the labels mean as far as the configuration says: [schema] task, else [data] task. kUnknown where neither does.
LabelTask stated_task(const Config& config);
// The same, with what the source means when nothing is said (default_task).
LabelTask effective_label_task(const Config& config);
// The schema that data must fit: [schema] with the stated task and [data] positive. What nobody states is open.
Schema stated_schema(const Config& config);

Algorithm make_algorithm(const AlgorithmConfig& algorithm);
Setting setting_of(const Config& config, const Algorithm& algorithm);
// With threads = 0: one thread per core, divided among the processes of the run on this machine.
std::unique_ptr<Workers> make_workers(const RunConfig& run, const Ranks& ranks = alone());
template <class T>
std::unique_ptr<Engine<T>> make_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                       const RunConfig& run, Ranks& ranks);

}  // namespace mfl
