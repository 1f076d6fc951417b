#include "mfl/engine/fleet.h"

#include <utility>

namespace mfl {

template <class T>
Fleet<T>::Fleet(FleetRows rows, std::size_t nodes, const ClassTargets<T>& targets, const KernelSet& kernels)
    : rows_(std::move(rows)), nodes_(nodes), targets_(targets), kernels_(&kernels) {}

template <class T>
Samples<T> Fleet<T>::buffer() const {
  return Samples<T>::buffer(rows_.shape().most, rows_.shape().columns, FleetRows::kScale, *kernels_);
}

template <class T>
void Fleet<T>::fill(std::size_t node, Samples<T>& buffer) const {
  const auto [bytes, targets] = buffer.overwrite(rows_.samples(node));
  rows_.fill<T>(node, bytes, targets, targets_, *kernels_);
}

template class Fleet<float>;
template class Fleet<double>;

}  // namespace mfl
