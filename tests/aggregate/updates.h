// Updates that tests make, and what aggregators make of them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/aggregate/exact_mean.h"
#include "tests/base/bits.h"

namespace mfl::test {

template <class T>
using Vectors = std::vector<std::vector<T>>;  // of one node

template <class T>
struct Updates {
  std::vector<Vectors<T>> nodes;
  Vectors<T> broadcast;
  std::vector<std::uint64_t> samples = {};  // 1 each if empty

  std::size_t size() const { return nodes.size(); }

  // One vector per node, and a broadcast of zeros.
  static Updates of(const Vectors<T>& vectors) {
    Updates out;
    for (const auto& vector : vectors) out.nodes.push_back({vector});
    out.broadcast = {std::vector<T>(vectors.front().size())};
    return out;
  }

  // Every number times `factor`, then plus `shift`.
  Updates mapped(T factor, T shift) const {
    Updates out = *this;
    const auto apply = [&](Vectors<T>& vectors) {
      for (auto& vector : vectors)
        for (T& x : vector) x = x * factor + shift;
    };
    for (auto& node : out.nodes) apply(node);
    apply(out.broadcast);
    return out;
  }
};

template <class T>
NodeVectors<T> views(const Vectors<T>& vectors, std::uint64_t samples = 1) {
  NodeVectors<T> out;
  for (const auto& vector : vectors) out.vectors.emplace_back(vector);
  out.samples = samples;
  return out;
}

template <class T>
std::vector<NodeVectors<T>> views(const Updates<T>& updates) {
  std::vector<NodeVectors<T>> out;
  for (std::size_t i = 0; i < updates.size(); ++i)
    out.push_back(views(updates.nodes[i], updates.samples.empty() ? 1 : updates.samples[i]));
  return out;
}

template <class T>
Vectors<T> aggregated(const Aggregator& aggregator, const Updates<T>& updates,
                      const ForEach& run = for_each_in_order) {
  const auto nodes = views(updates);
  std::vector<Vector<T>> out = {Vector<T>(3, T{77})};  // what an earlier round left
  aggregator.aggregate(nodes, views(updates.broadcast), out, run);
  Vectors<T> plain;
  for (const auto& vector : out) plain.emplace_back(vector.begin(), vector.end());
  return plain;
}

template <class T>
Vectors<T> aggregated(std::string_view spec, const Updates<T>& updates,
                      const ForEach& run = for_each_in_order) {
  const auto aggregator = make_aggregator(spec);
  if (!aggregator) {
    ADD_FAILURE() << aggregator.error().text();
    return {};
  }
  return aggregated(**aggregator, updates, run);
}

template <class T>
auto bits(const Vectors<T>& vectors) {
  std::vector<std::vector<Bits<T>>> out;
  for (const auto& vector : vectors) out.push_back(bits(std::span<const T>(vector)));
  return out;
}

// Uniform in [-1, 1), a multiple of 2^-23.
template <class T>
T small_number(std::mt19937_64& random) {
  return static_cast<T>(static_cast<double>(random() % (1U << 24U)) * 0x1p-23 - 1);
}

// Two vectors per node, of these sizes.
template <class T>
Updates<T> random_updates(std::size_t nodes, std::size_t first, std::size_t second, std::mt19937_64& random) {
  const auto vector = [&](std::size_t size) {
    std::vector<T> out(size);
    for (T& x : out) x = small_number<T>(random);
    return out;
  };
  Updates<T> out;
  for (std::size_t i = 0; i < nodes; ++i) {
    out.nodes.push_back({vector(first), vector(second)});
    out.samples.push_back(1 + random() % 1000);
  }
  out.broadcast = {vector(first), vector(second)};
  return out;
}

// The entry with the first of 1, 0.2 and 0 that each required parameter accepts, so that tests can run through the catalogue.
inline std::string spec_of(const AggregatorEntry& entry) {
  std::string list;
  for (const Parameter& parameter : entry.parameters) {
    if (parameter.default_value || parameter.optional) continue;
    std::string_view value = "0";
    if (parameter.range.holds(1))
      value = "1";
    else if (parameter.range.holds(0.2))
      value = "0.2";
    list += (list.empty() ? "" : ", ") + parameter.name + "=" + std::string(value);
  }
  return entry.name + "(" + list + ")";
}

// Every entry of the catalogue, and some with other parameters; for 7 nodes or more.
inline std::vector<std::string> specs_of_all() {
  std::vector<std::string> specs = {"trimmed-mean(0.1)", "multi-krum(f=2, m=3)", "rfa(20)",
                                    "centred-clipping(0.5, 3)", "centred-clipping(inf)"};
  for (const auto& entry : aggregators()) specs.push_back(spec_of(entry));
  return specs;
}

// Of equal weights.
template <class T>
Vectors<T> exact_mean_of(const Updates<T>& updates) {
  Vectors<T> out;
  for (std::size_t v = 0; v < updates.broadcast.size(); ++v) {
    const std::size_t size = updates.broadcast[v].size();
    out.emplace_back(size);
    ExactMean sum(size);
    for (const auto& node : updates.nodes) sum.add(std::span<const T>(node[v]), 1);
    sum.mean(std::span<T>(out.back()));
  }
  return out;
}

// Zeros of both signs, ends of the range, and equal numbers.
template <class T>
T hard_number(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  const T sign = random() % 2 == 0 ? T{1} : T{-1};
  switch (random() % 7) {
    case 0: return sign * T{0};
    case 1: return sign * Limits::max();
    case 2: return sign * Limits::denorm_min();
    case 3: return sign;
    case 4: return sign * Limits::max() / T{3};
    default: return small_number<T>(random);
  }
}

template <class T>
Updates<T> hard_updates(std::size_t nodes, std::size_t size, std::mt19937_64& random) {
  auto out = random_updates<T>(nodes, size, 2, random);
  for (auto& node : out.nodes)
    for (auto& vector : node)
      for (T& x : vector) x = hard_number<T>(random);
  return out;
}

// Euclidean, over all vectors.
template <class T>
double norm(const Vectors<T>& vectors) {
  double sum = 0;
  for (const auto& vector : vectors)
    for (const auto x : vector) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

template <class T>
double distance(const Vectors<T>& a, const Vectors<T>& b) {
  Vectors<double> difference;
  for (std::size_t v = 0; v < a.size(); ++v) {
    difference.emplace_back();
    for (std::size_t j = 0; j < a[v].size(); ++j)
      difference.back().push_back(static_cast<double>(a[v][j]) - static_cast<double>(b[v][j]));
  }
  return norm(difference);
}

}  // namespace mfl::test
