#include "mfl/report/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "mfl/report/table.h"

namespace mfl {
namespace {

constexpr std::size_t kMostLines = 100, kMostNames = 3, kNameWidth = 32;

using NodesOfRounds = std::map<std::uint64_t, std::vector<const NodeRow*>>;

NodesOfRounds by_round(std::span<const NodeRow> nodes) {
  NodesOfRounds out;
  for (const NodeRow& row : nodes) out[row.round].push_back(&row);
  return out;
}

std::string rounds_range(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("round {}", first) : fmt::format("rounds {} to {}", first, last);
}

std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : std::span(names).first(std::min(kMostNames, names.size())))
    shown.push_back(short_text(printable(name), kNameWidth));
  const std::string text = fmt::format("{}", fmt::join(shown, ", "));
  return names.size() <= kMostNames ? text : fmt::format("{} and {} more", text, names.size() - kMostNames);
}

std::string attendance_text(const Attendance& some) {
  const std::string rounds = rounds_range(some.first, some.last);
  const std::size_t count = some.present.size();
  if (some.complete == true) return fmt::format("{}: all expected nodes ({})", rounds, count);
  return fmt::format("{}: {} node{}{}{}", rounds, count, count == 1 ? "" : "s",
                     some.complete == false ? ", fewer than expected" : "",
                     some.missing.empty() ? "" : "; without " + names_text(some.missing));
}

std::optional<std::uint64_t> needed_nodes(const RunRow& run) {
  return run.sampled ? std::nullopt : std::optional(run.nodes);
}

class Audit {
 public:
  explicit Audit(const RunExport& run) : nodes_(by_round(*run.nodes)) {
    for (const RoundRow& row : *run.rounds) rounds_[row.round] = &row;
  }

  std::vector<std::string> faults() {
    if (nodes_.empty()) return {};
    check_gaps();
    for (const auto& [round, nodes] : nodes_) {
      check_loss(round, nodes);
      check_bytes(round, nodes.size());
    }
    return std::move(faults_);
  }

 private:
  // The row of a round is written with the next one.
  void check_gaps() {
    const std::uint64_t last =
        std::max(nodes_.rbegin()->first, rounds_.empty() ? 0 : rounds_.rbegin()->first);
    std::uint64_t next = nodes_.begin()->first;  // earlier ones may be of an earlier version
    const auto miss = [&](std::uint64_t until) {
      if (next < until) faults_.push_back(rounds_range(next, until - 1) + ": no nodes are recorded");
      next = until + 1;
    };
    for (const auto& [round, nodes] : nodes_) miss(round);
    miss(last + 1);
  }

  void check_loss(std::uint64_t round, const std::vector<const NodeRow*>& nodes) {
    constexpr double kRounding = 1e-12;
    const auto start = rounds_.find(round - 1);
    if (start == rounds_.end())
      return faults_.push_back(fmt::format("round {}: the row of round {} is missing", round, round - 1));
    long double sum = 0, weights = 0, size = 0;
    for (const NodeRow* row : nodes) {
      const auto part = static_cast<long double>(row->weight) * row->loss;
      sum += part;
      size += std::abs(part);
      weights += static_cast<long double>(row->weight);
    }
    const double recorded = start->second->train_loss;
    if (!(std::abs(sum - weights * recorded) <= kRounding * size))
      faults_.push_back(
          fmt::format("round {}: the losses of its nodes have the mean {:.17g} by their weights, but the "
                      "round recorded {:.17g}",
                      round, static_cast<double>(sum / weights), recorded));
  }

  void check_bytes(std::uint64_t round, std::size_t nodes) {
    const auto start = rounds_.find(round - 1), end = rounds_.find(round);
    if (start == rounds_.end() || end == rounds_.end()) return;
    const std::uint64_t sent = end->second->bytes_up - start->second->bytes_up;
    if (!bytes_of_node_ && sent % nodes == 0) bytes_of_node_ = sent / nodes;
    if (bytes_of_node_ && sent != *bytes_of_node_ * nodes)
      faults_.push_back(fmt::format("round {}: {} nodes, but {} bytes up of {} per node", round, nodes, sent,
                                    *bytes_of_node_));
  }

  NodesOfRounds nodes_;
  std::map<std::uint64_t, const RoundRow*> rounds_;
  std::optional<std::uint64_t> bytes_of_node_;
  std::vector<std::string> faults_;
};

