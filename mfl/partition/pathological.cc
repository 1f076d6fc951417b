#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "mfl/base/rng.h"
#include "mfl/data/dataset.h"
#include "mfl/partition/label_skew.h"

namespace mfl {
namespace {

// Rounds of the stream: what the draws are for.
enum PathologicalDraw : std::uint64_t { kPathologicalOrder = 0, kPathologicalClasses = 3 };

// Per class, the nodes that hold it. Every node takes the classes that fewest nodes hold, random ones of
// those that equally many do.
std::vector<std::vector<std::size_t>> draw_holders(std::size_t classes, std::size_t nodes,
                                                   std::size_t classes_per_node, std::uint64_t seed) {
  std::vector<std::vector<std::size_t>> holders(classes);
  for (std::size_t i = 0; i < nodes; ++i) {
    auto order = permutation(classes, Stream(seed, Purpose::kPartition, kPathologicalClasses, i));
    std::ranges::stable_sort(
        order, [&](std::uint32_t a, std::uint32_t b) { return holders[a].size() < holders[b].size(); });
    for (std::size_t k = 0; k < classes_per_node; ++k) holders[order[k]].push_back(i);
  }
  return holders;
}

Result<void> check_classes(std::size_t classes, std::size_t nodes, std::size_t classes_per_node) {
  if (classes_per_node > classes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("pathological: classes_per_node is {}, and the data has {} class{}",
                            classes_per_node, classes, classes == 1 ? "" : "es"),
                fmt::format("set classes_per_node to at most {}", classes));
  if (nodes < classes / classes_per_node + (classes % classes_per_node != 0 ? 1 : 0))
    return fail(ErrorCode::kBadConfig,
                fmt::format("pathological: {} nodes with {} classes each cannot hold all {} classes", nodes,
                            classes_per_node, classes),
                "raise classes_per_node or nodes");
  return {};
}

}  // namespace

Result<Partition> pathological(std::span<const double> labels, std::size_t nodes,
                               std::size_t classes_per_node, std::uint64_t seed) {
  MFL_CHECK(require_nodes(labels.size(), nodes));
  const std::vector<LabelRows> classes = rows_by_label(labels);
  MFL_CHECK(check_classes(classes.size(), nodes, classes_per_node));
  const auto holders = draw_holders(classes.size(), nodes, classes_per_node, seed);
  std::vector<std::vector<std::uint32_t>> rows(nodes);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::vector<std::uint32_t>& own = classes[c].rows;
    if (own.size() < holders[c].size())
      return fail(
          ErrorCode::kBadConfig,
          fmt::format("pathological: label {} has {} sample{} for {} nodes", number_label(classes[c].label),
                      own.size(), own.size() == 1 ? "" : "s", holders[c].size()),
          "lower nodes or classes_per_node");
    const auto order = permutation(own.size(), Stream(seed, Purpose::kPartition, kPathologicalOrder, c));
    const Partition blocks = equal_blocks(order, holders[c].size());
    for (std::size_t k = 0; k < holders[c].size(); ++k)
      for (const std::uint32_t place : blocks.node(k)) rows[holders[c][k]].push_back(own[place]);
  }
  return partition_of(rows);
}

}  // namespace mfl
