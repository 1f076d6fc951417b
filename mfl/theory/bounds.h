// The numbers of Propositions 2 and 3, and a sharper bound of our own, from measured constants.
#pragma once

#include <optional>

namespace mfl {

struct StepParameters {
  double eta = 0;
  double beta = 0;
  double gamma = 0;
};

// alpha in F(after a step) <= F - alpha |grad F|^2, for momentum d with <grad F, d> = projection |grad F|^2
// and |d| = ratio |grad F|. The paper puts the cosine of the largest angle for the projection, which is right
// while |d| >= |grad F|. With d = 0 both are 0.
double descent_factor(const StepParameters& step, double projection, double ratio);

// What the bound of Proposition 2 is made of.
struct BoundConstants {
  double omega = 0;  // 1 / largest squared distance of w((k-1) tau) to w*
  double alpha = 0;  // descent_factor of the worst step
  double rho = 0;    // largest |grad F(w(k tau))|
  double h = 0;      // h(tau)
  double tau = 1;    // steps of the longest interval
};

// f1(T), and f2(T) with FL's constants: F(w^f) - F* is at most this. Infinite unless omega alpha > 0.
double convergence_bound(double steps, const BoundConstants& constants);

// 2 (1 - beta eta) cos theta / (beta eta p^2): below it MFL's alpha is larger than FL's. Infinite when p is
// 0.
double gamma_limit(const StepParameters& step, double cos_theta, double ratio);

// How two bounds lie over T.
struct Crossing {
  bool first_lower_at_start = false;  // for small T
  bool first_lower_at_end = false;    // for large T
  std::optional<double> steps;        // where they cross: T_1, when the sides differ; by bisection
};
Crossing cross(const BoundConstants& first, const BoundConstants& second);

// Sums over the whole virtual path, for the bound that needs no assumption on angles.
struct PathSums {
  double descent = 0;        // S = sum_t alpha_t / |w_[k](t) - w*|^2
  double drift = 0;          // B = sum_k rho_k h_k
  double largest_drift = 0;  // max_k rho_k h_k
};

// (1 + sqrt(1 + 4 S B)) / (2 S) + max_k rho_k h_k: F(w^f) - F* is at most this where every alpha_t > 0.
double a_posteriori_bound(const PathSums& sums);

}  // namespace mfl
