// Slices of the vectors that nodes send, and exact means over them. Private to mfl/aggregate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mfl/aggregate/aggregator.h"

namespace mfl {

// Of at most kAggregateSlice coordinates each.
std::vector<Slice> slices_of(std::span<const SentVector> layout);
template <class T>
std::vector<Slice> slices_of(const NodeVectors<T>& node);

template <class T>
std::span<const T> slice_of(const NodeVectors<T>& node, const Slice& slice) {
  return node.vectors[slice.vector].subspan(slice.first, slice.count);
}

template <class T>
std::span<T> slice_of(std::vector<Vector<T>>& vectors, const Slice& slice) {
  return std::span<T>(vectors[slice.vector]).subspan(slice.first, slice.count);
}

// The exact mean of the updates with these indices, by samples or of equal weights. Out is T or double. Throws
// std::invalid_argument for a number that is not finite.
template <class T, class Out>
void exact_mean(std::span<const NodeVectors<T>> updates, std::span<const std::size_t> chosen, bool by_samples,
                std::vector<Vector<Out>>& out, const ForEach& run);

// 0, 1, ... n - 1
std::vector<std::size_t> all_of(std::size_t n);

}  // namespace mfl
