#include "mfl/load/config_partition.h"

#include "mfl/partition/partitions.h"

namespace mfl {

Result<Partition> make_partition(const FederationConfig& federation, const Dataset& train,
                                 std::uint64_t seed) {
  return make_partition(federation.partition, {train.labels, federation.nodes, seed, train.groups});
}

}  // namespace mfl
