// beta, mu and w* against dense linear algebra and a descent of the test's own.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "mfl/base/rng.h"
#include "mfl/theory/curvature.h"
#include "mfl/theory/hessian.h"
#include "mfl/theory/optimum.h"
#include "problems.h"

namespace mfl {
namespace {

using test::kSmoothModels;
using test::make_problem;
using test::mnist_problem;
using test::SmoothModel;
using test::TheoryProblem;

// The rows of a shard, read from the data set and not through the kernels.
Eigen::MatrixXd dense_rows(const Samples<double>& samples, Shard shard) {
  const auto& bytes = std::get<DenseRows<std::uint8_t>>(samples.data().features).values;
  Eigen::MatrixXd x(shard.count, samples.columns());
  for (std::size_t r = 0; r < shard.count; ++r)
    for (std::size_t j = 0; j < samples.columns(); ++j)
      x(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(j)) =
          bytes[(shard.first + r) * samples.columns() + j] / 255.0;
  return x;
}

Eigen::VectorXd gram_eigenvalues(const Samples<double>& samples, Shard shard) {
  const Eigen::MatrixXd x = dense_rows(samples, shard);
  const Eigen::MatrixXd gram = x.transpose() * x / static_cast<double>(shard.count);
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(gram, Eigen::EigenvaluesOnly).eigenvalues();
}

TheoryProblem small(const SmoothModel& model, std::size_t rows = 600, std::size_t columns = 30) {
  return make_problem(model, make_synthetic(rows, columns, 3).value(), iid(rows, 4, 1).value());
}

TEST(Hessian, IsTheSlopeOfTheGradientWhereverItIsApplied) {
  for (const SmoothModel& model : kSmoothModels) {
    SCOPED_TRACE(model.name);
    const TheoryProblem problem = small(model);
    const std::size_t d = problem.samples.columns();
    const Shard shard = {3, 580};
    Vector<double> w(d), v(d), out(d), up(d), down(d);
    for (std::size_t j = 0; j < d; ++j) {
      w[j] = std::sin(static_cast<double>(j)) / 10;
      v[j] = std::cos(static_cast<double>(3 * j));
    }
    HessianOperator hessian(problem.samples, shard, problem.objective.lambda);
    hessian.move_to(problem.objective.loss, w);
    hessian.apply(v, out);
    BlockMemory<double> memory(d, 1, 1);
    const auto gradient_at = [&](double h, Vector<double>& gradient) {
      Vector<double> moved = w;
      for (std::size_t j = 0; j < d; ++j) moved[j] += h * v[j];
      LinearItem<double> item{moved.data(), gradient.data(), problem.objective.lambda};
      loss_and_gradient(problem.objective.loss, problem.samples, shard, std::span(&item, 1), memory);
    };
    gradient_at(1e-7, up);
    gradient_at(-1e-7, down);
    const auto lower = hessian.lower();
    const auto diagonal = hessian.diagonal();
    const Eigen::Map<const Eigen::MatrixXd> matrix(lower.data(), static_cast<Eigen::Index>(d),
                                                   static_cast<Eigen::Index>(d));
    const Eigen::VectorXd product = matrix.selfadjointView<Eigen::Lower>() *
                                    Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(d));
    for (std::size_t j = 0; j < d; ++j) {
      const auto i = static_cast<Eigen::Index>(j);
      EXPECT_NEAR(out[j], (up[j] - down[j]) / 2e-7, 1e-6);
      EXPECT_NEAR(out[j], product[i], 1e-12);
      EXPECT_NEAR(diagonal[j], matrix(i, i), 1e-12);
    }
  }
}

TEST(Hessian, ThreadsChangeNothing) {
  const TheoryProblem problem = small(kSmoothModels[3], 3000);
  const ForEach backwards = [](std::size_t n, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = n; i > 0; --i) work(i - 1);
  };
  const HessianOperator one(problem.samples, {0, 3000}, 0.1),
      other(problem.samples, {0, 3000}, 0.1, &backwards);
  const Vector<double> v(30, 0.3);
  Vector<double> a(30), b(30);
  one.apply(v, a);
  other.apply(v, b);
  EXPECT_EQ(a, b);
}

TEST(Curvature, BetaIsTheLargestEigenvalueAndAnUpperBound) {
  for (const SmoothModel& model : kSmoothModels)
    for (const std::size_t columns : {1, 2, 3, 30}) {
      const TheoryProblem problem = small(model, 400, columns);
      const auto measured =
          measure_curvature(problem.objective, problem.samples, problem.nodes).value().value();
      ASSERT_EQ(measured.node_beta.size(), 4U);
      double largest = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const double exact =
            problem.objective.lambda + (problem.objective.loss == Loss::kLogistic ? 0.25 : 1) *
                                           gram_eigenvalues(problem.samples, problem.nodes[i]).maxCoeff();
        EXPECT_GE(measured.node_beta[i], exact) << model.name;
        EXPECT_NEAR(measured.node_beta[i] / exact, 1, 2e-6) << model.name << ' ' << columns;
        largest = std::max(largest, measured.node_beta[i]);
      }
      EXPECT_EQ(measured.beta, largest);
    }
}

