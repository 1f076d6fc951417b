// Every class has a home: a sample goes to the node of its class with the chance `share`, else to any node.
#include <mfl/base/rng.h>
#include <mfl/partition/partitions.h>

#include <string>
#include <vector>

#include "extensions.h"

namespace {

constexpr mfl::NumberRange kShare{[](double x) { return x >= 0 && x <= 1; }, "in [0, 1]"};

mfl::Result<mfl::Partition> home_class(const mfl::PartitionInput& input, const mfl::ParameterValues& values) {
  const std::vector<mfl::LabelRows> classes = mfl::rows_by_label(input.labels);
  if (classes.size() < input.nodes)
    return mfl::fail(mfl::ErrorCode::kBadConfig,
                     "home-class: " + std::to_string(input.nodes) + " nodes, and the data has " +
                         std::to_string(classes.size()) + " classes",
                     "set nodes to at most " + std::to_string(classes.size()));
  mfl::Stream random(input.seed, mfl::Purpose::kPartition);
  std::vector<std::vector<std::uint32_t>> nodes(input.nodes);
  for (std::size_t c = 0; c < classes.size(); ++c)
    for (const std::uint32_t row : classes[c].rows) {
      const bool stays = random.uniform() < values.number("share");
      nodes[stays ? c % input.nodes : random.below(input.nodes)].push_back(row);
    }
  return mfl::partition_of(nodes);
}

}  // namespace

void add_home_class() {
  mfl::partitions().add({{.name = "home-class",
                          .parameters = {{.name = "share",
                                          .help = "chance that a sample is at the node of its class",
                                          .range = kShare,
                                          .default_value = 0.8}},
                          .description = "each class mostly at one node"},
                         home_class});
}
