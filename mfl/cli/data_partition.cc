#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "mfl/base/files.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/text.h"
#include "mfl/config/entries.h"
#include "mfl/data/source.h"
#include "mfl/load/config_partition.h"
#include "mfl/load/problem.h"
#include "mfl/partition/heterogeneity.h"
#include "mfl/report/partition_figure.h"
#include "mfl/report/table.h"
#include "mfl/theory/divergence.h"

namespace mfl::cli {
namespace {

constexpr std::size_t kPartitionTableWidth = 80;  // of the text
constexpr std::size_t kMostNodes = 200;           // in the text
constexpr std::size_t kMostLabels = 1000;         // more are numbers, not classes
constexpr std::size_t kLongestNode = 16, kLongestLabel = 8;

struct PartitionArguments {
  std::string spec, out;
  ConfigFlags flags;
};

// All that is shown.
struct Shown {
  std::vector<std::string> nodes, labels;  // names; no labels where they are no classes
  std::vector<std::size_t> sizes;
  LabelCounts counts;
  LabelSkew skew;
  GradientDivergence divergence;
};

std::vector<std::string> node_names(const Dataset& train, const Partition& partition) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < partition.nodes(); ++i) {
    const bool named = !train.groups.empty() && train.origin;
    names.push_back(named ? train.origin->groups[train.groups[partition.node(i).front()]]
                          : fmt::format("{}", i));
  }
  return names;
}

bool are_classes(std::span<const double> labels) { return rows_by_label(labels).size() <= kMostLabels; }

Result<GradientDivergence> divergence_of(const Config& config, TrainTest data) {
  data.test.reset();
  MFL_TRY(const Problem<double> problem, make_problem<double>(Experiment(config), std::move(data)));
  const auto& federation = problem.federation;
  Vector<double> w(federation.model->parameters());
  federation.model->initialise(w, Stream(config.run.seed, Purpose::kInitialise));
  return measure_divergence(*federation.model, federation.train, federation.nodes,
                            effective_lambda(config.model), w);
}

struct TableExtent {
  double least = 0, mean = 0, most = 0, deviation = 0;
};

TableExtent extent_of(std::span<const std::size_t> sizes) {
  TableExtent out;
  const auto [least, most] = std::ranges::minmax_element(sizes);
  out.least = static_cast<double>(*least);
  out.most = static_cast<double>(*most);
  const auto count = static_cast<double>(sizes.size());
  for (const std::size_t size : sizes) out.mean += static_cast<double>(size) / count;
  for (const std::size_t size : sizes)
    out.deviation += std::pow(static_cast<double>(size) - out.mean, 2) / count;
  out.deviation = std::sqrt(out.deviation);
  return out;
}

std::string facts_of(const Config& config, const Shown& shown) {
  const TableExtent sizes = extent_of(shown.sizes);
  const auto extent = [&](auto value) {
    const auto [least, most] = std::ranges::minmax(shown.skew.nodes, {}, value);
    return fmt::format("{:.3f} to {:.3f}", std::invoke(value, least), std::invoke(value, most));
  };
  Facts facts = {
      {"data", fmt::format("{}, seed {}", config.data.source, config.run.seed)},
      {"partition", config.federation.partition},
      {"feature skew", config.federation.feature_skew == "none" ? "" : config.federation.feature_skew},
      {"samples", fmt::format("{} nodes, {:.0f} to {:.0f} each, mean {:.1f}, deviation {:.1f}",
                              shown.nodes.size(), sizes.least, sizes.most, sizes.mean, sizes.deviation)}};
  if (!shown.labels.empty()) {
    facts.emplace_back("label entropy",
                       fmt::format("{:.3f} bits, by node {}; of all samples {:.3f}", shown.skew.node_entropy,
                                   extent(&NodeSkew::entropy), shown.skew.entropy));
    facts.emplace_back("label distance", fmt::format("{:.3f} (total variation, 0 is iid), by node {}",
                                                     shown.skew.distance, extent(&NodeSkew::distance)));
  }
  const auto [least, most] = std::ranges::minmax(shown.divergence.nodes);
  facts.emplace_back("gradient", fmt::format("divergence {:.4g} at w(0), by node {:.4g} to {:.4g}",
                                             shown.divergence.mean, least, most));
  facts.emplace_back("|grad F|", fmt::format("{:.4g} at w(0)", shown.divergence.gradient));
  return facts_text(facts);
}

