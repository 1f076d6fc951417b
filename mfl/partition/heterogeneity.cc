#include "mfl/partition/heterogeneity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mfl/base/math.h"

namespace mfl {
namespace {

std::size_t sum(std::span<const std::size_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

double entropy(std::span<const std::size_t> counts) {
  const double log_of_2 = portable_log(2);
  const auto all = static_cast<double>(sum(counts));
  double bits = 0;
  for (const std::size_t count : counts)
    if (count > 0) {
      const double share = static_cast<double>(count) / all;
      bits -= share * portable_log(share) / log_of_2;
    }
  return std::max(bits, 0.0);
}

double distance(std::span<const std::size_t> a, std::span<const std::size_t> b) {
  const auto of_a = static_cast<double>(sum(a)), of_b = static_cast<double>(sum(b));
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    out += std::abs(static_cast<double>(a[i]) / of_a - static_cast<double>(b[i]) / of_b);
  return out / 2;
}

}  // namespace

std::size_t LabelCounts::size(std::size_t node) const { return sum(nodes[node]); }

std::vector<std::size_t> LabelCounts::total() const {
  std::vector<std::size_t> out(labels.size());
  for (const auto& node : nodes)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += node[i];
  return out;
}

LabelCounts count_labels(std::span<const double> labels, const Partition& partition) {
  LabelCounts out;
  for (const std::uint32_t row : partition.order) out.labels.push_back(labels[row]);
  std::ranges::sort(out.labels);
  const auto repeated = std::ranges::unique(out.labels);
  out.labels.erase(repeated.begin(), repeated.end());
  for (std::size_t i = 0; i < partition.nodes(); ++i) {
    std::vector<std::size_t>& counts = out.nodes.emplace_back(out.labels.size());
    for (const std::uint32_t row : partition.node(i))
      ++counts[static_cast<std::size_t>(std::ranges::lower_bound(out.labels, labels[row]) -
                                        out.labels.begin())];
  }
  return out;
}

LabelSkew measure_skew(const LabelCounts& counts) {
  const std::vector<std::size_t> total = counts.total();
  const auto samples = static_cast<double>(sum(total));
  LabelSkew out;
  out.entropy = entropy(total);
  for (const auto& node : counts.nodes) {
    out.nodes.push_back({entropy(node), distance(node, total)});
    const double weight = static_cast<double>(sum(node)) / samples;
    out.node_entropy += weight * out.nodes.back().entropy;
    out.distance += weight * out.nodes.back().distance;
  }
  return out;
}

}  // namespace mfl
