// The identities of the paper's algorithms: bit for bit where the arithmetic is the same, else to 1e-12.
#include <gtest/gtest.h>

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

constexpr double kIdentityEta = 0.01;

template <class T>
class IdentitiesOf : public ::testing::Test {};
TYPED_TEST_SUITE(IdentitiesOf, test::Precisions);

template <class T>
double largest_relative_gap(const Vector<T>& a, const Vector<T>& b) {
  double gap = 0, size = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    gap = std::max(gap, std::abs(static_cast<double>(a[j]) - static_cast<double>(b[j])));
    size = std::max(size, std::abs(static_cast<double>(b[j])));
  }
  return gap / size;
}

TYPED_TEST(IdentitiesOf, WithoutMomentumMflIsFl) {
  const Dataset data = *make_synthetic(900, 100, 1);
  for (const auto& model : kModels) {
    const auto federation = make_federation<TypeParam>(model, data, *iid(900, 4, 1));
    EXPECT_EQ(weights_digest(train(model, federation, make_mfl(kIdentityEta, 0, 4), 50)),
              weights_digest(train(model, federation, make_fl(kIdentityEta, 4), 50)))
        << model.name;
  }
}

TYPED_TEST(IdentitiesOf, OneNodeIsCentralised) {
  const Dataset data = *make_synthetic(900, 100, 2);
  for (const auto& model : kModels) {
    const auto federation = make_federation<TypeParam>(model, data, *iid(900, 1, 1));
    const auto mgd = train(model, federation, make_mgd(kIdentityEta, 0.7), 50);
    const auto mfl = train(model, federation, make_mfl(kIdentityEta, 0.7, 4), 50);
    EXPECT_EQ(weights_digest(mfl), weights_digest(mgd)) << model.name;
    EXPECT_EQ(mfl.vectors[1].values, mgd.vectors[1].values) << model.name;
    EXPECT_EQ(weights_digest(train(model, federation, make_fl(kIdentityEta, 7), 50)),
              weights_digest(train(model, federation, make_gd(kIdentityEta), 50)))
        << model.name;
  }
}

TEST(Identities, AveragingEveryStepIsCentralised) {
  const Dataset data = *make_synthetic(900, 100, 3);
  for (const auto& model : kModels) {
    const auto one = make_federation<double>(model, data, *contiguous(900, 1));
    for (const std::size_t nodes : {2, 4, 7}) {
      const auto many = make_federation<double>(model, data, *contiguous(900, nodes));
      EXPECT_LT(largest_relative_gap(train(model, many, make_mfl(kIdentityEta, 0.5, 1), 100).w(),
                                     train(model, one, make_mgd(kIdentityEta, 0.5), 100).w()),
                1e-12)
          << model.name << " " << nodes;
    }
  }
}

TYPED_TEST(IdentitiesOf, TheSameDataOnEveryNodeIsCentralisedOnIt) {
  const Dataset data = *make_synthetic(300, 100, 4);
  std::vector<std::uint32_t> thrice;
  for (int copy = 0; copy < 3; ++copy)
    for (std::uint32_t r = 0; r < 300; ++r) thrice.push_back(r);
  for (const auto& model : kModels) {
    const auto copies = make_federation<TypeParam>(model, take_rows(data, thrice), *contiguous(900, 3));
    const auto one = make_federation<TypeParam>(model, data, *contiguous(300, 1));
    EXPECT_EQ(weights_digest(train(model, copies, make_mfl(kIdentityEta, 0.5, 4), 50)),
              weights_digest(train(model, one, make_mgd(kIdentityEta, 0.5), 50)))
        << model.name;
  }
}

TEST(Rounds, TheLastOneIsShortWhenTauDoesNotDivide) {
  const auto& model = kModels[0];
  const auto federation = make_federation<double>(model, *make_synthetic(100, 50, 5), *contiguous(100, 3));
  const auto state = train(model, federation, make_mfl(kIdentityEta, 0.5, 4), 10);
  EXPECT_EQ(state.step, 10U);
  EXPECT_EQ(state.round, 3U);
  // A round of two steps, taken on its own, ends where the short round does.
  auto by_hand = train(model, federation, make_mfl(kIdentityEta, 0.5, 4), 8);
  const auto engine = make_engine(model, federation, make_mfl(kIdentityEta, 0.5, 4), serial_workers());
  Aggregate<double> aggregate;
  ASSERT_FALSE(run_round(*engine, by_hand, 2, aggregate));
  apply(make_mfl(kIdentityEta, 0.5, 4), by_hand, aggregate, {.steps = 2});
  EXPECT_EQ(state_digest(by_hand), state_digest(state));
}

TEST(Best, IsTheLowestAggregatedModelAndItsStep) {
  const auto& model = kModels[1];
  const auto federation = make_federation<double>(model, *make_synthetic(200, 60, 6), *contiguous(200, 2));
  const Algorithm wild = make_mfl(0.9, 0.9, 3);  // overshoots, so the best is not the last
  const auto engine = make_engine(model, federation, wild, serial_workers());
  State<double> state = initial_state<double>(wild, 60);
  Aggregate<double> aggregate;
  double lowest = std::numeric_limits<double>::infinity();
  std::uint64_t at = 0;
  for (int round = 0; round < 12; ++round) {
    ASSERT_FALSE(run_round(*engine, state, 3, aggregate));
    note_loss(state, aggregate.loss_before);
    apply(wild, state, aggregate, {.steps = 3});
    if (const double loss = engine->train_loss(0, state.w()); loss < lowest) {
      lowest = loss;
      at = state.step;
    }
  }
  note_loss(state, engine->train_loss(0, state.w()));
  EXPECT_EQ(state.best.step, at);
  EXPECT_EQ(state.best.train_loss, lowest);
  EXPECT_EQ(engine->train_loss(0, state.best.w), lowest);
  EXPECT_LT(at, 36U);
}

}  // namespace
}  // namespace mfl
