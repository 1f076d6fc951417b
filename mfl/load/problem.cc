#include "mfl/load/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/config/factory.h"
#include "mfl/data/fleet.h"
#include "mfl/data/source.h"
#include "mfl/data/task.h"
#include "mfl/data/text.h"
#include "mfl/load/config_partition.h"
#include "mfl/load/memory_need.h"
#include "mfl/load/problem_parts.h"
#include "mfl/partition/feature_skew.h"

namespace mfl {
namespace {

// The number of each row's class in the schema.
std::vector<double> class_numbers(const Config& config, const Schema& schema,
                                  std::span<const double> targets) {
  std::vector<double> out(targets.begin(), targets.end());
  if (target_kind(config.model) == TargetKind::kIndex) return out;
  const bool positive_first = schema.classes.front() == schema.positive;
  for (double& y : out) y = (y > 0) != positive_first ? 1 : 0;
  return out;
}

template <class T>
Result<Samples<T>> test_samples(const Config& config, const Schema& schema, Dataset data) {
  MFL_TRY(const auto targets, targets_of(config, schema, data));
  return make_samples<T>(config, schema, std::move(data), targets, Use::kTest);
}

// The rows stay where they are.
template <class T>
Result<Samples<T>> borrowed_samples(const Preprocessing& preprocessing, bool constant_column,
                                    const Dataset& data, std::span<const double> targets) {
  MFL_TRY(PreparedRows rows, PreparedRows::make(data, preprocessing, constant_column, precision_of<T>()));
  return Samples<T>(std::move(rows), targets);
}

template <class T>
Result<Samples<T>> own_samples(const Preprocessing& preprocessing, bool constant_column, Dataset data,
                               std::span<const double> targets) {
  MFL_TRY(data, preprocessed(std::move(data), preprocessing, constant_column));
  MFL_TRY(data, with_precision(std::move(data), precision_of<T>()));
  return Samples<T>(std::move(data), targets);
}

std::string feature_name(const Schema& schema, std::size_t column) {
  return column < schema.features.size() ? schema.features[column] : fmt::format("{}", column + 1);
}

// The rows that nodes hold, node by node.
Dataset held_rows(Dataset data, const Partition& partition) {
  return partition.order.size() == data.rows ? reordered(std::move(data), partition.order)
                                             : take_rows(data, partition.order);
}

std::string digest_of_partition(const Partition& partition) {
  Sha256 digest;
  for (const std::size_t start : partition.starts) digest.update(std::uint64_t{start});
  digest.update(std::as_bytes(std::span(partition.order)));
  return digest.finish_hex();
}

template <class T>
std::vector<double> targets_in(const Samples<T>& samples) {
  return {samples.targets(0), samples.targets(0) + samples.size()};
}

// Nodes make their data when they run; only the test set is stored.
template <class T>
Result<Problem<T>> fleet_problem(const Config& config) {
  constexpr std::size_t kTestRows = 5000;
  MFL_TRY(const FleetShape shape, parse_fleet(config.data.source));
  MFL_CHECK(require_memory<T>(config, shape.columns));
  const FleetRows rows(shape, config.run.seed);
  Dataset classes{
      .rows = SyntheticRows::kClasses, .columns = shape.columns, .scale = 1, .features = {}, .labels = {}};
  for (unsigned c = 0; c < SyntheticRows::kClasses; ++c) classes.labels.push_back(c);
  MFL_TRY(const Schema schema, schema_of(config, classes));
  MFL_TRY(const auto targets, targets_of(config, schema, classes));
  ClassTargets<T> of_class;
  std::ranges::transform(targets, of_class.begin(), [](double y) { return static_cast<T>(y); });

  Federation<T> federation{
      .model = make_model<T>(config.model, shape.columns, schema),
      .train = Samples<T>::buffer(0, shape.columns, FleetRows::kScale),
      .nodes = {},
      .test = {},
      .fleet = std::make_shared<const Fleet<T>>(rows, config.federation.nodes, of_class)};
  std::string test_digest;
  if (const std::size_t test_rows = config.data.test.value_or(kTestRows); test_rows > 0) {
    Dataset test = rows.test_set(test_rows);
    test_digest = data_digest(test);
    MFL_TRY(federation.test, test_samples<T>(config, schema, std::move(test)));
  }
  Problem<T> problem{.federation = std::move(federation), .scale = FleetRows::kScale, .schema = schema};
  problem.has_accuracy = target_kind(config.model) != TargetKind::kReal ||
                         std::ranges::all_of(of_class, [](T y) { return y == 1 || y == -1; });
  problem.train_digest = rows.digest(config.federation.nodes);
  problem.data_digest = sha256_hex(problem.train_digest + test_digest);
  return problem;
}

}  // namespace

Result<Partition> who_holds_what(const Config& config, const Dataset& train) {
  if (is_centralised(config.algorithm)) return contiguous(train.rows, 1);
  return make_partition(config.federation, train, config.run.seed);
}

std::vector<Shard> shards_of(const Partition& partition) {
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < partition.nodes(); ++i)
    shards.push_back({partition.starts[i], partition.starts[i + 1] - partition.starts[i]});
  return shards;
}

