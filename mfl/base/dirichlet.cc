#include "mfl/base/dirichlet.h"

#include <algorithm>
#include <cmath>

#include "mfl/base/math.h"

namespace mfl {
namespace {

// The logarithm of a gamma number whose shape is at least 1.
double log_gamma_of_large(Stream& stream, double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double log_v = 3 * portable_log(root);
    const double v = root * root * root;
    const double u = 1 - stream.uniform();
    if (portable_log(u) < x * x / 2 + d * (1 - v + log_v)) return portable_log(d) + log_v;
  }
}

double log_gamma_draw(Stream& stream, double shape) {
  if (shape >= 1) return log_gamma_of_large(stream, shape);
  const double log_of_next = log_gamma_of_large(stream, shape + 1);
  return log_of_next + portable_log(1 - stream.uniform()) / shape;
}

}  // namespace

void draw_log_gammas(Stream& stream, double shape, std::span<double> out) {
  for (double& log : out) log = log_gamma_draw(stream, shape);
}

void make_shares(std::span<double> logs) {
  const double largest = *std::ranges::max_element(logs);
  double sum = 0;
  for (double& log : logs) {
    log = portable_exp(log - largest);
    sum += log;
  }
  for (double& share : logs) share /= sum;
}

}  // namespace mfl
