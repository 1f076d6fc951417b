#include "mfl/base/dirichlet.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "mfl/partition/label_skew.h"

namespace mfl {
namespace {

constexpr std::size_t kMostAttempts = 1000, kFewestAttempts = 10;
constexpr std::size_t kMostDraws = 20'000'000;
constexpr std::size_t kUsualMinimum = 10;
constexpr std::size_t kMostPairs = 50'000'000;

// Rounds of the stream: what the draws are for.
enum DirichletDraw : std::uint64_t { kDirichletOrder = 0, kDirichletShares = 2 };

std::size_t fewest_samples(const DirichletOptions& options, std::size_t samples, std::size_t nodes) {
  const std::size_t half_of_mean = samples / nodes / 2;
  return options.min_partition_size.value_or(std::clamp<std::size_t>(half_of_mean, 1, kUsualMinimum));
}

// Per class, how many of its samples each node gets.
using Counts = std::vector<std::vector<std::size_t>>;

// Sample j of `count` is for the node whose interval of [0, 1) holds (j + offset) / count. With an offset
// drawn from [0, 1) the mean of a part is its share of `count`, however small that is.
std::vector<std::size_t> cut(std::size_t count, std::span<const double> shares, double offset) {
  std::vector<std::size_t> out;
  double sum = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sum += shares[i];
    const double end_at = std::max(0.0, std::ceil(sum * static_cast<double>(count) - offset));
    const bool last = i + 1 == shares.size();
    const std::size_t end = last ? count : std::min(count, static_cast<std::size_t>(end_at));
    out.push_back(end - start);
    start = end;
  }
  return out;
}

class Drawing {
 public:
  Drawing(std::span<const LabelRows> classes, std::size_t samples, std::size_t nodes,
          const DirichletOptions& options)
      : classes_(classes), samples_(samples), nodes_(nodes), options_(options) {}

  // Sizes of the nodes go to `sizes`.
  Counts draw(Stream& stream, std::vector<std::size_t>& sizes) const {
    Counts counts;
    std::vector<double> logs(nodes_);
    sizes.assign(nodes_, 0);
    for (const LabelRows& one : classes_) {
      draw_log_gammas(stream, options_.alpha, logs);
      if (options_.self_balancing) close_full(sizes, logs);
      make_shares(logs);
      counts.push_back(cut(one.rows.size(), logs, stream.uniform()));
      for (std::size_t i = 0; i < nodes_; ++i) sizes[i] += counts.back()[i];
    }
    return counts;
  }

 private:
  void close_full(std::span<const std::size_t> sizes, std::span<double> logs) const {
    for (std::size_t i = 0; i < nodes_; ++i)
      if (sizes[i] * nodes_ >= samples_) logs[i] = -std::numeric_limits<double>::infinity();
  }

  std::span<const LabelRows> classes_;
  std::size_t samples_, nodes_;
  const DirichletOptions& options_;
};

Partition deal(std::span<const LabelRows> classes, const Counts& counts, std::size_t nodes,
               std::uint64_t seed) {
  std::vector<std::vector<std::uint32_t>> rows(nodes);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto order =
        permutation(classes[c].rows.size(), Stream(seed, Purpose::kPartition, kDirichletOrder, c));
    std::size_t next = 0;
    for (std::size_t i = 0; i < nodes; ++i)
      for (std::size_t k = 0; k < counts[c][i]; ++k) rows[i].push_back(classes[c].rows[order[next++]]);
  }
  return partition_of(rows);
}

}  // namespace

Result<Partition> dirichlet(std::span<const double> labels, std::size_t nodes,
                            const DirichletOptions& options, std::uint64_t seed) {
  const std::size_t samples = labels.size();
  MFL_CHECK(require_nodes(samples, nodes));
  const std::size_t fewest = fewest_samples(options, samples, nodes);
  if (fewest > samples / nodes)
    return fail(
        ErrorCode::kBadConfig,
        fmt::format("dirichlet: {} samples cannot give {} nodes {} samples each", samples, nodes, fewest),
        fmt::format("set min_partition_size to at most {}, or lower nodes", samples / nodes));
  const std::vector<LabelRows> classes = rows_by_label(labels);
  if (classes.size() > kMostPairs / nodes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("dirichlet: {} different labels for {} nodes are too many: {} pairs at most",
                            classes.size(), nodes, kMostPairs),
                "it is for labels that are classes; use lognormal or sizes for numbers");
  const Drawing drawing(classes, samples, nodes, options);
  const std::size_t attempts =
      std::clamp(kMostDraws / (classes.size() * nodes), kFewestAttempts, kMostAttempts);
  Stream stream(seed, Purpose::kPartition, kDirichletShares);
  std::vector<std::size_t> sizes;
  std::size_t best = 0;
  for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
    const Counts counts = drawing.draw(stream, sizes);
    const std::size_t smallest = *std::ranges::min_element(sizes);
    if (smallest >= fewest) return deal(classes, counts, nodes, seed);
    best = std::max(best, smallest);
  }
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("dirichlet: no draw of {} gave each of {} nodes {} of {} samples; the best left one "
                  "with {}",
                  attempts, nodes, fewest, samples, best),
      fmt::format("raise alpha (it is {}), lower min_partition_size or nodes, or set self_balancing",
                  options.alpha));
}

}  // namespace mfl
