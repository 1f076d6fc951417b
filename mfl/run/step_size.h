// The step size of a run that does not say one: from the smoothness of the losses of its nodes.
#pragma once

#include "mfl/base/result.h"
#include "mfl/experiment/experiment.h"
#include "mfl/load/problem.h"

namespace mfl {

// kBadConfig unless the smoothness of the model, or what replaces it, is known (ModelEntry::has_step_bound).
Result<void> require_step_bound(const ModelEntry& model);

// How fast the gradients that a node's steps use can change, from its data alone: some tens of passes over it. With steps on batches it
// is the expected smoothness of Gower et al., "SGD: General Analysis and Improved Rates" (2019), which lies between that of all
// samples and that of the one with the largest features. ModelEntry::step_bound replaces it where gradients
// jump. kBadConfig for a model without a step bound.
template <class T>
Result<double> node_smoothness(const Experiment& experiment, const Federation<T>& federation, Shard node);

// 1 / smoothness, rounded down to two digits: the largest step that never overshoots, for the least smooth of the nodes.
double step_size_of(double largest_smoothness);

// Measures the step size of a run over this problem, unless its configuration says it. Collective.
template <class T>
Result<void> settle_eta(Experiment& experiment, const Problem<T>& problem, Ranks& ranks = alone());

}  // namespace mfl
