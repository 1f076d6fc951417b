#include "mfl/config/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/participation.h"
#include "mfl/base/digest.h"
#include "mfl/base/nearest.h"
#include "mfl/config/config_keys.h"
#include "mfl/config/config_values.h"
#include "mfl/config/entries.h"
#include "mfl/data/fleet.h"
#include "mfl/model/models.h"
#include "mfl/partition/partitions.h"

namespace mfl {
namespace {

// A flag's view of a TOML value: strings without quotes and escapes.
std::string plain(std::string_view toml) {
  if (!toml.starts_with('"')) return std::string(toml);
  std::string out;
  toml = toml.substr(1, toml.size() - 2);
  for (std::size_t i = 0; i < toml.size(); ++i) {
    if (toml[i] == '\\' && toml[i + 1] == 'u') {
      out += static_cast<char>(std::stoi(std::string(toml.substr(i + 2, 4)), nullptr, 16));
      i += 5;
    } else {
      if (toml[i] == '\\') ++i;
      out += toml[i];
    }
  }
  return out;
}

bool is_digested(const Key& key, const Config& config) {
  return key.digested == Digested::kAlways ||
         (key.digested == Digested::kUnlessDefault && key.get(config) != key.get(Config{}));
}

// What a trainer decides: its data, who has which samples, and its loss.
bool is_the_trainers(const Key& key) {
  return (key.table == "data" && key.key != "source") || (key.table == "model" && key.key != "name") ||
         (key.table == "federation" && (key.key == "partition" || key.key == "feature_skew"));
}

template <class Wanted>
std::string canonical_text(const Config& config, const Wanted& wanted) {
  std::string out;
  std::string_view table;
  for (const Key& key : config_keys()) {
    if (!wanted(key)) continue;
    if (key.table != table) out += fmt::format("{}[{}]\n", table.empty() ? "" : "\n", key.table);
    table = key.table;
    out += fmt::format("{} = {}\n", key.key, key.get(config));
  }
  return out;
}

tl::unexpected<Error> at(std::string_view where, const Error& error) {
  return fail(error.code, fmt::format("{}: {}", where, error.message), error.hint);
}

// A fleet's nodes make their own samples.
Result<void> validate_fleet(const Config& config) {
  MFL_CHECK(parse_fleet(config.data.source));
  constexpr std::uint64_t kMostNodes = 4'000'000'000;
  const auto refuse = [&](std::string_view what, std::string_view advice) {
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} is not supported with data {}", what, config.data.source),
                std::string(advice));
  };
  if (entry_of(config.algorithm).centralised)
    return refuse(config.algorithm.name + ", which has all samples in one place,", "use fl or mfl");
  if (config.federation.partition != "iid")
    return refuse("partition " + config.federation.partition,
                  "leave the partition at iid; fleet:50x784,alpha=0.3,sigma=1 skews labels and sizes");
  if (config.federation.skews_features())
    return refuse("feature_skew " + config.federation.feature_skew, "leave feature_skew out");
  if (config.data.train) return refuse("a number of training samples", "say it in the spec: fleet:10x784");
  if (config.model.standardise != Standardise::kNone || config.model.weighs_classes())
    return refuse("standardise or class_weight", "leave both out");
  if (config.model.intercept.value_or(false) && entry_of(config.model).loss)
    return refuse("an intercept of a linear model", "leave intercept out");
  if (config.data.folds != 0) return refuse("folds", "leave folds out");
  if (config.data.scale || !config.data.test_source.empty())
    return refuse("a scale or a test source", "leave both out");
  const DataConfig defaults;
  if (config.data.drop != defaults.drop || config.data.features != defaults.features ||
      config.data.separator != defaults.separator)
    return refuse("drop, features or separator, which is for CSV files,", "leave it out");
  if (config.federation.nodes > kMostNodes)
    return fail(ErrorCode::kBadConfig, fmt::format("{} nodes are too many", config.federation.nodes),
                fmt::format("give at most {}", kMostNodes));
  return {};
}

