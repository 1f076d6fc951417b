// Intercepts, weighted rows and entries of every model of the table.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "mfl/base/rng.h"
#include "mfl/data/preprocessing.h"
#include "mfl/model/models.h"

namespace mfl {
namespace {

constexpr std::size_t kCaseRows = 600, kCaseColumns = 5, kCaseClasses = 3;
constexpr double kCaseLambda = 0.4;

struct InterceptCase {
  std::shared_ptr<const Model<double>> model;
  std::vector<double> targets;
};

InterceptCase make_case(const ModelEntry& entry) {
  Stream stream(5, Purpose::kSynthetic);
  InterceptCase out{entry.make<double>({kCaseColumns, kCaseClasses, true}), {}};
  for (std::size_t r = 0; r < kCaseRows; ++r) {
    const auto drawn = static_cast<double>(stream.below(kCaseClasses));
    switch (entry.targets) {
      case TargetKind::kSigned: out.targets.push_back(drawn > 0 ? 1 : -1); break;
      case TargetKind::kUnit: out.targets.push_back(drawn > 0 ? 1 : 0); break;
      case TargetKind::kReal: out.targets.push_back(stream.normal() + 3); break;
      case TargetKind::kIndex:
      case TargetKind::kNone: out.targets.push_back(drawn); break;
    }
  }
  return out;
}

Samples<double> samples_of(const InterceptCase& of, std::span<const std::uint32_t> rows = {}) {
  Stream stream(6, Purpose::kSynthetic);
  Dataset data;
  data.rows = kCaseRows;
  data.columns = kCaseColumns;
  DenseRows<double> dense;
  for (std::size_t i = 0; i < kCaseRows * kCaseColumns; ++i) dense.values.push_back(stream.normal());
  data.features = std::move(dense);
  data.labels.resize(kCaseRows);
  std::vector<double> targets = of.targets;
  if (!rows.empty()) {
    data = take_rows(data, rows);
    targets.clear();
    for (const std::uint32_t row : rows) targets.push_back(of.targets[row]);
  }
  return {preprocessed(std::move(data), {}, of.model->constant_column()).value(), targets};
}

Vector<double> case_weights(std::size_t n) {
  Stream stream(7, Purpose::kSynthetic);
  Vector<double> w(n);
  for (double& x : w) x = stream.normal();
  return w;
}

struct Pass {
  double loss = 0;
  Vector<double> gradient;
};

Pass pass_over(const Model<double>& model, const Samples<double>& samples, const Vector<double>& w) {
  const auto workspace = model.make_workspace(1, 1);
  Pass out{0, Vector<double>(model.parameters())};
  Item<double> item{.w = w.data(), .gradient = out.gradient.data(), .lambda = kCaseLambda};
  model.loss_and_gradient(samples, {0, samples.size()}, std::span(&item, 1), *workspace, nullptr);
  out.loss = item.loss;
  return out;
}

TEST(Intercept, GradientIsTheSlopeAndTheRegulariserLeavesItOut) {
  for (const ModelEntry& entry : models()) {
    if (entry.external) continue;
    SCOPED_TRACE(entry.name);
    const InterceptCase of = make_case(entry);
    ASSERT_EQ(of.model->tensors().back().name, "intercept");
    const Samples<double> samples = samples_of(of);
    Vector<double> w = case_weights(of.model->parameters());
    const Pass here = pass_over(*of.model, samples, w);
    constexpr double kStep = 1e-6;
    for (std::size_t j = 0; j < w.size(); ++j) {
      const double kept = w[j];
      w[j] = kept + kStep;
      const double above = pass_over(*of.model, samples, w).loss;
      w[j] = kept - kStep;
      const double below = pass_over(*of.model, samples, w).loss;
      w[j] = kept;
      EXPECT_NEAR(here.gradient[j], (above - below) / (2 * kStep), 1e-4) << j;
    }
    const double norm = of.model->squared_norm(samples.kernels(), w.data());
    w.back() += 100;
    EXPECT_EQ(of.model->squared_norm(samples.kernels(), w.data()), norm);
  }
}

TEST(Intercept, AddsItselfToEveryScore) {
  const auto model = linear_model<double>(Loss::kSquared, kCaseColumns, true);
  const InterceptCase of{model, std::vector<double>(kCaseRows, 1.0)};
  const Samples<double> samples = samples_of(of);
  Vector<double> w(model->parameters());
  w.back() = 2.5;
  std::vector<double> scores(kRowBlock);
  model->scores(samples, {0, kRowBlock}, w.data(), scores.data());
  EXPECT_EQ(scores, std::vector<double>(kRowBlock, 2.5));
}

TEST(ModelEntries, SayWhatTheirModelsSay) {
  for (const ModelEntry& entry : models()) {
    if (entry.external) continue;
    SCOPED_TRACE(entry.name);
    const InterceptCase of = make_case(entry);
    EXPECT_EQ(of.model->smoothness(1, kCaseLambda).has_value(), entry.smooth);
    EXPECT_GE(pass_over(*of.model, samples_of(of), case_weights(of.model->parameters())).loss,
              entry.least_loss);
  }
}

// A row of weight k is k rows.
TEST(WeightedRows, CountByTheirWeight) {
  for (const ModelEntry& entry : models()) {
    if (entry.external) continue;
    SCOPED_TRACE(entry.name);
    const InterceptCase of = make_case(entry);
    Samples<double> weighted = samples_of(of);
    std::vector<double> weights;
    std::vector<std::uint32_t> repeated;
    for (std::uint32_t r = 0; r < kCaseRows; ++r) {
      weights.push_back(r % 3);
      for (std::uint32_t k = 0; k < r % 3; ++k) repeated.push_back(r);
    }
    weighted.weigh(weights);
    ASSERT_EQ(repeated.size(), kCaseRows);  // so that both means divide by the same number
    const Vector<double> w = case_weights(of.model->parameters());
    const Pass a = pass_over(*of.model, weighted, w), b = pass_over(*of.model, samples_of(of, repeated), w);
    EXPECT_NEAR(a.loss, b.loss, 1e-12);
    for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(a.gradient[j], b.gradient[j], 1e-12) << j;
    EXPECT_NEAR(of.model->evaluate(weighted, {0, kCaseRows}, kCaseLambda, w.data()).loss, a.loss, 1e-12);
  }
}

TEST(WeightedRows, StayWithTheirRowsInABatch) {
  const InterceptCase of = make_case(*models().find("logistic"));
  Samples<double> all = samples_of(of);
  std::vector<double> weights(kCaseRows);
  std::iota(weights.begin(), weights.end(), 0.0);
  all.weigh(weights);
  Samples<double> batch = Samples<double>::buffer_for(all, 3);
  batch.gather(all, {10, 100}, std::vector<std::uint32_t>{4, 0, 50});
  EXPECT_EQ(batch.weights(0)[0], 14);
  EXPECT_EQ(batch.weights(0)[1], 10);
  EXPECT_EQ(batch.weights(0)[2], 60);
}

}  // namespace
}  // namespace mfl
