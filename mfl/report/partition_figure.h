// The labels of every node as a heat map in SVG: a column per node, a row per label, and above them the sizes
// of the nodes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mfl {

struct PartitionFigure {
  std::string title;                             // a line; may be empty
  std::vector<std::string> nodes;                // names, or numbers from 0
  std::vector<std::string> labels;               // in the order of their rows, from the top
  std::vector<std::vector<std::size_t>> counts;  // per node, one count per label
};

// At most this many nodes and labels are drawn, the first ones; a line below says so.
inline constexpr std::size_t kMostNodesDrawn = 400, kMostLabelsDrawn = 60;

// Needs no other program. Equal figures give equal bytes. A cell's shade is its count's share of the largest
// one; each cell says its numbers when pointed at.
std::string partition_svg(const PartitionFigure& figure);

}  // namespace mfl