// [schema] says nothing against itself, [data] or the model.
Result<void> validate_schema(const Config& config) {
  const Schema stated = stated_schema(config);
  const auto refuse = [](std::string what, std::string_view advice) {
    return fail(ErrorCode::kBadConfig, std::move(what), std::string(advice));
  };
  if (config.data.task && config.schema.task != LabelTask::kUnknown &&
      label_task(*config.data.task, entry_of(config.model).targets) != config.schema.task)
    return refuse(fmt::format("task is {} in [data] and {} in [schema]", task_name(*config.data.task),
                              label_task_name(config.schema.task)),
                  "leave one of them out");
  MFL_CHECK(
      check_targets(stated, entry_of(config.model).targets, fmt::format("model {}", config.model.name)));
  if (stated.task == LabelTask::kRegression && entry_of(config.model).targets != TargetKind::kReal)
    return refuse(fmt::format("model {} is a classifier, and the task is regression", config.model.name),
                  "use model linear, or the task binary");
  if (stated.task == LabelTask::kRegression && (!stated.positive.empty() || !stated.classes.empty()))
    return refuse("a regression has no classes", "leave out classes and positive, or set the task to binary");
  if (!config.data.positive.empty() && class_name(config.data.positive) != stated.positive)
    return refuse(fmt::format("positive is \"{}\" in [data] and \"{}\" in [schema]", config.data.positive,
                              config.schema.positive),
                  "leave one of them out");
  if (!stated.positive.empty() && !stated.classes.empty() &&
      std::ranges::count(stated.classes, stated.positive) == 0)
    return refuse(fmt::format("positive = \"{}\" is not one of the classes", stated.positive),
                  "name one of classes in [schema]");
  return {};
}

// An adaptive tau is for plain and momentum steps on all samples, from exact means.
Result<void> validate_adaptive(const Config& config) {
  const auto refuse = [](std::string what, std::string_view advice) {
    return fail(ErrorCode::kBadConfig, std::move(what), std::string(advice));
  };
  const AlgorithmConfig& algorithm = config.algorithm;
  const AlgorithmConfig defaults;
  if (has_budget(config.run) && entry_of(algorithm).centralised)
    return refuse(fmt::format("{} has no rounds between nodes that a budget could count", algorithm.name),
                  "leave out budget_seconds and budget_bytes, or use fl or mfl");
  if (!algorithm.adaptive_tau) {
    if (algorithm.tau_max == defaults.tau_max && algorithm.phi == defaults.phi) return {};
    return refuse("tau_max and phi have no effect without tau = \"adaptive\"",
                  "set tau to adaptive, or leave them out");
  }
  if (entry_of(algorithm).centralised)
    return refuse(
        fmt::format("tau = \"adaptive\": {} has all samples in one place and no tau", algorithm.name),
        "use fl or mfl");
  if (!has_budget(config.run))
    return refuse("tau = \"adaptive\" needs a budget to divide",
                  "set budget_seconds or budget_bytes in [run]");
  if (counts_epochs(algorithm))
    return refuse(fmt::format("tau = \"adaptive\" and local_epochs = {} both say how long a round is",
                              algorithm.local_epochs),
                  "leave one of them out");
  if (algorithm.batch_size != 0)
    return refuse("tau = \"adaptive\" needs steps on all samples of a node", "leave batch_size out");
  if (config.run.rounds != 0)
    return refuse("tau = \"adaptive\": rounds do not say how long the run is",
                  "leave rounds out; the budget ends the run");
  if (config.federation.aggregator != "mean" || !config.federation.codecs.empty())
    return refuse("tau = \"adaptive\" needs the exact means of what nodes estimate",
                  "leave out aggregator and codecs");
  if (!make_algorithm(algorithm.name, {effective_eta(algorithm), algorithm.gamma}, 1)
           .value()
           .method()
           .descent())
    return refuse(
        fmt::format("tau = \"adaptive\" knows how far plain and momentum steps drift, and not those of {}",
                    algorithm.name),
        "use fl or mfl, or a number for tau");
  return {};
}

