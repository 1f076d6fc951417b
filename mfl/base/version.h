#pragma once

#include <string_view>

namespace mfl {

// "0.1.0"
std::string_view version();

}  // namespace mfl
