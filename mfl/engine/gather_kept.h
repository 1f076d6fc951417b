#pragma once

#include <span>
#include <vector>

#include "mfl/algorithm/node_states.h"
#include "mfl/engine/ranks.h"

namespace mfl {

// What the nodes of all ranks keep, in the order of ranks.
template <class T>
std::vector<KeptVectors<T>> gather_kept(Ranks& ranks, std::span<const KeptVectors<T>> mine);

}  // namespace mfl
