// How a run ended, judged by the training losses of its rounds.
#pragma once

#include <span>
#include <vector>

#include "mfl/record/run.h"

namespace mfl {

// Warnings about a run that ended unstable or far from converged; none for one that went well. A pure function of what the
// store keeps, so that a run, its resumption, its copy and its reuse are judged alike. The ids:
//
//   not_finite     the run diverged, or a loss is not finite; nothing else is then judged
//   above_start    the run ended above its first loss
//   oscillating    over the last fifth of the rounds the loss both rose and fell by more than a tenth of itself
//   rising         the last tenth of the rounds is above the tenth before it, or the run ended well above its best loss
//   still_falling  the last tenth of the rounds brought more than 6 % of the whole fall; a straight line has 10 %
//
// One of the three losses is judged, the first of train_loss, start_loss and batch_loss that enough rounds have, and the message names
// it. The last three warnings need 20 rounds that have it, and at most one of them is given: beside above_start only oscillating, and still_falling only
// for a run that is done. `rounds` are
// in order, round 0 first. `sampled`: losses are those of the nodes that each round counted. They, and those of runs with batches, are
// averaged, and only what is well above their noise counts.
std::vector<RunWarning> convergence_warnings(std::span<const RoundRow> rounds, RunStatus status,
                                             bool sampled);

}  // namespace mfl
