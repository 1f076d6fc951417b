#include "mfl/federation/objections.h"

#include <algorithm>
#include <utility>

namespace mfl {

Objections::Objections(UpdateLimitOptions options, SizeHistory history)
    : limits_(std::move(options), std::move(history)) {}

Verdict Objections::check(const std::string& node, const UpdateSize& size) {
  SizeVerdict judged = limits_.check(size);
  if (judged.kind == SizeVerdict::Kind::kDiverging) diverging_.insert(node);
  if (judged.kind == SizeVerdict::Kind::kUnusual) unusual_[node] = size;
  return std::move(judged.verdict);
}

void Objections::count(const std::string& node, UpdateSize size) { sizes_[node] = std::move(size); }

void Objections::forget_the_gone(const Membership& members) {
  std::erase_if(diverging_, [&](const std::string& node) { return !members.contains(node); });
  std::erase_if(unusual_, [&](const auto& node) { return !members.contains(node.first); });
}

bool Objections::is_majority(std::size_t objections, const Membership& members) const {
  const auto left =
      std::ranges::count_if(concerned_, [&](const std::string& node) { return !members.contains(node); });
  return 2 * objections > std::max(members.needed(), members.size() + static_cast<std::size_t>(left));
}

bool Objections::diverged(const Membership& members) const { return is_majority(diverging_.size(), members); }

std::vector<std::string> Objections::raise_limits(const Membership& members) {
  std::vector<std::string> out;
  if (unusual_.empty() || !is_majority(diverging_.size() + unusual_.size(), members)) return out;
  limits_.retry_with(unusual_);
  for (const auto& [node, size] : unusual_) out.push_back(node);
  unusual_.clear();
  return out;
}

std::vector<std::string> Objections::outliers() {
  std::vector<std::string> out = limits_.outliers(sizes_);
  if (!out.empty()) limits_.retry_with(sizes_);
  return out;
}

void Objections::commit(SizeHistory history, const std::vector<std::string>& nodes) {
  limits_.commit(std::move(history));
  concerned_ = {nodes.begin(), nodes.end()};
  diverging_.clear();
  unusual_.clear();
}

}  // namespace mfl
