#include "mfl/federation/membership.h"

#include <algorithm>
#include <utility>

#include "mfl/federation/run_warnings.h"

namespace mfl {

Membership::Membership(MembershipOptions options)
    : options_(std::move(options)), quarantine_(options_.round_deadline) {}

Entrance Membership::join(const std::string& node, std::uint64_t weight, std::uint64_t instance) {
  Entrance out;
  if (const auto member = members_.find(node); member != members_.end()) {
    const std::uint64_t before = member->second.instance;
    out.again = true;
    out.displaced = before != 0 && instance != 0 && before != instance;
    constexpr std::size_t kMost = 1'000;  // whose end nobody has noticed yet
    if (out.displaced && displaced_.size() >= kMost) displaced_.erase(displaced_.begin());
    if (out.displaced) displaced_.insert(member->second.session);
  }
  out.session = ++last_session_;
  members_[node] = {out.session, weight, instance};
  return out;
}

bool Membership::end(const std::string& node, std::uint64_t session) {
  displaced_.erase(session);
  return is_current(node, session);
}

void Membership::exclude(const std::string& node, const std::string& why) {
  options_.excluded.emplace(node, why);
  remove(node);
}

std::vector<std::string> Membership::names() const {
  std::vector<std::string> out;
  for (const auto& [node, member] : members_) out.push_back(node);
  return out;
}

Verdict Membership::check_excluded(const std::string& node) const {
  const auto found = options_.excluded.find(node);
  if (found == options_.excluded.end()) return {};
  return {Reason::kOutlier, excluded_text(found->second)};
}

bool Membership::is_current(const std::string& node, std::uint64_t session) const {
  const auto member = members_.find(node);
  return member != members_.end() && member->second.session == session;
}

std::string Membership::ending_of(const std::string& node, std::uint64_t session) const {
  return displaced_.contains(session) ? displaced_text(node) : check_excluded(node).text;
}

std::size_t Membership::needed() const {
  std::size_t available = options_.min_available_nodes;
  if (const std::size_t out = options_.excluded.size(); out != 0)
    available = std::min(available, options_.nodes - std::min(options_.nodes, out));
  return std::max({std::size_t{1}, available, options_.quorum});
}

std::vector<std::string> Membership::available(Time now,
                                               const std::function<bool(const std::string&)>& is_ready) {
  std::vector<std::string> all, fit;
  left_out_.clear();
  for (const auto& [node, member] : members_) {
    if (!is_ready(node)) continue;
    all.push_back(node);
    (quarantine_.holds(now, node) ? left_out_ : fit).push_back(node);
  }
  if (fit.size() >= needed() || (fit.size() >= options_.quorum && 2 * fit.size() > needed())) return fit;
  left_out_.clear();
  return all;
}

}  // namespace mfl
