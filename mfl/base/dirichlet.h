// Draws from the symmetric Dirichlet distribution, with the same bits on every machine.
//
//   std::vector<double> logs(nodes);
//   draw_log_gammas(stream, 0.3, logs);
//   make_shares(logs);   // >= 0, with sum 1
#pragma once

#include <span>

#include "mfl/base/rng.h"

namespace mfl {

// Logarithms of independent Gamma(shape, 1) numbers, after Marsaglia and Tsang (2000): a small shape gives
// numbers that have no place in a double, their logarithms have one. 1e-300 <= shape <= 1e300.
void draw_log_gammas(Stream& stream, double shape, std::span<double> out);

// Replaces each log by exp(log) divided by the sum of all exp(log): a Dirichlet draw if the numbers are
// logarithms of gamma numbers. -infinity stands for a share of 0; at least one log is finite.
void make_shares(std::span<double> logs);

}  // namespace mfl