bool has_own_data(const Config& config, const Dataset& data) {
  if (data.origin && data.origin->own_data) return *data.origin->own_data;
  return is_own_data(config.data.source);
}

Result<Schema> observed_schema(const Config& config, const Dataset& data) {
  MFL_TRY(Schema seen, observe(data, effective_label_task(config)));
  seen.own_data = has_own_data(config, data);
  return seen;
}

Measures measures_of(const Config& config, const Schema& schema) {
  const Preprocessing& known = schema.preprocessing;
  return {known.deviations.empty() ? config.model.standardise : Standardise::kNone,
          known.class_weights.empty() && config.model.balanced};
}

Result<ColumnSums> sums_of(const Config& config, const Schema& schema, const Dataset& rows) {
  const Measures measures = measures_of(config, schema);
  ColumnSums sums(rows.columns, measures.classes ? schema.classes.size() : 0);
  std::vector<double> numbers;
  if (measures.classes) {
    MFL_TRY(const auto targets, targets_of(config, schema, rows));
    numbers = class_numbers(config, schema, targets);
  }
  MFL_CHECK(sums.add(rows, numbers));
  return sums;
}

Result<std::vector<std::string>> take_measures(const Config& config, const ColumnSums& all, Schema& schema) {
  const Measures measures = measures_of(config, schema);
  std::vector<std::string> constant;
  if (measures.standardise != Standardise::kNone)
    for (const std::size_t column : all.measure(schema.preprocessing))
      constant.push_back(feature_name(schema, column));
  if (measures.classes) {
    MFL_TRY(schema.preprocessing.class_weights, all.balanced_weights());
  }
  return constant;
}

template <class T>
Result<Samples<T>> make_samples(const Config& config, const Schema& schema, Dataset data,
                                std::span<const double> targets, Use use) {
  const bool constant_column = make_model<T>(config.model, data.columns, schema)->constant_column();
  MFL_TRY(Samples<T> samples,
          is_borrowed(data)
              ? borrowed_samples<T>(schema.preprocessing, constant_column, data, targets)
              : own_samples<T>(schema.preprocessing, constant_column, std::move(data), targets));
  const std::vector<double>& of_class = schema.preprocessing.class_weights;
  if (use == Use::kTraining && !of_class.empty()) {
    std::vector<T> weights;
    for (const double number : class_numbers(config, schema, targets))
      weights.push_back(static_cast<T>(of_class[static_cast<std::size_t>(number)]));
    samples.weigh(std::move(weights));
  }
  return samples;
}

Result<Schema> schema_of(const Config& config, const Dataset& train) {
  const Schema stated = stated_schema(config);
  MFL_TRY(const Schema seen, observed_schema(config, train));
  auto settled = settle(stated, seen);
  if (!settled)
    return fail(
        settled.error().code, fmt::format("{}: {}", config.data.source, settled.error().message),
        settled.error().hint.empty() ? "change the data, or what [schema] says of it" : settled.error().hint);
  if (settled->task == LabelTask::kRegression && !stated.positive.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("positive = {}: a regression has no classes", excerpt(stated.positive)),
                "leave positive out, or use another model than linear");
  auto closed = settle_alone(*std::move(settled));
  if (!closed)
    return fail(closed.error().code, fmt::format("{}: {}", config.data.source, closed.error().message),
                closed.error().hint);
  if (config.model.weighs_classes() && closed->task == LabelTask::kRegression)
    return fail(ErrorCode::kBadConfig, "class_weight: a regression has no classes", "leave class_weight out");
  if (const auto& weights = config.model.class_weights; !weights.empty()) {
    if (weights.size() != closed->classes.size())
      return fail(
          ErrorCode::kBadConfig,
          fmt::format("class_weight has {} numbers, and there are {} classes: {}", weights.size(),
                      closed->classes.size(), excerpt(fmt::format("{}", fmt::join(closed->classes, ", ")))),
          "give one number per class, in this order");
    closed->preprocessing.class_weights = weights;
  }
  closed->preprocessing.intercept = effective_intercept(config.model, closed->own_data.value_or(false));
  closed->preprocessing.standardise = config.model.standardise;
  return closed;
}

Result<std::vector<double>> targets_of(const Config& config, const Schema& schema, const Dataset& data) {
  return make_targets(data, schema, target_kind(config.model));
}

bool two_classes(const Config& config, std::span<const double> targets) {
  return target_kind(config.model) != TargetKind::kReal ||
         std::ranges::all_of(targets, [](double v) { return v == 1 || v == -1; });
}

std::string data_digest_of(const std::string& train_digest, const std::string& test_digest,
                           const Partition& partition) {
  return sha256_hex(train_digest + test_digest + digest_of_partition(partition));
}

