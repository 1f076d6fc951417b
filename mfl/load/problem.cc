#include "mfl/load/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/data/fleet.h"
#include "mfl/data/source.h"
#include "mfl/engine/assign_nodes.h"
#include "mfl/load/memory_need.h"
#include "mfl/load/problem_parts.h"
#include "mfl/load/share.h"
#include "mfl/partition/feature_skew.h"

namespace mfl {
namespace {

std::string digest_of_partition(const Partition& partition) {
  Sha256 digest;
  for (const std::size_t start : partition.starts) digest.update(std::uint64_t{start});
  digest.update(std::as_bytes(std::span(partition.order)));
  return digest.finish_hex();
}

// Whether they are two classes, as precise as they are trained on.
template <class T>
bool two_classes(const Experiment& experiment, std::span<const double> targets) {
  return experiment.model->targets != TargetKind::kReal || std::ranges::all_of(targets, [](double y) {
           return static_cast<T>(y) == 1 || static_cast<T>(y) == -1;
         });
}

// What a process has read before all have measured it together.
template <class T>
struct ReadProblem {
  Problem<T> problem;  // without samples and without what is measured
  OwnRows train;
  std::optional<OwnRows> test;
};

// `shape` has the columns and the scale of the training data.
template <class T>
Result<Problem<T>> begin_problem(const Experiment& experiment, const Dataset& shape, Schema schema) {
  Problem<T> problem{.federation = {.model = experiment.make_model<T>(shape.columns, schema),
                                    .train = Samples<T>::buffer(0, shape.columns, shape.scale),
                                    .nodes = {},
                                    .test = {}},
                     .scale = shape.scale,
                     .schema = std::move(schema),
                     .origin = shape.origin};
  MFL_CHECK(require_memory<T>(experiment, problem.federation.model->parameters()));
  return problem;
}

// Of the rows that a rank holds.
OwnRows own_rows(Dataset rows, std::span<const double> targets, std::span<const std::uint32_t> held) {
  OwnRows own{std::move(rows), {}};
  for (const std::uint32_t row : held) own.targets.push_back(targets[row]);
  return own;
}

// Returns the digest of the whole set, known to the first rank.
template <class T>
Result<std::string> read_test(const Experiment& experiment, std::optional<SomeRows> rows, ShareReader& reader,
                              ReadProblem<T>& out) {
  if (!rows) return std::string();
  const Division division = divide_test(rows->size(), reader.ranks().size());
  MFL_TRY(const auto targets,
          make_targets(rows->without_features(), out.problem.schema, experiment.model->targets));
  MFL_TRY(RowShare share, reader.read("test", *std::move(rows), division));
  out.test = own_rows(std::move(share.rows), targets, division.of_rank(reader.ranks().rank()));
  return std::move(share.digest);
}

template <class T>
Result<ReadProblem<T>> read_stored(const Experiment& experiment, const auto& open, ShareReader& reader) {
  MFL_TRY(TrainTestRows rows, open());
  const Dataset labels = rows.train.without_features();
  MFL_TRY(Schema schema, schema_of(experiment.config, labels));
  MFL_TRY(const auto targets, make_targets(labels, schema, experiment.model->targets));
  MFL_TRY(Problem<T> problem, begin_problem<T>(experiment, labels, std::move(schema)));
  MFL_TRY(Partition partition, who_holds_what(experiment, labels));
  Federation<T>& federation = problem.federation;
  for (std::size_t i = 0; i < partition.nodes(); ++i)
    federation.all_samples.push_back(partition.starts[i + 1] - partition.starts[i]);
  const unsigned rank = reader.ranks().rank();
  const auto nodes = assign_nodes(federation.all_samples, reader.ranks().size());
  const std::string partition_digest = digest_of_partition(partition);
  Division division{std::move(partition.order), {}};
  for (const std::size_t node : nodes) division.starts.push_back(partition.starts[node]);
  std::vector<std::size_t> starts;  // of the nodes here
  for (std::size_t i = nodes[rank]; i <= nodes[rank + 1]; ++i)
    starts.push_back(partition.starts[i] - division.starts[rank]);
  for (std::size_t i = 1; i < starts.size(); ++i)
    federation.nodes.push_back({starts[i - 1], starts[i] - starts[i - 1]});
  federation.first_node = nodes[rank];

  problem.has_accuracy = two_classes<T>(experiment, targets);
  MFL_TRY(RowShare share, reader.read("training", std::move(rows.train), division));
  reader.add_fact({"the digest of the partition", partition_digest});
  if (experiment.config.federation.skews_features())
    MFL_CHECK(skew_features(experiment.config.federation.feature_skew, share.rows,
                            {starts, nodes[rank], partition.nodes(), experiment.config.run.seed}));
  problem.train_digest = std::move(share.digest);
  ReadProblem<T> out{
      std::move(problem), own_rows(std::move(share.rows), targets, division.of_rank(rank)), {}};
  MFL_TRY(const std::string test_digest, read_test(experiment, std::move(rows.test), reader, out));
  if (reader.ranks().first())
    out.problem.data_digest = sha256_hex(out.problem.train_digest + test_digest + partition_digest);
  return out;
}

// Nodes make their data when they run; only the test set is stored.
template <class T>
Result<ReadProblem<T>> read_fleet(const Experiment& experiment, ShareReader& reader) {
  constexpr std::size_t kTestRows = 5000;
  MFL_TRY(const FleetShape shape, parse_fleet(experiment.config.data.source));
  const FleetRows rows(shape, experiment.config.run.seed);
  Dataset classes{.rows = SyntheticRows::kClasses,
                  .columns = shape.columns,
                  .scale = FleetRows::kScale,
                  .features = {},
                  .labels = std::vector<double>(SyntheticRows::kClasses)};
  std::iota(classes.labels.begin(), classes.labels.end(), 0.0);
  MFL_TRY(Schema schema, schema_of(experiment.config, classes));
  MFL_TRY(Problem<T> problem, begin_problem<T>(experiment, classes, std::move(schema)));
  MFL_TRY(const auto targets, make_targets(classes, problem.schema, experiment.model->targets));
  problem.has_accuracy = two_classes<T>(experiment, targets);
  ClassTargets<T> of_class;
  std::ranges::transform(targets, of_class.begin(), [](double y) { return static_cast<T>(y); });
  problem.federation.fleet =
      std::make_shared<const Fleet<T>>(rows, experiment.config.federation.nodes, of_class);
  problem.train_digest = rows.digest(experiment.config.federation.nodes);
  reader.add_fact({"the digest of the fleet", problem.train_digest});

  ReadProblem<T> out{std::move(problem), {}, {}};
  std::optional<SomeRows> test;
  if (const std::size_t test_rows = experiment.config.data.test.value_or(kTestRows); test_rows > 0)
    test.emplace(rows_in_memory(rows.test_set(test_rows)));
  MFL_TRY(const std::string test_digest, read_test(experiment, std::move(test), reader, out));
  if (reader.ranks().first()) out.problem.data_digest = sha256_hex(out.problem.train_digest + test_digest);
  return out;
}

// The sums over the samples of all ranks. Collective.
Result<ColumnSums> sums_of_all(const Experiment& experiment, const Schema& schema, const Dataset& rows,
                               Ranks& ranks) {
  MFL_TRY(ColumnSums sums, ranks.agreed(sums_of(experiment.config, schema, rows)));
  if (ranks.size() == 1) return sums;
  ColumnSums all(rows.columns, sums.class_counts().size());
  for (const std::string& part : ranks.gather(sums.rows() == 0 ? std::string() : sums.pack()))
    if (!part.empty()) MFL_CHECK(all.merge_packed(part));
  return all;
}

template <class T>
Result<Problem<T>> with_samples(const Experiment& experiment, ReadProblem<T> read) {
  Federation<T>& federation = read.problem.federation;
  const Schema& schema = read.problem.schema;
  if (!federation.fleet) {
    MFL_TRY(federation.train, make_samples<T>(experiment.config, schema, *federation.model,
                                              std::move(read.train), Use::kTraining));
  }
  if (read.test) {
    MFL_TRY(federation.test,
            make_samples<T>(experiment.config, schema, *federation.model, *std::move(read.test), Use::kTest));
  }
  return std::move(read.problem);
}

// The one way to a Problem: every rank reads its share, all measure them together, and each prepares its own. Collective.
template <class T, class Read>
Result<Problem<T>> problem_from(const Experiment& experiment, Ranks& ranks, const Read& read_share) {
  ShareReader reader(ranks);
  MFL_TRY(ReadProblem<T> read, ranks.agreed(read_share(reader)));
  Problem<T>& problem = read.problem;
  if (!problem.federation.fleet && measures_of(experiment.config, problem.schema).any()) {
    MFL_TRY(const ColumnSums sums, sums_of_all(experiment, problem.schema, read.train.data, ranks));
    MFL_TRY(problem.constant_features, take_measures(experiment.config, sums, problem.schema));
  }
  MFL_TRY(Problem<T> whole, ranks.agreed(with_samples(experiment, std::move(read))));
  MFL_CHECK(reader.require_same_data());
  return whole;
}

}  // namespace

Result<void> require_all_nodes(const Config& config, std::string_view what) {
  if (config.algorithm.adaptive_tau)
    return fail(ErrorCode::kBadConfig, fmt::format("{} needs rounds of equal length", what),
                "set tau to a number");
  if (config.algorithm.batch_size != 0 || counts_epochs(config.algorithm))
    return fail(ErrorCode::kBadConfig, fmt::format("{} needs steps on all samples of a node", what),
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

template <class T>
Result<Problem<T>> make_problem(const Experiment& experiment, TrainTest data) {
  return problem_from<T>(experiment, alone(), [&](ShareReader& reader) {
    const auto open = [&]() -> Result<TrainTestRows> {
      TrainTestRows rows{SomeRows(rows_in_memory(std::move(data.train))), std::nullopt};
      if (data.test) rows.test.emplace(rows_in_memory(*std::move(data.test)));
      return rows;
    };
    return read_stored<T>(experiment, open, reader);
  });
}

template <class T>
Result<Problem<T>> load_problem(const Experiment& experiment, Ranks& where, const TrainTest* memory) {
  if (experiment.external())
    return fail(ErrorCode::kBadConfig,
                "model external is trained by your own program, not on data that mfl reads",
                "use mfl run --trainer or mfl node --trainer");
  const auto start = std::chrono::steady_clock::now();
  auto loaded = problem_from<T>(experiment, where, [&](ShareReader& reader) -> Result<ReadProblem<T>> {
    if (is_fleet(experiment.config.data.source)) return read_fleet<T>(experiment, reader);
    DataOptions options = data_options(experiment.config);
    if (where.size() == 1) options.memory = memory;
    const auto open = [&] { return open_rows(options); };
    return read_stored<T>(experiment, open, reader);
  });
  MFL_TRY(Problem<T> problem, std::move(loaded));
  problem.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return problem;
}

template Result<Problem<float>> make_problem(const Experiment&, TrainTest);
template Result<Problem<double>> make_problem(const Experiment&, TrainTest);
template Result<Problem<float>> load_problem(const Experiment&, Ranks&, const TrainTest*);
template Result<Problem<double>> load_problem(const Experiment&, Ranks&, const TrainTest*);

}  // namespace mfl
