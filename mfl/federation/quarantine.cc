#include "mfl/federation/quarantine.h"

#include <algorithm>
#include <utility>

namespace mfl {
namespace {

constexpr int kStrikesOfAFailure = 2, kMostStrikes = 3 * kStrikesOfAFailure;
constexpr int kStrikesAfterwards = kMostStrikes - kStrikesOfAFailure;
constexpr Time kFirst{10'000}, kLongest{600'000};
constexpr int kDeadlines = 2;

}  // namespace

Quarantine::Quarantine(Time round_deadline)
    : first_(std::max(kFirst, kDeadlines * round_deadline)), longest_(std::max(kLongest, first_)) {}

bool Quarantine::fail(Time now, const std::string& node, std::string why) {
  Record& record = records_[node];
  ++record.failures;
  record.why = std::move(why);
  record.strikes += kStrikesOfAFailure;
  if (record.strikes < kMostStrikes) return false;
  constexpr unsigned kMostDoublings = 6;  // beyond the longest
  record.until = now + std::min(longest_, first_ * (1U << std::min(record.times, kMostDoublings)));
  record.strikes = kStrikesAfterwards;
  ++record.times;
  return true;
}

void Quarantine::succeed(const std::string& node) {
  const auto record = records_.find(node);
  if (record == records_.end()) return;
  record->second.strikes = std::max(0, record->second.strikes - 1);
  if (record->second.strikes == 0) record->second.times = 0;
}

void Quarantine::forgive(const std::string& node) {
  const auto record = records_.find(node);
  if (record == records_.end()) return;
  record->second.strikes = std::max(0, record->second.strikes - kStrikesOfAFailure);
  record->second.until = Time{0};
  record->second.failures -= std::min<std::uint64_t>(1, record->second.failures);
}

bool Quarantine::holds(Time now, const std::string& node) const {
  const auto record = records_.find(node);
  return record != records_.end() && now < record->second.until;
}

const std::string& Quarantine::last_failure(const std::string& node) const {
  static const std::string kNone;
  const auto record = records_.find(node);
  return record == records_.end() ? kNone : record->second.why;
}

std::vector<NodeStanding> Quarantine::list(Time now) const {
  std::vector<NodeStanding> out;
  for (const auto& [node, record] : records_) {
    out.push_back({node, record.failures, {}});
    if (now < record.until) out.back().set_aside = record.until - now;
  }
  return out;
}

}  // namespace mfl
