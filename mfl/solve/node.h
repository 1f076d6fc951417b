// What a node does in one round.
#pragma once

#include <cstdint>
#include <vector>

#include "mfl/base/vectors.h"
#include "mfl/model/objective.h"
#include "mfl/solve/rules.h"

namespace mfl {

// A worker's memory, used again for every node it runs.
template <class T>
struct NodeMemory {
  NodeMemory(std::size_t columns, std::size_t vector_count)
      : vectors(vector_count, Vector<T>(columns)), gradient(columns), block(columns) {}

  std::vector<Vector<T>> vectors;  // in the rule's order; the caller fills them with what was broadcast
  Vector<T> gradient;
  Vector<T> block;
};

// Takes `steps` >= 1 steps of the rule on the shard, from and into memory.vectors. Returns F_i at the broadcast w,
// which comes with the first gradient at no extra pass over the data.
template <class T>
double train_node(const Rule& rule, const Objective& objective, const Samples<T>& samples, Shard shard,
                  std::uint64_t steps, NodeMemory<T>& memory);

}  // namespace mfl
