#include "mfl/network/log_limit.h"

#include <utility>

namespace mfl {

std::optional<std::uint64_t> LogLimit::pass(const std::string& kind, Time now) {
  constexpr Time kPause{1'000};
  constexpr std::size_t kMostKinds = 10'000;
  if (seen_.size() > kMostKinds)
    std::erase_if(seen_, [&](const auto& s) { return now - s.second.last >= kPause; });
  const auto [found, fresh] = seen_.try_emplace(kind, Seen{now});
  if (fresh) return 0;
  Seen& seen = found->second;
  if (now - seen.last < kPause) {
    ++seen.left_out;
    return std::nullopt;
  }
  seen.last = now;
  return std::exchange(seen.left_out, 0);
}

}  // namespace mfl
