// The work of a node between two aggregations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/base/vectors.h"
#include "mfl/model/model.h"
#include "mfl/solve/batches.h"

namespace mfl {

// One setting of a group that shares the data, the model and each pass over them.
struct Setting {
  Algorithm algorithm;
  double lambda = 0;
};

// A worker's memory, reused for every node that it runs. Not thread-safe.
template <class T>
class NodeMemory {
 public:
  // Up to `wave` row blocks are computed concurrently.
  NodeMemory(const Model<T>& model, std::span<const Setting> settings, std::size_t wave);

  // The vectors of a setting that are at a node, in the order of VectorLayout::at_node(). The caller fills them with the node's
  // starting values.
  std::vector<Vector<T>>& vectors(std::size_t setting) { return vectors_[setting]; }
  Vector<T>& gradient(std::size_t setting) { return gradients_[setting]; }
  Workspace& workspace() { return *workspace_; }
  // A copy of these rows of the shard. Valid until the next call.
  const Samples<T>& gather(const Samples<T>& samples, Shard shard, std::span<const std::uint32_t> rows,
                           std::uint64_t most);
  BatchOrder& order() { return order_; }

 private:
  std::vector<std::vector<Vector<T>>> vectors_;
  std::vector<Vector<T>> gradients_;
  std::unique_ptr<Workspace> workspace_;
  BatchOrder order_;
  std::optional<Samples<T>> batch_;
};

// A setting that takes part in a call of train_node.
template <class T>
struct Chosen {
  std::size_t setting = 0;
  std::span<const NamedVector<T>> state = {};  // what the nodes of the round got
  bool starts = true, ends = true;             // a round, within the call
  std::uint64_t round = 1;                     // of the setting, from 1
  std::uint64_t round_steps = 0;               // as of StepRange
  bool evaluate = false;                       // the loss over all rows is wanted beside that over batches
};

// How a node takes its steps.
struct Stepping {
  Batching batching;
  std::uint64_t round = 1;            // that batches are drawn for, from 1
  std::function<void()> before_step;  // may throw; may be empty
};

// The data of one node.
template <class T>
struct NodeData {
  const Samples<T>& samples;
  Shard shard;
  PassCache* cache = nullptr;  // of Model::make_cache for all settings, or null
  std::size_t cached = 0;      // the number of the shard there
  std::uint64_t key = 0;       // of the node's name (node_key), for the order of batches
};

// Of a node and a setting.
struct NodeLosses {
  double loss = 0, evaluated = 0;
};

// Takes `steps` >= 1 steps (epochs with by_epochs) with each of the chosen settings on the node's data, updating their vectors
// in `memory`. If chosen[i].starts, losses[i].loss becomes F_i at the w of the first step or, with batches, the mean of their losses,
// each at the w of its step; losses[i].evaluated becomes F_i at the w of the first step where that is asked for. `run` is as
// for Model::loss_and_gradient.
template <class T>
void train_node(std::span<const Setting> settings, std::span<const Chosen<T>> chosen, const Model<T>& model,
                const NodeData<T>& data, std::uint64_t steps, const Stepping& stepping, NodeMemory<T>& memory,
                std::span<NodeLosses> losses, const ForEach* run = nullptr);

}  // namespace mfl
