#include "mfl/config/config_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/base/nearest.h"
#include "mfl/codec/codec.h"
#include "mfl/config/config_values.h"
#include "mfl/config/foreign_words.h"
#include "mfl/data/sources.h"
#include "mfl/engine/workers.h"
#include "mfl/model/models.h"
#include "mfl/partition/feature_skew.h"
#include "mfl/partition/partitions.h"

namespace mfl {
namespace {

constexpr std::string_view kEngines[] = {"threads", "serial", "mpi"};

using AnyTask = std::optional<Task>;
constexpr Choice<Take> kTakes[] = {{"first", Take::kFirst}, {"random", Take::kRandom}};
constexpr Choice<AnyTask> kTasks[] = {{"auto", std::nullopt},
                                      {"even-odd", Task::kEvenOdd},
                                      {"raw", Task::kRaw},
                                      {"multiclass", Task::kMulticlass}};
constexpr Choice<CsvHeader> kHeaders[] = {
    {"auto", CsvHeader::kAuto}, {"yes", CsvHeader::kYes}, {"no", CsvHeader::kNo}};
// Without a table for completion: shells give most of these a meaning of their own.
constexpr Choice<char> kSeparators[] = {{",", ','}, {";", ';'}, {"|", '|'}, {"tab", '\t'}};
constexpr Choice<bool> kBooleans[] = {{"false", false}, {"true", true}};
using AnyBoolean = std::optional<bool>;
constexpr Choice<AnyBoolean> kBooleansOrAuto[] = {{"auto", std::nullopt}, {"false", false}, {"true", true}};
constexpr Choice<Standardise> kStandardises[] = {
    {"none", Standardise::kNone}, {"scale", Standardise::kScale}, {"full", Standardise::kFull}};
constexpr Choice<bool> kClassWeights[] = {{"none", false}, {"balanced", true}};
constexpr Choice<Precision> kPrecisions[] = {{"f32", Precision::kF32}, {"f64", Precision::kF64}};

// The names of a table of choices.
template <const auto& choices>
constexpr auto kNamesOf = [] {
  std::array<std::string_view, std::size(choices)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = choices[i].name;
  return names;
}();

constexpr NumberRange kPositive{[](double x) { return x > 0 && std::isfinite(x); }, "> 0"};
constexpr NumberRange kNotNegative{[](double x) { return x >= 0 && std::isfinite(x); }, ">= 0"};
constexpr NumberRange kFinite{[](double x) { return std::isfinite(x); }, "a finite number"};
constexpr NumberRange kShare{[](double x) { return x > 0 && x <= 1; }, "in (0, 1]"};
constexpr NumberRange kSeconds{[](double x) { return x > 0 && x <= 1e9; }, "> 0 and at most 1e9"};
constexpr NumberRange kChance{[](double x) { return x >= 0 && x < 1; }, "in [0, 1)"};
constexpr NumberRange kMomentum{[](double x) { return x >= 0 && x < 1; }, "in [0, 1)"};

Result<void> set_distribution(Distribution& to, std::string_view text, const NumberRange& range) {
  MFL_TRY(to, parse_distribution(text, range));
  return {};
}

constexpr std::string_view kNone = "none";
constexpr std::string_view kAdaptive = "adaptive";
constexpr std::string_view kTauWords[] = {"auto", kAdaptive};
constexpr std::uint64_t kMostTau = 1'000'000;

Result<void> set_rate(Distribution& to, std::string_view text) {
  if (text != kNone)
    return set_distribution(to, text, kPositive).map_error([](Error error) {
      error.message += ", or none";
      return error;
    });
  to = kNoLimit;
  return {};
}

std::string toml_distribution(const Distribution& distribution) {
  return toml_text(distribution == kNoLimit ? std::string(kNone) : distribution_text(distribution));
}

constexpr Choice<LabelTask> kLabelTasks[] = {{"auto", LabelTask::kUnknown},
                                             {"binary", LabelTask::kBinary},
                                             {"even-odd", LabelTask::kEvenOdd},
                                             {"regression", LabelTask::kRegression},
                                             {"multiclass", LabelTask::kMulticlass}};

Result<void> set_texts(std::vector<std::string>& to, std::string_view text) {
  MFL_TRY(to, texts_value(text));
  return {};
}

Result<void> set_features(Schema& to, std::string_view text) {
  if (const auto count = integer_value(text, 0)) {
    to.columns = *count;
    to.features.clear();
    return {};
  }
  MFL_TRY(to.features, texts_value(text));
  to.columns = to.features.size();
  return {};
}

Result<void> set_classes(Schema& to, std::string_view text) {
  MFL_TRY(auto classes, texts_value(text));
  for (std::string& name : classes) name = class_name(name);
  std::ranges::sort(classes, class_before);
  if (classes.size() == 1) return fail(ErrorCode::kBadConfig, "must be two or more different classes");
  if (const auto fault = classes_fault(classes))
    return fail(ErrorCode::kBadConfig, fmt::format("must be two or more different classes: {}", *fault));
  to.classes = std::move(classes);
  return {};
}

Result<void> set_class(std::string& to, std::string_view text) {
  MFL_CHECK(set_text(to, text, true));
  to = class_name(to);
  return {};
}

// The name of an entry, or the nearest one in the error.
template <class Entry>
Result<void> set_entry(std::string& to, std::string_view text, const Catalog<Entry>& catalog) {
  MFL_TRY(const Entry* entry, catalog.get(text));
  to = entry->name;
  return {};
}

// A spec in its canonical form.
template <class Entry>
Result<void> set_spec(std::string& to, std::string_view text, const Catalog<Entry>& catalog) {
  MFL_TRY(const auto spec, parse_spec(text, catalog));
  return set_text(to, spec.text, false);
}

// As it is written: the parts of a spec after its name are part of config_digest().
Result<void> set_source(std::string& to, std::string_view text) {
  MFL_CHECK(set_text(to, text, false));
  if (text == kTrainerSource || text == kFederationSource) return {};  // in the texts of plans and runs
  MFL_TRY(to, source_text(text));
  return {};
}

Result<void> set_class_weights(ModelConfig& to, std::string_view text) {
  bool balanced = false;
  std::vector<double> weights;
  if (!set_choice<bool>(balanced, text, kClassWeights)) {
    constexpr std::string_view kWhat =
        "must be none, balanced, or two or more numbers > 0 separated by commas";
    const auto parts = texts_value(text);
    if (!parts || parts->size() < 2) return fail(ErrorCode::kBadConfig, std::string(kWhat));
    for (const std::string& part : *parts) {
      const auto weight = number_value(part, kPositive);
      if (!weight) return fail(ErrorCode::kBadConfig, std::string(kWhat));
      weights.push_back(*weight);
    }
  }
  to.balanced = balanced;
  to.class_weights = std::move(weights);
  return {};
}

std::string toml_class_weights(const ModelConfig& model) {
  if (model.class_weights.empty()) return toml_choice<bool>(model.balanced, kClassWeights);
  std::string text;
  for (const double weight : model.class_weights)
    text += fmt::format("{}{}", text.empty() ? "" : ",", toml_number(weight));
  return toml_text(text);
}

constexpr std::string_view kAsTheAlgorithm = "auto";

template <class Entry>
Result<void> set_axis(std::string& to, std::string_view text, const Catalog<Entry>& catalog) {
  if (text != kAsTheAlgorithm) return set_spec(to, text, catalog);
  to.clear();
  return {};
}

std::string toml_axis(const std::string& spec) {
  return toml_text(spec.empty() ? std::string(kAsTheAlgorithm) : spec);
}

using Text = std::string_view;
constexpr Digested kResult = Digested::kAlways;
constexpr Digested kNoResult = Digested::kNever;
constexpr Digested kLaterResult = Digested::kUnlessDefault;

// A key that names an entry of a table.
constexpr Key entry_key(Text table, Text key, Text flag, Text placeholder, Text help, Digested digested,
                        Result<void> (*set)(Config&, Text), std::string (*get)(const Config&),
                        const CatalogIndex* (*catalog)()) {
  return {table, key, flag, placeholder, help, KeyKind::kText, "", digested, set, get, {}, catalog};
}

constexpr Key kKeys[] = {
    entry_key(
        "data", "source", "--data", "SPEC", "where the samples come from", kResult,
        [](Config& c, Text t) { return set_source(c.data.source, t); },
        [](const Config& c) { return toml_text(c.data.source); }, [] { return &sources().index(); }),
    entry_key(
        "data", "test_source", "--test-source", "SPEC", "separate test data", kResult,
        [](Config& c, Text t) {
          return t.empty() ? set_text(c.data.test_source, t, true) : set_source(c.data.test_source, t);
        },
        [](const Config& c) { return toml_text(c.data.test_source); }, [] { return &sources().index(); }),
    {"data", "train", "--train", "N", "training samples, or all", KeyKind::kInteger, "all", kResult,
     [](Config& c, Text t) { return set_integer(c.data.train, t, 1, "all"); },
     [](const Config& c) { return toml_integer(c.data.train, "all"); }},
    {"data", "test", "--test", "N", "test samples, or all; 0 for none", KeyKind::kInteger, "all", kResult,
     [](Config& c, Text t) { return set_integer(c.data.test, t, 0, "all"); },
     [](const Config& c) { return toml_integer(c.data.test, "all"); }},
    {"data", "take", "--take", "HOW", "which samples: first or random", KeyKind::kText, "", kResult,
     [](Config& c, Text t) { return set_choice<Take>(c.data.take, t, kTakes); },
     [](const Config& c) { return toml_choice<Take>(c.data.take, kTakes); }, kNamesOf<kTakes>},
    {"data", "task", "--task", "TASK",
     "labels to train on: even-odd, multiclass, raw, or auto (multiclass for softmax; raw for csv, libsvm "
     "and npy, else even-odd)",
     KeyKind::kText, "", kResult,
     [](Config& c, Text t) { return set_choice<AnyTask>(c.data.task, t, kTasks); },
     [](const Config& c) { return toml_choice<AnyTask>(c.data.task, kTasks); }, kNamesOf<kTasks>},
    {"data", "scale", "--scale", "X", "factor on every feature, or auto (1/255 for bytes)", KeyKind::kNumber,
     "auto", kResult, [](Config& c, Text t) { return set_number(c.data.scale, t, kPositive, "auto"); },
     [](const Config& c) { return toml_number(c.data.scale, "auto"); }},
    {"data", "label", "--label", "COLUMN", "CSV label column: name, zero-based number, or last",
     KeyKind::kTextOrInteger, "", kResult, [](Config& c, Text t) { return set_text(c.data.label, t, false); },
     [](const Config& c) { return toml_text(c.data.label); }},
    {"data", "header", "--header", "WHEN", "whether a CSV file starts with column names: auto, yes or no",
     KeyKind::kText, "", kResult,
     [](Config& c, Text t) { return set_choice<CsvHeader>(c.data.header, t, kHeaders); },
     [](const Config& c) { return toml_choice<CsvHeader>(c.data.header, kHeaders); }, kNamesOf<kHeaders>},
    {"data", "folds", "--folds", "N", "cross-validation: folds of the data, 0 for none", KeyKind::kInteger,
     "", kLaterResult, [](Config& c, Text t) { return set_integer(c.data.folds, t, 0); },
     [](const Config& c) { return toml_integer(c.data.folds, ""); }},
    {"data", "fold", "--fold", "N", "the fold that is held out for the test, from 0, or all: each in turn",
     KeyKind::kInteger, "all", kLaterResult,
     [](Config& c, Text t) { return set_integer(c.data.fold, t, 0, "all"); },
     [](const Config& c) { return toml_integer(c.data.fold, "all"); }},
    {"data", "drop", "--drop", "COLUMNS",
     "CSV columns to ignore: names or zero-based numbers, separated by commas", KeyKind::kTexts, "",
     kLaterResult, [](Config& c, Text t) { return set_texts(c.data.drop, t); },
     [](const Config& c) { return toml_texts(c.data.drop); }},
    {"data", "features", "--features", "COLUMNS",
     "CSV columns to take as features, in this order; if not given, all but the label and those to ignore",
     KeyKind::kTexts, "", kLaterResult, [](Config& c, Text t) { return set_texts(c.data.features, t); },
     [](const Config& c) { return toml_texts(c.data.features); }},
    {"data", "separator", "--separator", "CHAR", "what separates the fields of a CSV file: , ; | or tab",
     KeyKind::kText, "", kLaterResult,
     [](Config& c, Text t) {
       return set_choice<char>(c.data.separator, t == "\t" || t == "\\t" ? "tab" : t, kSeparators);
     },
     [](const Config& c) { return toml_choice<char>(c.data.separator, kSeparators); }},
    {"data", "positive", "--positive", "CLASS",
     "the positive class; if not given, the last of the two: 1 of 0 and 1, malignant of benign and malignant",
     KeyKind::kTextOrNumber, "", kLaterResult,
     [](Config& c, Text t) { return set_class(c.data.positive, t); },
     [](const Config& c) { return toml_text(c.data.positive); }},
    {"data", "max_columns", "--max-columns", "N",
     "columns that data may have: one wrong number in a file must not take all memory", KeyKind::kInteger, "",
     kNoResult, [](Config& c, Text t) { return set_integer(c.data.max_columns, t, 1); },
     [](const Config& c) { return toml_integer(c.data.max_columns, ""); }},

    {"federation", "nodes", "--nodes", "N", "nodes that hold the training samples", KeyKind::kInteger, "",
     kResult, [](Config& c, Text t) { return set_integer(c.federation.nodes, t, 1); },
     [](const Config& c) { return toml_integer(c.federation.nodes, ""); }},
    entry_key(
        "federation", "partition", "--partition", "HOW", "which node holds which samples", kResult,
        [](Config& c, Text t) { return set_spec(c.federation.partition, t, partitions()); },
        [](const Config& c) { return toml_text(c.federation.partition); },
        [] { return &partitions().index(); }),
    entry_key(
        "federation", "feature_skew", "--feature-skew", "SPEC", "how features differ between simulated nodes",
        kLaterResult,
        [](Config& c, Text t) { return set_spec(c.federation.feature_skew, t, feature_skews()); },
        [](const Config& c) { return toml_text(c.federation.feature_skew); },
        [] { return &feature_skews().index(); }),
    entry_key(
        "federation", "aggregator", "--aggregator", "SPEC", "how a round's updates become one", kLaterResult,
        [](Config& c, Text t) { return set_spec(c.federation.aggregator, t, aggregators()); },
        [](const Config& c) { return toml_text(c.federation.aggregator); },
        [] { return &aggregators().index(); }),
    entry_key(
        "federation", "codecs", "--codecs", "SPECS",
        "what an update passes on its way to the server, separated by commas", kLaterResult,
        [](Config& c, Text t) -> Result<void> {
          MFL_TRY(const CodecChain chain, CodecChain::parse(t));
          c.federation.codecs = chain.spec();
          return {};
        },
        [](const Config& c) { return toml_text(c.federation.codecs); }, [] { return &codecs().index(); }),
    {"federation", "fraction_train", "--fraction-train", "X",
     "share of the nodes that a round chooses, in (0, 1]", KeyKind::kNumber, "", kLaterResult,
     [](Config& c, Text t) { return set_number(c.federation.fraction_train, t, kShare); },
     [](const Config& c) { return toml_number(c.federation.fraction_train); }},
    {"federation", "min_available_nodes", "--min-available-nodes", "N",
     "nodes that must be connected for a round to start, 0 for all", KeyKind::kInteger, "", kLaterResult,
     [](Config& c, Text t) { return set_integer(c.federation.min_available_nodes, t, 0); },
     [](const Config& c) { return toml_integer(c.federation.min_available_nodes, ""); }},
    {"federation", "quorum", "--quorum", "N",
     "updates that a round needs at its deadline, 0 for all that it chose", KeyKind::kInteger, "",
     kLaterResult, [](Config& c, Text t) { return set_integer(c.federation.quorum, t, 0); },
     [](const Config& c) { return toml_integer(c.federation.quorum, ""); }},
    {"federation", "round_deadline", "--round-deadline", "S", "seconds that a round waits for updates, > 0",
     KeyKind::kNumber, "", kLaterResult,
     [](Config& c, Text t) { return set_number(c.federation.round_deadline, t, kSeconds); },
     [](const Config& c) { return toml_number(c.federation.round_deadline); }},
    {"federation", "max_samples", "--max-samples", "N",
     "samples that a node may join a server with, 0 for any number", KeyKind::kInteger, "", kNoResult,
     [](Config& c, Text t) { return set_integer(c.federation.max_samples, t, 0); },
     [](const Config& c) { return toml_integer(c.federation.max_samples, ""); }},
    {"federation", "max_update_norm", "--max-update-norm", "X",
     "distance of a node's update from the State it got, 0 for a multiple of what earlier rounds had",
     KeyKind::kNumber, "", kNoResult,
     [](Config& c, Text t) { return set_number(c.federation.max_update_norm, t, kNotNegative); },
     [](const Config& c) { return toml_number(c.federation.max_update_norm); }},

    {"devices", "speed", "--device-speed", "RATE",
     "samples per second of a device, for virtual time: X, uniform(A, B), lognormal(MEDIAN, SIGMA) or none",
     KeyKind::kTextOrNumber, "", kLaterResult, [](Config& c, Text t) { return set_rate(c.devices.speed, t); },
     [](const Config& c) { return toml_distribution(c.devices.speed); }},
    {"devices", "dropout", "--device-dropout", "CHANCE",
     "chance that a chosen node does not answer, fixed or drawn as the speed", KeyKind::kTextOrNumber, "",
     kLaterResult, [](Config& c, Text t) { return set_distribution(c.devices.dropout, t, kChance); },
     [](const Config& c) { return toml_distribution(c.devices.dropout); }},

    {"network", "up", "--network-up", "RATE", "bytes per second from a node, fixed or drawn, or none",
     KeyKind::kTextOrNumber, "", kLaterResult, [](Config& c, Text t) { return set_rate(c.network.up, t); },
     [](const Config& c) { return toml_distribution(c.network.up); }},
    {"network", "down", "--network-down", "RATE", "bytes per second to a node, fixed or drawn, or none",
     KeyKind::kTextOrNumber, "", kLaterResult, [](Config& c, Text t) { return set_rate(c.network.down, t); },
     [](const Config& c) { return toml_distribution(c.network.down); }},
    {"network", "latency", "--network-latency", "S", "seconds that a message takes one way, fixed or drawn",
     KeyKind::kTextOrNumber, "", kLaterResult,
     [](Config& c, Text t) { return set_distribution(c.network.latency, t, kNotNegative); },
     [](const Config& c) { return toml_distribution(c.network.latency); }},

    entry_key(
        "model", "name", "--model", "NAME", "what is trained", kResult,
        [](Config& c, Text t) {
          return set_entry(c.model.name, t, models()).map_error([](Error error) {
            error.hint += "; a model of your own, such as a network, needs --trainer";
            return error;
          });
        },
        [](const Config& c) { return toml_text(c.model.name); }, [] { return &models().index(); }),
    {"model", "lambda", "--lambda", "X", "weight of the regulariser, or auto (0.3 for the svms, else 0)",
     KeyKind::kNumber, "auto", kResult,
     [](Config& c, Text t) { return set_number(c.model.lambda, t, kNotNegative, "auto"); },
     [](const Config& c) { return toml_number(c.model.lambda, "auto"); }},
    {"model", "intercept", "--intercept", "BOOL",
     "whether the model has an intercept: true, false, or auto (true for data of csv, libsvm and npy)",
     KeyKind::kBoolean, "auto", kLaterResult,
     [](Config& c, Text t) { return set_choice<AnyBoolean>(c.model.intercept, t, kBooleansOrAuto); },
     [](const Config& c) {
       return !c.model.intercept ? toml_text("auto") : std::string(*c.model.intercept ? "true" : "false");
     },
     kNamesOf<kBooleansOrAuto>},
    {"model", "standardise", "--standardise", "HOW",
     "what is done to each feature first: none, scale (divide by its deviation) or full (subtract its mean "
     "too)",
     KeyKind::kText, "", kLaterResult,
     [](Config& c, Text t) { return set_choice<Standardise>(c.model.standardise, t, kStandardises); },
     [](const Config& c) { return toml_choice<Standardise>(c.model.standardise, kStandardises); },
     kNamesOf<kStandardises>},
    {"model", "class_weight", "--class-weight", "HOW",
     "what a sample counts in the loss: none (as any other), balanced (classes count alike), or one number "
     "per class in their order, separated by commas",
     KeyKind::kText, "", kLaterResult, [](Config& c, Text t) { return set_class_weights(c.model, t); },
     [](const Config& c) { return toml_class_weights(c.model); }, kNamesOf<kClassWeights>},

    entry_key(
        "algorithm", "name", "--algorithm", "SPEC", "how nodes and server train", kResult,
        [](Config& c, Text t) { return set_spec(c.algorithm.name, t, algorithms()); },
        [](const Config& c) { return toml_text(c.algorithm.name); }, [] { return &algorithms().index(); }),
    {"algorithm", "eta", "--eta", "X",
     "step size, > 0, or auto (measured for data of csv, libsvm and npy, else 0.002)", KeyKind::kNumber,
     "auto", kResult, [](Config& c, Text t) { return set_number(c.algorithm.eta, t, kPositive, "auto"); },
     [](const Config& c) { return toml_number(c.algorithm.eta, "auto"); }},
    {"algorithm", "gamma", "--gamma", "X", "momentum of the nodes, in [0, 1)", KeyKind::kNumber, "", kResult,
     [](Config& c, Text t) { return set_number(c.algorithm.gamma, t, kMomentum); },
     [](const Config& c) { return toml_number(c.algorithm.gamma); }},
    {"algorithm", "tau", "--tau", "N",
     "local steps between two aggregations, adaptive (by the budget of the run), or auto (4 unless "
     "local_epochs is given)",
     KeyKind::kInteger, "auto", kResult,
     [](Config& c, Text t) -> Result<void> {
       if (t != kAdaptive)
         MFL_CHECK(set_integer(c.algorithm.tau, t, 1, "auto").map_error([](Error error) {
           error.message += " or \"adaptive\"";
           return error;
         }));
       c.algorithm.adaptive_tau = t == kAdaptive;
       if (c.algorithm.adaptive_tau) c.algorithm.tau.reset();
       return {};
     },
     [](const Config& c) {
       return c.algorithm.adaptive_tau ? toml_text(std::string(kAdaptive))
                                       : toml_integer(c.algorithm.tau, "auto");
     },
     kTauWords},
    {"algorithm", "tau_max", "--tau-max", "N", "most local steps of a round with an adaptive tau",
     KeyKind::kInteger, "", kLaterResult,
     [](Config& c, Text t) { return set_integer(c.algorithm.tau_max, t, 1, kMostTau); },
     [](const Config& c) { return toml_integer(c.algorithm.tau_max, ""); }},
    {"algorithm", "phi", "--phi", "X", "control parameter of an adaptive tau, > 0", KeyKind::kNumber, "",
     kLaterResult, [](Config& c, Text t) { return set_number(c.algorithm.phi, t, kPositive); },
     [](const Config& c) { return toml_number(c.algorithm.phi); }},
    {"algorithm", "local_epochs", "--local-epochs", "N",
     "passes over a node's samples between two aggregations, in place of tau; 0 for none", KeyKind::kInteger,
     "", kLaterResult, [](Config& c, Text t) { return set_integer(c.algorithm.local_epochs, t, 0); },
     [](const Config& c) { return toml_integer(c.algorithm.local_epochs, ""); }},
    {"algorithm", "batch_size", "--batch-size", "N", "samples of a local step, or all", KeyKind::kInteger,
     "all", kLaterResult,
     [](Config& c, Text t) -> Result<void> {
       std::optional<std::uint64_t> size;
       MFL_CHECK(set_integer(size, t, 1, "all"));
       c.algorithm.batch_size = size.value_or(0);
       return {};
     },
     [](const Config& c) {
       return toml_integer(c.algorithm.batch_size == 0 ? std::nullopt : std::optional(c.algorithm.batch_size),
                           "all");
     }},
    {"algorithm", "drop_last", "--drop-last", "BOOL",
     "leave out the last batch of an epoch where it is smaller: true or false", KeyKind::kBoolean, "",
     kLaterResult, [](Config& c, Text t) { return set_choice<bool>(c.algorithm.drop_last, t, kBooleans); },
     [](const Config& c) { return std::string(c.algorithm.drop_last ? "true" : "false"); },
     kNamesOf<kBooleans>},
    entry_key(
        "algorithm", "correction", "--correction", "SPEC",
        "what nodes do to a gradient, or auto (as the algorithm has it)", kLaterResult,
        [](Config& c, Text t) { return set_axis(c.algorithm.correction, t, corrections()); },
        [](const Config& c) { return toml_axis(c.algorithm.correction); },
        [] { return &corrections().index(); }),
    entry_key(
        "algorithm", "momentum", "--momentum", "SPEC",
        "momentum of the nodes, or auto (as the algorithm has it)", kLaterResult,
        [](Config& c, Text t) {
          return set_axis(c.algorithm.momentum, t, momenta()).map_error([&](Error error) {
            if (const auto number = number_value(t, kMomentum))
              error.message += fmt::format("; a number is gamma: --gamma {}", *number);
            return error;
          });
        },
        [](const Config& c) { return toml_axis(c.algorithm.momentum); }, [] { return &momenta().index(); }),
    entry_key(
        "algorithm", "server_step", "--server-step", "SPEC",
        "what the server does with the mean of the nodes, or auto (as the algorithm has it)", kLaterResult,
        [](Config& c, Text t) { return set_axis(c.algorithm.server_step, t, server_steps()); },
        [](const Config& c) { return toml_axis(c.algorithm.server_step); },
        [] { return &server_steps().index(); }),
    {"algorithm", "sync_momentum", "--sync-momentum", "N",
     "rounds between two means of the nodes' momentum, where it is averaged", KeyKind::kInteger, "",
     kLaterResult, [](Config& c, Text t) { return set_integer(c.algorithm.sync_momentum, t, 1); },
     [](const Config& c) { return toml_integer(c.algorithm.sync_momentum, ""); }},

    {"run", "name", "--name", "TEXT", "a label of your own", KeyKind::kText, "", kNoResult,
     [](Config& c, Text t) -> Result<void> {
       if (t == "latest" || t.starts_with("latest~"))
         return fail(ErrorCode::kBadConfig, "that is how the newest run is called; choose another name");
       return set_text(c.run.name, t, true);
     },
     [](const Config& c) { return toml_text(c.run.name); }},
    {"run", "steps", "--steps", "N",
     "local steps in all, T, or auto (1000 unless rounds or a budget is given)", KeyKind::kInteger, "auto",
     kResult, [](Config& c, Text t) { return set_integer(c.run.steps, t, 1, "auto"); },
     [](const Config& c) { return toml_integer(c.run.steps, "auto"); }},
    {"run", "rounds", "--rounds", "N", "the length of the run in rounds, in place of steps; 0 for none",
     KeyKind::kInteger, "", kLaterResult, [](Config& c, Text t) { return set_integer(c.run.rounds, t, 0); },
     [](const Config& c) { return toml_integer(c.run.rounds, ""); }},
    {"run", "target_loss", "--target-loss", "LOSS",
     "stop early once the training loss is at most this, or none", KeyKind::kNumber, kNone, kLaterResult,
     [](Config& c, Text t) { return set_number(c.run.target_loss, t, kFinite, kNone); },
     [](const Config& c) { return toml_number(c.run.target_loss, kNone); }},
    {"run", "target_accuracy", "--target-accuracy", "SHARE",
     "stop early once the test accuracy is at least this, in (0, 1], or none", KeyKind::kNumber, kNone,
     kLaterResult, [](Config& c, Text t) { return set_number(c.run.target_accuracy, t, kShare, kNone); },
     [](const Config& c) { return toml_number(c.run.target_accuracy, kNone); }},
    {"run", "patience", "--patience", "N",
     "stop early after this many rounds without an improvement of the training loss, 0 for never",
     KeyKind::kInteger, "", kLaterResult, [](Config& c, Text t) { return set_integer(c.run.patience, t, 0); },
     [](const Config& c) { return toml_integer(c.run.patience, ""); }},
    {"run", "budget_seconds", "--budget-seconds", "S",
     "end before a round that would take the run past this time, virtual if it has virtual time, or none",
     KeyKind::kNumber, kNone, kLaterResult,
     [](Config& c, Text t) { return set_number(c.run.budget_seconds, t, kPositive, kNone); },
     [](const Config& c) { return toml_number(c.run.budget_seconds, kNone); }},
    {"run", "budget_bytes", "--budget-bytes", "N",
     "end before a round that would take the run past this traffic, up and down, or none", KeyKind::kInteger,
     kNone, kLaterResult, [](Config& c, Text t) { return set_integer(c.run.budget_bytes, t, 1, kNone); },
     [](const Config& c) { return toml_integer(c.run.budget_bytes, kNone); }},
    {"run", "seed", "--seed", "N", "random seed", KeyKind::kInteger, "", kResult,
     [](Config& c, Text t) { return set_integer(c.run.seed, t, 0); },
     [](const Config& c) { return toml_integer(c.run.seed, ""); }},
    {"run", "precision", "--precision", "P", "f32 or f64", KeyKind::kText, "", kResult,
     [](Config& c, Text t) { return set_choice<Precision>(c.run.precision, t, kPrecisions); },
     [](const Config& c) { return toml_choice<Precision>(c.run.precision, kPrecisions); },
     kNamesOf<kPrecisions>},
    {"run", "engine", "--engine", "NAME", "where nodes run: threads, serial or mpi (under mpirun always mpi)",
     KeyKind::kText, "", kNoResult, [](Config& c, Text t) { return set_name(c.run.engine, t, kEngines); },
     [](const Config& c) { return toml_text(c.run.engine); }, kEngines},
    {"run", "threads", "--threads", "N", "threads, 0 for one per core", KeyKind::kInteger, "", kNoResult,
     [](Config& c, Text t) { return set_integer(c.run.threads, t, 0, kMaxThreads); },
     [](const Config& c) { return toml_integer(c.run.threads, ""); }},
    {"run", "evaluate_every", "--evaluate-every", "N",
     "rounds between passes over all samples for the training loss, where a round does not measure it "
     "(batches, trainers, lookahead); auto for 10 to 100 of them, 0 for none",
     KeyKind::kInteger, "auto", kLaterResult,
     [](Config& c, Text t) { return set_integer(c.run.evaluate_every, t, 0, "auto"); },
     [](const Config& c) { return toml_integer(c.run.evaluate_every, "auto"); }},
    {"run", "record_every", "--record-every", "N",
     "steps between records, 0 for about a hundred records per run", KeyKind::kInteger, "", kNoResult,
     [](Config& c, Text t) { return set_integer(c.run.record_every, t, 0); },
     [](const Config& c) { return toml_integer(c.run.record_every, ""); }},
    {"run", "checkpoint_every", "--checkpoint-every", "N",
     "rounds between checkpoints, 0 for only when stopped", KeyKind::kInteger, "", kNoResult,
     [](Config& c, Text t) { return set_integer(c.run.checkpoint_every, t, 0); },
     [](const Config& c) { return toml_integer(c.run.checkpoint_every, ""); }},
    {"run", "keep_states", "--keep-states", "N",
     "States of the last rounds that a server keeps, for mfl server --from-round", KeyKind::kInteger, "",
     kNoResult, [](Config& c, Text t) { return set_integer(c.run.keep_states, t, 1, kMaxKeepStates); },
     [](const Config& c) { return toml_integer(c.run.keep_states, ""); }},
    {"run", "init", "--init", "RUN|FILE",
     "start from the weights of a trained model: a run that is done, or a model file (.npz)", KeyKind::kText,
     "", kLaterResult, [](Config& c, Text t) { return set_text(c.run.init, t, true); },
     [](const Config& c) { return toml_text(c.run.init); }},

    {"schema", "features", "--schema-features", "NAMES",
     "feature names in order, separated by commas, or their number; 0: as the data has them",
     KeyKind::kTextsOrInteger, "", kLaterResult, [](Config& c, Text t) { return set_features(c.schema, t); },
     [](const Config& c) {
       return c.schema.features.empty() ? toml_integer(c.schema.columns, "") : toml_texts(c.schema.features);
     }},
    {"schema", "label", "--schema-label", "NAME", "name that the label column must have", KeyKind::kText, "",
     kLaterResult, [](Config& c, Text t) { return set_text(c.schema.label, t, true); },
     [](const Config& c) { return toml_text(c.schema.label); }},
    {"schema", "task", "--schema-task", "TASK",
     "what labels are: binary (two classes), even-odd, multiclass, regression (numbers), or auto",
     KeyKind::kText, "", kLaterResult,
     [](Config& c, Text t) { return set_choice<LabelTask>(c.schema.task, t, kLabelTasks); },
     [](const Config& c) { return toml_choice<LabelTask>(c.schema.task, kLabelTasks); }},
    {"schema", "classes", "--schema-classes", "NAMES", "the classes, all of them, separated by commas",
     KeyKind::kTexts, "", kLaterResult, [](Config& c, Text t) { return set_classes(c.schema, t); },
     [](const Config& c) { return toml_texts(c.schema.classes); }},
    {"schema", "positive", "--schema-positive", "CLASS", "the positive one of the classes",
     KeyKind::kTextOrNumber, "", kLaterResult,
     [](Config& c, Text t) { return set_class(c.schema.positive, t); },
     [](const Config& c) { return toml_text(c.schema.positive); }},
};

// For a word of another framework; empty for any other.
std::string translated(std::string_view table, std::string_view key) {
  const ForeignWord* foreign = find_foreign_word(key);
  if (foreign == nullptr) return {};
  if (foreign->key.empty()) return fmt::format("; {}", foreign->note);
  const std::string where = foreign->table == table ? "" : fmt::format(" in [{}]", foreign->table);
  const std::string note = foreign->note.empty() ? "" : fmt::format(" ({})", foreign->note);
  return fmt::format("; did you mean \"{}\"{}{}?", foreign->key, where, note);
}

// The table of `key`, for one that was written into the wrong table.
std::string_view table_of(std::string_view key) {
  const auto* found = std::ranges::find(kKeys, key, &Key::key);
  return found == std::ranges::end(kKeys) ? std::string_view{} : found->table;
}

}  // namespace

std::span<const Key> config_keys() { return kKeys; }

std::vector<std::string> choice_texts(const Key& key) {
  if (key.catalog == nullptr) return {key.choices.begin(), key.choices.end()};
  std::vector<std::string> out;
  for (const CatalogEntry* entry : key.catalog()->entries()) {
    out.push_back(choice_text(*entry));
    out.insert(out.end(), entry->aliases.begin(), entry->aliases.end());
  }
  return out;
}

std::string help_text(const Key& key) {
  if (key.catalog == nullptr) return std::string(key.help);
  std::vector<std::string> usages;
  for (const CatalogEntry* entry : key.catalog()->entries()) {
    usages.push_back(usage_text(*entry));
    for (const std::string& alias : entry->aliases) usages.back() += fmt::format(" (or {})", alias);
  }
  return fmt::format("{}: {}", key.help, fmt::join(usages, ", "));
}

std::string default_text(const Key& key, const Config& config) {
  const std::string toml = key.get(config);
  return toml.starts_with('"') ? toml.substr(1, toml.size() - 2) : toml;
}

Result<const Key*> find_key(std::string_view table, std::string_view key) {
  std::vector<std::string_view> tables, keys;
  for (const Key& candidate : kKeys) {
    if (tables.empty() || tables.back() != candidate.table) tables.push_back(candidate.table);
    if (candidate.table != table) continue;
    if (candidate.key == key) return &candidate;
    keys.push_back(candidate.key);
  }
  if (keys.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("unknown table [{}]{}", table, did_you_mean(table, tables)));
  std::string advice;
  if (const std::string_view right = table_of(key); !right.empty())
    advice = fmt::format("; it belongs in [{}]", right);
  else if (advice = translated(table, key); advice.empty())
    advice = did_you_mean(key, keys);
  if (advice.empty()) {
    advice = "; known:";
    for (const std::string_view known : keys) advice += fmt::format(" {}", known);
  }
  return fail(ErrorCode::kBadConfig, fmt::format("unknown key \"{}\" in [{}]{}", key, table, advice));
}

}  // namespace mfl
