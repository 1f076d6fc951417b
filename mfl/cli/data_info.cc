#include <fmt/core.h>

#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/text.h"
#include "mfl/data/describe.h"
#include "mfl/data/source.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string spec;
  ConfigFlags flags;
};

Json describe_json(const Dataset& data) {
  const Description about = describe(data);
  Json classes = Json::array();
  for (const auto& [label, count] : about.classes) classes.push_back({{"label", label}, {"count", count}});
  return {{"rows", about.rows},
          {"columns", about.columns},
          {"storage", about.storage},
          {"scale", about.scale},
          {"min", about.min},
          {"max", about.max},
          {"nonzero_share", about.nonzero_share},
          {"zero_columns", about.zero_columns},
          {"classes", classes},
          {"label_min", about.label_min},
          {"label_max", about.label_max},
          {"label_mean", about.label_mean},
          {"digest", data_digest(data)}};
}

std::string describe_text(const std::string& title, const Dataset& data) {
  const Description about = describe(data);
  std::string classes;
  for (const auto& [label, count] : about.classes)
    classes += fmt::format("{}{}: {}", classes.empty() ? "" : ", ", label, count);
  return title + "\n" +
         facts_text({
             {"  shape",
              fmt::format("{} samples x {} features, {}", about.rows, about.columns, about.storage)},
             {"  range", fmt::format("{:g} to {:g} (scale {:g})", about.min, about.max, about.scale)},
             {"  sparsity", fmt::format("{} nonzero; {} columns are zero throughout",
                                        percent_text(about.nonzero_share), about.zero_columns)},
             {"  labels",
              fmt::format("{:g} to {:g}, mean {:.6g}", about.label_min, about.label_max, about.label_mean)},
             {"  classes", classes},
             {"  digest", data_digest(data)},
         });
}

Result<Reply> info_command(const Arguments& args) {
  Config config;
  MFL_CHECK(set_key(config, "data.source", args.spec, "SPEC"));
  MFL_CHECK(args.flags.apply(config));
  MFL_TRY(const TrainTest data, load(data_options(config)));
  Reply reply;
  reply.text = describe_text("train", data.train);
  reply.data = {{"spec", args.spec}, {"train", describe_json(data.train)}, {"test", nullptr}};
  if (data.test) {
    reply.text += describe_text("test", *data.test);
    reply.data["test"] = describe_json(*data.test);
  }
  return reply;
}

}  // namespace

void setup_data_info(Command& data, Commands& commands) {
  const auto args = std::make_shared<Arguments>();
  Command& command = commands.add(data, "info", "Shape, classes, sparsity and range of data",
                                  "  mfl data info mnist\n"
                                  "  mfl data info csv:houses.csv --label price",
                                  [args] { return info_command(*args); });
  command.add_option("SPEC", args->spec, "mnist, synthetic, idx:DIR, csv:FILE, libsvm:FILE or npy:DIR")
      ->required();
  args->flags.add(command, [](const Key& key) {
    return (key.table == "data" && key.key != "source" && key.key != "task") || key.key == "seed";
  });
}

}  // namespace mfl::cli
