// A federated run in f64 together with the virtual centralised run of the theory: in every interval between
// two aggregations another (w, d) starts where the nodes start and takes its steps on F itself.
//
// Measures only; what the numbers mean is for diagnosis.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/model/objective.h"

namespace mfl {

// The weighted mean of one vector of every node, in the order of the nodes. False when a number is not
// finite.
using Average = std::function<bool(std::span<const Vector<double>* const> vectors, Vector<double>& mean)>;

struct PathOptions {
  double eta = 0;
  double gamma = 0;
  std::uint64_t tau = 1;
  std::uint64_t steps = 1;                  // T
  const Vector<double>* optimum = nullptr;  // w*, for distances; null when there is none
  const ForEach* run = nullptr;             // spreads nodes over threads; null for one after the other
  // After every interval, with the steps taken and F at its start; false stops the run. May be empty.
  std::function<bool(std::uint64_t, double)> progress;
};

// After local step t, the `into`-th of its interval. Gaps are taken before the aggregation.
struct GapStep {
  std::uint64_t t = 0, into = 0;
  double w = 0, d = 0;                 // |w(t) - w_[k](t)|, |d(t) - d_[k](t)|
  std::vector<double> node_w, node_d;  // |w_i - w_[k]|, |d_i - d_[k]|
  double w_size = 0, d_size = 0;  // largest norms among the vectors compared: what rounding is relative to
};

// The virtual run's step from t to t + 1.
struct VirtualStep {
  std::uint64_t t = 0;
  double loss = 0, loss_after = 0;  // F(w_[k](t)), F(w_[k](t + 1))
  double gradient = 0;              // |grad F(w_[k](t))|
  double momentum = 0;              // |d_[k](t)|
  double product = 0;               // <grad F, d>
  double distance = 0;              // |w_[k](t) - w*|; 0 without w*
};

struct Interval {
  std::uint64_t first = 0, steps = 0;  // (k-1) tau, and tau or what was left
  std::vector<double> node_delta;      // delta_i: largest |grad F_i - grad F| over the virtual path
  double delta = 0;                    // their weighted mean
  double loss = 0, gradient = 0;       // F and |grad F| at the aggregated w(k tau)
  double start_distance = 0;           // |w((k-1) tau) - w*|
};

struct Path {
  double start_loss = 0;                   // F(w(0))
  std::vector<GapStep> gaps;               // one per step
  std::vector<VirtualStep> virtual_steps;  // one per step
  std::vector<Interval> intervals;
  double best_loss = 0;                         // F(w^f)
  std::uint64_t best_step = 0;                  // where
  Vector<double> w;                             // the last aggregated one
  bool stopped = false;                         // progress said so
  std::optional<std::uint64_t> diverged_after;  // the last step at which every number was finite
};

// Trains on the shards from w = d = 0. Each step makes one pass over the data for both runs. Memory: O(steps
// x nodes).
Path measure_path(const Objective& objective, const Samples<double>& samples, std::span<const Shard> nodes,
                  const Average& average, const PathOptions& options);

}  // namespace mfl
