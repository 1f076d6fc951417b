// What a server knows about the nodes that have joined it since it started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mfl/federation/coordinator.h"
#include "mfl/federation/messages.h"

namespace mfl {

// At most kMost nodes: a newcomer beyond replaces the disconnected node that was silent for longest; where all are connected it is
// not listed. Not thread-safe.
class NodeTable {
 public:
  static constexpr std::size_t kMost = 1'000;

  void joined(Time now, const std::string& node, const std::string& serial, std::uint64_t samples,
              std::optional<std::int64_t> certificate_expires);
  void left(Time now, const std::string& node);
  // The node made a call.
  void heard(Time now, const std::string& node);
  // An update of the node was counted.
  void counted(Time now, const std::string& node, std::uint64_t round, const Losses& losses, double seconds);

  // These nodes, and no others, are kept out.
  void bar(const std::map<std::string, std::string>& nodes);

  // Of the certificates with which the nodes last joined, by name.
  std::map<std::string, std::string> serials() const;
  // By name.
  std::vector<NodeStatus> list(Time now) const;

 private:
  struct Row {
    NodeStatus status;
    std::string serial;
    Time heard{0};
    int presences = 0;  // that are open: a node that joins again may leave its last one later
  };
  Row* find(const std::string& node);
  void make_place();

  std::map<std::string, Row> rows_;
};

// Adds to each node of the list how it has done. Both are in the order of their names.
void add_standings(std::vector<NodeStatus>& nodes, const std::vector<NodeStanding>& standings);

}  // namespace mfl
