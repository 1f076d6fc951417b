#include "mfl/model/objective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "mfl/base/rng.h"

namespace mfl {
namespace {

constexpr Loss kLosses[] = {Loss::kHinge, Loss::kSquaredHinge, Loss::kSquared, Loss::kLogistic};

Dataset small_bytes(std::size_t rows, std::size_t columns) {
  Stream stream(11, Purpose::kSynthetic);
  Dataset data;
  data.rows = rows;
  data.columns = columns;
  data.scale = 1.0 / 255;
  DenseRows<std::uint8_t> dense;
  for (std::size_t i = 0; i < rows * columns; ++i)
    dense.values.push_back(static_cast<std::uint8_t>(stream.below(2) == 0 ? 0 : stream.below(256)));
  data.features = std::move(dense);
  return data;
}

Samples<double> small_samples(Loss loss, std::size_t rows, std::size_t columns) {
  Stream stream(12, Purpose::kSynthetic);
  std::vector<double> targets;
  for (std::size_t r = 0; r < rows; ++r)
    targets.push_back(stream.below(2) == 0 ? 1 : loss == Loss::kLogistic ? 0 : -1);
  return {small_bytes(rows, columns), targets};
}

Vector<double> some_weights(std::size_t n) {
  Stream stream(13, Purpose::kSynthetic);
  Vector<double> w(n);
  for (double& x : w) x = stream.normal();
  return w;
}

// One model in one pass.
double loss_and_gradient_of_one(const Objective& objective, const Samples<double>& samples, Shard shard,
                                const Vector<double>& w, Vector<double>& gradient) {
  BlockMemory<double> memory(w.size(), 1, 1);
  LinearItem<double> item{w.data(), gradient.data(), objective.lambda};
  loss_and_gradient(objective.loss, samples, shard, std::span(&item, 1), memory);
  return item.loss;
}

TEST(Objective, GradientIsTheSlopeOfTheLoss) {
  constexpr std::size_t kRows = 600, kColumns = 9;
  for (const Loss loss : kLosses) {
    const auto samples = small_samples(loss, kRows, kColumns);
    const Objective objective{loss, 0.3};
    const Shard shard = {7, 550};  // spans blocks and does not start at one
    Vector<double> w = some_weights(kColumns), gradient(kColumns);
    loss_and_gradient_of_one(objective, samples, shard, w, gradient);
    for (std::size_t j = 0; j < kColumns; ++j) {
      const double h = 1e-6, at = w[j];
      w[j] = at + h;
      const double up = evaluate(objective, samples, shard, w).loss;
      w[j] = at - h;
      const double down = evaluate(objective, samples, shard, w).loss;
      w[j] = at;
      EXPECT_NEAR(gradient[j], (up - down) / (2 * h), 1e-4) << static_cast<int>(loss) << " " << j;
    }
  }
}

TEST(Objective, EvaluationGivesTheBitsOfTheGradientPass) {
  for (const Loss loss : kLosses) {
    const auto samples = small_samples(loss, 700, 50);
    const Vector<double> w = some_weights(50);
    Vector<double> gradient(50);
    for (const Shard shard : {Shard{0, 700}, Shard{3, 256}, Shard{3, 257}, Shard{699, 1}})
      EXPECT_EQ(loss_and_gradient_of_one({loss, 0.1}, samples, shard, w, gradient),
                evaluate({loss, 0.1}, samples, shard, w).loss);
  }
}

// The result of a model depends neither on the other models of the pass nor on where the row blocks ran.
TEST(Objective, OtherModelsOfAPassAndWavesChangeNothing) {
  constexpr std::size_t kColumns = 90, kModels = 7;
  for (const Loss loss : kLosses) {
    const auto samples = small_samples(loss, 1500, kColumns);
    const Shard shard = {5, 1490};
    std::vector<Vector<double>> w, gradients(kModels, Vector<double>(kColumns));
    std::vector<LinearItem<double>> items;
    for (std::size_t m = 0; m < kModels; ++m) {
      w.push_back(some_weights(kColumns));
      for (double& x : w.back()) x *= 0.1 * static_cast<double>(m + 1);
    }
    for (std::size_t m = 0; m < kModels; ++m)
      items.push_back({w[m].data(), gradients[m].data(), 0.1 * static_cast<double>(m)});
    const ForEach backwards = [](std::size_t n, const std::function<void(std::size_t)>& work) {
      for (std::size_t i = n; i-- > 0;) work(i);
    };
    for (const std::size_t wave : {1, 2, 4, 100}) {
      BlockMemory<double> memory(kColumns, kModels, wave);
      loss_and_gradient(loss, samples, shard, std::span(items), memory, &backwards);
      for (std::size_t m = 0; m < kModels; ++m) {
        Vector<double> alone(kColumns);
        EXPECT_EQ(items[m].loss,
                  loss_and_gradient_of_one({loss, items[m].lambda}, samples, shard, w[m], alone));
        EXPECT_EQ(gradients[m], alone) << static_cast<int>(loss) << " model " << m << " wave " << wave;
      }
    }
  }
}

// A model in training, with jumps and a pause, gets the same bits with hinge sums kept between passes, whether all rows are
// visited or few, alone or together with another model.
template <class T>
void walk_with_hinge_sums() {
  constexpr std::size_t kColumns = 90, kModels = 3, kSteps = 120;
  std::vector<double> targets;
  Stream stream(14, Purpose::kSynthetic);
  for (std::size_t r = 0; r < 1500; ++r) targets.push_back(stream.below(2) == 0 ? 1 : -1);
  const Samples<T> samples(small_bytes(1500, kColumns), targets);
  const std::vector<Shard> shards = {{0, 5}, {5, 1490}};
  constexpr std::size_t kShard = 1;
  for (const std::size_t wave : {1, 4}) {
    std::vector<HingeMemory<T>> kept(kModels, HingeMemory<T>(shards, kColumns, wave));
    BlockMemory<T> memory(kColumns, kModels, wave);
    std::vector<Vector<T>> w(kModels, Vector<T>(kColumns)), gradients = w, expected = w;
    std::size_t changes = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::vector<LinearItem<T>> items, plain;
      for (std::size_t m = 0; m < kModels; ++m) {
        items.push_back({.w = w[m].data(),
                         .gradient = gradients[m].data(),
                         .lambda = 0.3,
                         .wants_loss = stream.below(4) == 0,
                         .hinge = kept[m].of(kShard)});
        plain.push_back({w[m].data(), expected[m].data(), 0.3});
      }
      loss_and_gradient(Loss::kHinge, samples, shards[kShard], std::span(plain), memory);
      const std::vector<Vector<T>> before = gradients;
      loss_and_gradient(Loss::kHinge, samples, shards[kShard], std::span(items), memory);
      for (std::size_t m = 0; m < kModels; ++m) {
        ASSERT_EQ(gradients[m], expected[m]) << "step " << step << " model " << m << " wave " << wave;
        if (items[m].wants_loss) {
          ASSERT_EQ(items[m].loss, plain[m].loss);
        }
        changes += gradients[m] != before[m] ? 1 : 0;
        const double length = stream.below(20) == 0 ? 0.5 : stream.below(5) == 0 ? 0 : 0.002;
        for (std::size_t j = 0; j < kColumns; ++j)
          w[m][j] -= static_cast<T>(length) * (gradients[m][j] + static_cast<T>(0.1 * stream.normal()));
      }
    }
    EXPECT_GT(changes, kSteps);
  }
}

TEST(Objective, HingeSumsChangeNothing) {
  walk_with_hinge_sums<float>();
  walk_with_hinge_sums<double>();
}

TEST(Objective, HingeSumsShowThatAModelIsNotFinite) {
  const auto samples = small_samples(Loss::kHinge, 300, 20);
  const std::vector<Shard> shards = {{0, 300}};
  HingeMemory<double> kept(shards, 20, 1);
  BlockMemory<double> memory(20, 1, 1);
  Vector<double> w(20), gradient(20);
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308}) {
    LinearItem<double> item{.w = w.data(), .gradient = gradient.data(), .lambda = 0, .hinge = kept.of(0)};
    w.assign(20, bad);
    loss_and_gradient(Loss::kHinge, samples, shards[0], std::span(&item, 1), memory);
    Vector<double> expected(20);
    const double loss = loss_and_gradient_of_one({Loss::kHinge, 0}, samples, shards[0], w, expected);
    EXPECT_EQ(std::isnan(item.loss), std::isnan(loss)) << bad;
    if (std::isfinite(bad)) {
      EXPECT_EQ(gradient, expected);
    }
  }
}

