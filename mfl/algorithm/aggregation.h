// What engine and coordinator have in common: the vectors that nodes send up, for aggregators and codecs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/codec/codec.h"

namespace mfl {

// Whether nodes keep vectors across rounds.
inline bool keeps_at_nodes(const Algorithm& algorithm, const CodecChain& codecs) {
  return algorithm.keeps_at_nodes() || codecs.keeps_residuals();
}

// The vectors that are sent up, for Aggregator::accumulator.
std::vector<SentVector> vectors_sent(const VectorLayout& layout, std::size_t parameters);

// Where the vectors that are sent up started a round: at what was sent down, otherwise zero.
template <class T>
std::vector<Vector<T>> origin_of_updates(const VectorLayout& layout, const State<T>& state);
// The same for Accumulator::finish: views, empty where a vector started at zero. The state outlives them.
template <class T>
VectorViews<T> starts_of_updates(const VectorLayout& layout, const State<T>& state) {
  VectorViews<T> out;
  for (const std::size_t v : layout.up()) {
    const auto start = layout.start(v);
    if (start)
      out.emplace_back(state.vectors[layout.place_in_state(*start)].values);
    else
      out.emplace_back();
  }
  return out;
}

// The vectors that a node sends up, as a chain of codecs takes them; `own` are those at the node.
template <class T>
std::vector<UpdateVector<T>> sent_vectors(const VectorLayout& layout, std::span<Vector<T>> own,
                                          const std::vector<Vector<T>>& origin);

}  // namespace mfl
