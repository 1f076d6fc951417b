#include "mfl/report/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
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
      check_losses(round, nodes);
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

  void check_losses(std::uint64_t round, const std::vector<const NodeRow*>& nodes) {
    const auto start = rounds_.find(round - 1), end = rounds_.find(round);
    if (start == rounds_.end())
      return faults_.push_back(fmt::format("round {}: the row of round {} is missing", round, round - 1));
    check_loss(round, nodes, "train_loss", &NodeRow::train_loss, start->second->train_loss);
    check_loss(round, nodes, "start_loss", &NodeRow::start_loss, start->second->start_loss);
    if (end != rounds_.end())
      check_loss(round, nodes, "batch_loss", &NodeRow::batch_loss, end->second->batch_loss);
  }

  void check_loss(std::uint64_t round, const std::vector<const NodeRow*>& nodes, std::string_view name,
                  std::optional<double> NodeRow::*loss, const std::optional<double>& recorded) {
    constexpr double kRounding = 1e-12;
    if (std::ranges::none_of(nodes, [&](const NodeRow* row) { return (row->*loss).has_value(); })) return;
    long double sum = 0, weights = 0, size = 0;
    for (const NodeRow* row : nodes) {
      const auto part =
          static_cast<long double>(row->weight) *
          static_cast<long double>((row->*loss).value_or(std::numeric_limits<double>::quiet_NaN()));
      sum += part;
      size += std::abs(part);
      weights += static_cast<long double>(row->weight);
    }
    if (recorded && std::abs(sum - weights * *recorded) <= kRounding * size) return;
    faults_.push_back(fmt::format(
        "round {}: the {} of its nodes has the mean {:.17g} by their weights, but the round recorded {}",
        round, name, static_cast<double>(sum / weights),
        recorded ? fmt::format("{:.17g}", *recorded) : "none"));
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
  const std::string_view loss = summaries.empty() ? "train" : loss_of_rounds(summaries.front().losses).name;
  Table table({{"node"},
               {"rounds", Align::kRight},
               {"samples", Align::kRight},
               {fmt::format("last {} loss", loss.substr(0, loss.find('_'))), Align::kRight},
               {"last round", Align::kRight},
               {"seconds", Align::kRight}});
  for (const NodeSummary& one : summaries.first(std::min(kMostLines, summaries.size())))
    table.add({short_text(printable(one.node), kNameWidth), fmt::format("{}", one.rounds),
               fmt::format("{}", one.samples), number_text(loss_of_rounds(one.losses).value),
               fmt::format("{}", one.last), one.seconds ? fmt::format("{:.3f}", *one.seconds) : "-"});
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
    for (const auto& [to, from] : {std::pair(&one.losses.train_loss, row.train_loss),
                                   std::pair(&one.losses.batch_loss, row.batch_loss),
                                   std::pair(&one.losses.start_loss, row.start_loss)})
      if (from) *to = from;
    if (!one.first_committed) one.first_committed = row.committed;
    if (row.committed) one.last_committed = row.committed;
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
      out.back().until = rows.front()->committed;
      continue;
    }
    Attendance& next = out.emplace_back(
        Attendance{.first = round, .last = round, .present = std::move(present), .missing = {}});
    std::ranges::set_difference(all, next.present, std::back_inserter(next.missing));
    next.since = next.until = rows.front()->committed;
    if (needed) next.complete = next.present.size() >= *needed;
  }
  return out;
}

std::vector<std::string> node_faults(const RunExport& run) { return Audit(run).faults(); }

std::vector<PageBlock> sites_blocks(const RunExport& run) {
  if (!run.nodes || run.nodes->empty()) return {};
  const auto summaries = node_summaries(*run.nodes);
  const auto date = [](const std::optional<std::int64_t>& at) {
    return at ? utc_text(*at) : std::string("-");
  };
  const auto loss = loss_of_rounds(summaries.front().losses).name;
  std::uint64_t samples = 0;
  for (const NodeSummary& one : summaries) samples += one.samples;
  PageTable table{.caption = "Sites, with their weights: a site counts by its samples",
                  .columns = {{"site"},
                              {"rounds", Align::kRight},
                              {"first", Align::kRight},
                              {"last", Align::kRight},
                              {"samples", Align::kRight},
                              {"share", Align::kRight},
                              {fmt::format("last {} loss", loss.substr(0, loss.find('_'))), Align::kRight},
                              {"seconds", Align::kRight},
                              {"first committed"},
                              {"last committed"}},
                  .rows = {}};
  for (const NodeSummary& one : std::span(summaries).first(std::min(kMostLines, summaries.size())))
    table.rows.push_back(
        {{short_text(printable(one.node), kNameWidth)},
         {fmt::format("{}", one.rounds)},
         {fmt::format("{}", one.first)},
         {fmt::format("{}", one.last)},
         {fmt::format("{}", one.samples)},
         {fmt::format("{:.1f} %", 100 * static_cast<double>(one.samples) /
                                      static_cast<double>(std::max<std::uint64_t>(1, samples)))},
         {number_text(loss_of_rounds(one.losses).value)},
         {one.seconds ? fmt::format("{:.3f}", *one.seconds) : "-"},
         {date(one.first_committed)},
         {date(one.last_committed)}});
  std::vector<PageBlock> out = {std::move(table)};
  PageList rounds, audit{node_faults(run)};
  const auto ranges = attendance(*run.nodes, needed_nodes(run.run));
  for (const Attendance& some : std::span(ranges).first(std::min(kMostLines, ranges.size())))
    rounds.items.push_back(attendance_text(some) +
                           (some.since ? fmt::format(", committed {}", date(some.since)) : "") +
                           (some.until != some.since ? fmt::format(" to {}", date(some.until)) : ""));
  if (ranges.size() > kMostLines || summaries.size() > kMostLines)
    rounds.items.emplace_back("the rest is in data/nodes.csv");
  out.emplace_back(PageParagraph{"Who took part, and when:"});
  out.emplace_back(std::move(rounds));
  out.emplace_back(PageParagraph{audit.items.empty()
                                     ? "Audit: nodes, weights and losses agree with the rounds."
                                     : "Audit: nodes, weights and losses do not agree with the rounds."});
  if (!audit.items.empty()) out.emplace_back(std::move(audit));
  return out;
}

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
                            {"train_loss", one.losses.train_loss},
                            {"batch_loss", one.losses.batch_loss},
                            {"start_loss", one.losses.start_loss},
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
