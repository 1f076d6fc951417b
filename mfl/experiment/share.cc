#include "mfl/experiment/share.h"

#include <chrono>
#include <numeric>
#include <span>
#include <utility>

#include "mfl/base/message.h"
#include "mfl/data/fleet.h"
#include "mfl/data/source.h"
#include "mfl/engine/spread.h"
#include "mfl/experiment/factory.h"
#include "mfl/experiment/problem_parts.h"

namespace mfl {
namespace {

struct Part {
  std::size_t first = 0, end = 0;
};

// Whole row blocks, as many for each rank as for the others.
Part test_part(std::size_t rows, const Ranks& ranks) {
  const std::size_t blocks = row_blocks(rows);
  const auto start = [&](std::size_t rank) {
    return std::min(rows, blocks * rank / ranks.size() * kRowBlock);
  };
  return {start(ranks.rank()), start(ranks.rank() + 1)};
}

// Some of a set's rows with their targets, which depend on the labels of all.
template <class T>
Result<Samples<T>> own_samples(const SomeRows& rows, std::span<const std::uint32_t> places,
                               std::span<const double> targets) {
  MFL_TRY(Dataset data, rows.read(places));
  MFL_TRY(data, with_precision(std::move(data), precision_of<T>()));
  return Samples<T>(std::move(data), targets);
}

template <class T>
Result<Samples<T>> own_test(const Config& config, const Schema& schema, const SomeRows& rows,
                            const Ranks& ranks) {
  MFL_TRY(const auto targets, targets_of(config, schema, rows.without_features()));
  const Part part = test_part(rows.size(), ranks);
  std::vector<std::uint32_t> places(part.end - part.first);
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(part.first));
  return own_samples<T>(rows, places, std::span(targets).subspan(part.first, places.size()));
}

// Of the first rank, which knows the digests; those of the others stay empty.
template <class T>
Result<Problem<T>> load_own(const Config& config, const Ranks& ranks) {
  MFL_TRY(const TrainTestRows rows, open_rows(data_options(config)));
  Dataset labels = rows.train.without_features();
  MFL_TRY(const Schema schema, schema_of(config, labels));
  MFL_TRY(const Partition partition, who_holds_what(config, labels));
  const std::vector<Shard> all = shards_of(partition);
  std::vector<std::size_t> work;
  for (const Shard& shard : all) work.push_back(shard.count);
  const std::vector<std::size_t> starts = spread_nodes(work, ranks.size());
  const std::size_t first_node = starts[ranks.rank()], end_node = starts[ranks.rank() + 1];

  std::vector<double> held;
  for (const std::uint32_t place : partition.order) held.push_back(labels.labels[place]);
  labels.labels = std::move(held);
  MFL_TRY(const std::vector<double> targets, targets_of(config, schema, labels));
  const std::vector<T> kept_targets(targets.begin(), targets.end());  // as precise as they are trained on
  const std::size_t first_row = partition.starts[first_node];
  const auto order = std::span(partition.order).subspan(first_row, partition.starts[end_node] - first_row);
  MFL_TRY(auto train, own_samples<T>(rows.train, order, std::span(targets).subspan(first_row, order.size())));
  std::optional<Samples<T>> test;
  if (rows.test) {
    MFL_TRY(test, own_test<T>(config, schema, *rows.test, ranks));
  }

  std::vector<Shard> nodes(all.begin() + static_cast<std::ptrdiff_t>(first_node),
                           all.begin() + static_cast<std::ptrdiff_t>(end_node));
  for (Shard& shard : nodes) shard.first -= first_row;
  Problem<T> problem{
      .federation = {make_loss(config.model), std::move(train), std::move(nodes), std::move(test)},
      .schema = schema,
      .origin = labels.origin};
  problem.federation.first_node = first_node;
  problem.federation.all_samples = std::move(work);
  problem.has_accuracy = two_classes(config, std::vector<double>(kept_targets.begin(), kept_targets.end()));
  if (!ranks.first()) return problem;
  MFL_TRY(problem.train_digest, rows.train.digest());
  std::string test_digest;
  if (rows.test) {
    MFL_TRY(test_digest, rows.test->digest());
  }
  problem.data_digest = data_digest_of(problem.train_digest, test_digest, partition);
  return problem;
}

// A fleet's data is made by whoever needs it; only the test set is shared out.
template <class T>
Result<Problem<T>> load_fleet(const Config& config, const Ranks& ranks) {
  MFL_TRY(Problem<T> problem, load_problem<T>(config));
  std::optional<Samples<T>>& test = problem.federation.test;
  if (!test) return problem;
  const Part part = test_part(test->size(), ranks);
  std::vector<std::uint32_t> places(part.end - part.first);
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(part.first));
  const std::vector<double> targets(test->targets(part.first), test->targets(part.first) + places.size());
  test = Samples<T>(take_rows(test->data(), places), targets);
  return problem;
}

}  // namespace

template <class T>
Result<Problem<T>> load_share(const Config& config, Ranks& ranks) {
  if (ranks.size() == 1) return load_problem<T>(config);
  const auto start = std::chrono::steady_clock::now();
  Result<Problem<T>> problem =
      is_fleet(config.data.source) ? load_fleet<T>(config, ranks) : load_own<T>(config, ranks);
  MFL_CHECK(ranks.agree(problem ? Result<void>{} : tl::unexpected<Error>(problem.error())));
  problem->load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return problem;
}

template Result<Problem<float>> load_share(const Config&, Ranks&);
template Result<Problem<double>> load_share(const Config&, Ranks&);

}  // namespace mfl
