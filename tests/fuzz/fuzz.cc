#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace mfl::fuzz {

std::size_t allocated_bytes() {
  return __sanitizer_get_current_allocated_bytes != nullptr ? __sanitizer_get_current_allocated_bytes() : 0;
}

void require(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

std::pair<unsigned, std::string_view> choice_and_rest(std::string_view input) {
  if (input.empty()) return {0, {}};
  return {static_cast<unsigned char>(input.front()), input.substr(1)};
}

std::pair<std::string_view, std::string_view> two_files(std::string_view input) {
  if (input.size() < 2) return {};
  const std::size_t length =
      static_cast<unsigned char>(input[0]) | std::size_t{static_cast<unsigned char>(input[1])} << 8U;
  const std::string_view rest = input.substr(2);
  const std::size_t first = std::min(length, rest.size());
  return {rest.substr(0, first), rest.substr(first)};
}

}  // namespace mfl::fuzz
