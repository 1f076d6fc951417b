// Nodes whose data is generated when they run, in the memory of the worker that runs them.
#pragma once

#include <cstddef>

#include "mfl/data/fleet.h"
#include "mfl/model/samples.h"

namespace mfl {

// Immutable, so safe to share between threads.
template <class T>
class Fleet {
 public:
  Fleet(FleetRows rows, std::size_t nodes, const ClassTargets<T>& targets,
        const KernelSet& kernels = default_kernel_set());

  std::size_t nodes() const { return nodes_; }
  std::size_t samples(std::size_t node) const { return rows_.samples(node); }

  // A buffer for the data of the node that a worker runs, large enough for the largest node.
  Samples<T> buffer() const;
  // Generates the node's data into the buffer. Allocates nothing.
  void fill(std::size_t node, Samples<T>& buffer) const;

 private:
  FleetRows rows_;
  std::size_t nodes_;
  ClassTargets<T> targets_;
  const KernelSet* kernels_;
};

}  // namespace mfl
