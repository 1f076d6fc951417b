#include "mfl/load/share.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/config/factory.h"
#include "mfl/data/fleet.h"
#include "mfl/data/source.h"
#include "mfl/engine/assign_nodes.h"
#include "mfl/load/memory_need.h"
#include "mfl/load/problem_parts.h"
#include "mfl/partition/feature_skew.h"
#include "mfl/partition/partitions.h"

namespace mfl {
namespace {

constexpr const char* kSameData = "give every rank the same data";

struct RankPart {
  std::size_t first = 0, end = 0;
};

// Whole row blocks, as many for each rank as for the others.
RankPart test_part(std::size_t rows, std::size_t rank, std::size_t ranks) {
  const std::size_t blocks = row_blocks(rows);
  const auto start = [&](std::size_t r) { return std::min(rows, blocks * r / ranks * kRowBlock); };
  return {start(rank), start(rank + 1)};
}

// What a rank's data must have in common with that of the first.
struct RankComparison {
  std::vector<RankFact> facts;        // known to every rank
  Sha256 held;                        // of the hashes of the rows that this rank holds
  std::vector<std::string> expected;  // on the first rank: what every rank's `held` must be
};

void add_hashes(Sha256& digest, std::span<const std::uint64_t> hashes) {
  digest.update(std::as_bytes(hashes));
}

std::string digest_of(std::span<const double> numbers) {
  return Sha256{}.update(std::as_bytes(numbers)).finish_hex();
}

std::string digest_of(const std::vector<std::string>& texts) {
  Sha256 digest;
  for (const std::string& text : texts) digest.update(std::uint64_t{text.size()}).update(text);
  return digest.finish_hex();
}

std::vector<RankFact> facts_of(const std::string& set, const SomeRows& rows) {
  std::vector<RankFact> facts = {{"the number of " + set + " samples", fmt::to_string(rows.size())},
                                 {"the number of " + set + " features", fmt::to_string(rows.columns())},
                                 {"the scale of the " + set + " data", fmt::to_string(rows.shape().scale)},
                                 {"the digest of the " + set + " labels", digest_of(rows.labels())}};
  if (const auto origin = rows.without_features().origin) {
    facts.push_back({"the digest of the " + set + " column names", digest_of(origin->features)});
    facts.push_back({"the digest of the " + set + " classes", digest_of(origin->classes)});
  }
  return facts;
}

// What each rank's rows hash to: those of its nodes in their order, then its part of the test set.
std::vector<std::string> expected_of(std::span<const std::uint64_t> train,
                                     std::span<const std::uint64_t> test, const Partition& partition,
                                     std::span<const std::size_t> starts, unsigned ranks) {
  std::vector<std::string> out;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Sha256 digest;
    std::vector<std::uint64_t> held;
    for (std::size_t i = partition.starts[starts[rank]]; i < partition.starts[starts[rank + 1]]; ++i)
      held.push_back(train[partition.order[i]]);
    add_hashes(digest, held);
    const RankPart part = test_part(test.size(), rank, ranks);
    add_hashes(digest, test.subspan(part.first, part.end - part.first));
    out.push_back(digest.finish_hex());
  }
  return out;
}

// Some of a set's rows with their targets, which depend on the labels of all.
struct OwnRows {
  Dataset data;
  std::vector<double> targets;
};

Result<OwnRows> own_rows(const SomeRows& rows, std::span<const std::uint32_t> places,
                         std::span<const double> targets, Sha256& held) {
  MFL_TRY(Dataset data, rows.read(places));
  add_hashes(held, row_hashes(data));
  return OwnRows{std::move(data), {targets.begin(), targets.end()}};
}

Result<OwnRows> own_test(const Config& config, const Schema& schema, const SomeRows& rows, const Ranks& ranks,
                         Sha256& held) {
  MFL_TRY(const auto targets, targets_of(config, schema, rows.without_features()));
  const RankPart part = test_part(rows.size(), ranks.rank(), ranks.size());
  std::vector<std::uint32_t> places(part.end - part.first);
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(part.first));
  return own_rows(rows, places, std::span(targets).subspan(part.first, places.size()), held);
}

// What a rank has of the data before all ranks have measured it together.
struct OwnData {
  Schema schema;
  std::shared_ptr<const Origin> origin;
  OwnRows train;
  std::optional<OwnRows> test;
  std::vector<Shard> nodes;
  std::size_t first_node = 0;
  std::vector<std::size_t> all_samples;
  bool has_accuracy = false;
  double scale = 1;
  std::string data_digest, train_digest;  // on the first rank only
};

