// Where the rounds of an experiment run.
#pragma once

#include <memory>
#include <span>

#include "mfl/engine/engine.h"
#include "mfl/engine/ranks.h"
#include "mfl/engine/workers.h"
#include "mfl/experiment/experiment.h"

namespace mfl {

Setting setting_of(const Experiment& experiment);

// With threads = 0: one thread per core, divided among the processes of `ranks` on this machine.
std::unique_ptr<Workers> make_workers(const RunConfig& run, const Ranks& ranks = alone());

// For settings that share the data, the batches, the aggregator, the codecs and where nodes run. All processes of `together` run each
// round; `neighbours` are those that may be on this machine.
template <class T>
std::unique_ptr<Engine<T>> make_engine(const Experiment& shared, std::vector<Setting> settings,
                                       const Federation<T>& federation, Ranks& together,
                                       const Ranks& neighbours);

}  // namespace mfl
