// The nodes that take part in a run: who is connected, excluded or set aside, and the number that a round
// needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mfl/federation/messages.h"
#include "mfl/federation/quarantine.h"

namespace mfl {

struct MembershipOptions {
  std::size_t nodes = 1;                             // of the federation
  std::size_t min_available_nodes = 1;               // a round starts with no fewer
  std::size_t quorum = 0;                            // as CoordinatorOptions
  Time round_deadline{60'000};                       // decides how long a node is set aside
  std::map<std::string, std::string> excluded = {};  // nodes, by an earlier process, and why
};

// A connected node.
struct ConnectedNode {
  std::uint64_t session = 0;
  std::uint64_t weight = 0;
  std::uint64_t instance = 0;  // as of Joining
};

// A session that has begun.
struct Entrance {
  std::uint64_t session = 0;
  bool again = false;      // the node was connected: that session has ended
  bool displaced = false;  // by another process of the node's name
};

// Not thread-safe.
class Membership {
 public:
  explicit Membership(MembershipOptions options);

  Entrance join(const std::string& node, std::uint64_t weight, std::uint64_t instance);
  // The session is over. True if it was the node's current one: then the node is to be removed.
  bool end(const std::string& node, std::uint64_t session);
  void remove(const std::string& node) { members_.erase(node); }
  // The node is no longer a member, and may not join again.
  void exclude(const std::string& node, const std::string& why);

  bool contains(const std::string& node) const { return members_.contains(node); }
  std::size_t size() const { return members_.size(); }
  const std::map<std::string, ConnectedNode>& list() const { return members_; }
  std::vector<std::string> names() const;  // in their order
  // Who is excluded, and why.
  const std::map<std::string, std::string>& excluded() const { return options_.excluded; }
  // kOutlier for a node that is excluded.
  Verdict check_excluded(const std::string& node) const;
  bool is_current(const std::string& node, std::uint64_t session) const;
  // Why a session that is not current has ended; empty where there is nothing to say.
  std::string ending_of(const std::string& node, std::uint64_t session) const;

  // Connected nodes that a round needs to start: no more than are left where some are excluded.
  std::size_t needed() const;
  void set_min_available_nodes(std::size_t nodes) { options_.min_available_nodes = nodes; }

  // Those that may be chosen of the members that are ready: without those that are set aside as long as the
  // others are at least needed(), or else at least the quorum and more than half of needed().
  std::vector<std::string> available(Time now, const std::function<bool(const std::string&)>& is_ready);
  // Those that the last call has left out for being set aside.
  const std::vector<std::string>& left_out() const { return left_out_; }

  Quarantine& quarantine() { return quarantine_; }
  const Quarantine& quarantine() const { return quarantine_; }

 private:
  MembershipOptions options_;
  std::map<std::string, ConnectedNode> members_;
  std::set<std::uint64_t> displaced_;  // sessions that another process of their node has ended
  std::uint64_t last_session_ = 0;
  std::vector<std::string> left_out_;
  Quarantine quarantine_;
};

}  // namespace mfl
