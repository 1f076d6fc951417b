// Where F is least.
#pragma once

#include <cstdint>

#include "mfl/base/vectors.h"
#include "mfl/model/objective.h"

namespace mfl {

struct Optimum {
  Vector<double> w;          // w*
  double loss = 0;           // F(w*) = F*
  double gradient_norm = 0;  // |grad F(w*)|
  std::uint64_t newton_steps = 0;
  bool converged = false;  // gradient_norm is at most what was asked for
};

struct OptimumOptions {
  double gradient_norm = 1e-10;
  std::uint64_t most_newton_steps = 200;
};

// Newton's method with a line search; each step is solved by conjugate gradients, preconditioned with a
// factorised second derivative of an earlier point (up to kDenseColumns features) or with its diagonal. From
// w = 0, so where minimisers are many (mu = 0) it stays among the combinations of the samples, as gradient
// descent does. The squared hinge has a second derivative almost everywhere (semismooth Newton). Not for the
// hinge.
//
// A logistic loss of samples that can be separated has no minimiser: the w found has a small gradient and is
// far away.
Optimum find_optimum(const Objective& objective, const Samples<double>& samples,
                     const OptimumOptions& options = {}, const ForEach* run = nullptr);

}  // namespace mfl
