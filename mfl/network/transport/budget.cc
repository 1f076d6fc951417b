#include "mfl/network/transport/budget.h"

namespace mfl {

void Penalties::add(const std::string& name, SteadyTime now) {
  std::erase_if(records_, [&](const auto& entry) { return now - entry.second.until > kForgotten; });
  if (records_.size() >= kMost && !records_.contains(name)) records_.erase(records_.begin());
  Record& record = records_[name];
  record.until = now + record.next;
  record.next = std::min(2 * record.next, kLongest);
}

std::chrono::seconds Penalties::left(const std::string& name, SteadyTime now) const {
  const auto found = records_.find(name);
  if (found == records_.end() || found->second.until <= now) return std::chrono::seconds(0);
  return std::chrono::ceil<std::chrono::seconds>(found->second.until - now);
}

}  // namespace mfl
