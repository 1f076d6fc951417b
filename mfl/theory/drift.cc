#include "mfl/theory/drift.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mfl/base/math.h"

namespace mfl {
namespace {

constexpr double kLog2 = 0.69314718055994530942;
constexpr int kRescale = 512;

}  // namespace

double Scaled::times(double factor) const {
  if (value == 0 || factor == 0) return 0;
  const auto bounded = std::clamp<std::int64_t>(exponent, -100000, 100000);
  int factor_exponent = 0;
  const double mantissa = std::frexp(factor, &factor_exponent);
  return std::ldexp(value * mantissa, static_cast<int>(bounded) + factor_exponent);
}

double Scaled::log_times(double factor) const {
  if (value == 0 || factor == 0) return -std::numeric_limits<double>::infinity();
  return portable_log(value) + static_cast<double>(exponent) * kLog2 + portable_log(factor);
}

void DriftRecurrence::advance() {
  const auto& [eta, beta, gamma] = parameters_;
  const double slope = beta * node_w_;
  d_ = gamma * d_ + slope;
  w_ += eta * d_;
  node_d_ = gamma * node_d_ + slope + one_;
  node_w_ += eta * node_d_;
  ++steps_;
  rescale();
}

void DriftRecurrence::rescale() {
  if (std::max({node_w_, node_d_, d_, w_}) < std::ldexp(1.0, kRescale)) return;
  for (double* number : {&node_w_, &node_d_, &d_, &w_, &one_}) *number = std::ldexp(*number, -kRescale);
  exponent_ += kRescale;
}

UnitDrift DriftRecurrence::bounds() const {
  return {steps_, {w_, exponent_}, {d_, exponent_}, {node_w_, exponent_}, {node_d_, exponent_}};
}

std::vector<UnitDrift> drift_table(const DriftParameters& parameters, std::uint64_t last) {
  DriftRecurrence recurrence(parameters);
  std::vector<UnitDrift> table = {recurrence.bounds()};
  for (std::uint64_t step = 0; step < last; ++step) {
    recurrence.advance();
    table.push_back(recurrence.bounds());
  }
  return table;
}

UnitDrift drift_at(const DriftParameters& parameters, std::uint64_t steps) {
  DriftRecurrence recurrence(parameters);
  for (std::uint64_t step = 0; step < steps; ++step) recurrence.advance();
  return recurrence.bounds();
}

}  // namespace mfl
