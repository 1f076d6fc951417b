// An algorithm that estimates, as its rounds go, how smooth the losses of the nodes are and how much they differ: what an adaptive tau
// is chosen by.
#pragma once

#include <optional>

#include "mfl/algorithm/algorithm.h"
#include "mfl/algorithm/state.h"

namespace mfl {

// The same steps and the same State, with vectors of their own for the estimates: nodes send up the gradient at the broadcast w and four
// numbers, and the server keeps the results in the State. A node takes two more gradients per round, at the w that was sent and at its
// own last one. Means are those of the engine, so estimates have the same bits over threads, processes and machines.
//
// The w of both estimates of a node is the one that its round started from. Wang et al. take the next one, for which every node would have to
// keep its last model, and one that misses a round would compare models far apart.
Algorithm estimating(const Algorithm& algorithm);

// Of the round that led to the State, means over its nodes by samples.
struct RoundEstimates {
  double rho = 0;           // of |F_i(w_i) - F_i(w)| / |w_i - w|
  double beta = 0;          // of |grad F_i(w_i) - grad F_i(w)| / |w_i - w|
  double delta = 0;         // root of the mean of |grad F_i(w) - grad F(w)|^2, at least the mean itself
  std::uint64_t steps = 0;  // of that round
};

// Nothing before the first round, and of a State that is not one of estimating().
template <class T>
std::optional<RoundEstimates> estimates_of(const State<T>& state);

// Gradients that a node computes in a round beside those of its steps.
inline constexpr std::uint64_t kEstimateGradients = 2;

}  // namespace mfl
