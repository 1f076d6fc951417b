// Ranges of the parameters of algorithms and their axes.
#pragma once

#include <cmath>

#include "mfl/base/number_range.h"

namespace mfl {

inline constexpr NumberRange kPositive{[](double x) { return x > 0 && std::isfinite(x); }, "> 0"};
inline constexpr NumberRange kNotNegative{[](double x) { return x >= 0 && std::isfinite(x); }, ">= 0"};
inline constexpr NumberRange kFraction{[](double x) { return x >= 0 && x < 1; }, "in [0, 1)"};
inline constexpr NumberRange kShare{[](double x) { return x > 0 && x <= 1; }, "in (0, 1]"};
inline constexpr NumberRange kModels{[](double x) { return x >= 1 && x <= 1000; }, "in [1, 1000]"};

}  // namespace mfl
