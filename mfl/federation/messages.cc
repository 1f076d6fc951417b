#include "mfl/federation/messages.h"

#include <array>

namespace mfl {

std::string_view reason_name(Reason reason) {
  static constexpr std::array<std::string_view, kReasons> kNames = {
      "none",   "protocol",   "config",    "shape", "weight", "not-finite", "foreign", "stale", "late",
      "future", "not-chosen", "duplicate", "over",  "schema", "admission",  "loss",    "norm"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace mfl