// A model that programs of the user's train. What they train on, and how they regularise, is theirs to say.
Result<void> validate_external(const Config& config) {
  const auto refuse = [](std::string what, std::string_view advice) {
    return fail(ErrorCode::kBadConfig, std::move(what), std::string(advice));
  };
  const std::string& source = config.data.source;
  if (source != DataConfig{}.source && source != kTrainerSource && source != kFederationSource)
    return refuse(fmt::format("trainers have their own data, and data is {}", source),
                  "leave data out, or use one of mfl's own models");
  const AlgorithmConfig& algorithm = config.algorithm;
  if (!algorithm.eta) return refuse("a trainer's step size is not measured", "state eta in [algorithm]");
  if (entry_of(algorithm).centralised)
    return refuse(fmt::format("{} has all samples in one place, and trainers keep theirs", algorithm.name),
                  "use fl, mfl or another algorithm of nodes");
  if (!make_algorithm(algorithm).method().node_steps())
    return refuse(
        fmt::format("{} changes every step at a node, which mfl does not see where a trainer takes them",
                    algorithm.name),
        "use an algorithm whose nodes take plain or momentum steps: docs/trainer.md lists them");
  if (algorithm.adaptive_tau)
    return refuse("tau = \"adaptive\" measures gradients, which trainers do not send", "set tau to a number");
  if (algorithm.drop_last)
    return refuse("drop_last is for batches that mfl draws", "leave it out: trainers draw their own");
  if (config.model.lambda || config.model.intercept || config.model.weighs_classes() ||
      config.model.standardise != Standardise::kNone)
    return refuse("lambda, intercept, standardise and class_weight are for models that mfl trains",
                  "leave them out: the trainer decides about its data and its loss");
  DataConfig unsaid;
  unsaid.source = source;
  if (config.schema != Schema{} || config.data != unsaid)
    return refuse("[schema] and [data] describe data that mfl reads",
                  "leave their keys out: trainers describe their own data in their hello");
  if (config.federation.skews_features() || config.federation.partition != FederationConfig{}.partition)
    return refuse("partition and feature_skew divide data that mfl reads",
                  "leave them out: trainers decide who has which samples");
  return {};
}

Result<void> validate_length(const Config& config) {
  const auto refuse = [](std::string what, std::string_view advice) {
    return fail(ErrorCode::kBadConfig, std::move(what), std::string(advice));
  };
  const AlgorithmConfig& algorithm = config.algorithm;
  if (counts_epochs(algorithm) && algorithm.tau)
    return refuse(fmt::format("tau = {} and local_epochs = {} both say how long a round is", *algorithm.tau,
                              algorithm.local_epochs),
                  "leave one of them out");
  if (config.run.rounds != 0 && config.run.steps)
    return refuse(fmt::format("steps = {} and rounds = {} both say how long the run is", *config.run.steps,
                              config.run.rounds),
                  "leave one of them out");
  if (counts_epochs(algorithm) && config.run.rounds == 0)
    return refuse("with local_epochs nodes take different numbers of steps: a run has rounds, not steps",
                  "set rounds in [run]");
  if (counts_epochs(algorithm) && entry_of(algorithm).centralised)
    return refuse(
        fmt::format("{} has all samples in one place and no rounds of local_epochs", algorithm.name),
        "leave local_epochs out, or use fl or mfl");
  if (algorithm.drop_last && algorithm.batch_size == 0)
    return refuse("drop_last without a batch_size has no effect", "set batch_size, or leave drop_last out");
  const bool evaluates = loss_rule_of(config, make_algorithm(algorithm)).passing != LossRule::Passing::kTrain;
  if (config.run.evaluate_every.value_or(0) != 0 && !evaluates)
    return refuse(
        "evaluate_every has no effect: without batches, trainers and lookahead every round has the loss over "
        "all samples",
        "set batch_size, or leave evaluate_every out");
  if (const bool stops_early =
          config.run.target_loss || config.run.target_accuracy || config.run.patience != 0;
      stops_early && evaluates && config.run.evaluate_every == 0)
    return refuse(
        "target_loss, target_accuracy and patience judge rounds with a loss over all samples, and "
        "evaluate_every = 0 measures none",
        "leave evaluate_every out, or set it to the rounds between such losses");
  constexpr std::uint64_t kMost = kLargestInteger / 2;
  if (config.run.rounds != 0 && config.run.rounds > kMost / round_length(algorithm))
    return refuse(fmt::format("{} rounds are too many", config.run.rounds), "lower rounds");
  return {};
}

}  // namespace

