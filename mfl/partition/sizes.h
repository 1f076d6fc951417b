// Partitions whose nodes hold different numbers of samples. Which samples is drawn from the seed, as for iid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/partition/partition.h"

namespace mfl {

// Sizes in proportion to the weights, whose sum is `samples`: whole parts first, then one more for the
// largest remainders, the first of equal ones before the others. A node whose part is less than 1 gets 1
// sample, and the others share what is left. 1 <= nodes <= samples; weights are >= 0, finite and not all 0.
std::vector<std::size_t> sizes_of_weights(std::span<const double> weights, std::size_t samples);

// A random split into nodes of these sizes, none of them 0. Samples beyond their sum are in no node.
Partition random_of_sizes(std::span<const std::size_t> sizes, std::size_t samples, std::uint64_t seed);

// The size of node k, counted from 0, in proportion to (k + 1)^power. What require_nodes refuses is
// kBadConfig, here and below.
Result<Partition> power_sizes(std::size_t samples, std::size_t nodes, unsigned power, std::uint64_t seed);

// In proportion to exp(k).
Result<Partition> exponential_sizes(std::size_t samples, std::size_t nodes, std::uint64_t seed);

// In proportion to exp(sigma x), with x from the standard normal distribution.
Result<Partition> lognormal_sizes(std::size_t samples, std::size_t nodes, double sigma, std::uint64_t seed);

// As the text says, numbers separated by commas, one per node: sample counts, whose sum must be `samples`, or
// shares, at least one of which is no whole number, whose sum must be 1 (to 1e-6). Else kBadConfig.
Result<Partition> given_sizes(std::string_view text, std::size_t samples, std::size_t nodes,
                              std::uint64_t seed);

}  // namespace mfl
