#include <fmt/core.h>

#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/data/source.h"
#include "mfl/load/config_partition.h"
#include "mfl/partition/split.h"

namespace mfl::cli {
namespace {

struct SplitArguments {
  std::string spec, out;
  ConfigFlags flags;
};

Result<Reply> split_command(const SplitArguments& args) {
  Config config;
  MFL_CHECK(set_key(config, "data.source", args.spec, "SPEC"));
  MFL_CHECK(args.flags.apply(config));
  MFL_CHECK(validate(config));
  MFL_TRY(const TrainTest data, load(data_options(config)));
  MFL_TRY(const auto nodes, data_of_nodes(config, data.train));
  const Partition& partition = nodes.partition;
  MFL_CHECK(split_to_folders(nodes.rows, partition, args.out, is_own_data(args.spec)));
  Reply reply;
  reply.text = fmt::format("wrote {} nodes to {}\n", partition.nodes(), args.out);
  reply.data = {{"folder", args.out}, {"nodes", Json::array()}, {"classes", Json::array()}};
  // NPY labels are numbers.
  if (data.train.origin)
    for (const std::string& name : data.train.origin->classes) {
      reply.text += fmt::format("label {} is {}\n", reply.data["classes"].elements().size(), name);
      reply.data["classes"].push_back(name);
    }
  for (std::size_t i = 0; i < partition.nodes(); ++i)
    reply.data["nodes"].push_back(
        {{"folder", fmt::format("node-{:04}", i)}, {"samples", partition.node(i).size()}});
  return reply;
}

}  // namespace

void setup_data_split(Command& data, Commands& commands) {
  const auto args = std::make_shared<SplitArguments>();
  Command& command =
      commands.add(data, "split", "Write the training samples of each node into a separate folder",
                   "  mfl data split mnist --nodes 4 --partition iid --seed 1 --out shards",
                   [args] { return split_command(*args); });
  add_source_option(command, "SPEC", args->spec);
  command.add_option("--out", args->out, "Folder to create; must be empty if it exists")
      ->type_name("DIR")
      ->required();
  args->flags.add(command, [](const Key& key) {
    return (key.table == "data" && key.key != "source" && key.key != "task" && key.key != "positive") ||
           key.key == "nodes" || key.key == "partition" || key.key == "feature_skew" || key.key == "seed";
  });
}

}  // namespace mfl::cli