std::uint64_t round_length(const AlgorithmConfig& algorithm) {
  constexpr std::uint64_t kTau = 4;
  if (algorithm.adaptive_tau) return 1;  // the first round
  return counts_epochs(algorithm) ? algorithm.local_epochs : algorithm.tau.value_or(kTau);
}

std::uint64_t run_length(const Config& config) {
  constexpr std::uint64_t kSteps = 1000, kMostSteps = 1'000'000;
  if (config.run.rounds == 0) return config.run.steps.value_or(has_budget(config.run) ? kMostSteps : kSteps);
  return config.run.rounds * (entry_of(config.algorithm).centralised ? 1 : round_length(config.algorithm));
}

double effective_lambda(const ModelConfig& model) {
  if (model.lambda) return *model.lambda;
  return entry_of(model).lambda;
}

Task effective_task(const Config& config) {
  const TargetKind kind = entry_of(config.model).targets;
  const Task task = config.data.task.value_or(default_task(config.data.source, kind));
  return task == Task::kRaw && kind == TargetKind::kIndex ? Task::kMulticlass : task;
}

DataOptions data_options(const Config& config) {
  const DataConfig& data = config.data;
  return {.source = data.source,
          .test_source = data.test_source,
          .train = data.train,
          .test = data.test,
          .take = data.take,
          .scale = data.scale,
          .csv = {.label = data.label,
                  .header = data.header,
                  .drop = data.drop,
                  .features = data.features,
                  .separator = data.separator,
                  .group = column_of_groups(config.federation.partition)},
          .folds = data.folds,
          .fold = data.fold.value_or(0),
          .seed = config.run.seed,
          .max_columns = data.max_columns};
}

Result<void> set_key(Config& config, std::string_view table_dot_key, std::string_view text,
                     std::string_view where) {
  const std::string fallback = fmt::format("{} = {}", table_dot_key, text);
  if (where.empty()) where = fallback;
  const std::size_t dot = table_dot_key.find('.');
  if (dot == std::string_view::npos) {
    std::vector<std::string_view> keys;
    for (const Key& key : config_keys()) keys.push_back(key.key);
    const std::string near = nearest(table_dot_key, keys);
    std::string advice;
    for (const Key& key : config_keys())
      if (advice.empty() && key.key == near)
        advice = fmt::format("; did you mean \"{}.{}\"?", key.table, key.key);
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}: \"{}\" is not table.key{}", where, table_dot_key, advice));
  }
  const auto key = find_key(table_dot_key.substr(0, dot), table_dot_key.substr(dot + 1));
  if (!key) return at(where, key.error());
  Config changed = config;
  if (const auto set = (*key)->set(changed, text); !set) return at(where, set.error());
  config = std::move(changed);
  return {};
}

void make_room(Config& config, std::span<const std::pair<std::string, std::string>> given) {
  struct Way {
    std::string_view key, unset;
  };
  constexpr std::pair<Way, Way> kWays[] = {
      {{"run.steps", "auto"}, {"run.rounds", "0"}},
      {{"algorithm.tau", "auto"}, {"algorithm.local_epochs", "0"}},
  };
  const auto gives = [&](const Way& way) {
    return std::ranges::any_of(
        given, [&](const auto& one) { return one.first == way.key && one.second != way.unset; });
  };
  for (const auto& [one, other] : kWays)
    if (gives(one) != gives(other)) {
      const Way& unsaid = gives(one) ? other : one;
      (void)set_key(config, unsaid.key, unsaid.unset);  // a valid text: this cannot fail
    }
}

