#include "mfl/network/node_table.h"

#include <algorithm>

namespace mfl {

NodeTable::Row* NodeTable::find(const std::string& node) {
  const auto found = rows_.find(node);
  return found == rows_.end() ? nullptr : &found->second;
}

void NodeTable::make_place() {
  if (rows_.size() < kMost) return;
  auto oldest = rows_.end();
  for (auto row = rows_.begin(); row != rows_.end(); ++row)
    if (row->second.presences == 0 && (oldest == rows_.end() || row->second.heard < oldest->second.heard))
      oldest = row;
  if (oldest != rows_.end()) rows_.erase(oldest);
}

void NodeTable::joined(Time now, const std::string& node, const std::string& serial, std::uint64_t samples,
                       std::optional<std::int64_t> certificate_expires) {
  if (!rows_.contains(node)) make_place();
  if (!rows_.contains(node) && rows_.size() >= kMost) return;
  Row& row = rows_[node];
  row.status.name = node;
  row.status.samples = samples;
  row.status.certificate_expires = certificate_expires;
  row.serial = serial;
  row.heard = now;
  ++row.presences;
}

void NodeTable::left(Time now, const std::string& node) {
  if (Row* row = find(node); row != nullptr && row->presences > 0) {
    --row->presences;
    row->heard = now;
  }
}

void NodeTable::heard(Time now, const std::string& node) {
  if (Row* row = find(node)) row->heard = now;
}

void NodeTable::counted(Time now, const std::string& node, std::uint64_t round, const Losses& losses,
                        double seconds) {
  Row* row = find(node);
  if (row == nullptr) return;
  row->heard = now;
  row->status.round = round;
  const auto last_known = row->status.losses.train_loss;
  row->status.losses = losses;
  if (!losses.train_loss) row->status.losses.train_loss = last_known;
  row->status.seconds = seconds;
}

void NodeTable::bar(const std::map<std::string, std::string>& nodes) {
  for (auto& [name, row] : rows_) {
    const auto found = nodes.find(name);
    row.status.barred = found == nodes.end() ? "" : found->second;
  }
}

std::map<std::string, std::string> NodeTable::serials() const {
  std::map<std::string, std::string> out;
  for (const auto& [name, row] : rows_) out.emplace(name, row.serial);
  return out;
}

std::vector<NodeStatus> NodeTable::list(Time now) const {
  std::vector<NodeStatus> out;
  for (const auto& [name, row] : rows_) {
    out.push_back(row.status);
    out.back().connected = row.presences > 0;
    out.back().silent = std::max(Time{0}, now - row.heard);
  }
  return out;
}

void add_standings(std::vector<NodeStatus>& nodes, const std::vector<NodeStanding>& standings) {
  auto standing = standings.begin();
  for (NodeStatus& node : nodes) {
    while (standing != standings.end() && standing->name < node.name) ++standing;
    if (standing == standings.end()) return;
    if (standing->name != node.name) continue;
    node.failures = standing->failures;
    node.set_aside = standing->set_aside;
  }
}

}  // namespace mfl
