// Nodes whose data is made when they run, in the memory of the worker that runs them.
#pragma once

#include <cstddef>

#include "mfl/data/fleet.h"
#include "mfl/model/objective.h"

namespace mfl {

// Read-only once made, so safe to share.
template <class T>
class Fleet {
 public:
  Fleet(FleetRows rows, std::size_t nodes, const ClassTargets<T>& targets,
        const KernelSet& kernels = default_kernel_set());

  std::size_t nodes() const { return nodes_; }
  std::size_t samples(std::size_t node) const { return rows_.samples(node); }

  // Where a worker keeps the data of the node that it runs: memory for the largest node.
  Samples<T> room() const;
  // Makes the room hold what the node holds. Nothing is allocated.
  void fill(std::size_t node, Samples<T>& room) const;

 private:
  FleetRows rows_;
  std::size_t nodes_;
  ClassTargets<T> targets_;
  const KernelSet* kernels_;
};

}  // namespace mfl
