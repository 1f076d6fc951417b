// Features that differ between the nodes of a simulation: each node's rows are changed in a way of its own.
// The test set is not. A table, feature_skews(), has the ways: none, noise, rotation, and what a program
// adds.
//
//   MFL_CHECK(skew_features("noise(0.5)", rows, {partition.starts, 0, partition.nodes(), seed}));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "mfl/base/catalog.h"
#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl {

// Assigns the rows of a set to nodes. A process may hold the rows of some nodes alone.
struct NodesOfRows {
  // Node k holds the rows starts[k] .. starts[k + 1); one more than there are nodes here.
  std::span<const std::size_t> starts;
  std::size_t first_node = 0;  // the number of node 0 here
  std::size_t all_nodes = 1;   // number of nodes of the federation
  // The seed of the run; draw from Stream(seed, Purpose::kFeatureSkew, 0, number of the node).
  std::uint64_t seed = 0;

  std::size_t here() const { return starts.empty() ? 0 : starts.size() - 1; }
};

struct FeatureSkewEntry : CatalogEntry {
  // Changes the features in place; what a node's rows become depends on them, the number of the node and that
  // of all nodes, and the seed alone. kBadConfig for features that it cannot change. Null: changes nothing.
  std::function<Result<void>(Dataset& rows, const NodesOfRows& nodes, const ParameterValues& values)> change;
};

// All of the process.
Catalog<FeatureSkewEntry>& feature_skews();

// parse_spec on feature_skews(), then change.
Result<void> skew_features(std::string_view spec, Dataset& rows, const NodesOfRows& nodes);

// Adds Gaussian noise to every feature: of node i of N, counted from 1, with the deviation sigma i/N (Li et
// al. 2022, NIID-Bench). Bytes become scaled f32. kBadConfig for sparse rows.
Result<void> add_noise(Dataset& rows, const NodesOfRows& nodes, double sigma);

// Turns square images counterclockwise around their middle: those of node i, counted from 0, by i times
// `degrees`. Pixels are interpolated linearly, what comes from outside is 0, and bytes stay bytes; multiples
// of 90 degrees move pixels alone. kBadConfig for sparse rows and for a number of columns that is no square.
Result<void> rotate_images(Dataset& rows, const NodesOfRows& nodes, double degrees);

}  // namespace mfl
