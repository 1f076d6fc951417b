#include "mfl/load/config_partition.h"

#include <numeric>
#include <utility>

#include "mfl/partition/feature_skew.h"
#include "mfl/partition/partitions.h"

namespace mfl {

Result<Partition> make_partition(const FederationConfig& federation, const Dataset& train,
                                 std::uint64_t seed) {
  return make_partition(federation.partition, {train.labels, federation.nodes, seed, train.groups});
}

Result<NodesData> data_of_nodes(const Config& config, const Dataset& train) {
  MFL_TRY(Partition partition, make_partition(config.federation, train, config.run.seed));
  Dataset rows = take_rows(train, partition.order);
  MFL_CHECK(skew_features(config.federation.feature_skew, rows,
                          {partition.starts, 0, partition.nodes(), config.run.seed}));
  std::iota(partition.order.begin(), partition.order.end(), 0U);
  return NodesData{std::move(rows), std::move(partition)};
}

}  // namespace mfl
