// Batches: the rows of each step, and one trajectory whatever runs them.
#include "mfl/solve/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "mfl/algorithm/algorithms.h"
#include "tests/base/precisions.h"
#include "tests/engine/federations.h"

namespace mfl {
namespace {

using test::kModels;
using test::make_federation;
using test::train_on;

std::vector<std::uint32_t> epoch_of(BatchOrder& order, const Batching& batching, std::size_t rows,
                                    std::uint64_t epoch) {
  const std::uint64_t each = batches_per_epoch(batching, rows);
  std::vector<std::uint32_t> seen;
  for (std::uint64_t step = epoch * each; step < (epoch + 1) * each; ++step) {
    const auto batch = order.rows_of(step);
    EXPECT_FALSE(batch.empty());
    EXPECT_LE(batch.size(), batching.batch_size);
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  return seen;
}

TEST(Batches, EveryRowExactlyOncePerEpoch) {
  for (const std::size_t rows : {2U, 3U, 10U, 11U, 57U, 600U})
    for (const std::uint64_t size : {1U, 2U, 7U, 10U, 56U, 599U})
      for (const bool drop_last : {false, true}) {
        const Batching batching{.batch_size = size, .drop_last = drop_last, .seed = 3};
        if (takes_all(batching, rows)) continue;
        BatchOrder order;
        order.start(batching, node_key("node-0001"), 5, rows);
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
          auto seen = epoch_of(order, batching, rows, epoch);
          std::ranges::sort(seen);
          EXPECT_TRUE(std::ranges::adjacent_find(seen) == seen.end()) << rows << ' ' << size;
          const std::size_t expected = drop_last ? rows / size * size : rows;
          EXPECT_EQ(seen.size(), expected);
          EXPECT_LT(seen.back(), rows);
        }
        EXPECT_EQ(rows_of_steps(batching, rows, batches_per_epoch(batching, rows)),
                  drop_last ? rows / size * size : rows);
      }
}

TEST(Batches, RowsOfStepsCountsTheRowsOfTheBatches) {
  for (const bool drop_last : {false, true}) {
    const Batching batching{.batch_size = 10, .drop_last = drop_last, .seed = 1};
    BatchOrder order;
    order.start(batching, 7, 1, 57);
    std::uint64_t rows = 0;
    for (std::uint64_t step = 0; step < 40; ++step) {
      EXPECT_EQ(rows_of_steps(batching, 57, step), rows);
      rows += order.rows_of(step).size();
    }
  }
  EXPECT_EQ(rows_of_steps({}, 57, 4), 228U);
  EXPECT_EQ(rows_of_steps({.batch_size = 10, .by_epochs = true}, 57, 2), 114U);
}

TEST(Batches, TheOrderDependsOnSeedNodeRoundAndEpochAlone) {
  const Batching batching{.batch_size = 10, .seed = 1};
  const auto first = [&](const Batching& of, std::uint64_t key, std::uint64_t round, std::uint64_t epoch) {
    BatchOrder order;
    order.start(of, key, round, 100);
    return epoch_of(order, of, 100, epoch);
  };
  const auto expected = first(batching, node_key("node-0003"), 4, 2);
  EXPECT_EQ(first(batching, node_key("node-0003"), 4, 2), expected);
  std::set<std::vector<std::uint32_t>> all = {expected};
  all.insert(first({.batch_size = 10, .seed = 2}, node_key("node-0003"), 4, 2));
  all.insert(first(batching, node_key("node-0004"), 4, 2));
  all.insert(first(batching, node_key("node-0003"), 5, 2));
  all.insert(first(batching, node_key("node-0003"), 4, 1));
  EXPECT_EQ(all.size(), 5U);
  // A larger batch reads the same order.
  EXPECT_EQ(first({.batch_size = 25, .seed = 1}, node_key("node-0003"), 4, 2), expected);
}

TEST(Batches, EveryRowIsAsLikelyAtEveryPlace) {
  constexpr std::size_t kRows = 8, kDraws = 8000;
  const Batching batching{.batch_size = 1, .seed = 1};
  std::array<std::array<int, kRows>, kRows> counts = {};
  for (std::uint64_t round = 1; round <= kDraws; ++round) {
    BatchOrder order;
    order.start(batching, 11, round, kRows);
    for (std::size_t i = 0; i < kRows; ++i) ++counts[i][order.rows_of(i)[0]];
  }
  for (const auto& place : counts)
    for (const int count : place) EXPECT_NEAR(count, kDraws / kRows, 180);  // six deviations
}

TEST(Batches, NamesOfNodes) {
  EXPECT_EQ(node_name(3), "node-0003");
  EXPECT_EQ(node_name(123456), "node-123456");
  EXPECT_EQ(node_key("node-0003"), node_key(node_name(3)));
  EXPECT_NE(node_key("a"), node_key("b"));
}

template <class T>
class BatchesOf : public ::testing::Test {
 protected:
  static State<T> trained(const test::ModelCase& model, const Federation<T>& federation,
                          const Batching& batching, std::unique_ptr<Workers> workers = serial_workers()) {
    const Algorithm algorithm = make_mfl(0.01, 0.8, 4);
    const auto engine = local_engine<T>(federation, {Setting{algorithm, model.lambda}}, std::move(workers),
                                        {.batching = batching});
    return train_on(*engine, algorithm, federation.model->parameters(), 24);
  }
};
TYPED_TEST_SUITE(BatchesOf, test::Precisions);

TYPED_TEST(BatchesOf, ThreadsAndKernelsGiveTheBitsOfTheSerialEngine) {
  const Dataset data = *make_synthetic(700, 90, 1);
  for (const auto& model : kModels)
    for (const std::size_t nodes : {1, 3, 20})
      for (const bool by_epochs : {false, true}) {
        const Batching batching{.batch_size = 16, .by_epochs = by_epochs, .seed = 4};
        const auto federation = make_federation<TypeParam>(model, data, *iid(700, nodes, 3));
        const auto expected = this->trained(model, federation, batching);
        for (const unsigned threads : {1, 2, 3, 8}) {
          const auto got = this->trained(model, federation, batching, thread_workers(threads));
          EXPECT_EQ(state_digest(got), state_digest(expected)) << model.name << nodes << threads;
          EXPECT_EQ(got.best.train_loss, expected.best.train_loss);
        }
        for (const KernelSet& set : kernel_sets()) {
          const auto other = make_federation<TypeParam>(model, data, *iid(700, nodes, 3), set);
          EXPECT_EQ(state_digest(this->trained(model, other, batching)), state_digest(expected)) << set.name;
        }
      }
}

TYPED_TEST(BatchesOf, BytesFloatsAndSparseRowsGiveTheSameBits) {
  const Dataset bytes = *make_synthetic(300, 70, 4);
  const Dataset dense = test::as_floats<TypeParam>(bytes), sparse = test::as_sparse<TypeParam>(bytes);
  for (const auto& model : kModels) {
    const auto run = [&](const Dataset& data) {
      const auto federation = make_federation<TypeParam>(model, data, *contiguous(300, 3));
      return state_digest(this->trained(model, federation, {.batch_size = 7, .seed = 2}));
    };
    EXPECT_EQ(run(dense), run(bytes)) << model.name;
    EXPECT_EQ(run(sparse), run(bytes)) << model.name;
  }
}

TYPED_TEST(BatchesOf, ABatchThatCoversTheShardGivesTheFullBatchBits) {
  const Dataset data = *make_synthetic(300, 60, 1);
  for (const auto& model : kModels) {
    const auto federation = make_federation<TypeParam>(model, data, *iid(300, 3, 3));
    const auto whole = this->trained(model, federation, {});
    const auto covered = this->trained(model, federation, {.batch_size = 100, .drop_last = true, .seed = 9});
    EXPECT_EQ(state_digest(covered), state_digest(whole)) << model.name;
    const auto smaller = this->trained(model, federation, {.batch_size = 99, .seed = 9});
    EXPECT_NE(state_digest(smaller), state_digest(whole)) << model.name;
  }
}

TYPED_TEST(BatchesOf, NodesAreKnownByTheirNames) {
  const auto& model = kModels[1];
  auto federation = make_federation<TypeParam>(model, *make_synthetic(300, 60, 1), *iid(300, 3, 3));
  const Batching batching{.batch_size = 10, .seed = 9};
  const auto expected = state_digest(this->trained(model, federation, batching));
  federation.names = {"node-0000", "node-0001", "node-0002"};
  EXPECT_EQ(state_digest(this->trained(model, federation, batching)), expected);
  std::swap(federation.names[0], federation.names[2]);
  EXPECT_NE(state_digest(this->trained(model, federation, batching)), expected);
  std::swap(federation.nodes[0], federation.nodes[2]);
  EXPECT_EQ(state_digest(this->trained(model, federation, batching)), expected)
      << "they move with their data";
}

TEST(Batches, ANodeWithOneBatchHasBothLosses) {
  const auto& model = kModels[3];
  const auto federation = make_federation<double>(model, *make_synthetic(50, 20, 1), *contiguous(50, 1));
  const Algorithm algorithm = make_fl(0.05, 3);
  const auto engine = local_engine<double>(federation, {Setting{algorithm, 0.1}}, serial_workers(),
                                           {.batching = {.batch_size = 50, .seed = 5}});
  State<double> state = initial_state<double>(algorithm, 20);
  double mean = 0;  // over the steps of a round
  for (std::uint64_t step = 0; step < 3; ++step) {
    Aggregate<double> one;
    ASSERT_FALSE(test::run_round(*engine, state, 1, one));
    mean += one.loss_before / 3;
    state.vectors[0].values = one.vectors[0];
  }
  State<double> start = initial_state<double>(algorithm, 20);
  Aggregate<double> out;
  StepRange<double> range{.state = &start, .out = &out, .evaluate = true};
  engine->run(std::span(&range, 1), 3);
  EXPECT_EQ(out.evaluated, engine->train_loss(0, start.w()));
  EXPECT_DOUBLE_EQ(out.loss_before, mean);
  EXPECT_LT(out.loss_before, out.evaluated);
}

// By hand: one node, plain steps, the loss of a round is the mean over its batches.
TEST(Batches, StepsAndLossesAreThoseOfTheBatches) {
  const auto& model = kModels[3];
  const auto federation = make_federation<double>(model, *make_synthetic(50, 20, 1), *contiguous(50, 1));
  const Batching batching{.batch_size = 8, .by_epochs = true, .seed = 5};
  const Algorithm algorithm = make_fl(0.05, 2);
  const auto engine =
      local_engine<double>(federation, {Setting{algorithm, 0.1}}, serial_workers(), {.batching = batching});
  State<double> state = initial_state<double>(algorithm, 20);
  state.round = 6;
  Aggregate<double> out;
  ASSERT_FALSE(test::run_round(*engine, state, 2, out));

  Vector<double> w(20), gradient(20);
  BatchOrder order;
  order.start(batching, node_key("node-0000"), 7, 50);
  const auto workspace = federation.model->make_workspace(1, 1);
  auto buffer = Samples<double>::buffer_for(federation.train, 8);
  double loss = 0;
  const std::uint64_t steps = 2 * batches_per_epoch(batching, 50);
  ASSERT_EQ(steps, 14U);
  for (std::uint64_t step = 0; step < steps; ++step) {
    buffer.gather(federation.train, {0, 50}, order.rows_of(step));
    Item<double> item{.w = w.data(), .gradient = gradient.data(), .lambda = 0.1};
    federation.model->loss_and_gradient(buffer, {0, buffer.size()}, std::span(&item, 1), *workspace, nullptr);
    loss += item.loss / static_cast<double>(steps);
    federation.train.kernels().descent_step(20, 0.05, gradient.data(), w.data());
  }
  EXPECT_EQ(out.vectors[0], w);
  EXPECT_EQ(out.loss_before, loss);

  StepRange<double> range{.state = &state, .out = &out, .evaluate = true};
  engine->run(std::span(&range, 1), 2);
  EXPECT_EQ(out.evaluated, engine->train_loss(0, state.w()));
  EXPECT_EQ(out.loss_before, loss) << "one does not take the place of the other";
  EXPECT_EQ(out.vectors[0], w);
}

}  // namespace
}  // namespace mfl
