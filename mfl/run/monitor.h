// Warnings about a run while it trains, from values that it computes anyway: they cost no gradient.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/base/result.h"
#include "mfl/engine/engine.h"
#include "mfl/run/runner.h"

namespace mfl {

// What is judged of the round that ended last.
struct RoundSigns {
  std::uint64_t steps = 0;
  double move = 0;  // |m| / |w|, m as below
  // Root mean square of |m_i - m| over |m|, where m_i is how far node i moved in the round and m their mean. Absent when
  // nothing moved.
  std::optional<double> spread;
  // Of the angle between the momentum that the round started with and the gradients that it met, as their discounted
  // sum d_after - gamma^steps d_before: below 0 momentum works against them. Absent without momentum.
  std::optional<double> momentum_cosine;
};

// From the vectors before and after a round of `steps` steps: "w" first, then "d" if gamma is not 0.
template <class T>
RoundSigns round_signs(const Descent& descent, std::uint64_t steps, const std::vector<Vector<T>>& before,
                       const std::vector<NamedVector<T>>& after, double mean_square_move);

// Remembers which warnings it gave: each kind comes once, at the first record for which it holds. Not thread-safe.
class Monitor {
 public:
  // `beta` is absent where the loss is not smooth.
  Monitor(const Descent& descent, std::optional<double> beta, std::function<void(const RunWarning&)> warn);

  const Descent& descent() const { return descent_; }
  void round_done(const RoundSigns& signs) { signs_ = signs; }
  // There is no warning about drift once a round moves w by less than a hundredth: such a run has converged.
  void recorded(std::uint64_t step);

  // How much of a round's common move the nodes' drift can undo: a gradient taken away from the mean is wrong by up to
  // beta times the distance, which grows from 0 at the first step to the spread at the last. Where there is no beta, a
  // quarter of the spread is used instead. Averaging helps while this is below 1.
  std::optional<double> drift_effect() const;

  const std::vector<RunWarning>& warnings() const { return warnings_; }

 private:
  void warn(std::string id, std::uint64_t step, std::string message);

  Descent descent_;
  std::optional<double> beta_;
  std::function<void(const RunWarning&)> warn_;
  std::optional<RoundSigns> signs_;
  std::set<std::string> given_;
  std::vector<RunWarning> warnings_;
};

// The largest beta_i of all nodes, from the data alone and one node at a time: some tens of passes over the data, once. Nothing
// for the hinge and for a fleet.
template <class T>
Result<std::optional<double>> monitored_beta(const Federation<T>& federation, double lambda,
                                             Ranks& where = alone());

}  // namespace mfl
