// Which process runs which nodes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mfl {

// Process r of `processes` gets the nodes starts[r] .. starts[r+1], neighbours all of them: the most that one has to do,
// the sum of its nodes' work, is as small as neighbours allow. Some get none where nodes are few.
std::vector<std::size_t> spread_nodes(std::span<const std::size_t> work, std::size_t processes);

}  // namespace mfl
