// Partitions whose nodes hold different mixtures of labels. Labels are the classes: any numbers, equal ones
// are one class. Every sample is in one node. What require_nodes refuses is kBadConfig.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mfl/base/result.h"
#include "mfl/partition/partition.h"

namespace mfl {

struct DirichletOptions {
  double alpha = 1;  // concentration, in [1e-6, 1e6]: small for few classes per node, large for all of them
  // Fewest samples of a node, >= 1. Nothing: 10, or half of the mean size where that is less, but at least 1.
  std::optional<std::size_t> min_partition_size = {};
  bool self_balancing = false;  // a node that has its share of all samples gets none of the classes to come
};

// Each class in turn is divided over the nodes by shares from Dirichlet(alpha, ..., alpha) (Hsu et al. 2019;
// Flower's DirichletPartitioner). If a node has less than min_partition_size, all is drawn again, up to 1000
// times (less often for more than 20000 pairs of node and class); then kBadConfig.
Result<Partition> dirichlet(std::span<const double> labels, std::size_t nodes,
                            const DirichletOptions& options, std::uint64_t seed);

// Samples sorted by label are cut into nodes * shards_per_node equal shards, and each node gets
// shards_per_node of them at random (McMahan et al. 2017). kBadConfig for more shards than samples.
Result<Partition> shard(std::span<const double> labels, std::size_t nodes, std::size_t shards_per_node,
                        std::uint64_t seed);

// Each node holds exactly classes_per_node classes, drawn so that the numbers of nodes that hold a class
// differ by one at most; the samples of a class are divided equally among its nodes. kBadConfig if a node is
// to have more classes than there are, if a class would be in no node, or if one has fewer samples than nodes
// that hold it.
Result<Partition> pathological(std::span<const double> labels, std::size_t nodes,
                               std::size_t classes_per_node, std::uint64_t seed);

}  // namespace mfl
