#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "mfl/base/files.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/shell_command.h"
#include "mfl/cli/text.h"
#include "mfl/config/config_keys.h"
#include "mfl/config/entries.h"
#include "mfl/data/text.h"
#include "mfl/load/problem.h"
#include "mfl/run/step_size.h"

namespace mfl::cli {
namespace {

struct InitArguments {
  std::string spec;
  std::string model;
  std::string out = "experiment.toml";
  bool force = false;
  ConfigFlags flags;
};

// What the labels look like: numbers are classes where they are whole and there are few of them.
std::string model_for(const Dataset& train) {
  constexpr std::size_t kMostNumberClasses = 20;
  const bool texts = train.origin && !train.origin->classes.empty();
  const std::set<double> distinct(train.labels.begin(), train.labels.end());
  const bool whole = std::ranges::all_of(distinct, [](double label) { return label == std::floor(label); });
  if (distinct.size() == 2) return "logistic";
  return texts || (whole && distinct.size() <= kMostNumberClasses) ? "softmax" : "linear";
}

// The named columns of whole numbers that are all different, as identifiers are.
std::vector<std::string> identifiers(const Dataset& train) {
  constexpr std::size_t kFewRows = 20;
  const auto* dense = std::get_if<DenseRows<double>>(&train.features);
  if (dense == nullptr || train.rows < kFewRows || !train.origin || train.origin->features.empty()) return {};
  std::vector<std::string> out;
  for (std::size_t column = 0; column < train.columns; ++column) {
    std::set<double> seen;
    const auto is_new = [&](std::size_t row) {
      const double value = dense->values[row * train.columns + column];
      return value == std::floor(value) && seen.insert(value).second;
    };
    std::size_t row = 0;
    while (row < train.rows && is_new(row)) ++row;
    if (row == train.rows) out.push_back(train.origin->features[column]);
  }
  return out;
}

// Two digits are enough for a regulariser.
double two_digits(double x) { return parse_number(fmt::format("{:.1e}", x)).value_or(x); }

struct Proposal {
  Config config;
  Schema schema;
  double eta = 0;
  std::size_t train_rows = 0, test_rows = 0;
  bool sparse = false, held_out = false;
  std::vector<std::string> identifiers;  // columns that look like it
};

Result<Proposal> propose(const InitArguments& args) {
  Proposal out;
  Config& config = out.config;
  MFL_CHECK(set_key(config, "data.source", args.spec, "SPEC"));
  MFL_CHECK(args.flags.apply(config));
  if (!is_own_data(config.data.source))
    return fail(ErrorCode::kBadConfig, fmt::format("{} is not your own data", config.data.source),
                "give csv:FILE, libsvm:FILE or npy:DIR; experiments/ has files for the others");
  MFL_TRY(TrainTest data, load(data_options(config)));
  out.sparse = is_sparse(data.train);
  out.identifiers = identifiers(data.train);
  MFL_CHECK(
      set_key(config, "model.name", args.model.empty() ? model_for(data.train) : args.model, "--model"));
  constexpr std::size_t kShare = 5;  // a fifth is held out
  if (!data.test && !config.data.train && data.train.rows >= 2 * kShare) {
    out.held_out = true;
    config.data.train = data.train.rows - data.train.rows / kShare;
    config.data.take = Take::kRandom;
    MFL_TRY(data, load(data_options(config)));
  }
  out.train_rows = data.train.rows;
  out.test_rows = data.test ? data.test->rows : 0;
  config.federation.nodes = std::min<std::uint64_t>(config.federation.nodes, out.train_rows);
  config.model.lambda = two_digits(1 / static_cast<double>(out.train_rows));
  config.model.intercept = true;
  config.model.standardise = out.sparse ? Standardise::kScale : Standardise::kFull;
  config.algorithm.gamma = 0.9;
  config.run.rounds = 1000;
  config.run.patience = 100;
  MFL_CHECK(validate(config));
  Experiment experiment(config);
  MFL_TRY(const Problem<float> problem, make_problem<float>(experiment, std::move(data)));
  out.schema = problem.schema;
  MFL_CHECK(settle_eta(experiment, problem));
  out.eta = experiment.eta;
  return out;
}

// The line of a key, with why it is as it is.
std::string key_line(const Config& config, std::string_view table, std::string_view key,
                     std::string_view why) {
  const Key& known = **find_key(table, key);
  const std::string value = fmt::format("{} = {}", key, known.get(config));
  return why.empty() ? value + "\n" : fmt::format("{:<28}  # {}\n", value, why);
}

std::string task_text(const Schema& schema) {
  switch (schema.task) {
    case LabelTask::kRegression: return "a regression: labels are numbers";
    case LabelTask::kMulticlass: return fmt::format("{} classes", schema.classes.size());
    default:
      return fmt::format("two classes: {}; {} is the positive one", fmt::join(schema.classes, ", "),
                         schema.positive);
  }
}

std::string schema_table(const Schema& schema) {
  constexpr std::size_t kMostNames = 1000;
  Config stated;
  stated.schema = schema;
  if (schema.features.size() > kMostNames) stated.schema.features.clear();
  std::string out = "[schema]  # what the columns mean: data of other columns or classes is refused\n";
  out += key_line(stated, "schema", "features", "");
  if (!schema.label.empty()) out += key_line(stated, "schema", "label", "");
  out += key_line(stated, "schema", "task", "");
  if (!schema.classes.empty()) out += key_line(stated, "schema", "classes", "");
  if (!schema.positive.empty()) out += key_line(stated, "schema", "positive", "");
  return out;
}

// Where a key differs from its default.
std::string if_given(const Config& config, std::string_view table, std::string_view key) {
  const Key& known = **find_key(table, key);
  return known.get(config) == known.get(Config{}) ? "" : key_line(config, table, key, "");
}

std::string experiment_text(const Proposal& found) {
  const Config& config = found.config;
  std::string out =
      fmt::format("# Made by: mfl init {}\n# Every key is explained by: mfl keys\n\n", config.data.source);
  out += "[data]\n" + key_line(config, "data", "source", "");
  for (const std::string_view key :
       {"test_source", "scale", "label", "header", "separator", "drop", "features", "positive"})
    out += if_given(config, "data", key);
  if (found.held_out) {
    out += key_line(config, "data", "train",
                    fmt::format("the other {} samples are the test set", found.test_rows));
    out += key_line(config, "data", "take", "which ones is drawn by the seed");
  }
  out += "\n" + schema_table(found.schema);
  out += "\n[federation]\n" +
         key_line(config, "federation", "nodes", "simulated; the data is divided among them");
  out += "\n[model]\n" + key_line(config, "model", "name", task_text(found.schema));
  out += key_line(config, "model", "lambda", "1 / samples, as scikit-learn's C = 1");
  out += key_line(config, "model", "intercept", "not regularised");
  out += key_line(config, "model", "standardise",
                  found.sparse ? "divide by deviations; zeros stay zeros" : "means 0 and deviations 1");
  out += "\n[algorithm]\n" + key_line(config, "algorithm", "name", "momentum federated learning");
  out += key_line(config, "algorithm", "eta",
                  fmt::format("1 / smoothness, measured: {:g} for this data", found.eta));
  out += key_line(config, "algorithm", "gamma", "momentum");
  out += "\n[run]\n" + key_line(config, "run", "rounds", "at most");
  out += key_line(config, "run", "patience", "ends when the loss no longer falls for so many rounds");
  out += key_line(config, "run", "seed", "");
  return out;
}

Result<Reply> init_command(const InitArguments& args) {
  if (!args.force && std::filesystem::exists(args.out))
    return fail(ErrorCode::kBadConfig, fmt::format("--out {}: the file exists", args.out),
                "name another file, or overwrite it with --force");
  MFL_TRY(const Proposal found, propose(args));
  const std::string text = experiment_text(found);
  MFL_CHECK(parse_config(text, args.out));
  MFL_CHECK(write_file(args.out, text));
  const Config& config = found.config;
  Reply reply;
  reply.data = {{"file", args.out},
                {"model", config.model.name},
                {"eta", found.eta},
                {"lambda", *config.model.lambda},
                {"train", found.train_rows},
                {"test", found.test_rows},
                {"identifiers", found.identifiers},
                {"schema", Json::parse(schema_json(found.schema)).value_or(nullptr)}};
  reply.text = facts_text(
      {{"wrote", args.out},
       {"label", found.schema.label.empty() ? "" : fmt::format("column \"{}\"", found.schema.label)},
       {"task", fmt::format("{}; model {}", task_text(found.schema), config.model.name)},
       {"features", fmt::format("{}, {}", found.schema.columns,
                                found.sparse ? "sparse: divided by their deviations" : "standardised")},
       {"samples", found.test_rows == 0
                       ? fmt::format("{}, none held out", found.train_rows)
                       : fmt::format("{} to train, {} to test{}", found.train_rows, found.test_rows,
                                     found.held_out ? ", drawn at random" : "")},
       {"step size", fmt::format("{:g}, measured", found.eta)},
       {"note",
        found.identifiers.empty()
            ? ""
            : fmt::format("{} {} a different whole number in every row; if that is an identifier and no "
                          "feature, repeat the command with --force --drop {}",
                          fmt::join(found.identifiers, ", "), found.identifiers.size() == 1 ? "has" : "have",
                          shell_word(fmt::format("{}", fmt::join(found.identifiers, ","))))},
       {"next", fmt::format("mfl run {}", shell_word(args.out))}});
  return reply;
}

}  // namespace

void setup_init(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<InitArguments>();
  Command& command = commands.add(mfl, "init", "Write an experiment file for data of your own",
                                  "  mfl init csv:my.csv --label label --out my.toml\n"
                                  "  mfl init csv:houses.csv --label price --model linear --out houses.toml",
                                  [args] { return init_command(*args); });
  add_source_option(command, "SPEC", args->spec, true);
  command
      .add_option("--model", args->model,
                  "logistic, softmax, linear, svm or squared-svm (default: what the labels look like)")
      ->type_name("NAME");
  command.add_option("--out", args->out, "File to write")->type_name("FILE")->capture_default_str();
  command.add_flag("--force", args->force, "Overwrite the file");
  args->flags.add(command, [](const Key& key) {
    return (key.table == "data" && key.key != "source" && key.key != "task") || key.key == "seed" ||
           key.key == "nodes";
  });
}

}  // namespace mfl::cli
