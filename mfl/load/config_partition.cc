#include "mfl/load/config_partition.h"

#include <fmt/core.h>

#include <string>

namespace mfl {

Result<Partition> make_partition(const FederationConfig& federation, const Dataset& train,
                                 std::uint64_t seed) {
  const std::string& how = federation.partition;
  if (how == "iid") return iid(train.rows, federation.nodes, seed);
  if (how == "contiguous") return contiguous(train.rows, federation.nodes);
  if (how == "label-sorted") return label_sorted(train.labels, federation.nodes);
  constexpr std::string_view kFile = "file:";
  if (!how.starts_with(kFile))
    return fail(ErrorCode::kBadConfig, fmt::format("unknown partition \"{}\"", how));
  const std::string path = how.substr(kFile.size());
  MFL_TRY(Partition partition, from_file(path, train.rows));
  if (partition.nodes() != federation.nodes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} names {} nodes, nodes is {}", path, partition.nodes(), federation.nodes),
                fmt::format("set nodes to {}", partition.nodes()));
  return partition;
}

}  // namespace mfl
