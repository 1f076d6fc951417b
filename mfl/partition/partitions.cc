#include "mfl/partition/partitions.h"

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mfl/partition/label_skew.h"
#include "mfl/partition/sizes.h"

namespace mfl {
namespace {

constexpr NumberRange kConcentration{[](double x) { return x >= 1e-6 && x <= 1e6; }, "in [1e-6, 1e6]"};
constexpr NumberRange kAtLeastOne{[](double x) { return x >= 1; }, ">= 1"};
constexpr NumberRange kFlag{[](double x) { return x == 0 || x == 1; }, "in [0, 1]"};
constexpr NumberRange kSizeDeviation{[](double x) { return x >= 0 && x <= 100; }, "in [0, 100]"};

std::vector<Parameter> dirichlet_parameters() {
  return {{.name = "alpha", .help = "concentration, small for few classes per node", .range = kConcentration},
          {.name = "min_partition_size",
           .help = "fewest samples of a node (10, or half of the mean size if that is less)",
           .range = kAtLeastOne,
           .optional = true,
           .whole = true},
          {.name = "self_balancing",
           .help = "1 to give no more to a node that has its share of all samples",
           .range = kFlag,
           .default_value = 0,
           .whole = true}};
}

Result<Partition> make_dirichlet(const PartitionInput& input, const ParameterValues& values) {
  DirichletOptions options{.alpha = values.number("alpha"),
                           .self_balancing = values.count("self_balancing") == 1};
  if (values.find("min_partition_size")) options.min_partition_size = values.count("min_partition_size");
  return dirichlet(input.labels, input.nodes, options, input.seed);
}

Result<Partition> make_from_file(const PartitionInput& input, const ParameterValues& values) {
  MFL_TRY(Partition partition, from_file(values.text(), input.samples()));
  if (partition.nodes() != input.nodes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} names {} nodes, nodes is {}", values.text(), partition.nodes(), input.nodes),
                fmt::format("set nodes to {}", partition.nodes()));
  return partition;
}

// One node per group of samples.
Result<Partition> by_groups(const PartitionInput& input, const std::string& what, std::string_view noun) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> rows;
  for (std::size_t i = 0; i < input.groups.size(); ++i)
    rows[input.groups[i]].push_back(static_cast<std::uint32_t>(i));
  if (rows.size() != input.nodes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} {} {}{}, nodes is {}", what, rows.size(), noun, rows.size() == 1 ? "" : "s",
                            input.nodes),
                fmt::format("set nodes to {}", rows.size()));
  std::vector<std::vector<std::uint32_t>> nodes;
  for (auto& [group, own] : rows) nodes.push_back(std::move(own));
  return partition_of(nodes);
}

Result<Partition> make_users(const PartitionInput& input, const ParameterValues&) {
  if (input.groups.empty())
    return fail(ErrorCode::kBadConfig, "users: the data does not say which user its samples are from",
                "use data that has users, such as synthetic-fedprox(1, 1), or another partition");
  return by_groups(input, "users: the data has", "user");
}

Result<Partition> make_natural(const PartitionInput& input, const ParameterValues& values) {
  if (input.groups.empty())
    return fail(ErrorCode::kBadConfig, fmt::format("natural:{}: the data has no such column", values.text()),
                "give the data as csv:FILE, or use another partition");
  return by_groups(input, fmt::format("natural:{0}: the column {0} names", values.text()), "node");
}

