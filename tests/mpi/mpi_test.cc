// One trajectory over processes: any number of ranks gives the bits of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>

#include "mfl/aggregate/aggregator.h"
#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/algorithm/estimating.h"
#include "mfl/base/rng.h"
#include "mfl/engine/assign_nodes.h"
#include "mfl/engine/mpi/communicator.h"
#include "tests/base/precisions.h"
#include "tests/base/sample_spec.h"
#include "tests/engine/aggregators.h"
#include "tests/engine/federations.h"
#include "tests/engine/scaffold.h"

namespace mfl {
namespace {

using test::kModels;
using test::make_engine;
using test::make_federation;
using test::ModelCase;
using test::run_round;
using test::train;

constexpr unsigned kRankCounts[] = {1, 2, 3, 5, 8};

// The first `count` ranks of the job as a group; the others skip the case.
class Group {
 public:
  explicit Group(unsigned count, std::uint64_t largest_message = kLargestMessage) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < static_cast<int>(count) ? 0 : MPI_UNDEFINED, rank, &communicator_);
    if (communicator_ != MPI_COMM_NULL) ranks_ = ranks_over(communicator_, largest_message);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
  }
  Ranks* ranks() const { return ranks_.get(); }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::unique_ptr<Ranks> ranks_;
};

int size_of_job() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// Nodes of sizes in the ratio 1 : 2 : 3 ..., the last one taking the remaining samples.
Partition uneven(std::size_t samples, std::size_t nodes) {
  Partition partition = *contiguous(samples, 1);
  const std::size_t unit = samples / (nodes * (nodes + 1) / 2);
  partition.starts = {0};
  for (std::size_t i = 1; i < nodes; ++i) partition.starts.push_back(partition.starts.back() + i * unit);
  partition.starts.push_back(samples);
  return partition;
}

// The part of a federation that one rank holds.
template <class T>
Federation<T> share(const ModelCase& model, const Dataset& data, const Partition& partition,
                    const Ranks& ranks) {
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < partition.nodes(); ++i) work.push_back(partition.node(i).size());
  const auto starts = assign_nodes(work, ranks.size());
  Partition own;
  own.starts = {0};
  for (std::size_t i = starts[ranks.rank()]; i < starts[ranks.rank() + 1]; ++i) {
    own.order.insert(own.order.end(), partition.node(i).begin(), partition.node(i).end());
    own.starts.push_back(own.order.size());
  }
  Federation<T> federation = make_federation<T>(model, data, own);
  federation.first_node = starts[ranks.rank()];
  federation.all_samples = work;
  return federation;
}

template <class T>
State<T> train_shared(const ModelCase& model, const Federation<T>& federation, const Algorithm& algorithm,
                      std::uint64_t steps, unsigned threads, Ranks& ranks) {
  const auto engine =
      shared_engine<T>(federation, {Setting{algorithm, model.lambda}}, thread_workers(threads), ranks);
  return test::train_on(*engine, algorithm, federation.model->parameters(), steps);
}

TEST(Ranks, GatherMoreThanOneMessageHolds) {
  for (const std::uint64_t largest :
       {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{64}, kLargestMessage}) {
    const Group group(5, largest);
    if (group.ranks() == nullptr) continue;
    Ranks& ranks = *group.ranks();
    const auto said_by = [](unsigned rank) { return std::string(rank * 11, static_cast<char>('a' + rank)); };
    std::vector<std::string> expected;
    for (unsigned rank = 0; rank < ranks.size(); ++rank) expected.push_back(said_by(rank));
    EXPECT_EQ(ranks.gather(said_by(ranks.rank())), expected) << largest;
    EXPECT_EQ(ranks.gather_at_first(said_by(ranks.rank())),
              ranks.first() ? expected : std::vector<std::string>{});
    std::string shared = ranks.first() ? "what the first one says" : "";
    ranks.share(shared);
    EXPECT_EQ(shared, "what the first one says");
    EXPECT_EQ(ranks.gather(""), std::vector<std::string>(ranks.size()));
  }
}

template <class T>
class RanksOf : public ::testing::Test {};
TYPED_TEST_SUITE(RanksOf, test::Precisions);

// All of them where nodes are most; else one of each kind of vector.
std::vector<Algorithm> algorithms_for(std::size_t nodes, const ModelCase& model) {
  std::vector<Algorithm> out = {make_mfl(0.01, 0.8, 4), make_fl(0.01, 3), make_gd(0.01),
                                test::scaffold(0.01, 3)};
  if (nodes < 11 || model.entry != kModels[0].entry) return out;
  out.push_back(*make_algorithm("mfl", {.eta = 0.01, .gamma = 0.8, .sync_momentum = 2}, 3));
  out.push_back(estimating(make_mfl(0.01, 0.8, 3)));
  for (const AlgorithmEntry& entry : algorithms())
    out.push_back(*make_algorithm(test::sample_spec(entry), {.eta = 0.01, .gamma = 0.8}, 3));
  return out;
}

