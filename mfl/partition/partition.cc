#include "mfl/partition/partition.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "mfl/base/rng.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

std::vector<std::uint32_t> in_order(std::size_t samples) {
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

// Appends the samples that the line names. `owner` is, per sample, the line that named it, or 0.
Result<void> append_node(std::string_view text, const std::filesystem::path& path, std::size_t line,
                         std::vector<std::size_t>& owner, Partition& partition) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    text = trim(text.substr(end));
    const auto sample = parse_count(word);
    if (!sample)
      return bad_line(path, line, fmt::format("{} is not a sample number", excerpt(word)),
                      "write whole numbers from 0, separated by blanks");
    if (*sample >= owner.size())
      return bad_line(path, line,
                      fmt::format("sample {} is out of range: there are {}", *sample, owner.size()),
                      fmt::format("the last sample is {}", owner.size() - 1));
    if (owner[*sample] != 0)
      return bad_line(path, line,
                      fmt::format("duplicate sample {}, first on line {}", *sample, owner[*sample]),
                      "a sample has one holder");
    owner[*sample] = line;
    partition.order.push_back(static_cast<std::uint32_t>(*sample));
  }
  std::sort(partition.order.begin() + static_cast<std::ptrdiff_t>(partition.starts.back()),
            partition.order.end());
  partition.starts.push_back(partition.order.size());
  return {};
}

}  // namespace

Result<void> require_nodes(std::size_t samples, std::size_t nodes) {
  if (nodes < 1) return fail(ErrorCode::kBadConfig, "0 nodes", "give at least 1 node");
  if (nodes > samples)
    return fail(ErrorCode::kBadConfig,
                fmt::format("more nodes than samples: {} nodes, {} samples", nodes, samples),
                fmt::format("give at most {} nodes, or more samples", samples));
  return {};
}

Result<Partition> iid(std::size_t samples, std::size_t nodes, std::uint64_t seed) {
  MFL_CHECK(require_nodes(samples, nodes));
  return equal_blocks(permutation(samples, Stream(seed, Purpose::kPartition)), nodes);
}

Result<Partition> contiguous(std::size_t samples, std::size_t nodes) {
  MFL_CHECK(require_nodes(samples, nodes));
  return equal_blocks(in_order(samples), nodes);
}

Result<Partition> label_sorted(std::span<const double> labels, std::size_t nodes) {
  MFL_CHECK(require_nodes(labels.size(), nodes));
  std::vector<std::uint32_t> order = in_order(labels.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return labels[a] < labels[b]; });
  return equal_blocks(std::move(order), nodes);
}

Result<Partition> from_file(const std::filesystem::path& path, std::size_t samples) {
  MFL_TRY(const std::string file, read_data_file(path));
  std::vector<std::size_t> owner(samples, 0);
  Partition partition;
  partition.starts.push_back(0);
  std::string_view rest = file;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view named = trim(text.substr(0, text.find('#')));
    if (!named.empty()) MFL_CHECK(append_node(named, path, line, owner, partition));
  }
  if (partition.nodes() == 0)
    return bad_file(path, "names no node", "write one line per node with the samples it holds");
  return partition;
}

std::vector<LabelRows> rows_by_label(std::span<const double> labels) {
  std::map<double, std::vector<std::uint32_t>> rows;
  for (std::size_t i = 0; i < labels.size(); ++i) rows[labels[i]].push_back(static_cast<std::uint32_t>(i));
  std::vector<LabelRows> out;
  out.reserve(rows.size());
  for (auto& [label, mine] : rows) out.push_back({label, std::move(mine)});
  return out;
}

Partition equal_blocks(std::vector<std::uint32_t> order, std::size_t nodes) {
  Partition partition;
  const std::size_t each = order.size() / nodes;
  const std::size_t more = order.size() % nodes;
  partition.starts.reserve(nodes + 1);
  for (std::size_t i = 0; i <= nodes; ++i) partition.starts.push_back(i * each + std::min(i, more));
  partition.order = std::move(order);
  const auto at = [&](std::size_t i) {
    return partition.order.begin() + static_cast<std::ptrdiff_t>(partition.starts[i]);
  };
  for (std::size_t i = 0; i < nodes; ++i) std::sort(at(i), at(i + 1));
  return partition;
}

Partition partition_of(std::span<const std::vector<std::uint32_t>> nodes) {
  Partition partition;
  partition.starts.push_back(0);
  for (const std::vector<std::uint32_t>& rows : nodes) {
    const auto first = static_cast<std::ptrdiff_t>(partition.order.size());
    partition.order.insert(partition.order.end(), rows.begin(), rows.end());
    std::sort(partition.order.begin() + first, partition.order.end());
    partition.starts.push_back(partition.order.size());
  }
  return partition;
}

}  // namespace mfl
