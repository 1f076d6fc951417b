#include "mfl/federation/messages.h"

#include <fmt/core.h>

#include <array>

#include "mfl/base/visible.h"

namespace mfl {

std::string_view reason_name(Reason reason) {
  static constexpr std::array<std::string_view, kReasons> kNames = {
      "none",   "protocol",   "config",    "shape", "weight", "not-finite", "foreign", "stale", "late",
      "future", "not-chosen", "duplicate", "over",  "schema", "admission",  "loss",    "norm",  "outlier"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string blocks_text(const std::vector<Block>& blocks) {
  constexpr std::size_t kMost = 8, kName = 32;  // they may come from anybody
  if (blocks.empty()) return "no vectors";
  std::string out;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i == kMost) return out + fmt::format(" and {} more", blocks.size() - i);
    out += fmt::format("{}{} ({} numbers as {})", i == 0 ? "" : ", ", visible(blocks[i].name, kName),
                       blocks[i].numbers, visible(blocks[i].encoding, kName));
  }
  return out;
}

}  // namespace mfl
