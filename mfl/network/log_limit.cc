#include "mfl/network/log_limit.h"

#include <algorithm>
#include <utility>

namespace mfl {
namespace {

constexpr LogLimit::Time kLogPause{1'000};

}  // namespace

void LogLimit::gain(Seen& seen, Time now) const {
  const auto more = std::max<std::int64_t>(0, (now - seen.filled) / kLogPause);
  seen.lines = static_cast<unsigned>(std::min<std::int64_t>(burst_, seen.lines + more));
  seen.filled += more * kLogPause;
  if (seen.lines == burst_) seen.filled = now;
}

LogLimit::Seen& LogLimit::find(const std::string& kind, Time now) {
  constexpr std::size_t kKnown = 200;
  const std::string key = kind.substr(0, kKnown);
  const auto found = seen_.find(key);
  if (found != seen_.end()) return found->second;
  if (seen_.size() >= kMostKinds && (!swept_ || now - *swept_ >= kLogPause)) {
    swept_ = now;
    for (auto& [known, seen] : seen_) gain(seen, now);
    std::erase_if(seen_, [&](const auto& entry) {
      if (entry.second.lines < burst_) return false;
      others_.left_out += entry.second.left_out;
      return true;
    });
  }
  if (seen_.size() < kMostKinds) return seen_.emplace(key, Seen{now, burst_}).first->second;
  return others_;
}

std::optional<std::uint64_t> LogLimit::pass(const std::string& kind, Time now, std::uint64_t lines) {
  Seen& seen = find(kind, now);
  gain(seen, now);
  if (seen.lines == 0) {
    seen.left_out += lines;
    return std::nullopt;
  }
  --seen.lines;
  return std::exchange(seen.left_out, 0);
}

}  // namespace mfl