template <class T>
Result<OwnData> load_own(const Config& config, const Ranks& ranks, RankComparison& compared) {
  MFL_TRY(const TrainTestRows rows, open_rows(data_options(config)));
  compared.facts = facts_of("training", rows.train);
  if (rows.test) std::ranges::move(facts_of("test", *rows.test), std::back_inserter(compared.facts));
  Dataset labels = rows.train.without_features();
  MFL_TRY(const Schema schema, schema_of(config, labels));
  MFL_CHECK(require_memory<T>(config, make_model<T>(config.model, labels.columns, schema)->parameters()));
  MFL_TRY(const Partition partition, who_holds_what(config, labels));
  compared.facts.push_back({"the digest of the partition", data_digest_of({}, {}, partition)});
  const std::vector<Shard> all = shards_of(partition);
  std::vector<std::size_t> work;
  for (const Shard& shard : all) work.push_back(shard.count);
  const std::vector<std::size_t> starts = assign_nodes(work, ranks.size());
  const std::size_t first_node = starts[ranks.rank()], end_node = starts[ranks.rank() + 1];

  std::vector<double> held;
  for (const std::uint32_t place : partition.order) held.push_back(labels.labels[place]);
  labels.labels = std::move(held);
  MFL_TRY(const std::vector<double> targets, targets_of(config, schema, labels));
  const std::vector<T> kept_targets(targets.begin(), targets.end());  // as precise as they are trained on
  const std::size_t first_row = partition.starts[first_node];
  const auto order = std::span(partition.order).subspan(first_row, partition.starts[end_node] - first_row);
  OwnData own;
  own.schema = schema;
  own.origin = labels.origin;
  own.first_node = first_node;
  own.scale = rows.train.shape().scale;
  MFL_TRY(own.train,
          own_rows(rows.train, order, std::span(targets).subspan(first_row, order.size()), compared.held));
  std::vector<std::size_t> own_starts;
  for (std::size_t i = first_node; i <= end_node; ++i) own_starts.push_back(partition.starts[i] - first_row);
  MFL_CHECK(skew_features(config.federation.feature_skew, own.train.data,
                          {own_starts, first_node, partition.nodes(), config.run.seed}));
  if (rows.test) {
    MFL_TRY(own.test, own_test(config, schema, *rows.test, ranks, compared.held));
  }
  own.nodes.assign(all.begin() + static_cast<std::ptrdiff_t>(first_node),
                   all.begin() + static_cast<std::ptrdiff_t>(end_node));
  for (Shard& shard : own.nodes) shard.first -= first_row;
  own.all_samples = std::move(work);
  own.has_accuracy = two_classes(config, std::vector<double>(kept_targets.begin(), kept_targets.end()));
  if (!ranks.first()) return own;
  std::vector<std::uint64_t> train_hashes, test_hashes;
  MFL_TRY(own.train_digest, rows.train.digest(&train_hashes));
  std::string test_digest;
  if (rows.test) {
    MFL_TRY(test_digest, rows.test->digest(&test_hashes));
  }
  compared.expected = expected_of(train_hashes, test_hashes, partition, starts, ranks.size());
  own.data_digest = data_digest_of(own.train_digest, test_digest, partition);
  return own;
}

// The sums over the samples of all ranks. Collective.
Result<ColumnSums> sums_of_all(const Config& config, const OwnData& own, Ranks& ranks) {
  const auto mine = [&]() -> Result<std::string> {
    MFL_TRY(const ColumnSums sums, sums_of(config, own.schema, own.train.data));
    return sums.rows() == 0 ? std::string() : sums.pack();
  };
  MFL_TRY(const std::string packed, ranks.agreed(mine()));
  ColumnSums all(own.train.data.columns,
                 measures_of(config, own.schema).classes ? own.schema.classes.size() : 0);
  for (const std::string& part : ranks.gather(packed))
    if (!part.empty()) MFL_CHECK(all.merge_packed(part));
  return all;
}

template <class T>
Result<Problem<T>> own_problem(const Config& config, OwnData own, std::vector<std::string> constant) {
  const std::size_t columns = own.train.data.columns;
  MFL_TRY(auto train,
          make_samples<T>(config, own.schema, std::move(own.train.data), own.train.targets, Use::kTraining));
  std::optional<Samples<T>> test;
  if (own.test) {
    MFL_TRY(test,
            make_samples<T>(config, own.schema, std::move(own.test->data), own.test->targets, Use::kTest));
  }
  Problem<T> problem{.federation = {.model = make_model<T>(config.model, columns, own.schema),
                                    .train = std::move(train),
                                    .nodes = std::move(own.nodes),
                                    .test = std::move(test),
                                    .first_node = own.first_node,
                                    .all_samples = std::move(own.all_samples)},
                     .scale = own.scale,
                     .schema = own.schema,
                     .constant_features = std::move(constant),
                     .origin = own.origin};
  problem.has_accuracy = own.has_accuracy;
  problem.data_digest = std::move(own.data_digest);
  problem.train_digest = std::move(own.train_digest);
  return problem;
}

