// The rounds of a run with its State: what nodes are given of it, and what follows from their answers.
#pragma once

#include <memory>
#include <optional>

#include "mfl/federation/coordinated_run.h"
#include "mfl/federation/round_stage.h"

namespace mfl {

// At the state of `from`, or at the beginning. The run outlives it.
template <class T>
std::unique_ptr<RoundStage> make_state_rounds(CoordinatedRun& run, const Algorithm& algorithm,
                                              std::optional<Resumption<T>> from, ModelOf<T> model_of);

}  // namespace mfl
