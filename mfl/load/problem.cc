#include "mfl/load/problem.h"

#include <fmt/core.h>

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
#include "mfl/load/problem_parts.h"

namespace mfl {
namespace {

template <class T>
Result<Samples<T>> make_samples(const Config& config, const Schema& schema, Dataset data) {
  MFL_TRY(const auto targets, targets_of(config, schema, data));
  MFL_TRY(data, with_precision(std::move(data), precision_of<T>()));
  return Samples<T>(std::move(data), targets);
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
    MFL_TRY(federation.test, make_samples<T>(config, schema, std::move(test)));
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

Result<Schema> observed_schema(const Config& config, const Dataset& data) {
  return observe(data, effective_label_task(config));
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
  if (config.model.intercept) digest.update("intercept");
  return digest.finish_hex();
}

template <class T>
Result<Problem<T>> make_problem(const Config& config, TrainTest data) {
  const std::string train_digest = data_digest(data.train);
  const std::string test_digest = data.test ? data_digest(*data.test) : "";
  const auto origin = data.train.origin;
  const double scale = data.train.scale;
  MFL_TRY(const Schema schema, schema_of(config, data.train));
  MFL_TRY(const Partition partition, who_holds_what(config, data.train));
  MFL_TRY(auto train, make_samples<T>(config, schema, held_rows(std::move(data.train), partition)));
  std::optional<Samples<T>> test;
  if (data.test) {
    MFL_TRY(test, make_samples<T>(config, schema, *std::move(data.test)));
  }
  const std::size_t columns = train.columns();
  Problem<T> problem{.federation = {.model = make_model<T>(config.model, columns, schema),
                                    .train = std::move(train),
                                    .nodes = shards_of(partition),
                                    .test = std::move(test)},
                     .scale = scale,
                     .schema = schema,
                     .origin = origin};
  problem.has_accuracy = two_classes(config, targets_in(problem.federation.train));
  problem.data_digest = data_digest_of(train_digest, test_digest, partition);
  problem.train_digest = train_digest;
  return problem;
}

template <class T>
Result<Problem<T>> load_problem(const Config& config) {
  const auto start = std::chrono::steady_clock::now();
  const auto load_stored = [&]() -> Result<Problem<T>> {
    MFL_TRY(TrainTest loaded, load(data_options(config)));
    return make_problem<T>(config, std::move(loaded));
  };
  auto loaded = is_fleet(config.data.source) ? fleet_problem<T>(config) : load_stored();
  MFL_TRY(Problem<T> problem, std::move(loaded));
  problem.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return problem;
}

template Result<Problem<float>> make_problem(const Config&, TrainTest);
template Result<Problem<double>> make_problem(const Config&, TrainTest);
template Result<Problem<float>> load_problem(const Config&);
template Result<Problem<double>> load_problem(const Config&);

}  // namespace mfl