// Measured together, and each rank's own part. Collective.
template <class T>
Result<Problem<T>> load_stored(const Config& config, Ranks& ranks, RankComparison& compared) {
  MFL_TRY(OwnData own, ranks.agreed(load_own<T>(config, ranks, compared)));
  std::vector<std::string> constant;
  if (measures_of(config, own.schema).any()) {
    MFL_TRY(const ColumnSums sums, sums_of_all(config, own, ranks));
    MFL_TRY(constant, take_measures(config, sums, own.schema));
  }
  return ranks.agreed(own_problem<T>(config, std::move(own), std::move(constant)));
}

// A fleet's data is made by whoever needs it; only the test set is shared out.
template <class T>
Result<Problem<T>> load_fleet(const Config& config, const Ranks& ranks, RankComparison& compared) {
  MFL_TRY(Problem<T> problem, load_problem<T>(config));
  compared.facts = {{"the digest of the data", problem.data_digest}};
  if (ranks.first()) compared.expected.assign(ranks.size(), Sha256{}.finish_hex());
  std::optional<Samples<T>>& test = problem.federation.test;
  if (!test) return problem;
  const RankPart part = test_part(test->size(), ranks.rank(), ranks.size());
  std::vector<std::uint32_t> places(part.end - part.first);
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(part.first));
  const std::vector<double> targets(test->targets(part.first), test->targets(part.first) + places.size());
  test = Samples<T>(take_rows(test->data(), places), targets);
  return problem;
}

Result<void> require_same_data(RankComparison compared, Ranks& ranks) {
  MFL_CHECK(ranks.require_same(compared.facts, ErrorCode::kBadData, kSameData));
  const std::vector<std::string> held = ranks.gather(compared.held.finish_hex());
  return ranks.on_first([&]() -> Result<void> {
    for (std::size_t rank = 0; rank < held.size(); ++rank)
      if (held[rank] != compared.expected[rank])
        return fail(ErrorCode::kBadData, fmt::format("rank {}: the rows differ from those on rank 0", rank),
                    kSameData);
    return {};
  });
}

// Equal for configurations that read the same files in the same way.
std::string source_text(const Config& config) {
  Config source;
  source.data = config.data;
  if (!column_of_groups(config.federation.partition).empty())
    source.federation.partition = config.federation.partition;
  return to_toml(source);
}

Result<std::vector<RankFact>> source_facts(std::span<const Config> configs) {
  std::vector<RankFact> facts;
  std::set<std::string> seen;
  for (const Config& config : configs) {
    if (is_fleet(config.data.source) || !seen.insert(source_text(config)).second) continue;
    MFL_TRY(const TrainTestRows rows, open_rows(data_options(config)));
    const std::string name = fmt::format("the digest of {}", config.data.source);
    MFL_TRY(std::string train, rows.train.digest());
    facts.push_back({name, std::move(train)});
    if (!rows.test) continue;
    MFL_TRY(std::string test, rows.test->digest());
    facts.push_back({name + " (test)", std::move(test)});
  }
  return facts;
}

}  // namespace

template <class T>
Result<Problem<T>> load_problem(const Config& config, Ranks& where, const TrainTest* memory) {
  if (where.size() == 1 || is_external(config.model)) return load_problem<T>(config, memory);
  const auto start = std::chrono::steady_clock::now();
  RankComparison compared;
  MFL_TRY(Problem<T> problem, is_fleet(config.data.source)
                                  ? where.agreed(load_fleet<T>(config, where, compared))
                                  : load_stored<T>(config, where, compared));
  MFL_CHECK(require_same_data(std::move(compared), where));
  problem.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return problem;
}

Result<void> require_same_sources(std::span<const Config> configs, Ranks& ranks) {
  if (ranks.size() == 1) return {};
  MFL_TRY(const auto facts, ranks.agreed(source_facts(configs)));
  return ranks.require_same(facts, ErrorCode::kBadData, kSameData);
}

template Result<Problem<float>> load_problem(const Config&, Ranks&, const TrainTest*);
template Result<Problem<double>> load_problem(const Config&, Ranks&, const TrainTest*);

}  // namespace mfl
