// One trajectory: every engine, number of threads, kernel set and order of nodes gives the serial engine's bits.
#include "mfl/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mfl/algorithm/algorithms.h"
#include "tests/base/precisions.h"
#include "tests/engine/federations.h"

namespace mfl {
namespace {

using test::kModels;
using test::make_engine;
using test::make_federation;
using test::run_round;
using test::train;

template <class T>
class EnginesOf : public ::testing::Test {};
TYPED_TEST_SUITE(EnginesOf, test::Precisions);

TYPED_TEST(EnginesOf, ThreadsGiveTheBitsOfTheSerialEngine) {
  const Dataset data = *make_synthetic(1500, 100, 1);
  for (const auto& model : kModels)
    for (const std::size_t nodes : {1, 2, 5, 40}) {
      const auto federation = make_federation<TypeParam>(model, data, *iid(1500, nodes, 3));
      const Algorithm algorithm = make_mfl(0.01, 0.8, 4);
      const auto expected = train(model, federation, algorithm, 30);
      for (const unsigned threads : {1, 2, 3, 8}) {
        const auto got = train(model, federation, algorithm, 30, thread_workers(threads));
        EXPECT_EQ(state_digest(got), state_digest(expected)) << model.name << ' ' << nodes << ' ' << threads;
        EXPECT_EQ(got.best.train_loss, expected.best.train_loss);
      }
    }
}

TYPED_TEST(EnginesOf, KernelSetsGiveTheSameBits) {
  const Dataset data = *make_synthetic(600, 90, 2);
  for (const auto& model : kModels) {
    const auto expected =
        train(model, make_federation<TypeParam>(model, data, *contiguous(600, 3), kernel_sets().back()),
              make_mfl(0.01, 0.8, 4), 30);
    for (const KernelSet& set : kernel_sets()) {
      const auto got = train(model, make_federation<TypeParam>(model, data, *contiguous(600, 3), set),
                             make_mfl(0.01, 0.8, 4), 30);
      EXPECT_EQ(state_digest(got), state_digest(expected)) << model.name << ' ' << set.name;
      EXPECT_EQ(got.best.train_loss, expected.best.train_loss) << model.name << ' ' << set.name;
    }
  }
}

TYPED_TEST(EnginesOf, TheOrderOfNodesDoesNotMatter) {
  const auto& model = kModels[3];
  auto federation = make_federation<TypeParam>(model, *make_synthetic(700, 80, 3), *iid(700, 9, 1));
  const auto expected = train(model, federation, make_mfl(0.01, 0.8, 4), 30);
  std::reverse(federation.nodes.begin(), federation.nodes.end());
  EXPECT_EQ(state_digest(train(model, federation, make_mfl(0.01, 0.8, 4), 30)), state_digest(expected));
  std::rotate(federation.nodes.begin(), federation.nodes.begin() + 4, federation.nodes.end());
  EXPECT_EQ(state_digest(train(model, federation, make_mfl(0.01, 0.8, 4), 30)), state_digest(expected));
}

TYPED_TEST(EnginesOf, BytesFloatsAndSparseRowsGiveTheSameBits) {
  const Dataset bytes = *make_synthetic(400, 70, 4);
  const Dataset dense = test::as_floats<TypeParam>(bytes), sparse = test::as_sparse<TypeParam>(bytes);
  for (const auto& model : kModels) {
    const auto run = [&](const Dataset& data) {
      return state_digest(train(model, make_federation<TypeParam>(model, data, *contiguous(400, 3)),
                                make_mfl(0.01, 0.8, 4), 30));
    };
    EXPECT_EQ(run(dense), run(bytes)) << model.name;
    EXPECT_EQ(run(sparse), run(bytes)) << model.name;
  }
}

TEST(Engine, TrainLossIsTheWeightedMeanOverNodesOfUnequalSize) {
  const auto& model = kModels[3];
  const auto federation = make_federation<double>(model, *make_synthetic(10, 20, 5), *contiguous(10, 3));
  const auto state = train(model, federation, make_fl(0.1, 2), 4);
  const auto engine = make_engine(model, federation, make_fl(0.1, 2), serial_workers());
  double sum = 0;
  for (const Shard shard : federation.nodes)
    sum += static_cast<double>(shard.count) *
           federation.model->evaluate(federation.train, shard, model.lambda, state.w().data()).loss;
  EXPECT_DOUBLE_EQ(engine->train_loss(0, state.w()), sum / 10);
}

TEST(Engine, TheFirstNodeThatIsNotFiniteIsNamed) {
  const auto& model = kModels[2];
  const auto federation = make_federation<float>(model, *make_synthetic(600, 50, 6), *contiguous(600, 5));
  for (const unsigned threads : {1, 4}) {
    const Algorithm algorithm = make_mfl(1e30, 0.5, 3);
    const auto engine = make_engine(model, federation, algorithm, thread_workers(threads));
    State<float> state = initial_state<float>(algorithm, 50);
    Aggregate<float> aggregate;
    const auto bad = run_round(*engine, state, 3, aggregate);
    ASSERT_TRUE(bad);
    EXPECT_EQ(bad->node, 0U);
    EXPECT_EQ(bad->what.substr(0, 2), "w[");
    EXPECT_DOUBLE_EQ(aggregate.loss_before, 0.5);  // at w = 0
  }
}

TEST(Engine, TestMetricsCoverAllBlocks) {
  const Dataset data = *make_synthetic(1000, 60, 7);
  const auto& model = kModels[0];
  auto federation = make_federation<double>(model, data, *contiguous(1000, 2));
  const auto state = train(model, federation, make_fl(0.05, 2), 40);
  federation.test.emplace(data, make_targets(data, Task::kEvenOdd, TargetKind::kSigned).value());
  const auto engine = make_engine(model, federation, make_fl(0.05, 2), thread_workers(3));
  const auto metrics = engine->test(0, state.w());
  const auto whole = federation.model->evaluate(*federation.test, {0, 1000}, model.lambda, state.w().data());
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->loss, whole.loss);
  EXPECT_EQ(metrics->accuracy, static_cast<double>(whole.correct) / 1000);
  EXPECT_GT(metrics->accuracy, 0.5);
}

TYPED_TEST(EnginesOf, ScoreTheTestSetAlikeOnAnyNumberOfThreads) {
  const Dataset data = *make_synthetic(1100, 40, 9);
  for (const auto& model : kModels) {
    auto federation = make_federation<TypeParam>(model, data, *contiguous(1100, 2));
    const auto state = train(model, federation, make_fl(0.05, 2), 40);
    const auto targets = make_targets(data, test::task_of(model), model.targets).value();
    federation.test.emplace(data, targets);
    const bool many = federation.model->outputs() > 1;
    const std::size_t outputs = federation.model->outputs();
    std::vector<double> scores(data.rows * outputs);
    for (std::size_t r = 0; r < data.rows; ++r)
      federation.model->scores(*federation.test, {r, 1}, state.w().data(), scores.data() + r * outputs);
    const ScoreMetrics expected = evaluate_scores(
        scores, targets, {.has_accuracy = true, .classes = std::vector<std::string>(many ? outputs : 2)});
    const NumberMetrics errors = number_metrics(many ? targets : scores, targets);
    for (const unsigned threads : {1, 2, 3, 8}) {
      const auto engine = make_engine(model, federation, make_fl(0.05, 2), thread_workers(threads));
      const auto metrics = engine->test(0, state.w(), TestDetail::kClasses);
      ASSERT_TRUE(metrics && metrics->classes) << model.name;
      EXPECT_TRUE(std::ranges::equal(metrics->classes->cells(), expected.classes->cells()))
          << model.name << ' ' << threads;
      EXPECT_EQ(metrics->auc, expected.auc) << model.name << ' ' << threads;
      EXPECT_EQ(metrics->auc.has_value(), !many);
      EXPECT_FALSE(metrics->numbers);
      if (!many) {
        EXPECT_EQ(engine->test(0, state.w(), TestDetail::kNumbers)->numbers, errors);
      }
      EXPECT_EQ(metrics->accuracy, metrics_of(*metrics->classes).accuracy) << model.name;
      EXPECT_FALSE(engine->test(0, state.w())->classes) << "only if asked for";
    }
  }
}

}  // namespace
}  // namespace mfl
