#include "mfl/aggregate/slices.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "mfl/aggregate/exact_mean.h"

namespace mfl {
namespace {

void add_slices(std::size_t vector, std::size_t size, std::vector<Slice>& to) {
  for (std::size_t first = 0; first < size; first += kAggregateSlice)
    to.push_back({vector, first, std::min(kAggregateSlice, size - first)});
}

}  // namespace

std::vector<Slice> slices_of(std::span<const SentVector> layout) {
  std::vector<Slice> slices;
  for (std::size_t v = 0; v < layout.size(); ++v) add_slices(v, layout[v].length, slices);
  return slices;
}

template <class T>
std::vector<Slice> slices_of(const NodeVectors<T>& node) {
  std::vector<Slice> slices;
  for (std::size_t v = 0; v < node.vectors.size(); ++v) add_slices(v, node.vectors[v].size(), slices);
  return slices;
}

template <class T, class Out>
void exact_mean(std::span<const NodeVectors<T>> updates, std::span<const std::size_t> chosen, bool by_samples,
                std::vector<Vector<Out>>& out, const ForEach& run) {
  const auto slices = slices_of(updates.front());
  run(slices.size(), [&](std::size_t s) {
    ExactMean sum(slices[s].count);
    for (const std::size_t i : chosen)
      if (sum.add(slice_of(updates[i], slices[s]), by_samples ? updates[i].samples : 1))
        throw std::invalid_argument("an update has a number that is not finite");
    sum.mean(slice_of(out, slices[s]));
  });
}

std::vector<std::size_t> all_of(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

#define MFL_INSTANTIATE(T, Out)                                                                 \
  template void exact_mean(std::span<const NodeVectors<T>>, std::span<const std::size_t>, bool, \
                           std::vector<Vector<Out>>&, const ForEach&);
MFL_INSTANTIATE(float, float)
MFL_INSTANTIATE(float, double)
MFL_INSTANTIATE(double, double)
#undef MFL_INSTANTIATE

template std::vector<Slice> slices_of(const NodeVectors<float>&);
template std::vector<Slice> slices_of(const NodeVectors<double>&);

}  // namespace mfl