TEST(Objective, HingeSumsAreForBytesSignsAndFewEnoughRows) {
  const auto samples = small_samples(Loss::kHinge, 10, 3);
  EXPECT_TRUE(samples.has_hinge_sums(Loss::kHinge, 10));
  EXPECT_FALSE(samples.has_hinge_sums(Loss::kSquaredHinge, 10));
  EXPECT_FALSE(samples.has_hinge_sums(Loss::kHinge, kMostHingeRows<double> + 1));
  EXPECT_FALSE(small_samples(Loss::kLogistic, 10, 3).has_hinge_sums(Loss::kHinge, 10));
  // One row more of 255 everywhere, and half the sum would not fit.
  EXPECT_LE(kMostHingeRows<float> * 255, std::size_t{1} << 24);
  EXPECT_LE(kMostHingeRows<double> * 255, std::size_t{std::numeric_limits<std::int32_t>::max()});
}

// Worked by hand: x = (1, 0), (0, 2); w = (0.5, -1); z = 0.5, -2.
TEST(Objective, LossesByHand) {
  Dataset data;
  data.rows = 2;
  data.columns = 2;
  data.features = DenseRows<double>{{1, 0, 0, 2}};
  const Vector<double> w = {0.5, -1};
  const double norm = 0.5 * 0.25 + 0.5;  // |w|^2 / 2
  const Samples<double> signs(data, std::vector<double>{1, 1});
  EXPECT_DOUBLE_EQ(evaluate({Loss::kHinge, 0.3}, signs, {0, 2}, w).loss, 0.3 * norm + (0.5 + 3) / 4);
  EXPECT_DOUBLE_EQ(evaluate({Loss::kSquaredHinge, 0.3}, signs, {0, 2}, w).loss, 0.3 * norm + (0.25 + 9) / 4);
  EXPECT_DOUBLE_EQ(evaluate({Loss::kSquared, 0}, signs, {0, 2}, w).loss, (0.25 + 9) / 4);
  const Samples<double> units(data, std::vector<double>{1, 0});
  EXPECT_NEAR(evaluate({Loss::kLogistic, 0}, units, {0, 2}, w).loss,
              (std::log1p(std::exp(0.5)) - 0.5 + std::log1p(std::exp(-2))) / 2, 1e-15);
  EXPECT_EQ(evaluate({Loss::kLogistic, 0}, units, {0, 2}, w).correct, 2U);
  EXPECT_EQ(evaluate({Loss::kHinge, 0}, signs, {0, 2}, w).correct, 1U);
  const Vector<double> zero = {0, 0};
  EXPECT_EQ(evaluate({Loss::kHinge, 0}, signs, {0, 2}, zero).correct, 0U);  // even only when z > 0
}

