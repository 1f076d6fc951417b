// Assignment of nodes to processes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mfl {

// Process r of `processes` gets the consecutive nodes starts[r] .. starts[r+1] - 1, such that the largest load (the sum of the
// work of a process's nodes) is as small as consecutive ranges allow. Some processes get none if there are few nodes.
std::vector<std::size_t> assign_nodes(std::span<const std::size_t> work, std::size_t processes);

}  // namespace mfl