TEST(Curvature, MuIsWhatTheModelPromises) {
  Dataset full = make_synthetic(600, 30, 3).value();
  Stream stream(5, Purpose::kSynthetic);
  for (auto& byte : std::get<DenseRows<std::uint8_t>>(full.features).values)
    byte = static_cast<std::uint8_t>(stream.below(256));
  const TheoryProblem linear = make_problem(kSmoothModels[1], full, iid(600, 4, 1).value());
  const double exact = gram_eigenvalues(linear.samples, {0, 600}).minCoeff();
  const double found = measure_curvature(linear.objective, linear.samples, linear.nodes).value()->mu;
  ASSERT_GT(exact, 1e-10);
  EXPECT_NEAR(found / exact, 1, 1e-9);
  const TheoryProblem blank = small(kSmoothModels[1]);
  EXPECT_EQ(measure_curvature(blank.objective, blank.samples, blank.nodes).value()->mu, 0)
      << "a feature is always zero";
  const TheoryProblem svm = small(kSmoothModels[0]);
  EXPECT_EQ(measure_curvature(svm.objective, svm.samples, svm.nodes).value()->mu, 0.3);
  const TheoryProblem few = small(kSmoothModels[1], 20, 30);
  EXPECT_EQ(measure_curvature(few.objective, few.samples, few.nodes).value()->mu, 0)
      << "fewer samples than features";
}

