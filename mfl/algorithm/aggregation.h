// What engine and coordinator have in common when an aggregator needs the vectors of all nodes of a round.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/codec/codec.h"

namespace mfl {

// A node's vectors at the end of a round.
template <class T>
struct NodeUpdate {
  std::vector<Vector<T>> vectors;  // in the order of VectorLayout::up()
  std::uint64_t samples = 0;
};

// The aggregator itself if it needs all updates at once; null for the exact mean, which adds them up as they arrive.
inline std::shared_ptr<const Aggregator> if_it_holds_updates(std::shared_ptr<const Aggregator> aggregator) {
  return aggregator && !aggregator->is_exact_mean() ? aggregator : nullptr;
}

// Where the vectors that are sent up started a round: at what was sent down, otherwise zero.
template <class T>
std::vector<Vector<T>> origin_of_updates(const VectorLayout& layout, const State<T>& state);

// The vectors that a node sends up, as a chain of codecs takes them; `own` are those at the node.
template <class T>
std::vector<UpdateVector<T>> sent_vectors(const VectorLayout& layout, std::span<Vector<T>> own,
                                          const std::vector<Vector<T>>& origin);

// The updates, in the order of nodes, as one. Further as Aggregator::aggregate, with `origin` as what was broadcast.
template <class T>
void aggregate_updates(const Aggregator& aggregator, std::span<const NodeUpdate<T>> updates,
                       const std::vector<Vector<T>>& origin, std::vector<Vector<T>>& out, const ForEach& run);

}  // namespace mfl
