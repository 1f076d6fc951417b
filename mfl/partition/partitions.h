// The table of partitions: iid, label-sorted, dirichlet(alpha), sizes:N,N,... and the others, and what a
// program adds before it reads a configuration.
//
//   partitions().add({{.name = "by-class", .description = "one class per node"}, by_class});
//   MFL_TRY(const Partition partition, make_partition("by-class", {labels, 10, seed}));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "mfl/base/catalog.h"
#include "mfl/base/result.h"
#include "mfl/partition/partition.h"

namespace mfl {

// What a partition is a function of, beside its own parameters. Nothing else may decide it: every machine
// must come to the same rows.
struct PartitionInput {
  // The labels of all samples as the source has them: 0 to 9 for MNIST, whatever the task.
  std::span<const double> labels;
  std::size_t nodes = 1;   // from 1 to the number of samples
  std::uint64_t seed = 0;  // the seed of the run; draw from Stream(seed, Purpose::kPartition)
  // Per sample, the place of a node's name among all names, for an entry with `by_column`; empty where the
  // data has no such column.
  std::span<const std::uint32_t> groups = {};

  std::size_t samples() const { return labels.size(); }
};

struct PartitionEntry : CatalogEntry {
  // As many nodes as the input has. Refuses with kBadConfig what the labels or the number of nodes do not
  // allow; the message names both numbers. `values` are within the ranges of the parameters.
  std::function<Result<Partition>(const PartitionInput& input, const ParameterValues& values)> make;
  bool by_column = false;  // its text is a column of the data, whose texts are the groups of the input
};

// The column that a spec reads groups from; empty if it reads none.
std::string column_of_groups(std::string_view spec);

// All partitions of the process.
Catalog<PartitionEntry>& partitions();

// parse_spec on partitions(), then make. kBadConfig for fewer than 1 node, more nodes than samples, and a
// partition with another number of nodes or with an empty one; kInternal if a row does not exist, is in two
// nodes, or is not in order.
Result<Partition> make_partition(std::string_view spec, const PartitionInput& input);

}  // namespace mfl

// Example: every node holds one class.
//
//   Result<Partition> by_class(const PartitionInput& input, const ParameterValues&) {
//     const std::vector<LabelRows> classes = rows_by_label(input.labels);
//     if (classes.size() != input.nodes)
//       return fail(ErrorCode::kBadConfig,
//                   fmt::format("by-class: {} classes, {} nodes", classes.size(), input.nodes),
//                   fmt::format("set nodes to {}", classes.size()));
//     std::vector<std::vector<std::uint32_t>> nodes;
//     for (const LabelRows& one : classes) nodes.push_back(one.rows);
//     return partition_of(nodes);
//   }