TEST(Curvature, AHingeLossHasNoCurvature) {
  const TheoryProblem problem = small(kSmoothModels[0]);
  const auto none = measure_curvature({Loss::kHinge, 0.3}, problem.samples, problem.nodes);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(Curvature, FeaturesThatAreAllZeroAreNoTrouble) {
  Dataset data = make_synthetic(100, 8, 1).value();
  data.features = DenseRows<std::uint8_t>{std::vector<std::uint8_t>(800, 0)};
  const TheoryProblem problem = make_problem(kSmoothModels[1], data, contiguous(100, 2).value());
  EXPECT_EQ(measure_curvature(problem.objective, problem.samples, problem.nodes).value()->beta, 0);
  EXPECT_TRUE(find_optimum(problem.objective, problem.samples).converged);
}

TEST(Optimum, TheGradientVanishesOnSmallData) {
  for (const SmoothModel& model : kSmoothModels)
    for (const std::size_t rows : {25, 600}) {
      const TheoryProblem problem = small(model, rows);
      const Optimum found = find_optimum(problem.objective, problem.samples);
      EXPECT_LE(found.gradient_norm, 1e-10) << model.name << ' ' << rows;
      EXPECT_TRUE(found.converged) << model.name << ' ' << rows;
    }
}

// More features than are ever formed into a matrix.
TEST(Optimum, TheGradientVanishesOnWideData) {
  const SmoothModel wide[] = {{"squared-svm", {Loss::kSquaredHinge, 0.3}, TargetKind::kSigned},
                              {"logistic", {Loss::kLogistic, 0.01}, TargetKind::kUnit},
                              {"linear", {Loss::kSquared, 0}, TargetKind::kReal}};
  for (const SmoothModel& model : wide) {
    const TheoryProblem problem = small(model, 120, kDenseColumns + 100);
    const Optimum found = find_optimum(problem.objective, problem.samples);
    EXPECT_LE(found.gradient_norm, 1e-10) << model.name;
    const auto curvature =
        measure_curvature(problem.objective, problem.samples, problem.nodes).value().value();
    EXPECT_EQ(curvature.mu, model.objective.lambda);
    // lmax of X'X/n is that of the small matrix XX'/n.
    const Eigen::MatrixXd x = dense_rows(problem.samples, problem.nodes[0]);
    const Eigen::MatrixXd outer = x * x.transpose() / static_cast<double>(x.rows());
    const double largest = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(outer).eigenvalues().maxCoeff();
    EXPECT_NEAR(
        curvature.node_beta[0] / (model.objective.lambda + largest_curvature(model.objective.loss) * largest),
        1, 2e-6);
  }
}

TEST(Optimum, SparseRowsMatchDenseRows) {
  const TheoryProblem dense = small(kSmoothModels[0], 200, 30);
  Dataset data = dense.samples.data();
  SparseRows<double> sparse;
  sparse.starts.push_back(0);
  const auto& bytes = std::get<DenseRows<std::uint8_t>>(data.features).values;
  for (std::size_t r = 0; r < data.rows; ++r) {
    for (std::size_t j = 0; j < data.columns; ++j) {
      if (bytes[r * data.columns + j] == 0) continue;
      sparse.columns.push_back(static_cast<std::uint32_t>(j));
      sparse.values.push_back(bytes[r * data.columns + j]);
    }
    sparse.starts.push_back(sparse.columns.size());
  }
  data.features = std::move(sparse);
  const Samples<double> samples(data, {dense.samples.targets(0), 200});
  EXPECT_EQ(find_optimum(dense.objective, samples).w, find_optimum(dense.objective, dense.samples).w);
  EXPECT_EQ(measure_curvature(dense.objective, samples, dense.nodes).value()->node_beta,
            measure_curvature(dense.objective, dense.samples, dense.nodes).value()->node_beta);
}

TEST(Optimum, TheGradientVanishesOnMnist) {
  for (const SmoothModel& model : kSmoothModels) {
    const TheoryProblem problem = mnist_problem(model, 5000);
    const Optimum found = find_optimum(problem.objective, problem.samples);
    EXPECT_LE(found.gradient_norm, 1e-10) << model.name;
    RecordProperty(std::string("newton steps of ") + model.name, static_cast<int>(found.newton_steps));
  }
}

// Nesterov's method with the constants of a strongly convex function, on plain matrices.
double independent_optimum(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, double lambda, double beta) {
  const auto n = static_cast<double>(x.rows());
  Eigen::VectorXd w = Eigen::VectorXd::Zero(x.cols()), ahead = w;
  const double root = std::sqrt(lambda / beta), momentum = (1 - root) / (1 + root);
  double loss = 0;
  for (int k = 0; k < 1000; ++k) {
    const Eigen::VectorXd lack = (1 - (y.array() * (x * ahead).array())).max(0);
    const Eigen::VectorXd gradient = lambda * ahead - x.transpose() * (y.array() * lack.array()).matrix() / n;
    loss = lambda / 2 * ahead.squaredNorm() + lack.squaredNorm() / (2 * n);
    if (gradient.norm() < 1e-9) break;
    const Eigen::VectorXd next = ahead - gradient / beta;
    ahead = next + momentum * (next - w);
    w = next;
  }
  return loss;
}

TEST(Optimum, ReferenceDataAgreesWithAnIndependentSolve) {
  const TheoryProblem problem = mnist_problem(kSmoothModels[0], 5000);
  const auto curvature = measure_curvature(problem.objective, problem.samples, problem.nodes).value().value();
  double beta = 0;
  for (const Shard& node : problem.nodes)
    beta = std::max(beta, 0.3 + gram_eigenvalues(problem.samples, node).maxCoeff());
  EXPECT_NEAR(curvature.beta / beta, 1, 2e-6);
  EXPECT_GE(curvature.beta, beta);
  const Eigen::MatrixXd x = dense_rows(problem.samples, {0, 5000});
  const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(problem.samples.targets(0), 5000);
  const Optimum found = find_optimum(problem.objective, problem.samples);
  EXPECT_NEAR(found.loss, independent_optimum(x, y, 0.3, beta), 1e-12);
  EXPECT_LT(found.loss, 0.243167702355) << "below what the reference run reaches";
}

Samples<double> random_rows(std::size_t rows, std::size_t columns) {
  Stream stream(9, Purpose::kSynthetic);
  Dataset data;
  data.rows = rows;
  data.columns = columns;
  DenseRows<double> dense;
  for (std::size_t i = 0; i < rows * columns; ++i)
    dense.values.push_back(stream.normal() + (i % columns == 0 ? 1 : 0));
  data.features = std::move(dense);
  return {std::move(data), std::vector<double>(rows, 0.0)};
}

TEST(GramEigenvalue, IsTheSameByLanczosAndByPowerIteration) {
  const Samples<double> samples = random_rows(300, 12);
  const double lanczos = largest_gram_eigenvalue(samples, {0, 300}).value();
  EXPECT_NEAR(power_gram_eigenvalue(samples, {0, 300}), 1.01 * lanczos, 1e-3 * lanczos);
}

// Many rows that span one direction, and few rows: fewer directions than Lanczos wants.
TEST(GramEigenvalue, IsAtMostTheTraceForRowsInOneDirection) {
  Dataset data;
  data.rows = 64;
  data.columns = 24;
  DenseRows<double> dense;
  for (std::size_t i = 0; i < 64 * 24; ++i) dense.values.push_back(static_cast<double>(i % 24) + 0.5);
  data.features = std::move(dense);
  double length = 0;
  for (int j = 0; j < 24; ++j) length += (j + 0.5) * (j + 0.5);
  const Samples<double> samples(std::move(data), std::vector<double>(64, 0.0));
  EXPECT_NEAR(largest_gram_eigenvalue(samples, {0, 64}).value(), length, 1e-5 * length);
}

TEST(GramEigenvalue, IsTheSquaredLengthOfOneRow) {
  const Samples<double> samples = random_rows(5, 24);
  for (std::size_t row = 0; row < 5; ++row) {
    const auto& values = std::get<DenseRows<double>>(samples.data().features).values;
    double length = 0;
    for (std::size_t j = 0; j < 24; ++j) length += values[row * 24 + j] * values[row * 24 + j];
    EXPECT_NEAR(largest_gram_eigenvalue(samples, {row, 1}).value(), length, 1e-5 * length);
    EXPECT_NEAR(power_gram_eigenvalue(samples, {row, 1}), 1.01 * length, 1e-6 * length);
  }
}

}  // namespace
}  // namespace mfl