Result<void> require_all_nodes(const Config& config, std::string_view what) {
  if (config.algorithm.adaptive_tau)
    return fail(ErrorCode::kBadConfig, fmt::format("{} is about rounds of equal length", what),
                "set tau to a number");
  if (config.algorithm.batch_size != 0 || counts_epochs(config.algorithm))
    return fail(ErrorCode::kBadConfig, fmt::format("{} is about steps on all samples of a node", what),
                "leave batch_size and local_epochs out");
  if (is_fleet(config.data.source))
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} needs stored data, and {} has none", what, config.data.source),
                "use synthetic, which has the same classes");
  if (!config.run.init.empty())
    return fail(ErrorCode::kBadConfig, fmt::format("{} starts where the model does", what), "leave init out");
  if (config.federation.fraction_train < 1)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} requires all nodes in every round, and fraction_train is {}", what,
                            config.federation.fraction_train),
                "set fraction_train to 1");
  return {};
}

std::string function_digest(const Config& config, const std::string& train_digest) {
  Sha256 digest;
  digest.update(train_digest)
      .update(config.model.name)
      .update(effective_lambda(config.model))
      .update(task_name(effective_task(config)));
  if (effective_intercept(config.model, is_own_data(config.data.source))) digest.update("intercept");
  if (config.model.standardise != Standardise::kNone)
    digest.update(standardise_name(config.model.standardise));
  if (config.model.balanced) digest.update("balanced");
  for (const double weight : config.model.class_weights) digest.update(weight);
  if (const FederationConfig& nodes = config.federation;
      nodes.feature_skew != FederationConfig{}.feature_skew)
    digest.update(nodes.feature_skew).update(nodes.partition).update(nodes.nodes).update(config.run.seed);
  return digest.finish_hex();
}

template <class T>
Result<Problem<T>> make_problem(const Config& config, TrainTest data) {
  const std::string train_digest = data_digest(data.train);
  const std::string test_digest = data.test ? data_digest(*data.test) : "";
  const auto origin = data.train.origin;
  const std::size_t columns = data.train.columns;
  const double scale = data.train.scale;
  MFL_TRY(Schema schema, schema_of(config, data.train));
  MFL_CHECK(require_memory<T>(config, make_model<T>(config.model, columns, schema)->parameters()));
  MFL_TRY(const Partition partition, who_holds_what(config, data.train));
  Dataset rows = held_rows(std::move(data.train), partition);
  MFL_CHECK(skew_features(config.federation.feature_skew, rows,
                          {partition.starts, 0, partition.nodes(), config.run.seed}));
  std::vector<std::string> constant;
  if (measures_of(config, schema).any()) {
    MFL_TRY(const ColumnSums sums, sums_of(config, schema, rows));
    MFL_TRY(constant, take_measures(config, sums, schema));
  }
  MFL_TRY(const auto targets, targets_of(config, schema, rows));
  MFL_TRY(auto train, make_samples<T>(config, schema, std::move(rows), targets, Use::kTraining));
  std::optional<Samples<T>> test;
  if (data.test) {
    MFL_TRY(test, test_samples<T>(config, schema, *std::move(data.test)));
  }
  Problem<T> problem{.federation = {.model = make_model<T>(config.model, columns, schema),
                                    .train = std::move(train),
                                    .nodes = shards_of(partition),
                                    .test = std::move(test)},
                     .scale = scale,
                     .schema = schema,
                     .constant_features = std::move(constant),
                     .origin = origin};
  problem.has_accuracy = two_classes(config, targets_in(problem.federation.train));
  problem.data_digest = data_digest_of(train_digest, test_digest, partition);
  problem.train_digest = train_digest;
  return problem;
}

template <class T>
Result<Problem<T>> load_problem(const Config& config, const TrainTest* memory) {
  if (is_external(config.model))
    return fail(ErrorCode::kBadConfig,
                "model external is trained by a program of yours, not on data that mfl reads",
                "use mfl run --trainer or mfl node --trainer");
  const auto start = std::chrono::steady_clock::now();
  const auto load_stored = [&]() -> Result<Problem<T>> {
    DataOptions options = data_options(config);
    options.memory = memory;
    MFL_TRY(TrainTest loaded, load(options));
    return make_problem<T>(config, std::move(loaded));
  };
  auto loaded = is_fleet(config.data.source) ? fleet_problem<T>(config) : load_stored();
  MFL_TRY(Problem<T> problem, std::move(loaded));
  problem.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return problem;
}

template Result<Samples<float>> make_samples(const Config&, const Schema&, Dataset, std::span<const double>,
                                             Use);
template Result<Samples<double>> make_samples(const Config&, const Schema&, Dataset, std::span<const double>,
                                              Use);
template Result<Problem<float>> make_problem(const Config&, TrainTest);
template Result<Problem<double>> make_problem(const Config&, TrainTest);
template Result<Problem<float>> load_problem(const Config&, const TrainTest*);
template Result<Problem<double>> load_problem(const Config&, const TrainTest*);

}  // namespace mfl