TYPED_TEST(RanksOf, GiveTheBitsOfTheSerialEngine) {
  using T = TypeParam;
  ASSERT_EQ(size_of_job(), 8) << "run this test as: mpirun -n 8";
  const Dataset data = *make_synthetic(330, 40, 1);
  for (const std::size_t nodes : {1, 3, 11}) {
    const Partition partition = uneven(330, nodes);
    for (const ModelCase& model : {kModels[0], kModels[3]})
      for (const Algorithm& algorithm : algorithms_for(nodes, model)) {
        const auto expected = train(model, make_federation<T>(model, data, partition), algorithm, 10);
        for (const unsigned count : kRankCounts) {
          const Group group(count);
          if (group.ranks() == nullptr) continue;
          const auto own = share<T>(model, data, partition, *group.ranks());
          for (const unsigned threads : {1U, 2U}) {
            const auto got = train_shared<T>(model, own, algorithm, 10, threads, *group.ranks());
            EXPECT_EQ(state_digest(got), state_digest(expected))
                << model.name << ' ' << algorithm.name << ", " << nodes << " nodes, " << count << " ranks, "
                << threads << " threads";
            EXPECT_EQ(got.best.train_loss, expected.best.train_loss);
            EXPECT_EQ(got.best.step, expected.best.step);
          }
        }
      }
  }
}

template <class T>
std::vector<Vector<T>> finished(Ranks& ranks, Accumulator<T>& sums) {
  std::vector<Vector<T>> out;
  sums.sliced()->prepare(out, for_each_in_order);
  ranks.finish(*sums.sliced(), out);
  return out;
}

TYPED_TEST(RanksOf, ALargeMeanIsTheMeanOfOneProcess) {
  using T = TypeParam;
  constexpr std::size_t kOther = 5'000;  // of a vector in which nodes count the same
  for (const std::size_t size : {1, 7, 4096, 300'001}) {
    for (const unsigned count : kRankCounts) {
      const Group group(count);
      if (group.ranks() == nullptr) continue;
      ExactMean all(size), all_others(kOther);
      const auto own = mean_aggregator().accumulator<T>({{"w", size}, {"d", kOther, false}});
      for (unsigned rank = 0; rank < count; ++rank) {
        if (rank == 2) continue;  // has nothing to add
        Stream stream(5, Purpose::kSynthetic, rank);
        Vector<T> x(size + kOther);
        for (T& v : x) {
          const auto bits = static_cast<std::int64_t>(stream.next());
          v = static_cast<T>(std::ldexp(static_cast<double>(bits), -70 - static_cast<int>(bits & 63)));
        }
        const auto w = std::span<const T>(x).first(size), other = std::span<const T>(x).last(kOther);
        all.add(w, 100 + rank);
        all_others.add(other, 1);
        if (rank == group.ranks()->rank()) own->add({.samples = 100 + rank, .vectors = {w, other}});
      }
      std::vector<Vector<T>> expected = {Vector<T>(size), Vector<T>(kOther)};
      all.mean(std::span<T>(expected[0]));
      all_others.mean(std::span<T>(expected[1]));
      EXPECT_EQ(finished(*group.ranks(), *own), expected) << size << " coordinates, " << count << " ranks";
    }
  }
}

// Coordinates that nobody uses, ranks that have nothing to add, and numbers at the ends of the range.
TYPED_TEST(RanksOf, ZerosAndExtremesHaveTheMeanOfOneProcess) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  constexpr std::size_t kSize = 20'000;
  for (const unsigned count : kRankCounts) {
    const Group group(count);
    if (group.ranks() == nullptr) continue;
    for (const bool all_zero : {true, false}) {
      ExactMean all(kSize);
      const auto own = mean_aggregator().accumulator<T>({{"w", kSize}});
      for (unsigned rank = 0; rank < count; ++rank) {
        Vector<T> x(kSize);
        if (!all_zero && rank % 2 == 0) {
          x[0] = Limits::max();
          x[1] = -Limits::max();
          x[2] = Limits::denorm_min();
          x[kSize - 1] = T(rank) + T(0.1);
        }
        all.add(std::span<const T>(x), ExactMean::kMaxWeight);
        if (rank == group.ranks()->rank()) own->add({.samples = ExactMean::kMaxWeight, .vectors = {x}});
      }
      Vector<T> expected(kSize);
      all.mean(std::span<T>(expected));
      const Vector<T> got = finished(*group.ranks(), *own).front();
      EXPECT_EQ(got, expected) << count << " ranks" << (all_zero ? ", all zero" : "");
      EXPECT_EQ(got[3], T(0));
    }
  }
}

