#include "mfl/theory/adaptive_tau.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mfl/theory/bounds.h"
#include "mfl/theory/drift.h"

namespace mfl {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kWidest = 10;  // times the last tau

double steps_allowed(std::span<const Resource> resources, double tau) {
  double least = kUnbounded;
  for (const Resource& one : resources) {
    const double left = one.budget - one.per_step - one.per_round;
    const double cost = one.per_step * tau + one.per_round;
    if (left <= 0) return 0;
    if (cost > 0) least = std::min(least, left * tau / cost);
  }
  return least;
}

// The bound for h(tau) of a recurrence that has been taken so far.
double bound_at(const TauRule& rule, const Smoothness& smoothness, std::span<const Resource> resources,
                const UnitDrift& drift) {
  const double rate = descent_rate(rule, smoothness.beta);
  const auto tau = static_cast<double>(drift.steps);
  const double steps = steps_allowed(resources, tau);
  if (!(rate > 0) || !(steps > 0)) return kUnbounded;
  const BoundConstants constants{
      .omega = 1, .alpha = rate, .rho = smoothness.rho, .h = drift.w.times(smoothness.delta), .tau = tau};
  return convergence_bound(steps, constants);
}

}  // namespace

double descent_rate(const TauRule& rule, double beta) {
  if (rule.gamma == 0) return rule.eta * rule.phi;
  const double settled = 1 / (1 - rule.gamma);
  const double omega = rule.phi / (1 - rule.eta * beta / 2);
  const double alpha = descent_factor({rule.eta, beta, rule.gamma}, settled, settled);
  return omega > 0 && alpha > 0 ? omega * alpha : 0;
}

double budget_bound(const TauRule& rule, const Smoothness& smoothness, std::span<const Resource> resources,
                    std::uint64_t tau) {
  return bound_at(rule, smoothness, resources, drift_at({rule.eta, smoothness.beta, rule.gamma}, tau));
}

TauChoice choose_tau(const TauRule& rule, const Smoothness& smoothness, std::span<const Resource> resources,
                     std::uint64_t last) {
  TauChoice best{1, kUnbounded};
  if (!std::isfinite(smoothness.rho + smoothness.beta + smoothness.delta)) return best;
  const std::uint64_t most = last > rule.tau_max / kWidest ? rule.tau_max : kWidest * last;
  DriftRecurrence recurrence({rule.eta, smoothness.beta, rule.gamma});
  for (std::uint64_t tau = 1; tau <= most; ++tau) {
    recurrence.advance();
    const double bound = bound_at(rule, smoothness, resources, recurrence.bounds());
    if (bound < best.bound) best = {tau, bound};
  }
  return best;
}

}  // namespace mfl