TEST(Samples, RefuseBadTargetsAndFeatures) {
  Dataset data = small_bytes(4, 3);
  EXPECT_THROW(Samples<float>(data, std::vector<double>(3)), std::invalid_argument);
  data.features = DenseRows<double>{std::vector<double>(12)};
  EXPECT_NO_THROW(Samples<double>(data, std::vector<double>(4)));
  EXPECT_THROW(Samples<float>(data, std::vector<double>(4)), std::invalid_argument);
  auto buffer = Samples<float>::buffer(2, 3, 1);
  EXPECT_NO_THROW(buffer.overwrite(2));
  EXPECT_THROW(buffer.overwrite(3), std::length_error);
}

TEST(Objective, LogisticDoesNotOverflow) {
  Dataset data;
  data.rows = 1;
  data.columns = 1;
  data.features = DenseRows<double>{{1}};
  const Samples<double> samples(data, std::vector<double>{0});
  Vector<double> gradient(1);
  EXPECT_EQ(loss_and_gradient_of_one({Loss::kLogistic, 0}, samples, {0, 1}, Vector<double>{2000}, gradient),
            2000);
  EXPECT_EQ(gradient[0], 1);
  EXPECT_EQ(loss_and_gradient_of_one({Loss::kLogistic, 0}, samples, {0, 1}, Vector<double>{-2000}, gradient),
            0);
  EXPECT_EQ(gradient[0], 0);
}

}  // namespace
}  // namespace mfl
