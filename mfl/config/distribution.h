// A number that may differ between devices: fixed, or drawn from a distribution.
#pragma once

#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/base/rng.h"

namespace mfl {

struct NumberRange;

struct Distribution {
  enum class Kind { kFixed, kUniform, kLognormal };
  Kind kind = Kind::kFixed;
  double first = 0;   // the number; the least; the median
  double second = 0;  // -; the greatest; sigma, the standard deviation of the logarithm

  bool operator==(const Distribution&) const = default;
};

// Parses "100", "uniform(50, 150)" or "lognormal(100, 0.5)". Every number except sigma must be in the range;
// sigma must be in [0, 10]. The error holds only the reason.
Result<Distribution> parse_distribution(std::string_view text, const NumberRange& range);

// parse_distribution() restores the same bits.
std::string distribution_text(const Distribution& distribution);

// Uses our own exp and log, so the result has the same bits on every machine.
double draw(const Distribution& distribution, Stream stream);

}  // namespace mfl
