// How much the labels of nodes differ.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mfl/partition/partition.h"

namespace mfl {

// Samples per node and label. The same numbers on every machine.
struct LabelCounts {
  std::vector<double> labels;                   // ascending
  std::vector<std::vector<std::size_t>> nodes;  // per node, one count per label

  std::size_t size(std::size_t node) const;  // samples of a node
  std::vector<std::size_t> total() const;    // over the nodes, one per label
};

// Counts the labels of the samples that nodes hold. Memory: nodes x labels.
LabelCounts count_labels(std::span<const double> labels, const Partition& partition);

struct NodeSkew {
  // Entropy of its labels, in bits: 0 for one label, log2(labels) for equally many of each.
  double entropy = 0;
  double distance = 0;  // total variation between its label shares and those of all samples, in [0, 1)
};

struct LabelSkew {
  double entropy = 0;           // entropy of the labels of all samples, in bits
  double node_entropy = 0;      // mean over the nodes, weighted by their samples
  double distance = 0;          // weighted mean of the distances: 0 if every node has the labels of all
  std::vector<NodeSkew> nodes;  // in their order
};

LabelSkew measure_skew(const LabelCounts& counts);

}  // namespace mfl
