// How far the gradients of nodes are from the gradient of all samples: delta of the theory, at one w.
#pragma once

#include <span>
#include <vector>

#include "mfl/base/for_each.h"
#include "mfl/base/vectors.h"
#include "mfl/model/model.h"

namespace mfl {

struct GradientDivergence {
  std::vector<double> nodes;  // |grad F_i(w) - grad F(w)|, in the order of the nodes
  double mean = 0;            // weighted by their samples
  double gradient = 0;        // |grad F(w)|
};

// For any model; two passes over the rows, and the memory of two gradients. `run` as for loss_and_gradient.
GradientDivergence measure_divergence(const Model<double>& model, const Samples<double>& samples,
                                      std::span<const Shard> nodes, double lambda, const Vector<double>& w,
                                      const ForEach* run = nullptr);

}  // namespace mfl
