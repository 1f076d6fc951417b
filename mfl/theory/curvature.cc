#include "mfl/theory/curvature.h"

#include <Spectra/SymEigsSolver.h>

#include <Eigen/Eigenvalues>
#include <algorithm>

#include "mfl/theory/hessian.h"

namespace mfl {
namespace {

constexpr double kTolerance = 1e-7;  // of an eigenvalue, relative
constexpr double kMargin = 1e-6;
constexpr Eigen::Index kMostRestarts = 1000;

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
  GramProduct product(gram);
  const Eigen::Index vectors = std::min<Eigen::Index>(product.rows(), 20);
  Spectra::SymEigsSolver<GramProduct> solver(product, 1, vectors);
  solver.init();
  solver.compute(Spectra::SortRule::LargestAlge, kMostRestarts, kTolerance);
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
