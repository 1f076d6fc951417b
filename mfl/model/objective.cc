#include "mfl/model/objective.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <type_traits>
#include <utility>

namespace mfl {
namespace {

// loss sum / n + lambda/2 |w|^2
template <class T>
double regularised(const Objective& objective, const Samples<T>& samples, double loss_sum, std::size_t n,
                   const Vector<T>& w) {
  const double mean = loss_sum / static_cast<double>(n);
  if (objective.lambda == 0) return mean;
  return objective.lambda / 2 * samples.kernels().squared_norm(w.size(), w.data()) + mean;
}

}  // namespace

template <class T>
Samples<T>::Samples(Dataset data, std::span<const double> targets, const KernelSet& kernels)
    : data_(std::move(data)), targets_(targets.begin(), targets.end()), kernels_(&kernels.of<T>()) {
  assert(targets_.size() == data_.rows);
}

template <class T>
RowBlock<T> Samples<T>::rows(Shard shard) const {
  RowBlock<T> block;
  block.rows = shard.count;
  block.columns = data_.columns;
  block.scale = static_cast<T>(data_.scale);
  const std::size_t at = shard.first * data_.columns;
  if (const auto* bytes = std::get_if<DenseRows<std::uint8_t>>(&data_.features)) {
    block.kind = RowKind::kBytes;
    block.bytes = bytes->values.data() + at;
  } else if (const auto* dense = std::get_if<DenseRows<T>>(&data_.features)) {
    block.kind = RowKind::kDense;
    block.values = dense->values.data() + at;
  } else if (const auto* sparse = std::get_if<SparseRows<T>>(&data_.features)) {
    block.kind = RowKind::kSparse;
    block.starts = sparse->starts.data() + shard.first;
    block.positions = sparse->columns.data();
    block.values = sparse->values.data();
  } else {
    assert(false && "features are neither bytes nor of the precision of the run");
  }
  return block;
}

template <class T>
double loss_and_gradient(const Objective& objective, const Samples<T>& samples, Shard shard, const Vector<T>& w,
                         Vector<T>& gradient, Vector<T>& block) {
  const Kernels<T>& kernels = samples.kernels();
  double loss_sum = 0;
  for (std::size_t r = 0; r < shard.count; r += kRowBlock) {
    const Shard part = {shard.first + r, std::min(kRowBlock, shard.count - r)};
    Vector<T>& sums = r == 0 ? gradient : block;
    std::fill(sums.begin(), sums.end(), T{0});
    loss_sum += kernels.loss_and_gradient(samples.rows(part), objective.loss, samples.targets(part.first), w.data(),
                                          sums.data());
    if (r != 0) kernels.add(sums.size(), sums.data(), gradient.data());
  }
  const T factor = static_cast<T>(samples.data().scale / static_cast<double>(shard.count));
  kernels.finish_gradient(gradient.size(), factor, static_cast<T>(objective.lambda), w.data(), gradient.data());
  return regularised(objective, samples, loss_sum, shard.count, w);
}

template <class T>
Evaluation evaluate_block(const Objective& objective, const Samples<T>& samples, Shard block, const Vector<T>& w) {
  assert(block.count <= kRowBlock);
  std::array<double, kRowBlock> z;
  const T* y = samples.targets(block.first);
  samples.kernels().margins(samples.rows(block), w.data(), z.data());
  Evaluation out;
  out.loss = samples.kernels().losses(objective.loss, block.count, z.data(), y, nullptr);
  for (std::size_t r = 0; r < block.count; ++r) out.correct += (z[r] > 0) == (y[r] > 0) ? 1 : 0;
  return out;
}

template <class T>
Evaluation combine_blocks(const Objective& objective, const Samples<T>& samples, std::span<const Evaluation> blocks,
                          std::size_t n, const Vector<T>& w) {
  Evaluation out;
  for (const Evaluation& block : blocks) {
    out.loss += block.loss;
    out.correct += block.correct;
  }
  out.loss = regularised(objective, samples, out.loss, n, w);
  return out;
}

template <class T>
Evaluation evaluate(const Objective& objective, const Samples<T>& samples, Shard shard, const Vector<T>& w) {
  std::vector<Evaluation> blocks;
  for (std::size_t r = 0; r < shard.count; r += kRowBlock)
    blocks.push_back(
        evaluate_block(objective, samples, {shard.first + r, std::min(kRowBlock, shard.count - r)}, w));
  return combine_blocks<T>(objective, samples, blocks, shard.count, w);
}

#define MFL_INSTANTIATE(T)                                                                                        \
  template class Samples<T>;                                                                                      \
  template double loss_and_gradient(const Objective&, const Samples<T>&, Shard, const Vector<T>&, Vector<T>&,     \
                                    Vector<T>&);                                                                  \
  template Evaluation evaluate(const Objective&, const Samples<T>&, Shard, const Vector<T>&);                     \
  template Evaluation evaluate_block(const Objective&, const Samples<T>&, Shard, const Vector<T>&);               \
  template Evaluation combine_blocks(const Objective&, const Samples<T>&, std::span<const Evaluation>, std::size_t, \
                                     const Vector<T>&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
