// How many local steps the next round should take under a budget: the control rule of Wang et al., "Adaptive
// federated learning in resource constrained edge computing systems", 2019, with the paper's h in place of
// theirs where there is momentum.
//
//   G(tau) = (1 + sqrt(1 + 4 T'^2 rate rho h(tau) / tau)) / (2 T' rate) + rho h(tau)
//   T'     = the least over the budgets of (R - c - b) tau / (c tau + b)
//
// T' is the number of local steps that the budget allows with rounds of tau. Pure functions of their
// arguments.
#pragma once

#include <cstdint>
#include <span>

namespace mfl {

// A budget R of seconds or of bytes, and what has been measured of its use.
struct Resource {
  double budget = 0;
  double per_step = 0;   // c
  double per_round = 0;  // b: what a round costs beside its steps
};

struct TauRule {
  double eta = 0;
  double gamma = 0;  // 0: plain steps, Wang's h
  double phi = 0.025;
  std::uint64_t tau_max = 100;
};

// Weighted means over the nodes.
struct Smoothness {
  double rho = 0;    // |F_i(w_i) - F_i(w)| / |w_i - w|
  double beta = 0;   // |grad F_i(w_i) - grad F_i(w)| / |w_i - w|
  double delta = 0;  // |grad F_i(w) - grad F(w)|
};

// eta phi for plain steps. With momentum omega alpha: omega as eta phi = omega eta (1 - eta beta / 2) has it,
// and alpha that of a step along a momentum that has settled, d = grad F / (1 - gamma). Not positive where
// such steps do not descend.
double descent_rate(const TauRule& rule, double beta);

// G(tau); infinite where a budget does not allow a round, and where the rate is not positive.
double budget_bound(const TauRule& rule, const Smoothness& smoothness, std::span<const Resource> resources,
                    std::uint64_t tau);

struct TauChoice {
  std::uint64_t tau = 1;
  double bound = 0;  // G(tau)
};

// The tau of 1 .. min(10 last, tau_max) with the smallest G, the smallest of equals; 1 where G is infinite
// for all, and where an estimate is not a number. last >= 1.
TauChoice choose_tau(const TauRule& rule, const Smoothness& smoothness, std::span<const Resource> resources,
                     std::uint64_t last);

}  // namespace mfl
