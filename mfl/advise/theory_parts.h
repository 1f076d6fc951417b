// What the theory takes from the parts that it may not include.
#pragma once

#include <vector>

#include "mfl/engine/workers.h"
#include "mfl/theory/path.h"

namespace mfl {

// As the engines average: exactly, rounded once. `nodes` outlives it.
Average exact_average(const std::vector<Shard>& nodes, std::size_t columns);

// Spreads work over the workers, which outlive it.
ForEach for_each_of(Workers& workers);

}  // namespace mfl
