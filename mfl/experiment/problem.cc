#include "mfl/experiment/problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/data/fleet.h"
#include "mfl/data/source.h"
#include "mfl/data/task.h"
#include "mfl/experiment/config_partition.h"
#include "mfl/experiment/factory.h"
#include "mfl/experiment/problem_parts.h"

namespace mfl {
namespace {

template <class T>
Result<Samples<T>> make_samples(const Config& config, Dataset data) {
  MFL_TRY(const auto targets, targets_of(config, data));
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
  Dataset classes{.rows = SyntheticRows::kClasses, .columns = 1, .scale = 1, .features = {}, .labels = {}};
  for (unsigned c = 0; c < SyntheticRows::kClasses; ++c) classes.labels.push_back(c);
  MFL_TRY(const auto targets, make_targets(classes, effective_task(config.data), target_kind(config.model)));
  ClassTargets<T> of_class;
  std::ranges::transform(targets, of_class.begin(), [](double y) { return static_cast<T>(y); });

  Federation<T> federation{
      make_loss(config.model), Samples<T>::room(0, shape.columns, FleetRows::kScale), {}, {}};
  federation.fleet = std::make_shared<const Fleet<T>>(rows, config.federation.nodes, of_class);
  std::string test_digest;
  if (const std::size_t test_rows = config.data.test.value_or(kTestRows); test_rows > 0) {
    Dataset test = rows.test_set(test_rows);
    test_digest = data_digest(test);
    MFL_TRY(federation.test, make_samples<T>(config, std::move(test)));
  }
  Problem<T> problem{std::move(federation), false, {}, {}, 0};
  problem.has_accuracy = target_kind(config.model) != TargetKind::kReal ||
                         std::ranges::all_of(of_class, [](T y) { return y == 1 || y == -1; });
  problem.train_digest = rows.digest(config.federation.nodes);
  problem.data_digest = sha256_hex(problem.train_digest + test_digest);
  return problem;
}

template <class T>
Result<Problem<T>> stored_problem(const Config& config) {
  MFL_TRY(TrainTest loaded, load(data_options(config)));
  const std::string train_digest = data_digest(loaded.train);
  const std::string test_digest = loaded.test ? data_digest(*loaded.test) : "";
  MFL_TRY(const Partition partition, who_holds_what(config, loaded.train));
  MFL_TRY(auto train, make_samples<T>(config, held_rows(std::move(loaded.train), partition)));
  std::optional<Samples<T>> test;
  if (loaded.test) {
    MFL_TRY(test, make_samples<T>(config, *std::move(loaded.test)));
  }
  Problem<T> problem{
      {make_loss(config.model), std::move(train), shards_of(partition), std::move(test)}, false, {}, {}, 0};
  problem.has_accuracy = two_classes(config, targets_in(problem.federation.train));
  problem.data_digest = data_digest_of(train_digest, test_digest, partition);
  problem.train_digest = train_digest;
  return problem;
}

}  // namespace

Result<Partition> who_holds_what(const Config& config, const Dataset& train) {
  if (make_algorithm(config.algorithm).centralised) return contiguous(train.rows, 1);
  return make_partition(config.federation, train, config.run.seed);
}

std::vector<Shard> shards_of(const Partition& partition) {
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < partition.nodes(); ++i)
    shards.push_back({partition.starts[i], partition.starts[i + 1] - partition.starts[i]});
  return shards;
}

Result<std::vector<double>> targets_of(const Config& config, const Dataset& data) {
  return make_targets(data, effective_task(config.data), target_kind(config.model));
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
  if (is_fleet(config.data.source))
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} needs stored data, and {} has none", what, config.data.source),
                "use synthetic, which has the same classes");
  if (config.federation.fraction_train < 1)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} requires all nodes in every round, and fraction_train is {}", what,
                            config.federation.fraction_train),
                "set fraction_train to 1");
  return {};
}

std::string function_digest(const Config& config, const std::string& train_digest) {
  return Sha256{}
      .update(train_digest)
      .update(config.model.name)
      .update(effective_lambda(config.model))
      .update(task_name(effective_task(config.data)))
      .finish_hex();
}

template <class T>
Result<Problem<T>> load_problem(const Config& config) {
  const auto start = std::chrono::steady_clock::now();
  auto loaded = is_fleet(config.data.source) ? fleet_problem<T>(config) : stored_problem<T>(config);
  MFL_TRY(Problem<T> problem, std::move(loaded));
  problem.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return problem;
}

template Result<Problem<float>> load_problem(const Config&);
template Result<Problem<double>> load_problem(const Config&);

}  // namespace mfl
