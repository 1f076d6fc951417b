#include "mfl/theory/optimum.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "mfl/theory/hessian.h"

namespace mfl {
namespace {

using EigenVector = Eigen::VectorXd;

double eigen_norm(const Vector<double>& x) {
  return Eigen::Map<const EigenVector>(x.data(), static_cast<Eigen::Index>(x.size())).norm();
}

// F and its gradient on all samples.
class Whole {
 public:
  Whole(const Objective& objective, const Samples<double>& samples, const ForEach* run)
      : objective_(objective),
        samples_(samples),
        run_(run),
        memory_(samples.columns(), 1, run == nullptr ? 1 : 16) {}

  double loss_and_gradient(const Vector<double>& w, Vector<double>& gradient) {
    LinearItem<double> item{w.data(), gradient.data(), objective_.lambda};
    mfl::loss_and_gradient(objective_.loss, samples_, shard(), std::span(&item, 1), memory_, run_);
    return item.loss;
  }
  Shard shard() const { return {0, samples_.size()}; }

 private:
  const Objective& objective_;
  const Samples<double>& samples_;
  const ForEach* run_;
  BlockMemory<double> memory_;
};

// v -> M^-1 v for an M that is near the second derivative.
class Preconditioner {
 public:
  explicit Preconditioner(const HessianOperator& hessian) {
    const auto d = static_cast<Eigen::Index>(hessian.columns());
    if (hessian.columns() > kDenseColumns) {
      const std::vector<double> diagonal = hessian.diagonal();
      diagonal_ = Eigen::Map<const EigenVector>(diagonal.data(), d);
      diagonal_.array() += ridge(diagonal_.mean());
      return;
    }
    std::vector<double> lower = hessian.lower();
    Eigen::Map<Eigen::MatrixXd> matrix(lower.data(), d, d);
    const double mean = matrix.diagonal().mean();
    // A feature that is zero throughout makes the second derivative singular; a little more ridge each time.
    for (double more = ridge(mean);; more *= 100) {
      Eigen::MatrixXd raised = matrix;
      raised.diagonal().array() += more;
      factor_.compute(raised);
      if (factor_.info() == Eigen::Success) break;
    }
  }

  EigenVector solve(const EigenVector& v) const {
    return diagonal_.size() > 0 ? EigenVector(v.cwiseQuotient(diagonal_)) : EigenVector(factor_.solve(v));
  }

 private:
  static double ridge(double mean) { return 1e-13 * mean + 1e-300; }

  EigenVector diagonal_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

struct Direction {
  EigenVector step;
  std::uint64_t iterations = 0;
};

// Conjugate gradients for H step = -gradient, to `tolerance` relative to the gradient.
Direction newton_direction(const HessianOperator& hessian, const Preconditioner& preconditioner,
                           const Vector<double>& gradient, double tolerance, std::uint64_t most) {
  const auto d = static_cast<Eigen::Index>(gradient.size());
  EigenVector residual = -Eigen::Map<const EigenVector>(gradient.data(), d);
  EigenVector x = EigenVector::Zero(d), z = preconditioner.solve(residual), direction = z, image(d);
  const double start = residual.norm();
  double product = residual.dot(z);
  std::uint64_t k = 0;
  while (k < most && residual.norm() > tolerance * start) {
    ++k;
    hessian.apply({direction.data(), gradient.size()}, {image.data(), gradient.size()});
    const double bend = direction.dot(image);
    if (!(bend > 0)) break;
    const double length = product / bend;
    x += length * direction;
    residual -= length * image;
    z = preconditioner.solve(residual);
    const double next = residual.dot(z);
    direction = z + (next / product) * direction;
    product = next;
  }
  if (!(x.norm() > 0)) x = preconditioner.solve(-Eigen::Map<const EigenVector>(gradient.data(), d));
  return {x, k};
}

// A search for the optimum that has come to `at`.
struct Search {
  Whole function;
  Optimum at;
  Vector<double> gradient, trial, trial_gradient;

  Search(const Objective& objective, const Samples<double>& samples, const ForEach* run)
      : function(objective, samples, run),
        gradient(samples.columns()),
        trial(samples.columns()),
        trial_gradient(samples.columns()) {
    at.w.assign(samples.columns(), 0);
    at.loss = function.loss_and_gradient(at.w, gradient);
    at.gradient_norm = eigen_norm(gradient);
  }

  // The first of 1, 1/2, 1/4, ... of the step that makes F small enough; false when none does.
  bool walk(const EigenVector& step) {
    constexpr int kMostHalvings = 40;
    constexpr double kArmijo = 1e-4, kLossRounding = 1e-14;
    const double slope = step.dot(Eigen::Map<const EigenVector>(gradient.data(), step.size()));
    double length = 1;
    for (int halving = 0; halving < kMostHalvings; ++halving, length /= 2) {
      for (std::size_t j = 0; j < trial.size(); ++j)
        trial[j] = at.w[j] + length * step[static_cast<Eigen::Index>(j)];
      const double loss = function.loss_and_gradient(trial, trial_gradient);
      const double trial_norm = eigen_norm(trial_gradient);
      const bool lower = loss <= at.loss + kArmijo * length * slope;
      // At the end the loss can no longer tell; the gradient can.
      const bool flatter = loss <= at.loss * (1 + kLossRounding) && trial_norm < at.gradient_norm;
      if (!(lower && loss < at.loss) && !flatter) continue;
      at.w.swap(trial);
      gradient.swap(trial_gradient);
      at.loss = loss;
      at.gradient_norm = trial_norm;
      return true;
    }
    return false;
  }
};

}  // namespace

Optimum find_optimum(const Objective& objective, const Samples<double>& samples,
                     const OptimumOptions& options, const ForEach* run) {
  constexpr std::uint64_t kFewIterations = 40, kMostIterations = 2000;
  const bool dense = samples.columns() <= kDenseColumns;
  Search search(objective, samples, run);
  HessianOperator hessian(samples, search.function.shard(), objective.lambda, run);
  std::unique_ptr<Preconditioner> preconditioner;
  while (search.at.gradient_norm > options.gradient_norm &&
         search.at.newton_steps < options.most_newton_steps) {
    ++search.at.newton_steps;
    hessian.move_to(objective.loss, search.at.w);
    const bool fresh = !preconditioner;
    if (fresh) preconditioner = std::make_unique<Preconditioner>(hessian);
    // Coarse far from the end, so that little is spent on steps that the next one corrects.
    const double tolerance = std::clamp(std::sqrt(search.at.gradient_norm), 1e-8, 1e-2);
    const Direction found = newton_direction(hessian, *preconditioner, search.gradient, tolerance,
                                             dense ? 2 * kFewIterations : kMostIterations);
    const bool walked = search.walk(found.step);
    if (!walked && fresh) break;
    if (!walked || found.iterations > kFewIterations) preconditioner.reset();
  }
  search.at.converged = search.at.gradient_norm <= options.gradient_norm;
  return std::move(search.at);
}

}  // namespace mfl