TYPED_TEST(RanksOf, BatchesAndAggregatorsGiveTheBitsOfOneProcess) {
  using T = TypeParam;
  const Dataset data = *make_synthetic(300, 30, 2);
  const Partition partition = uneven(300, 9);
  const Algorithm algorithm = make_mfl(0.02, 0.5, 3);
  for (const std::string& spec : test::aggregator_specs())
    for (const ModelCase& model : {kModels[1], kModels.back()}) {
      const std::vector<Setting> settings = {{algorithm, model.lambda}};
      const EngineOptions options{.batching = {.batch_size = 5, .by_epochs = true, .seed = 3},
                                  .aggregator = make_aggregator(spec).value()};
      const auto whole = make_federation<T>(model, data, partition);
      const auto trained = [&](Engine<T>& engine) {
        return state_digest(test::train_on(engine, algorithm, whole.model->parameters(), 9));
      };
      const std::string expected = trained(*local_engine<T>(whole, settings, serial_workers(), options));
      for (const unsigned count : kRankCounts) {
        const Group group(count);
        if (group.ranks() == nullptr) continue;
        const auto own = share<T>(model, data, partition, *group.ranks());
        EXPECT_EQ(trained(*shared_engine<T>(own, settings, thread_workers(2), *group.ranks(), options)),
                  expected)
            << spec << ' ' << count;
      }
    }
}

TYPED_TEST(RanksOf, NodesThatTakePartAndFleetsAreShared) {
  using T = TypeParam;
  const ModelCase& model = kModels[0];
  const Dataset data = *make_synthetic(200, 30, 2);
  const Partition partition = *iid(200, 20, 3);
  const std::vector<std::uint32_t> few = {1, 2, 13, 19};
  const Algorithm algorithm = make_mfl(0.02, 0.5, 3);
  Federation<T> fleet = make_federation<T>(model, data, partition);
  fleet.train = Samples<T>::buffer(0, 30, FleetRows::kScale);
  fleet.nodes.clear();
  ClassTargets<T> targets;
  for (std::size_t c = 0; c < targets.size(); ++c) targets[c] = c % 2 == 0 ? T(1) : T(-1);
  fleet.fleet = std::make_shared<const Fleet<T>>(FleetRows({3, 9, 30}, 7), 20, targets);
  const auto round = [&](Engine<T>& engine) {
    const State<T> state = initial_state<T>(algorithm, fleet.model->parameters());
    Aggregate<T> out;
    StepRange<T> range{.state = &state, .out = &out, .measure_moves = true, .participants = few};
    engine.run(std::span(&range, 1), 3);
    EXPECT_FALSE(range.failure);
    return std::tuple(out.vectors, out.loss_before, out.mean_square_move,
                      engine.train_loss(0, out.vectors[0], few));
  };
  const auto stored = make_federation<T>(model, data, partition);
  const auto expected = round(*make_engine(model, stored, algorithm));
  const auto expected_fleet = round(*make_engine(model, fleet, algorithm));
  for (const unsigned count : kRankCounts) {
    const Group group(count);
    if (group.ranks() == nullptr) continue;
    const std::vector<Setting> settings = {{algorithm, model.lambda}};
    const auto own = share<T>(model, data, partition, *group.ranks());
    EXPECT_EQ(round(*shared_engine<T>(own, settings, serial_workers(), *group.ranks())), expected) << count;
    EXPECT_EQ(round(*shared_engine<T>(fleet, settings, serial_workers(), *group.ranks())), expected_fleet)
        << count;
  }
}