std::string summaries_text(std::span<const NodeSummary> summaries) {
  Table table({{"node"},
               {"rounds", Align::kRight},
               {"samples", Align::kRight},
               {"last loss", Align::kRight},
               {"last round", Align::kRight},
               {"seconds", Align::kRight}});
  for (const NodeSummary& one : summaries.first(std::min(kMostLines, summaries.size())))
    table.add({short_text(printable(one.node), kNameWidth), fmt::format("{}", one.rounds),
               fmt::format("{}", one.samples), number_text(one.loss), fmt::format("{}", one.last),
               one.seconds ? fmt::format("{:.3f}", *one.seconds) : "-"});
  return table.text() + (summaries.size() > kMostLines ? fmt::format("{} of {} nodes; all of them: --json\n",
                                                                     kMostLines, summaries.size())
                                                       : "");
}

}  // namespace

std::vector<NodeSummary> node_summaries(std::span<const NodeRow> nodes) {
  std::map<std::string, NodeSummary> by_name;
  for (const NodeRow& row : nodes) {
    NodeSummary& one =
        by_name.try_emplace(row.node, NodeSummary{.node = row.node, .first = row.round}).first->second;
    ++one.rounds;
    one.last = row.round;
    one.samples = row.weight;
    one.loss = row.loss;
    if (row.seconds) one.seconds = one.seconds.value_or(0) + *row.seconds;
  }
  std::vector<NodeSummary> out;
  for (auto& [name, one] : by_name) out.push_back(std::move(one));
  return out;
}

std::vector<Attendance> attendance(std::span<const NodeRow> nodes, std::optional<std::uint64_t> needed) {
  std::set<std::string> all;
  for (const NodeRow& row : nodes) all.insert(row.node);
  std::vector<Attendance> out;
  for (const auto& [round, rows] : by_round(nodes)) {
    std::vector<std::string> present;
    for (const NodeRow* row : rows) present.push_back(row->node);
    std::ranges::sort(present);
    if (!out.empty() && out.back().last + 1 == round && out.back().present == present) {
      out.back().last = round;
      continue;
    }
    Attendance& next = out.emplace_back(
        Attendance{.first = round, .last = round, .present = std::move(present), .missing = {}});
    std::ranges::set_difference(all, next.present, std::back_inserter(next.missing));
    if (needed) next.complete = next.present.size() >= *needed;
  }
  return out;
}

std::vector<std::string> node_faults(const RunExport& run) { return Audit(run).faults(); }

std::string nodes_text(const RunExport& run) {
  if (run.nodes->empty()) return "\nno nodes are recorded: only federations record them\n";
  std::string out = "\nnodes\n" + summaries_text(node_summaries(*run.nodes)) + "\nrounds\n";
  const auto ranges = attendance(*run.nodes, needed_nodes(run.run));
  for (const Attendance& some : std::span(ranges).first(std::min(kMostLines, ranges.size())))
    out += "  " + attendance_text(some) + "\n";
  if (ranges.size() > kMostLines)
    out += fmt::format("  and {} more lines: --json\n", ranges.size() - kMostLines);
  const auto faults = node_faults(run);
  out += "\naudit\n";
  if (faults.empty()) out += "  nodes, weights and losses agree with the rounds\n";
  for (const std::string& fault : faults) out += "  " + fault + "\n";
  return out;
}

Json nodes_json(const RunExport& run) {
  Json out = {{"nodes", Json::array()}, {"attendance", Json::array()}, {"faults", node_faults(run)}};
  for (const NodeSummary& one : node_summaries(*run.nodes))
    out["nodes"].push_back({{"node", one.node},
                            {"rounds", one.rounds},
                            {"first_round", one.first},
                            {"last_round", one.last},
                            {"samples", one.samples},
                            {"loss", one.loss},
                            {"seconds", one.seconds}});
  for (const Attendance& some : attendance(*run.nodes, needed_nodes(run.run)))
    out["attendance"].push_back({{"first_round", some.first},
                                 {"last_round", some.last},
                                 {"nodes", some.present},
                                 {"missing", some.missing},
                                 {"complete", some.complete ? Json(*some.complete) : Json(nullptr)}});
  return out;
}

}  // namespace mfl
