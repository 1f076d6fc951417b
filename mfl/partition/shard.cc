#include <fmt/core.h>

#include <vector>

#include "mfl/base/rng.h"
#include "mfl/partition/label_skew.h"

namespace mfl {

Result<Partition> shard(std::span<const double> labels, std::size_t nodes, std::size_t shards_per_node,
                        std::uint64_t seed) {
  MFL_CHECK(require_nodes(labels.size(), nodes));
  if (shards_per_node > labels.size() / nodes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("shard: {} nodes with {} shards each need more than {} samples", nodes,
                            shards_per_node, labels.size()),
                fmt::format("set shards_per_node to at most {}, or lower nodes", labels.size() / nodes));
  MFL_TRY(const Partition shards, label_sorted(labels, nodes * shards_per_node));
  const auto dealt = permutation(shards.nodes(), Stream(seed, Purpose::kPartition));
  std::vector<std::vector<std::uint32_t>> rows(nodes);
  for (std::size_t k = 0; k < dealt.size(); ++k) {
    const auto mine = shards.node(dealt[k]);
    rows[k / shards_per_node].insert(rows[k / shards_per_node].end(), mine.begin(), mine.end());
  }
  return partition_of(rows);
}

}  // namespace mfl
