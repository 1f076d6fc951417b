#pragma once

#include <string>
#include <string_view>

namespace mfl {

// "0.1.0"
std::string_view version();

// The build ID that the linker gave to the running program, in hex: other code has another one. Empty where
// it gave none.
std::string build_id();

}  // namespace mfl
