// From [federation] to a partition of the samples.
#pragma once

#include <cstdint>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/data/dataset.h"
#include "mfl/partition/partition.h"

namespace mfl {

// That of the table partitions(). Looks at labels and groups alone.
Result<Partition> make_partition(const FederationConfig& federation, const Dataset& train,
                                 std::uint64_t seed);

// What the nodes of a simulation hold, for those who store it.
struct NodesData {
  Dataset rows;         // node by node, with the feature skew of [federation]
  Partition partition;  // of these rows, in their order
};

// As make_partition and skew_features.
Result<NodesData> data_of_nodes(const Config& config, const Dataset& train);

}  // namespace mfl
