// How steep the losses can be: smoothness of every node's, strong convexity of the whole.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/model/objective.h"

namespace mfl {

struct Curvature {
  std::vector<double> node_beta;  // beta_i: |grad F_i(a) - grad F_i(b)| <= beta_i |a - b|
  double beta = 0;                // the largest of them
  // F(a) >= F(b) + <grad F(b), a - b> + mu/2 |a - b|^2 everywhere. A lower bound where it is not known
  // exactly: the Gram matrix adds to lambda for the squared loss alone, and is looked at for up to
  // kDenseColumns features.
  double mu = 0;
};

// lmax(X_i'X_i/n_i) of one shard, by Lanczos (Spectra) on the Gram operator, which is never formed. Relative
// error below 1e-6, and 1e-6 is added: an upper bound. kRunFailed when it does not converge.
Result<double> largest_gram_eigenvalue(const Samples<double>& samples, Shard shard,
                                       const ForEach* run = nullptr);

// Computes lmax by power iteration, in a fixed order of IEEE operations, which a step size that decides
// digests needs, and for any rows. The result is low by less than the 1 % that is added, unless several
// eigenvalues are within 1 % of each other.
double power_gram_eigenvalue(const Samples<double>& samples, Shard shard, const ForEach* run = nullptr);

// beta_i = lambda + largest curvature * lmax(X_i'X_i/n_i). Nothing for the hinge, whose gradient jumps.
Result<std::optional<Curvature>> measure_curvature(const Objective& objective, const Samples<double>& samples,
                                                   std::span<const Shard> nodes,
                                                   const ForEach* run = nullptr);

}  // namespace mfl
