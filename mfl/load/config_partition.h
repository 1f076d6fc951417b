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

}  // namespace mfl
