// The numbers that a key or a parameter accepts.
#pragma once

#include <string_view>

namespace mfl {

struct NumberRange {
  bool (*holds)(double);  // false for NaN
  std::string_view text;  // "in [0, 1)"; a literal
};

}  // namespace mfl
