// What engine and coordinator have in common when an aggregator needs the vectors of all nodes of a round.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/state.h"

namespace mfl {

// A node's vectors at the end of a round.
template <class T>
struct NodeUpdate {
  std::vector<Vector<T>> vectors;  // in the order of State's
  std::uint64_t samples = 0;
};

// The aggregator itself if it needs all updates at once; null for the exact mean, which adds them up as they arrive.
std::shared_ptr<const Aggregator> if_it_holds_updates(std::shared_ptr<const Aggregator> aggregator);

// The updates, in the order of nodes, as one. Further as Aggregator::aggregate.
template <class T>
void aggregate_updates(const Aggregator& aggregator, std::span<const NodeUpdate<T>> updates,
                       const std::vector<NamedVector<T>>& broadcast, std::vector<Vector<T>>& out,
                       const ForEach& run);

}  // namespace mfl
