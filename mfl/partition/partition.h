// A partition: the samples that each node holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

// Node i holds the samples order[starts[i] .. starts[i+1]). Inside a node they ascend, so one node alone is
// the whole set in its own order. No node is empty and no sample is in two nodes; a sample may be in
// none.
struct Partition {
  std::vector<std::uint32_t> order;
  std::vector<std::size_t> starts;  // nodes() + 1 of them

  std::size_t nodes() const { return starts.empty() ? 0 : starts.size() - 1; }
  std::span<const std::uint32_t> node(std::size_t i) const {
    return std::span(order).subspan(starts[i], starts[i + 1] - starts[i]);
  }
};

// kBadConfig for fewer than 1 node, and for more nodes than samples.
Result<void> require_nodes(std::size_t samples, std::size_t nodes);

// The following three give every sample to a node; the first (samples mod nodes) nodes hold one more than the
// others. What require_nodes refuses is kBadConfig.

// A random split, determined by (seed, samples, nodes).
Result<Partition> iid(std::size_t samples, std::size_t nodes, std::uint64_t seed);

// Blocks in data order.
Result<Partition> contiguous(std::size_t samples, std::size_t nodes);

// Blocks after a stable sort by label: each node sees few classes.
Result<Partition> label_sorted(std::span<const double> labels, std::size_t nodes);

// Text: one line per node, the sample numbers it holds (from 0) separated by blanks, in any order. '#' starts
// a comment; blank lines are skipped. A duplicate number, one out of range or not a number is kBadData.
Result<Partition> from_file(const std::filesystem::path& path, std::size_t samples);

// What a partition may be made of.

struct LabelRows {
  double label;
  std::vector<std::uint32_t> rows;  // the rows with this label, ascending
};

// The classes in ascending order, each with its rows; the number of samples of a class is rows.size().
std::vector<LabelRows> rows_by_label(std::span<const double> labels);

// Cuts `order` into blocks of equal size, the first ones larger by one where that is not possible, and sorts
// inside each. 1 <= nodes <= order.size().
Partition equal_blocks(std::vector<std::uint32_t> order, std::size_t nodes);

// From the rows of each node, in any order.
Partition partition_of(std::span<const std::vector<std::uint32_t>> nodes);

}  // namespace mfl
