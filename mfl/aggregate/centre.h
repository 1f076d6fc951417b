// A centre of the updates that moves towards them step by step. Private to mfl/aggregate.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mfl/aggregate/slices.h"

namespace mfl {

// Holds the centre v in f64; the updates and `run` outlive it. Not thread-safe.
template <class T>
class Centre {
 public:
  Centre(std::span<const NodeVectors<T>> updates, const ForEach& run);

  void start_at_mean();
  void start_at(const NodeVectors<T>& vectors);

  // Of every update from v: values[i] * unit. The unit is 1 unless a square is too large for f64.
  struct Distances {
    std::vector<double> values;
    double unit;
  };
  Distances distances() const;

  // v <- v + sum_i shares[i] (x_i - v), every share >= 0, their sum at most 1.
  void move(std::span<const double> shares);

  // v rounded to T, or the largest finite number instead of an infinity.
  void write(std::vector<Vector<T>>& out) const;

 private:
  std::vector<double> squares(double scale) const;

  std::span<const NodeVectors<T>> updates_;
  const ForEach& run_;
  std::vector<Slice> slices_;
  std::vector<Vector<double>> v_;
};

}  // namespace mfl
