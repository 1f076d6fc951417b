#include "mfl/theory/bounds.h"

#include <cmath>
#include <limits>

namespace mfl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double descent_factor(const StepParameters& step, double projection, double ratio) {
  const auto& [eta, beta, gamma] = step;
  return eta * (1 - beta * eta / 2) + eta * gamma * (1 - beta * eta) * projection -
         beta * eta * eta * gamma * gamma * ratio * ratio / 2;
}

double convergence_bound(double steps, const BoundConstants& constants) {
  const double rate = constants.omega * constants.alpha;
  if (!(rate > 0)) return kInfinity;
  const double start = 1 / (2 * steps * rate);
  const double drift = constants.rho * constants.h;
  return start + std::sqrt(start * start + drift / (rate * constants.tau)) + drift;
}

double gamma_limit(const StepParameters& step, double cos_theta, double ratio) {
  if (ratio == 0) return kInfinity;
  const double eta_beta = step.beta * step.eta;
  return 2 * (1 - eta_beta) * cos_theta / (eta_beta * ratio * ratio);
}

Crossing cross(const BoundConstants& first, const BoundConstants& second) {
  constexpr double kLeast = 1e-6, kMost = 1e18;
  const auto first_is_lower = [&](double steps) {
    return convergence_bound(steps, first) < convergence_bound(steps, second);
  };
  Crossing out{first_is_lower(kLeast), first_is_lower(kMost), std::nullopt};
  if (out.first_lower_at_start == out.first_lower_at_end) return out;
  double low = kLeast, high = kMost;
  while (high > low * (1 + 1e-12)) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (first_is_lower(middle) == out.first_lower_at_start ? low : high) = middle;
  }
  out.steps = low;
  return out;
}

double a_posteriori_bound(const PathSums& sums) {
  if (!(sums.descent > 0)) return kInfinity;
  return (1 + std::sqrt(1 + 4 * sums.descent * sums.drift)) / (2 * sums.descent) + sums.largest_drift;
}

}  // namespace mfl
