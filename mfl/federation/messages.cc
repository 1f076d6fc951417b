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

Verdict check_stage(const Ticket& ticket, std::uint64_t stage) {
  if (ticket.stage == stage) return {};
  const bool future = ticket.stage > stage;
  return {future ? Reason::kFuture : Reason::kLate,
          fmt::format("stage {} of round {} {}, this is stage {}", ticket.stage, ticket.round,
                      future ? "has not begun" : "is over", stage)};
}

Verdict check_base(const Update& update, const std::string& state_digest) {
  constexpr std::size_t kShort = 12;
  if (update.base == state_digest) return {};
  return {Reason::kStale, fmt::format("the update starts from state \"{}\", the task from \"{}\"",
                                      visible(std::string_view(update.base).substr(0, kShort), kShort),
                                      state_digest.substr(0, kShort))};
}

}  // namespace mfl
