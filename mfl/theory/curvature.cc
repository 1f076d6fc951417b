#include "mfl/theory/curvature.h"

#include <Spectra/SymEigsSolver.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "mfl/base/rng.h"
#include "mfl/theory/hessian.h"

namespace mfl {
namespace {

constexpr double kTolerance = 1e-7;  // relative tolerance of an eigenvalue
constexpr double kMargin = 1e-6;
constexpr Eigen::Index kMostRestarts = 1000;
constexpr std::size_t kLanczosVectors = 20;

// The Gram operator as Spectra wants it.
class GramProduct {
 public:
  using Scalar = double;
  explicit GramProduct(const HessianOperator& gram) : gram_(gram) {}
  Eigen::Index rows() const { return static_cast<Eigen::Index>(gram_.columns()); }
  Eigen::Index cols() const { return rows(); }
  void perform_op(const double* in, double* out) const {  // NOLINT(readability-identifier-naming)
    gram_.apply({in, gram_.columns()}, {out, gram_.columns()});
  }

 private:
  const HessianOperator& gram_;
};

Shard whole(std::span<const Shard> nodes) {
  std::size_t first = nodes.front().first, last = 0;
  for (const Shard& node : nodes) {
    first = std::min(first, node.first);
    last = std::max(last, node.first + node.count);
  }
  return {first, last - first};
}

// The largest eigenvalue for fewer rows than Lanczos has vectors: XX'/n has the eigenvalues of X'X/n.
double eigenvalue_of_few(const Samples<double>& samples, Shard shard) {
  const auto rows = static_cast<Eigen::Index>(shard.count),
             columns = static_cast<Eigen::Index>(samples.columns());
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(columns, rows);
  constexpr double kOnce = 1;
  for (Eigen::Index r = 0; r < rows; ++r)
    samples.kernels().add_rows(samples.rows({shard.first + static_cast<std::size_t>(r), 1}), &kOnce,
                               dense.col(r).data());
  dense *= samples.data().scale;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      dense.transpose() * dense / static_cast<double>(rows), Eigen::EigenvaluesOnly);
  return solver.eigenvalues().maxCoeff();
}

double smallest_gram_eigenvalue(const Samples<double>& samples, Shard shard) {
  const std::size_t d = samples.columns();
  if (d > kDenseColumns || shard.count < d) return 0;
  const std::vector<double> lower = HessianOperator(samples, shard, 0).lower();
  const auto size = static_cast<Eigen::Index>(d);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      Eigen::Map<const Eigen::MatrixXd>(lower.data(), size, size), Eigen::EigenvaluesOnly);
  const double rounding = static_cast<double>(d) * 1e-15 * solver.eigenvalues().maxCoeff();
  const double smallest = solver.eigenvalues().minCoeff();
  return smallest > rounding ? smallest : 0;
}

}  // namespace

double power_gram_eigenvalue(const Samples<double>& samples, Shard shard, const ForEach* run) {
  constexpr int kMostPasses = 200;
  constexpr double kClose = 1e-5, kOnTop = 1.01;
  const HessianOperator gram(samples, shard, 0, run);
  std::vector<double> v(samples.columns()), next(v.size());
  const auto length = [&] { return std::sqrt(samples.kernels().squared_norm(v.size(), v.data())); };
  Stream stream(0, Purpose::kPowerIteration);
  for (double& x : v) x = stream.normal();
  double eigenvalue = 0;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const double of_v = length();
    if (of_v == 0) return 0;
    for (double& x : v) x /= of_v;
    gram.apply(v, next);
    v.swap(next);
    const double before = std::exchange(eigenvalue, length());
    if (std::abs(eigenvalue - before) <= kClose * eigenvalue) break;
  }
  return kOnTop * eigenvalue;
}

Result<double> largest_gram_eigenvalue(const Samples<double>& samples, Shard shard, const ForEach* run) {
  const HessianOperator gram(samples, shard, 0, run);
  const std::size_t d = samples.columns();
  if (d < 3) {  // Lanczos needs room for a few vectors
    const std::vector<double> lower = gram.lower();
    const auto size = static_cast<Eigen::Index>(d);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
        Eigen::Map<const Eigen::MatrixXd>(lower.data(), size, size), Eigen::EigenvaluesOnly);
    return solver.eigenvalues().maxCoeff() * (1 + kMargin);
  }
  const std::vector<double> diagonal = gram.diagonal();
  if (*std::ranges::max_element(diagonal) == 0) return 0.0;  // all features are zero
  if (shard.count < kLanczosVectors) return eigenvalue_of_few(samples, shard) * (1 + kMargin);
  GramProduct product(gram);
  const Eigen::Index vectors = std::min<Eigen::Index>(product.rows(), kLanczosVectors);
  Spectra::SymEigsSolver<GramProduct> solver(product, 1, vectors);
  bool broken = false;
  try {
    solver.init();
    solver.compute(Spectra::SortRule::LargestAlge, kMostRestarts, kTolerance);
  } catch (const std::runtime_error&) {
    broken = true;
  }
  // Where rows span few directions Lanczos can fail, or find more than all eigenvalues together.
  const double trace = std::accumulate(diagonal.begin(), diagonal.end(), 0.0);
  if (broken || (solver.eigenvalues().size() > 0 && solver.eigenvalues()[0] > trace * (1 + kMargin)))
    return std::min(power_gram_eigenvalue(samples, shard, run), trace * (1 + kMargin));
  if (solver.info() != Spectra::CompInfo::Successful)
    return fail(ErrorCode::kRunFailed, "the largest eigenvalue of the data was not found",
                "look for features of very different sizes, and scale them");
  return solver.eigenvalues()[0] * (1 + kMargin);
}

Result<std::optional<Curvature>> measure_curvature(const Objective& objective, const Samples<double>& samples,
                                                   std::span<const Shard> nodes, const ForEach* run) {
  if (objective.loss == Loss::kHinge) return std::nullopt;
  Curvature out;
  for (const Shard& node : nodes) {
    MFL_TRY(const double largest, largest_gram_eigenvalue(samples, node, run));
    out.node_beta.push_back(objective.lambda + largest_curvature(objective.loss) * largest);
  }
  out.beta = *std::ranges::max_element(out.node_beta);
  out.mu = objective.lambda;
  if (objective.loss == Loss::kSquared) out.mu += smallest_gram_eigenvalue(samples, whole(nodes));
  return out;
}

}  // namespace mfl
