#include "mfl/network/transport/budget.h"

#include <netinet/in.h>

namespace mfl {

std::string AddressBudgets::key(const sockaddr* address) {
  constexpr std::size_t kNetworkBytes = 8;
  if (address->sa_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&six);
    return {reinterpret_cast<const char*>(six.s6_addr), mapped ? sizeof six.s6_addr : kNetworkBytes};
  }
  const in_addr& four = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  return {reinterpret_cast<const char*>(&four), sizeof four};
}

Budget* AddressBudgets::find_or_make(const std::string& key, SteadyTime now) {
  if (const auto found = budgets_.find(key); found != budgets_.end()) return &found->second;
  if (budgets_.size() >= kMost)
    std::erase_if(budgets_, [&](const auto& entry) { return entry.second.left(now) >= kBurst; });
  if (budgets_.size() >= kMost) return nullptr;
  return &budgets_.try_emplace(key, kBurst, kPerSecond, now).first->second;
}

bool AddressBudgets::begin(const std::string& key, SteadyTime now) {
  Budget* const budget = find_or_make(key, now);
  return budget == nullptr || budget->spend(1, now);
}

void AddressBudgets::admitted(const std::string& key) {
  if (const auto found = budgets_.find(key); found != budgets_.end()) found->second.earn(1);
}

void AddressBudgets::ended_badly(const std::string& key, SteadyTime now) {
  if (Budget* const budget = find_or_make(key, now); budget != nullptr) budget->drain(1, now);
}

bool AddressBudgets::is_exhausted(const std::string& key, SteadyTime now) const {
  const auto found = budgets_.find(key);
  return found != budgets_.end() && found->second.left(now) < 1;
}

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
