// A number that differs from device to device: fixed, or drawn from a distribution.
#pragma once

#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/base/rng.h"

namespace mfl {

struct NumberRange;

struct Spread {
  enum class Kind { kFixed, kUniform, kLognormal };
  Kind kind = Kind::kFixed;
  double first = 0;   // the number; the least; the median
  double second = 0;  // -; the greatest; sigma, the standard deviation of the logarithm

  bool operator==(const Spread&) const = default;
};

// "100", "uniform(50, 150)" or "lognormal(100, 0.5)"; every number but sigma is in the range, sigma is in [0, 10]. The
// error is the reason alone.
Result<Spread> parse_spread(std::string_view text, const NumberRange& range);

// Reads back to the same bits.
std::string spread_text(const Spread& spread);

// With our own exp and log: the same bits everywhere.
double draw(const Spread& spread, Stream stream);

}  // namespace mfl
