// What engine and coordinator have in common: the vectors that nodes send up, for aggregators and codecs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/codec/codec.h"

namespace mfl {

// The vectors that are sent up, for Aggregator::accumulator.
std::vector<SentVector> vectors_sent(const VectorLayout& layout, std::size_t parameters);

// Where the vectors that are sent up started a round: at what was sent down, otherwise zero.
template <class T>
std::vector<Vector<T>> origin_of_updates(const VectorLayout& layout, const State<T>& state);
// The same for Accumulator::finish: views, empty where a vector started at zero. The state outlives them.
template <class T>
VectorViews<T> starts_of_updates(const VectorLayout& layout, const State<T>& state);

// The vectors that a node sends up, as a chain of codecs takes them; `own` are those at the node.
template <class T>
std::vector<UpdateVector<T>> sent_vectors(const VectorLayout& layout, std::span<Vector<T>> own,
                                          const std::vector<Vector<T>>& origin);

}  // namespace mfl
