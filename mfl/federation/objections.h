// What the updates of a round say against the State that they started from: that it has diverged, or that
// they are far larger than usual (update_limits.h).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mfl/federation/membership.h"
#include "mfl/federation/update_limits.h"

namespace mfl {

// Objections are kept over all attempts at a round, the sizes of what was counted within an attempt. Not
// thread-safe.
class Objections {
 public:
  Objections(UpdateLimitOptions options, SizeHistory history);

  // The node was asked to work on the State.
  void ask(const std::string& node) { concerned_.insert(node); }
  // It answered that the State leads to numbers that are not finite.
  void diverges(const std::string& node) { diverging_.insert(node); }
  // Whether an update of this size counts; an objection is kept.
  Verdict check(const std::string& node, const UpdateSize& size);
  // Of a loss that is measured beside that of the size.
  Verdict check_loss(double loss) const { return limits_.check({{}, loss}).verdict; }
  void count(const std::string& node, UpdateSize size);
  void end_attempt() { sizes_.clear(); }

  bool any() const { return !diverging_.empty() || !unusual_.empty(); }
  bool has(const std::string& node) const { return diverging_.contains(node) || unusual_.contains(node); }
  // Objections of nodes that are no longer connected do not count.
  void forget_the_gone(const Membership& members);
  // More than half say that the State diverges: of the nodes that are connected, made the State or were asked
  // to work on it, and of as many as a round needs.
  bool diverged(const Membership& members) const;
  // Where most say so, or send what is beyond the automatic limits, that is usual from now on. The latter
  // nodes; none: nothing has changed.
  std::vector<std::string> raise_limits(const Membership& members);
  // Nodes whose updates do not compare with the others' of the attempt; what was counted is usual from now on
  // if there are some.
  std::vector<std::string> outliers();

  // Once the round is committed.
  SizeHistory next_history() const { return limits_.history_after(sizes_); }
  // The round was made by these nodes: nobody has objected to the State that it led to.
  void commit(SizeHistory history, const std::vector<std::string>& nodes);

 private:
  bool is_majority(std::size_t objections, const Membership& members) const;

  UpdateLimits limits_;
  std::set<std::string> diverging_;
  std::map<std::string, UpdateSize> unusual_;
  std::set<std::string>
      concerned_;  // nodes of the round that made the State, or that were asked to work on it
  std::map<std::string, UpdateSize> sizes_;  // of what was counted
};

}  // namespace mfl
