#include "mfl/partition/sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mfl/base/dirichlet.h"
#include "mfl/base/rng.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

// Rounds of the stream: what the draws are for. Round 0 orders the samples.
enum SizesDraw : std::uint64_t { kSizes = 1 };

// Largest remainders of what the nodes of `open` get.
void round_parts(std::span<const double> parts, std::vector<std::size_t> open, std::size_t left,
                 std::vector<std::size_t>& sizes) {
  for (const std::size_t i : open) {
    sizes[i] = std::min(static_cast<std::size_t>(parts[i]), left);
    left -= sizes[i];
  }
  std::ranges::stable_sort(open, [&](std::size_t a, std::size_t b) {
    return parts[a] - std::floor(parts[a]) > parts[b] - std::floor(parts[b]);
  });
  for (std::size_t k = 0; left > 0; k = (k + 1) % open.size(), --left) ++sizes[open[k]];
}

std::vector<double> sizes_in(std::string_view text, std::string& wrong) {
  std::vector<double> out;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = trim(text.substr(0, comma));
    const auto number = parse_number(word);
    if (!number || !(*number > 0) || !std::isfinite(*number)) {
      wrong = excerpt(word);
      return out;
    }
    out.push_back(*number);
    if (comma == text.size()) return out;
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::size_t>> sizes_of_shares(std::span<const double> shares, std::size_t samples) {
  constexpr double kNearOne = 1e-6;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (std::abs(sum - 1) > kNearOne)
    return fail(ErrorCode::kBadConfig, fmt::format("sizes: the shares add up to {}, not to 1", sum),
                "give shares that add up to 1, or whole numbers of samples");
  return sizes_of_weights(shares, samples);
}

Result<std::vector<std::size_t>> sizes_of_counts(std::span<const double> counts, std::size_t samples) {
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (sum != static_cast<double>(samples))
    return fail(ErrorCode::kBadConfig,
                fmt::format("sizes: the nodes hold {} samples, there are {}", sum, samples),
                fmt::format("set train to {}, or give shares that add up to 1", sum));
  return std::vector<std::size_t>(counts.begin(), counts.end());
}

}  // namespace

std::vector<std::size_t> sizes_of_weights(std::span<const double> weights, std::size_t samples) {
  const std::size_t nodes = weights.size();
  std::vector<double> parts(nodes);
  std::vector<std::size_t> sizes(nodes, 1), open(nodes);
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (;;) {
    const std::size_t left = samples - (nodes - open.size());
    double sum = 0;
    for (const std::size_t i : open) sum += weights[i];
    for (const std::size_t i : open) parts[i] = weights[i] / sum * static_cast<double>(left);
    const std::size_t before = open.size();
    std::vector<std::size_t> large;
    for (const std::size_t i : open)
      if (parts[i] >= 1) large.push_back(i);
    if (large.size() == before || large.empty()) {
      round_parts(parts, open, left, sizes);
      return sizes;
    }
    open = std::move(large);
  }
}

Partition random_of_sizes(std::span<const std::size_t> sizes, std::size_t samples, std::uint64_t seed) {
  Partition partition;
  partition.order = permutation(samples, Stream(seed, Purpose::kPartition));
  partition.starts.push_back(0);
  for (const std::size_t size : sizes) {
    const auto first = partition.order.begin() + static_cast<std::ptrdiff_t>(partition.starts.back());
    std::sort(first, first + static_cast<std::ptrdiff_t>(size));
    partition.starts.push_back(partition.starts.back() + size);
  }
  partition.order.resize(partition.starts.back());
  return partition;
}

Result<Partition> power_sizes(std::size_t samples, std::size_t nodes, unsigned power, std::uint64_t seed) {
  MFL_CHECK(require_nodes(samples, nodes));
  std::vector<double> weights(nodes, 1);
  for (std::size_t k = 0; k < nodes; ++k)
    for (unsigned i = 0; i < power; ++i) weights[k] *= static_cast<double>(k + 1);
  return random_of_sizes(sizes_of_weights(weights, samples), samples, seed);
}

Result<Partition> exponential_sizes(std::size_t samples, std::size_t nodes, std::uint64_t seed) {
  MFL_CHECK(require_nodes(samples, nodes));
  std::vector<double> logs(nodes);
  std::iota(logs.begin(), logs.end(), 0.0);
  make_shares(logs);
  return random_of_sizes(sizes_of_weights(logs, samples), samples, seed);
}

Result<Partition> lognormal_sizes(std::size_t samples, std::size_t nodes, double sigma, std::uint64_t seed) {
  MFL_CHECK(require_nodes(samples, nodes));
  Stream stream(seed, Purpose::kPartition, kSizes);
  std::vector<double> logs(nodes);
  for (double& log : logs) log = sigma * stream.normal();
  make_shares(logs);
  return random_of_sizes(sizes_of_weights(logs, samples), samples, seed);
}

Result<Partition> given_sizes(std::string_view text, std::size_t samples, std::size_t nodes,
                              std::uint64_t seed) {
  MFL_CHECK(require_nodes(samples, nodes));
  std::string wrong;
  const std::vector<double> numbers = sizes_in(text, wrong);
  if (!wrong.empty())
    return fail(ErrorCode::kBadConfig, fmt::format("sizes: {} is not a number > 0", wrong),
                "write one number per node, separated by commas: sizes:100,200,300 or sizes:0.2,0.3,0.5");
  if (numbers.size() != nodes)
    return fail(ErrorCode::kBadConfig,
                fmt::format("sizes has {} number{}, nodes is {}", numbers.size(),
                            numbers.size() == 1 ? "" : "s", nodes),
                fmt::format("set nodes to {}, or give {} numbers", numbers.size(), nodes));
  const bool counts = std::ranges::all_of(numbers, [](double x) { return x == std::floor(x); });
  MFL_TRY(const auto sizes, counts ? sizes_of_counts(numbers, samples) : sizes_of_shares(numbers, samples));
  return random_of_sizes(sizes, samples, seed);
}

}  // namespace mfl
