// What a node does between two aggregations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mfl/base/vectors.h"
#include "mfl/model/objective.h"
#include "mfl/solve/rules.h"

namespace mfl {

// One setting of a group that shares the data, the loss and each pass over them.
struct Setting {
  Rule rule;
  double lambda = 0;
};

// A worker's memory, used again for every node it runs.
template <class T>
class NodeMemory {
 public:
  // `wave` row blocks may be under way at once.
  NodeMemory(std::size_t columns, std::span<const Setting> settings, std::size_t wave);

  // The vectors of a setting in its rule's order. The caller fills them with what the node starts from.
  std::vector<Vector<T>>& vectors(std::size_t setting) { return vectors_[setting]; }
  Vector<T>& gradient(std::size_t setting) { return gradients_[setting]; }
  BlockMemory<T>& blocks() { return blocks_; }

 private:
  std::vector<std::vector<Vector<T>>> vectors_;
  std::vector<Vector<T>> gradients_;
  BlockMemory<T> blocks_;
};

// A setting that takes part in a stretch of steps.
struct Chosen {
  std::size_t setting = 0;
  bool wants_loss = true;  // at the w that it starts from
};

// Takes `steps` >= 1 steps with each of the chosen settings on the shard, from and into their vectors in `memory`.
// losses[i] becomes F_i at the w that chosen[i] started from where it is wanted, which comes with the first gradient.
// `hinge` is empty or has one a setting; it and `run` as for loss_and_gradient.
template <class T>
void train_node(std::span<const Setting> settings, std::span<const Chosen> chosen, Loss loss,
                const Samples<T>& samples, Shard shard, std::uint64_t steps, NodeMemory<T>& memory,
                std::span<const HingeShard<T>> hinge, std::span<double> losses, const ForEach* run = nullptr);

}  // namespace mfl
