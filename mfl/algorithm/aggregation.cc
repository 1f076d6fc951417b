#include "mfl/algorithm/aggregation.h"

namespace mfl {

std::shared_ptr<const Aggregator> if_it_holds_updates(std::shared_ptr<const Aggregator> aggregator) {
  return aggregator && !aggregator->is_exact_mean() ? aggregator : nullptr;
}

template <class T>
void aggregate_updates(const Aggregator& aggregator, std::span<const NodeUpdate<T>> updates,
                       const std::vector<NamedVector<T>>& broadcast, std::vector<Vector<T>>& out,
                       const ForEach& run) {
  std::vector<NodeVectors<T>> views;
  for (const NodeUpdate<T>& update : updates)
    views.push_back({{update.vectors.begin(), update.vectors.end()}, update.samples});
  NodeVectors<T> from;
  for (const NamedVector<T>& vector : broadcast) from.vectors.emplace_back(vector.values);
  aggregator.aggregate(views, from, out, run);
}

template void aggregate_updates(const Aggregator&, std::span<const NodeUpdate<float>>,
                                const std::vector<NamedVector<float>>&, std::vector<Vector<float>>&,
                                const ForEach&);
template void aggregate_updates(const Aggregator&, std::span<const NodeUpdate<double>>,
                                const std::vector<NamedVector<double>>&, std::vector<Vector<double>>&,
                                const ForEach&);

}  // namespace mfl
