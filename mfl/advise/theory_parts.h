// What the theory takes from the parts that it may not include.
#pragma once

#include <vector>

#include "mfl/theory/path.h"

namespace mfl {

// As the engines average: exactly, rounded once. `nodes` outlives it.
Average exact_average(const std::vector<Shard>& nodes, std::size_t columns);

}  // namespace mfl
