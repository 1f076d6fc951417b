#include "mfl/run/monitor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/base/kernels/kernels.h"
#include "mfl/theory/curvature.h"
#include "mfl/theory/hessian.h"

namespace mfl {

template <class T>
RoundSigns round_signs(const Descent& descent, std::uint64_t steps, const std::vector<Vector<T>>& before,
                       const std::vector<NamedVector<T>>& after, double mean_square_move) {
  RoundSigns out;
  out.steps = steps;
  const Vector<T>&old_w = before.front(), &new_w = after.front().values;
  const Kernels<T>& kernels = default_kernel_set().of<T>();
  const double move = kernels.squared_distance(new_w.size(), new_w.data(), old_w.data());
  const double size = kernels.squared_norm(new_w.size(), new_w.data());
  if (size > 0) out.move = std::sqrt(move / size);
  if (move > 0) out.spread = std::sqrt(std::max(0.0, mean_square_move - move) / move);
  if (descent.gamma == 0) return out;
  const double kept = std::pow(descent.gamma, static_cast<double>(steps));
  const Vector<T>&old_d = before[1], &new_d = after[1].values;
  double product = 0, old_square = 0, met_square = 0;
  for (std::size_t j = 0; j < old_d.size(); ++j) {
    const auto old = static_cast<double>(old_d[j]);
    const double met = static_cast<double>(new_d[j]) - kept * old;
    product += old * met;
    old_square += old * old;
    met_square += met * met;
  }
  if (old_square > 0 && met_square > 0) out.momentum_cosine = product / std::sqrt(old_square * met_square);
  return out;
}

Monitor::Monitor(const Descent& descent, std::optional<double> beta,
                 std::function<void(const RunWarning&)> warn)
    : descent_(descent), beta_(beta), warn_(std::move(warn)) {}

void Monitor::warn(std::string id, std::uint64_t step, std::string message) {
  if (!given_.insert(id).second) return;
  warnings_.push_back({std::move(id), step, std::move(message), {}});
  if (warn_) warn_(warnings_.back());
}

std::optional<double> Monitor::drift_effect() const {
  if (!signs_ || !signs_->spread) return std::nullopt;
  constexpr double kWithoutBeta = 0.25;
  if (!beta_) return kWithoutBeta * *signs_->spread;
  const double later_steps = static_cast<double>(signs_->steps) - 1;
  return descent_.eta * *beta_ * later_steps / 2 * *signs_->spread;
}

void Monitor::recorded(std::uint64_t step) {
  const auto [eta, gamma] = descent_;
  if (beta_ && eta * *beta_ >= 1)
    warn("eta_beta", step,
         fmt::format("eta beta = {:.4g} is not below 1, where the bounds end; eta below {:.4g} is",
                     eta * *beta_, 1 / *beta_));
  if (beta_ && eta * *beta_ > 2 * (1 + gamma))
    warn("unstable", step,
         fmt::format("eta is above 2 (1 + gamma) / beta = {:.4g}: the run may diverge",
                     2 * (1 + gamma) / *beta_));
  if (!signs_) return;
  constexpr double kAtRest = 1e-2;  // a converged run no longer moves
  if (const auto effect = drift_effect(); effect && *effect > 1 && signs_->move > kAtRest)
    warn("drift", step,
         fmt::format("the nodes drift apart {:.3g} times as far as they move together, more than averaging "
                     "makes up for: a smaller tau or eta would help",
                     *signs_->spread));
  if (signs_->momentum_cosine && *signs_->momentum_cosine < 0)
    warn("momentum_angle", step,
         fmt::format("momentum points against the gradients (cosine {:.3g}): gamma is large for this problem",
                     *signs_->momentum_cosine));
}

namespace {

template <class T>
Result<double> largest_beta(const Federation<T>& federation, double lambda) {
  double beta = 0;
  for (const Shard& node : federation.nodes) {
    const Samples<double> samples = federation.train.in_f64(node);
    MFL_TRY(const double largest, largest_gram_eigenvalue(samples, {0, node.count}));
    beta = std::max(beta, *federation.model->smoothness(largest, lambda));
  }
  return beta;
}

}  // namespace

template <class T>
Result<std::optional<double>> monitored_beta(const Federation<T>& federation, double lambda, Ranks& where) {
  if (federation.fleet || !federation.model->smoothness(0, lambda)) return std::nullopt;
  MFL_TRY(const double beta, where.largest(largest_beta(federation, lambda)));
  return beta;
}

#define MFL_INSTANTIATE(T)                                                                      \
  template RoundSigns round_signs(const Descent&, std::uint64_t, const std::vector<Vector<T>>&, \
                                  const std::vector<NamedVector<T>>&, double);                  \
  template Result<std::optional<double>> monitored_beta(const Federation<T>&, double, Ranks&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
