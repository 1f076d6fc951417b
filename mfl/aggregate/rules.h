// The robust rules. Private to mfl/aggregate and its tests; others choose them by name (aggregator.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/aggregate/aggregator.h"

namespace mfl {

// The accumulator of the exact mean, and one that holds all updates for Aggregator::aggregate().
template <class T>
std::unique_ptr<Accumulator<T>> make_mean_accumulator(std::vector<SentVector> layout,
                                                      AccumulatorOptions options);
template <class T>
std::unique_ptr<Accumulator<T>> hold_updates(const Aggregator& aggregator, std::vector<SentVector> layout,
                                             AccumulatorOptions options);

std::unique_ptr<const Aggregator> make_median(std::string spec);
// 0 <= fraction < 0.5. A product fraction * n within rounding of a whole number counts as that number.
std::unique_ptr<const Aggregator> make_trimmed_mean(std::string spec, double fraction);

// m = n - f if absent.
std::unique_ptr<const Aggregator> make_multi_krum(std::string spec, std::size_t f,
                                                  std::optional<std::size_t> m);
// The score of each node, updates.size() >= f + 2.
template <class T>
std::vector<double> krum_scores(std::span<const NodeVectors<T>> updates, std::size_t f, const ForEach& run);

// iterations >= 1, nu > 0
std::unique_ptr<const Aggregator> make_geometric_median(std::string spec, std::size_t iterations, double nu);
// radius > 0 or infinite, iterations >= 1
std::unique_ptr<const Aggregator> make_centred_clipping(std::string spec, double radius,
                                                        std::size_t iterations);

}  // namespace mfl
