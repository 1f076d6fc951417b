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
double regularised(double lambda, const Samples<T>& samples, double loss_sum, std::size_t n, const T* w) {
  const double mean = loss_sum / static_cast<double>(n);
  if (lambda == 0) return mean;
  return lambda / 2 * samples.kernels().squared_norm(samples.columns(), w) + mean;
}

// The chunk bits of dense rows; nothing where looking at them would not pay.
template <class X>
std::vector<std::uint64_t> chunk_bits(const DenseRows<X>& dense, std::size_t rows, std::size_t columns) {
  constexpr double kWorthwhile = 0.9;
  const std::size_t words = chunk_words(columns), chunks = columns / kChunk;
  std::vector<std::uint64_t> bits(rows * words);
  std::size_t set = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < chunks; ++c) {
      const X* chunk = dense.values.data() + r * columns + c * kChunk;
      if (std::all_of(chunk, chunk + kChunk, [](X x) { return x == 0; })) continue;
      bits[r * words + c / 64] |= std::uint64_t{1} << (c % 64);
      ++set;
    }
  if (static_cast<double>(set) > kWorthwhile * static_cast<double>(rows * chunks)) bits = {};
  return bits;
}

}  // namespace

template <class T>
Samples<T>::Samples(Dataset data, std::span<const double> targets, const KernelSet& kernels)
    : data_(std::move(data)), targets_(targets.begin(), targets.end()), kernels_(&kernels.of<T>()) {
  assert(targets_.size() == data_.rows);
  if (const auto* bytes = std::get_if<DenseRows<std::uint8_t>>(&data_.features))
    chunks_ = chunk_bits(*bytes, data_.rows, data_.columns);
  if (const auto* dense = std::get_if<DenseRows<T>>(&data_.features))
    chunks_ = chunk_bits(*dense, data_.rows, data_.columns);
}

template <class T>
RowBlock<T> Samples<T>::rows(Shard shard) const {
  RowBlock<T> block;
  block.rows = shard.count;
  block.columns = data_.columns;
  block.scale = static_cast<T>(data_.scale);
  const std::size_t at = shard.first * data_.columns;
  if (!chunks_.empty()) block.chunks = chunks_.data() + shard.first * chunk_words(data_.columns);
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
void loss_and_gradient(Loss loss, const Samples<T>& samples, Shard shard, std::span<Item<T>> items,
                       BlockMemory<T>& memory, const ForEach* run) {
  assert(!items.empty() && items.size() <= kMaxBatch);
  const Kernels<T>& kernels = samples.kernels();
  const std::size_t columns = samples.columns();
  const std::size_t blocks = (shard.count + kRowBlock - 1) / kRowBlock;
  std::array<const T*, kMaxBatch> w;
  for (std::size_t s = 0; s < items.size(); ++s) {
    w[s] = items[s].w;
    items[s].loss = 0;
  }
  const T* weights = w[0];
  if (items.size() > 1) {
    kernels.pack(columns, items.size(), w.data(), memory.packed_weights());
    weights = memory.packed_weights();
  }
  for (std::size_t first = 0; first < blocks; first += memory.wave()) {
    const std::size_t count = std::min(memory.wave(), blocks - first);
    const auto pass = [&](std::size_t slot) {
      const std::size_t at = (first + slot) * kRowBlock;
      const Shard rows = {shard.first + at, std::min(kRowBlock, shard.count - at)};
      std::array<T*, kMaxBatch> sums;
      for (std::size_t s = 0; s < items.size(); ++s) {
        sums[s] = first + slot == 0 ? items[s].gradient : memory.gradient(slot, s).data();
        std::fill_n(sums[s], columns, T{0});
      }
      kernels.loss_and_gradient(samples.rows(rows), loss, samples.targets(rows.first), items.size(), weights,
                                sums.data(), memory.losses(slot));
    };
    if (run != nullptr) {
      (*run)(count, pass);
    } else {
      for (std::size_t slot = 0; slot < count; ++slot) pass(slot);
    }
    for (std::size_t slot = 0; slot < count; ++slot)
      for (std::size_t s = 0; s < items.size(); ++s) {
        items[s].loss += memory.losses(slot)[s];
        if (first + slot != 0) kernels.add(columns, memory.gradient(slot, s).data(), items[s].gradient);
      }
  }
  const T factor = static_cast<T>(samples.data().scale / static_cast<double>(shard.count));
  for (Item<T>& item : items) {
    kernels.finish_gradient(columns, factor, static_cast<T>(item.lambda), item.w, item.gradient);
    item.loss = regularised(item.lambda, samples, item.loss, shard.count, item.w);
  }
}

template <class T>
Evaluation evaluate_block(const Objective& objective, const Samples<T>& samples, Shard block,
                          const Vector<T>& w) {
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
Evaluation combine_blocks(const Objective& objective, const Samples<T>& samples,
                          std::span<const Evaluation> blocks, std::size_t n, const Vector<T>& w) {
  Evaluation out;
  for (const Evaluation& block : blocks) {
    out.loss += block.loss;
    out.correct += block.correct;
  }
  out.loss = regularised(objective.lambda, samples, out.loss, n, w.data());
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

#define MFL_INSTANTIATE(T)                                                                             \
  template class Samples<T>;                                                                           \
  template void loss_and_gradient(Loss, const Samples<T>&, Shard, std::span<Item<T>>, BlockMemory<T>&, \
                                  const ForEach*);                                                     \
  template Evaluation evaluate(const Objective&, const Samples<T>&, Shard, const Vector<T>&);          \
  template Evaluation evaluate_block(const Objective&, const Samples<T>&, Shard, const Vector<T>&);    \
  template Evaluation combine_blocks(const Objective&, const Samples<T>&, std::span<const Evaluation>, \
                                     std::size_t, const Vector<T>&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