std::vector<PartitionEntry> built_in_partitions() {
  return {
      {{.name = "iid", .description = "a random split into equal parts, drawn from the seed"},
       [](const PartitionInput& input, const ParameterValues&) {
         return iid(input.samples(), input.nodes, input.seed);
       }},
      {{.name = "contiguous", .description = "equal blocks in the order of the data"},
       [](const PartitionInput& input, const ParameterValues&) {
         return contiguous(input.samples(), input.nodes);
       }},
      {{.name = "label-sorted",
        .description = "equal blocks after a stable sort by label: few classes per node"},
       [](const PartitionInput& input, const ParameterValues&) {
         return label_sorted(input.labels, input.nodes);
       }},
      {{.name = "dirichlet",
        .parameters = dirichlet_parameters(),
        .description = "each class is divided over the nodes by shares drawn from a Dirichlet distribution"},
       make_dirichlet},
      {{.name = "shard",
        .parameters = {{.name = "shards_per_node",
                        .help = "shards of a node",
                        .range = kAtLeastOne,
                        .default_value = 2,
                        .whole = true}},
        .description = "samples sorted by label are cut into equal shards, which nodes get at random"},
       [](const PartitionInput& input, const ParameterValues& values) {
         return shard(input.labels, input.nodes, values.count("shards_per_node"), input.seed);
       }},
      {{.name = "pathological",
        .parameters = {{.name = "classes_per_node",
                        .help = "classes of a node",
                        .range = kAtLeastOne,
                        .default_value = 2,
                        .whole = true}},
        .description =
            "each node holds a fixed number of classes, drawn at random, and an equal part of their samples"},
       [](const PartitionInput& input, const ParameterValues& values) {
         return pathological(input.labels, input.nodes, values.count("classes_per_node"), input.seed);
       }},
      {{.name = "linear", .description = "a random split, the size of node k in proportion to k + 1"},
       [](const PartitionInput& input, const ParameterValues&) {
         return power_sizes(input.samples(), input.nodes, 1, input.seed);
       }},
      {{.name = "square", .description = "a random split, the size of node k in proportion to (k + 1)^2"},
       [](const PartitionInput& input, const ParameterValues&) {
         return power_sizes(input.samples(), input.nodes, 2, input.seed);
       }},
      {{.name = "exponential", .description = "a random split, the size of node k in proportion to exp(k)"},
       [](const PartitionInput& input, const ParameterValues&) {
         return exponential_sizes(input.samples(), input.nodes, input.seed);
       }},
      {{.name = "lognormal",
        .parameters =
            {{.name = "sigma", .help = "deviation of the logarithm of a size", .range = kSizeDeviation}},
        .description = "a random split, sizes in proportion to lognormal numbers"},
       [](const PartitionInput& input, const ParameterValues& values) {
         return lognormal_sizes(input.samples(), input.nodes, values.number("sigma"), input.seed);
       }},
      {{.name = "sizes",
        .description = "a random split into nodes of these sizes: counts, or shares of all samples",
        .text = "N,N,..."},
       [](const PartitionInput& input, const ParameterValues& values) {
         return given_sizes(values.text(), input.samples(), input.nodes, input.seed);
       }},
      {{.name = "users",
        .description = "one node per user, of data that has users, such as synthetic-fedprox"},
       make_users},
      {{.name = "natural",
        .description =
            "a column of a CSV file names the node of each row; nodes are in the order of their names",
        .text = "COLUMN"},
       make_natural,
       true},
      {{.name = "file", .description = "the rows that a text file names, one line per node", .text = "PATH"},
       make_from_file},
  };
}

tl::unexpected<Error> broken(std::string_view spec, const std::string& what) {
  return fail(ErrorCode::kInternal, fmt::format("partition {}: {}", spec, what),
              "this is a bug in the partition: a row is in at most one node, rows of a node ascend");
}

Result<void> check_nodes(std::string_view spec, const Partition& partition, std::size_t nodes) {
  if (partition.nodes() != nodes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("partition {} has {} nodes, nodes is {}", spec, partition.nodes(), nodes),
                fmt::format("set nodes to {}", partition.nodes()));
  if (partition.starts.front() != 0 || partition.starts.back() != partition.order.size())
    return broken(spec, "the nodes do not cover its rows");
  for (std::size_t i = 0; i < nodes; ++i) {
    if (partition.starts[i] > partition.starts[i + 1])
      return broken(spec, fmt::format("node {} ends before it starts", i));
    if (partition.starts[i] == partition.starts[i + 1])
      return fail(ErrorCode::kBadConfig, fmt::format("partition {} leaves node {} without samples", spec, i),
                  "lower nodes, raise train, or change the parameters of the partition");
  }
  return {};
}

Result<void> check_rows(std::string_view spec, const Partition& partition, std::size_t samples) {
  std::vector<bool> held(samples);
  for (std::size_t i = 0; i < partition.nodes(); ++i) {
    const auto rows = partition.node(i);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (rows[k] >= samples)
        return broken(spec, fmt::format("node {} has row {} of {}", i, rows[k], samples));
      if (held[rows[k]]) return broken(spec, fmt::format("duplicate row {} in node {}", rows[k], i));
      if (k > 0 && rows[k] < rows[k - 1])
        return broken(spec, fmt::format("the rows of node {} do not ascend", i));
      held[rows[k]] = true;
    }
  }
  return {};
}

}  // namespace

Catalog<PartitionEntry>& partitions() {
  static Catalog<PartitionEntry> all("partition", built_in_partitions());
  return all;
}

std::string column_of_groups(std::string_view spec) {
  const auto chosen = parse_spec(spec, partitions());
  return chosen && chosen->entry->by_column ? chosen->values.text() : std::string();
}

Result<Partition> make_partition(std::string_view spec, const PartitionInput& input) {
  MFL_TRY(const auto chosen, parse_spec(spec, partitions()));
  MFL_CHECK(require_nodes(input.samples(), input.nodes));
  MFL_TRY(Partition partition, chosen.entry->make(input, chosen.values));
  MFL_CHECK(check_nodes(chosen.text, partition, input.nodes));
  MFL_CHECK(check_rows(chosen.text, partition, input.samples()));
  return partition;
}

}  // namespace mfl