// One character per label: '.' for none, else tenths of the node's samples.
std::string mixture(std::span<const std::size_t> counts, std::size_t size) {
  std::string out;
  for (const std::size_t count : counts)
    out += count == 0 ? '.' : static_cast<char>('0' + std::min<std::size_t>(9, count * 10 / size));
  return out;
}

enum class LabelColumns { kNone, kCounts, kMixture };

// As wide as it needs to be, without figures that do not fit beside counts.
std::string partition_nodes_text(const Shown& shown, LabelColumns labels) {
  const bool figures = !shown.labels.empty(), counts = labels == LabelColumns::kCounts;
  std::vector<Column> columns = {{"node"}, {"samples", Align::kRight}};
  if (figures) {
    columns.push_back({"bits", Align::kRight, 2});
    columns.push_back({"distance", Align::kRight, 1});
  }
  columns.push_back({"gradient", Align::kRight, 3});
  if (counts)
    for (const std::string& label : shown.labels)
      columns.push_back({short_text(label, kLongestLabel), Align::kRight});
  if (labels == LabelColumns::kMixture) columns.push_back({"labels, in tenths"});
  Table table(columns);
  for (std::size_t i = 0; i < std::min(shown.nodes.size(), kMostNodes); ++i) {
    std::vector<std::string> cells = {short_text(shown.nodes[i], kLongestNode),
                                      fmt::format("{}", shown.sizes[i])};
    if (figures) {
      cells.push_back(fmt::format("{:.2f}", shown.skew.nodes[i].entropy));
      cells.push_back(fmt::format("{:.2f}", shown.skew.nodes[i].distance));
    }
    cells.push_back(fmt::format("{:.3g}", shown.divergence.nodes[i]));
    if (counts)
      for (const std::size_t count : shown.counts.nodes[i])
        cells.push_back(count == 0 ? "." : fmt::format("{}", count));
    if (labels == LabelColumns::kMixture) cells.push_back(mixture(shown.counts.nodes[i], shown.sizes[i]));
    table.add(std::move(cells));
  }
  return table.text(kPartitionTableWidth);
}

bool fits(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > kPartitionTableWidth) return false;
    at = end + 1;
  }
  return true;
}

// Counts where they fit, else mixtures, else neither.
std::string table_of(const Shown& shown) {
  std::string text =
      partition_nodes_text(shown, shown.labels.empty() ? LabelColumns::kNone : LabelColumns::kCounts);
  if (!fits(text)) text = partition_nodes_text(shown, LabelColumns::kMixture);
  if (!fits(text)) text = partition_nodes_text(shown, LabelColumns::kNone);
  if (shown.nodes.size() > kMostNodes)
    text += fmt::format("{} more nodes; --json has them all\n", shown.nodes.size() - kMostNodes);
  return text;
}

