// The work of a node between two aggregations.
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

// A worker's memory, reused for every node that it runs. Not thread-safe.
template <class T>
class NodeMemory {
 public:
  // Up to `wave` row blocks are computed concurrently.
  NodeMemory(std::size_t columns, std::span<const Setting> settings, std::size_t wave);

  // The vectors of a setting in the order of its rule. The caller fills them with the node's starting values.
  std::vector<Vector<T>>& vectors(std::size_t setting) { return vectors_[setting]; }
  Vector<T>& gradient(std::size_t setting) { return gradients_[setting]; }
  BlockMemory<T>& blocks() { return blocks_; }

 private:
  std::vector<std::vector<Vector<T>>> vectors_;
  std::vector<Vector<T>> gradients_;
  BlockMemory<T> blocks_;
};

// A setting that takes part in a call of train_node.
struct Chosen {
  std::size_t setting = 0;
  bool wants_loss = true;  // at the w of the first step
};

// Takes `steps` >= 1 steps with each of the chosen settings on the shard, updating their vectors in `memory`. If
// chosen[i].wants_loss, losses[i] becomes F_i at the w of the first step. `hinge` is empty or has one entry per setting; `hinge`
// and `run` are as for loss_and_gradient. Does not allocate.
template <class T>
void train_node(std::span<const Setting> settings, std::span<const Chosen> chosen, Loss loss,
                const Samples<T>& samples, Shard shard, std::uint64_t steps, NodeMemory<T>& memory,
                std::span<const HingeShard<T>> hinge, std::span<double> losses, const ForEach* run = nullptr);

}  // namespace mfl
