#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/text.h"
#include "mfl/config/entries.h"
#include "mfl/data/describe.h"
#include "mfl/data/source.h"
#include "mfl/load/problem.h"

namespace mfl::cli {
namespace {

struct InfoArguments {
  std::string spec;
  ConfigFlags flags;
};

bool has_text_labels(const Dataset& data) { return data.origin && !data.origin->classes.empty(); }

Json describe_json(const Dataset& data) {
  const Description about = describe(data);
  Json classes = Json::array();
  for (const auto& [label, count] : about.classes)
    classes.push_back(
        {{"label", has_text_labels(data) ? Json(label_text(data, label)) : Json(label)}, {"count", count}});
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
    classes += fmt::format("{}{}: {}", classes.empty() ? "" : ", ", label_text(data, label), count);
  return title + "\n" +
         facts_text({
             {"  shape",
              fmt::format("{} samples x {} features, {}", about.rows, about.columns, about.storage)},
             {"  range", fmt::format("{:g} to {:g} (scale {:g})", about.min, about.max, about.scale)},
             {"  sparsity", fmt::format("{} nonzero; {} all-zero columns", percent_text(about.nonzero_share),
                                        about.zero_columns)},
             {"  labels", has_text_labels(data) ? "text"
                                                : fmt::format("{:g} to {:g}, mean {:.6g}", about.label_min,
                                                              about.label_max, about.label_mean)},
             {"  classes", classes},
             {"  digest", data_digest(data)},
         });
}

// Which columns are features; empty if all but the label are.
std::string chosen_columns_text(const Dataset& data) {
  constexpr std::size_t kMostNames = 10;
  if (!data.origin || data.columns + 1 >= data.origin->table_columns) return {};
  std::string text = fmt::format("{} of {} columns", data.columns, data.origin->table_columns);
  const auto& names = data.origin->features;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? ": " : ", ", names[i]);
  return names.size() > kMostNames ? text + ", ..." : text;
}

// Which column is the label, and what a classifier would make of it.
std::string meaning_text(const Config& config, const TrainTest& data, Json& json) {
  const auto& origin = data.train.origin;
  std::string label;
  json["label_column"] = nullptr;
  json["header_guessed"] = origin && origin->header_guessed;
  if (origin && origin->label_column != 0) {
    json["label_column"] = origin->label_column;
    label = fmt::format("column {} of {}", origin->label_column, origin->table_columns);
    if (!origin->label.empty()) label += fmt::format(", \"{}\"", origin->label);
    if (config.data.label == "last") label += " (the last one; --label names another)";
  }
  const std::string header = origin && origin->header_guessed
                                 ? "the first line has column names (--header no if it is a sample)"
                                 : "";
  const auto seen = observed_schema(config, data.train);
  auto schema = seen ? settle(stated_schema(config), *seen) : seen;
  json["schema"] = schema ? Json::parse(schema_json(*schema)).value_or(nullptr) : Json(nullptr);
  if (schema) schema->label.clear();  // printed before
  const std::string task = schema && schema->classes.size() >= 2 ? labels_text(*schema) : "";
  return facts_text({{"features", chosen_columns_text(data.train)},
                     {"label", label},
                     {"header", header},
                     {"classifier", task}});
}

Result<Reply> info_command(const InfoArguments& args) {
  Config config;
  MFL_CHECK(set_key(config, "data.source", args.spec, "SPEC"));
  MFL_CHECK(args.flags.apply(config));
  MFL_TRY(const TrainTest data, load(data_options(config)));
  Reply reply;
  reply.data = {{"spec", args.spec}, {"train", describe_json(data.train)}, {"test", nullptr}};
  reply.text = describe_text("train", data.train);
  if (data.test) {
    reply.text += describe_text("test", *data.test);
    reply.data["test"] = describe_json(*data.test);
  }
  reply.text += meaning_text(config, data, reply.data);
  return reply;
}

}  // namespace

void setup_data_info(Command& data, Commands& commands) {
  const auto args = std::make_shared<InfoArguments>();
  Command& command = commands.add(data, "info", "Print the shape, classes, sparsity and range of data",
                                  "  mfl data info mnist\n"
                                  "  mfl data info csv:houses.csv --label price",
                                  [args] { return info_command(*args); });
  add_source_option(command, "SPEC", args->spec);
  args->flags.add(command, [](const Key& key) {
    return (key.table == "data" && key.key != "source") || key.key == "seed";
  });
}

}  // namespace mfl::cli