Json json_of(const Config& config, const Shown& shown) {
  const bool with_labels = !shown.labels.empty();
  Json out = {{"spec", config.data.source},
              {"partition", config.federation.partition},
              {"feature_skew", config.federation.feature_skew},
              {"seed", config.run.seed},
              {"model", config.model.name},
              {"labels", Json::array()},
              {"label_entropy", nullptr},
              {"node_entropy", nullptr},
              {"label_distance", nullptr},
              {"gradient_divergence", shown.divergence.mean},
              {"gradient_norm", shown.divergence.gradient},
              {"nodes", Json::array()}};
  for (const std::string& label : shown.labels) out["labels"].push_back(label);
  if (with_labels) {
    out["label_entropy"] = shown.skew.entropy;
    out["node_entropy"] = shown.skew.node_entropy;
    out["label_distance"] = shown.skew.distance;
  }
  for (std::size_t i = 0; i < shown.nodes.size(); ++i) {
    Json node = {{"name", shown.nodes[i]},
                 {"samples", shown.sizes[i]},
                 {"gradient_divergence", shown.divergence.nodes[i]}};
    if (with_labels) {
      node["entropy"] = shown.skew.nodes[i].entropy;
      node["distance"] = shown.skew.nodes[i].distance;
      node["counts"] = Json::array();
      for (const std::size_t count : shown.counts.nodes[i]) node["counts"].push_back(count);
    }
    out["nodes"].push_back(std::move(node));
  }
  return out;
}

Result<Shown> shown_of(const Config& config, TrainTest data) {
  MFL_TRY(const Partition partition, make_partition(config.federation, data.train, config.run.seed));
  Shown shown;
  shown.nodes = node_names(data.train, partition);
  for (std::size_t i = 0; i < partition.nodes(); ++i) shown.sizes.push_back(partition.node(i).size());
  if (are_classes(data.train.labels)) {
    shown.counts = count_labels(data.train.labels, partition);
    shown.skew = measure_skew(shown.counts);
    for (const double label : shown.counts.labels) shown.labels.push_back(label_text(data.train, label));
  }
  MFL_TRY(shown.divergence, divergence_of(config, std::move(data)));
  return shown;
}

Result<Reply> partition_command(const PartitionArguments& args) {
  Config config;
  MFL_CHECK(set_key(config, "data.source", args.spec, "SPEC"));
  MFL_CHECK(args.flags.apply(config));
  MFL_CHECK(validate(config));
  if (!args.out.empty()) {
    if (!args.out.ends_with(".svg"))
      return fail(ErrorCode::kBadConfig, fmt::format("--out {}: the figure is an SVG", args.out),
                  "give a name that ends in .svg");
    MFL_CHECK(prepare_output(args.out));
  }
  MFL_TRY(TrainTest data, load(data_options(config)));
  MFL_TRY(const Shown shown, shown_of(config, std::move(data)));
  Reply reply;
  reply.data = json_of(config, shown);
  reply.text = facts_of(config, shown) + "\n" + table_of(shown);
  if (args.out.empty()) return reply;
  if (shown.labels.empty())
    return fail(
        ErrorCode::kBadConfig,
        fmt::format("--out {}: the labels have more than {} values, too many to draw", args.out, kMostLabels),
        "omit --out: it is for labels that are classes");
  MFL_CHECK(write_file(
      args.out, partition_svg({fmt::format("{}, {}, {} nodes, seed {}", config.data.source,
                                           config.federation.partition, shown.nodes.size(), config.run.seed),
                               shown.nodes, shown.labels, shown.counts.nodes})));
  reply.text += fmt::format("wrote {}\n", args.out);
  reply.data["file"] = args.out;
  return reply;
}

}  // namespace

void setup_data_partition(Command& data, Commands& commands) {
  const auto args = std::make_shared<PartitionArguments>();
  Command& command =
      commands.add(data, "partition", "Print what each node would hold, and how much nodes differ",
                   "  mfl data partition synthetic --nodes 10 --partition 'dirichlet(0.3)' --out nodes.svg\n"
                   "  mfl data partition mnist --nodes 100 --partition 'shard(2)' --model softmax",
                   [args] { return partition_command(*args); });
  add_source_option(command, "SPEC", args->spec);
  command.add_option("--out", args->out, "Draw counts by node and label: a heat map in SVG")
      ->type_name("FILE.svg");
  args->flags.add(command, [](const Key& key) {
    return (key.table == "data" && key.key != "source") || key.table == "model" || key.key == "nodes" ||
           key.key == "partition" || key.key == "feature_skew" || key.key == "seed";
  });
}

}  // namespace mfl::cli