Result<void> validate(const Config& config) {
  Config copy = config;
  for (const Key& key : config_keys()) {
    const std::string text = plain(key.get(config));
    if (const auto set = key.set(copy, text); !set)
      return at(fmt::format("{} = {} in [{}]", key.key, text, key.table), set.error());
  }
  MFL_CHECK(make_algorithm(config.algorithm.name, step_options(config.algorithm), 1));
  const bool federated = !entry_of(config.algorithm).centralised;
  if (!federated && config.federation.skews_features())
    return fail(ErrorCode::kBadConfig,
                fmt::format("feature_skew {} needs a federated algorithm; {} is centralised",
                            config.federation.feature_skew, config.algorithm.name),
                "leave feature_skew out, or use fl or mfl");
  if (config.data.folds == 1)
    return fail(ErrorCode::kBadConfig, "one fold leaves nothing to train on", "give at least 2 folds");
  if (config.data.fold && *config.data.fold >= config.data.folds)
    return fail(ErrorCode::kBadConfig,
                config.data.folds == 0 ? fmt::format("fold = {} needs folds", *config.data.fold)
                                       : fmt::format("fold must be between 0 and {}, got {}",
                                                     config.data.folds - 1, *config.data.fold),
                "folds are counted from 0; set folds too");
  if (federated && config.data.train && *config.data.train < config.federation.nodes)
    return fail(
        ErrorCode::kBadConfig,
        fmt::format("{} nodes cannot share {} training samples", config.federation.nodes, *config.data.train),
        "lower nodes or raise train");
  const auto at_most_nodes = [&](std::string_view key, std::uint64_t value) -> Result<void> {
    if (value <= config.federation.nodes) return {};
    return fail(
        ErrorCode::kBadConfig,
        fmt::format("{} = {} is more than the {} nodes there are", key, value, config.federation.nodes),
        "lower it or raise nodes");
  };
  MFL_CHECK(at_most_nodes("quorum", config.federation.quorum));
  MFL_CHECK(validate_schema(config));
  MFL_CHECK(validate_adaptive(config));
  MFL_CHECK(validate_length(config));
  if (federated) {
    MFL_TRY(const auto aggregator, make_aggregator(config.federation.aggregator));
    const Participation participation{0, config.federation.fraction_train, config.federation.quorum};
    MFL_CHECK(aggregator->check(participant_count(participation, config.federation.nodes)));
  }
  if (config.model.intercept.value_or(false) && !models().find(config.model.name)->has_intercept)
    return fail(ErrorCode::kBadConfig, fmt::format("model {} has no intercept", config.model.name),
                "leave intercept out, or use " +
                    model_names([](const ModelEntry& entry) { return entry.has_intercept; }));
  if (entry_of(config.model).external) MFL_CHECK(validate_external(config));
  if (is_fleet(config.data.source)) MFL_CHECK(validate_fleet(config));
  return at_most_nodes("min_available_nodes", config.federation.min_available_nodes);
}

std::string to_toml(const Config& config) {
  const bool external = entry_of(config.model).external;
  return canonical_text(config, [&](const Key& key) { return !external || !is_the_trainers(key); });
}

std::string changed_toml(const Config& config) {
  const Config defaults;
  const bool external = entry_of(config.model).external;
  return canonical_text(config, [&](const Key& key) {
    return key.get(config) != key.get(defaults) && !(external && is_the_trainers(key));
  });
}

std::string config_digest(const Config& config) {
  Config canonical = config;
  canonical.data.task = effective_task(config);
  canonical.model.lambda = effective_lambda(config.model);
  const bool own_data = is_own_data(config.data.source);
  if (!measures_eta(config.algorithm, own_data)) canonical.algorithm.eta = effective_eta(config.algorithm);
  canonical.model.intercept =
      effective_intercept(config.model, own_data) ? std::optional(true) : std::nullopt;
  if (!counts_epochs(config.algorithm)) canonical.algorithm.tau = round_length(config.algorithm);
  if (config.run.rounds == 0) canonical.run.steps = run_length(config);
  canonical.algorithm.name = parse_spec(config.algorithm.name, algorithms()).value().text;
  return sha256_hex(canonical_text(canonical, [&](const Key& key) { return is_digested(key, canonical); }));
}

}  // namespace mfl