TEST(Ranks, TestBlocksCombineInTheirOrder) {
  const ModelCase& model = kModels[3];
  const Dataset data = *make_synthetic(1100, 20, 4);  // five blocks
  Federation<double> whole = make_federation<double>(model, data, *contiguous(1100, 2));
  const auto targets = make_targets(data, Task::kEvenOdd, model.targets).value();
  whole.test.emplace(data, targets);
  const Algorithm algorithm = make_fl(0.1, 1);
  const auto state = train(model, whole, algorithm, 3);
  const auto expected = make_engine(model, whole, algorithm)->test(0, state.w(), TestDetail::kClasses);
  std::vector<double> scores(1100);
  for (std::size_t r = 0; r < 1100; ++r)
    whole.model->scores(*whole.test, {r, 1}, state.w().data(), &scores[r]);
  for (const unsigned count : kRankCounts) {
    const Group group(count);
    if (group.ranks() == nullptr) continue;
    Federation<double> own = share<double>(model, data, *contiguous(1100, 2), *group.ranks());
    const std::size_t rank = group.ranks()->rank();
    const std::size_t first = std::min<std::size_t>(1100, 5 * rank / count * kRowBlock),
                      end = std::min<std::size_t>(1100, 5 * (rank + 1) / count * kRowBlock);
    std::vector<std::uint32_t> rows(end - first);
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(first));
    own.test.emplace(take_rows(data, rows), std::span(targets).subspan(first, rows.size()));
    const auto engine = shared_engine<double>(own, {Setting{algorithm, 0}}, serial_workers(), *group.ranks());
    const auto got = engine->test(0, state.w(), TestDetail::kClasses);
    EXPECT_EQ(got->loss, expected->loss) << count;
    EXPECT_EQ(got->accuracy, expected->accuracy) << count;
    EXPECT_TRUE(std::ranges::equal(got->classes->cells(), expected->classes->cells())) << count;
    EXPECT_TRUE(expected->auc);
    EXPECT_EQ(got->auc, expected->auc) << count;
    EXPECT_EQ(engine->test(0, state.w(), TestDetail::kNumbers)->numbers, number_metrics(scores, targets))
        << count;
  }
}

TEST(Ranks, AllOfThemNameTheFirstNodeThatIsNotFinite) {
  const ModelCase& model = kModels[2];
  Dataset data = *make_synthetic(600, 50, 6);
  const Group group(5);
  if (group.ranks() == nullptr) return;
  const auto own = share<float>(model, data, *contiguous(600, 7), *group.ranks());
  const Algorithm algorithm = make_mfl(1e30, 0.5, 3);
  const auto engine = shared_engine<float>(own, {Setting{algorithm, 0}}, serial_workers(), *group.ranks());
  const State<float> state = initial_state<float>(algorithm, 50);
  Aggregate<float> aggregate;
  const auto bad = run_round(*engine, state, 3, aggregate);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->node, 0U);
  EXPECT_EQ(aggregate.loss_before, 0.5);
}

TEST(Ranks, StopTogetherAfterTheRoundInWhichOneIsAsked) {
  const ModelCase& model = kModels[0];
  const Dataset data = *make_synthetic(60, 10, 6);
  const Group group(3);
  if (group.ranks() == nullptr) return;
  const auto own = share<float>(model, data, *contiguous(60, 3), *group.ranks());
  const Algorithm algorithm = make_fl(0.1, 1);
  const auto engine = shared_engine<float>(own, {Setting{algorithm, 0}}, serial_workers(), *group.ranks());
  const State<float> state = initial_state<float>(algorithm, 10);
  Aggregate<float> aggregate;
  EXPECT_FALSE(engine->stop(false));
  EXPECT_FALSE(run_round(*engine, state, 1, aggregate));
  EXPECT_FALSE(engine->stop(group.ranks()->rank() == 1));
  EXPECT_FALSE(run_round(*engine, state, 1, aggregate));
  EXPECT_TRUE(engine->stop(false));
}

TEST(Ranks, AgreeOnFailures) {
  const Group group(3);
  if (group.ranks() == nullptr) return;
  Ranks& ranks = *group.ranks();
  EXPECT_TRUE(ranks.agree({}));
  EXPECT_FALSE(ranks.failed_together());
  const auto one = ranks.agree(ranks.rank() == 2 ? Result<void>(fail(ErrorCode::kBadData, "no file", "look"))
                                                 : Result<void>{});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().message, "rank 2: no file");
  EXPECT_EQ(one.error().hint, "look");
  EXPECT_EQ(one.error().code, ErrorCode::kBadData);
  EXPECT_TRUE(ranks.failed_together());
  EXPECT_EQ(ranks.agree(fail(ErrorCode::kBadConfig, "bad key")).error().message, "bad key");
}

TEST(Ranks, ReceiveWhatTheFirstHas) {
  const Group group(5);
  if (group.ranks() == nullptr) return;
  Ranks& ranks = *group.ranks();
  EXPECT_EQ(*ranks.from_first([] { return std::string(100'000, 'x'); }), std::string(100'000, 'x'));
  const auto failed = ranks.from_first(
      []() -> Result<std::string> { return fail(ErrorCode::kRunFailed, "full", "make space"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "full");
  EXPECT_EQ(failed.error().hint, "make space");
  const std::vector<std::string> all = ranks.gather(std::string(ranks.rank(), 'a'));
  EXPECT_THAT(all, ::testing::ElementsAre("", "a", "aa", "aaa", "aaaa"));
  const std::vector<std::string> told = ranks.gather_at_first(std::string(ranks.rank(), 'b'));
  if (ranks.first())
    EXPECT_THAT(told, ::testing::ElementsAre("", "b", "bb", "bbb", "bbbb"));
  else
    EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace mfl
