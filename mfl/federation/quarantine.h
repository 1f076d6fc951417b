// Nodes that fail again and again are set aside for a while: they stay connected and are not chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mfl/federation/messages.h"

namespace mfl {

// How a node has done since the process started.
struct NodeStanding {
  std::string name;
  std::uint64_t failures = 0;          // refused updates, missed deadlines, tasks that it left
  std::optional<Time> set_aside = {};  // how much longer; nothing while it may be chosen

  bool operator==(const NodeStanding&) const = default;
};

// Three failures in a row set a node aside for 10 s, or twice the deadline of a round if that is longer; so do more failures than half as many successes in the long run, which stops a
// node that alternates. After its return one more failure doubles the time, up to 10 minutes or twice the deadline; successes make it as it was. A node that leaves and
// joins again keeps its standing. Not thread-safe.
class Quarantine {
 public:
  explicit Quarantine(Time round_deadline);
  // True if the node is set aside from now on. `why` is for people.
  bool fail(Time now, const std::string& node, std::string why);
  void succeed(const std::string& node);
  // Its last failure was not its fault, or was none.
  void forgive(const std::string& node);

  bool holds(Time now, const std::string& node) const;
  const std::string& last_failure(const std::string& node) const;  // empty: none
  // Those that have failed, by name.
  std::vector<NodeStanding> list(Time now) const;

 private:
  struct Record {
    std::uint64_t failures = 0;
    int strikes = 0;
    unsigned times = 0;  // set aside, since the strikes were last at 0
    Time until{0};
    std::string why;
  };
  Time first_, longest_;
  std::map<std::string, Record> records_;
};

}  // namespace mfl
