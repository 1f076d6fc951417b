// The nodes that took part in the rounds of a federation, and whether their rows agree with the rounds of the
// store.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/record/export.h"
#include "mfl/report/page.h"

namespace mfl {

struct NodeSummary {
  std::string node;
  std::uint64_t rounds = 0;            // rounds that counted it
  std::uint64_t first = 0, last = 0;   // the first and the last of them
  std::uint64_t samples = 0;           // its weight in the last of them
  Losses losses = {};                  // each as it was recorded last
  std::optional<double> seconds = {};  // seconds of its local steps in all rounds; absent if never known
  std::optional<std::int64_t> first_committed = {},
                              last_committed = {};  // Unix times of the first and the last of them

  bool operator==(const NodeSummary&) const = default;
};

// By name.
std::vector<NodeSummary> node_summaries(std::span<const NodeRow> nodes);

// Rounds in a row with the same nodes.
struct Attendance {
  std::uint64_t first = 0, last = 0;
  std::vector<std::string> present, missing;  // missing: took part in other rounds of the run
  // At least as many as the run needs; absent where rounds draw some of the nodes.
  std::optional<bool> complete = {};
  std::optional<std::int64_t> since = {}, until = {};  // Unix times at which they were committed

  bool operator==(const Attendance&) const = default;
};

// `needed` nodes take part in every round; absent where rounds draw some of the nodes.
std::vector<Attendance> attendance(std::span<const NodeRow> nodes, std::optional<std::uint64_t> needed);

// An audit: what the nodes' rows and the rows of rounds disagree on, one sentence each. Each of the losses of
// a round must be the mean of its nodes' by their weights, as far as they have it, every node must have sent
// the same number of bytes, and no round may lack nodes. Takes rounds and nodes; nothing to say where there
// are no nodes.
std::vector<std::string> node_faults(const RunExport& run);

// For `mfl runs show --nodes`, with rounds and nodes: the summaries, at most 100 of them, the attendance and
// the audit.
std::string nodes_text(const RunExport& run);
// For a page, with rounds and nodes: a table of the sites, what rounds they took part in, and the audit.
// Empty where there are no nodes.
std::vector<PageBlock> sites_blocks(const RunExport& run);
// {"nodes":[...],"attendance":[{"first_round","last_round","nodes","missing","complete"}],"faults":[...]}
Json nodes_json(const RunExport& run);

}  // namespace mfl
