// The second derivative of F over a shard, lambda I + (1/n) sum_r c_r x_r x_r', with c_r the curvature of
// sample r.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mfl/base/vectors.h"
#include "mfl/model/objective.h"

namespace mfl {

// Models with at most this many features have their second derivative formed where that helps; others never
// do.
inline constexpr std::size_t kDenseColumns = 1536;

// d^2 loss / dz^2 for the smooth losses, at margin z and target y. The squared hinge has 1 inside and 0
// outside its margin. Not for the hinge.
double curvature(Loss loss, double z, double y);

// The samples outlive it. apply() must not be called concurrently; `run` as for loss_and_gradient, null for
// one thread. What it gives does not depend on `run`.
class HessianOperator {
 public:
  // All curvatures are 1: the Gram operator X'X/n + lambda I.
  HessianOperator(const Samples<double>& samples, Shard shard, double lambda, const ForEach* run = nullptr);

  // Takes the curvatures at w.
  void move_to(Loss loss, const Vector<double>& w);

  std::size_t columns() const { return samples_->columns(); }

  // out = H v, in one pass over the rows.
  void apply(std::span<const double> v, std::span<double> out) const;

  // The diagonal of H.
  std::vector<double> diagonal() const;

  // H, columns x columns; its lower triangle (row >= column) is written, column-major.
  std::vector<double> lower() const;

 private:
  const Samples<double>* samples_;
  Shard shard_;
  double lambda_;
  const ForEach* run_;
  std::vector<double> curvatures_;
  mutable std::vector<Vector<double>> parts_;  // sums of groups of row blocks, added in their order
};

}  // namespace mfl
