// How far apart tau local steps can take the nodes: the bounds of Proposition 1 and Lemma 3 of the paper.
//
// Computed by the recurrence of the proof, which only adds and multiplies non-negative numbers. The closed
// form that the paper prints cancels: at eta beta = 1e-6 it is wrong by a factor of several.
#pragma once

#include <cstdint>
#include <vector>

namespace mfl {

struct DriftParameters {
  double eta = 0;    // step size, >= 0
  double beta = 0;   // smoothness of every F_i, >= 0
  double gamma = 0;  // momentum, >= 0; 0 gives the bounds of plain FL
};

// A number value * 2^exponent with value >= 0; large ones do not overflow.
struct Scaled {
  double value = 0;
  std::int64_t exponent = 0;

  // The number times `factor` >= 0; infinity where it is too large for a double, 0 when the factor is 0.
  double times(double factor) const;
  // Its natural logarithm after multiplication by `factor`; -infinity for zero.
  double log_times(double factor) const;
};

// The bounds `steps` local steps after an aggregation, each for a gradient divergence of 1. Multiply w and d
// by delta, node_w and node_d by delta_i.
struct UnitDrift {
  std::uint64_t steps = 0;
  Scaled w;       // |w - w_[k]|: h(steps) = delta * w
  Scaled d;       // |d - d_[k]|
  Scaled node_w;  // |w_i - w_[k]|
  Scaled node_d;  // |d_i - d_[k]|
};

// Walks through the steps of an interval one by one. A value: copies are independent.
class DriftRecurrence {
 public:
  explicit DriftRecurrence(const DriftParameters& parameters) : parameters_(parameters) {}

  void advance();
  UnitDrift bounds() const;

 private:
  void rescale();

  DriftParameters parameters_;
  std::uint64_t steps_ = 0;
  // All are multiplied by 2^-exponent_.
  double node_w_ = 0, node_d_ = 0, d_ = 0, w_ = 0, one_ = 1;
  std::int64_t exponent_ = 0;
};

// Steps 0..last.
std::vector<UnitDrift> drift_table(const DriftParameters& parameters, std::uint64_t last);

// h(steps) = delta * drift_at(...).w
UnitDrift drift_at(const DriftParameters& parameters, std::uint64_t steps);

}  // namespace mfl
