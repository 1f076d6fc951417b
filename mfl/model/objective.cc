#include "mfl/model/objective.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace mfl {
namespace {

// loss sum / n + lambda/2 |w|^2
template <class T>
double regularised(double lambda, const Samples<T>& samples, std::size_t counted, double loss_sum,
                   std::size_t n, const T* w) {
  const double mean = loss_sum / static_cast<double>(n);
  if (lambda == 0) return mean;
  return lambda / 2 * samples.kernels().squared_norm(counted, w) + mean;
}

// Twice the largest rounding error of a margin, for rows and weights of length 1.
template <class T>
double margin_rounding(std::size_t columns) {
  constexpr std::size_t kFewest = 8;  // lanes
  return static_cast<double>(columns / kFewest + kFewest) *
         static_cast<double>(std::numeric_limits<T>::epsilon());
}

// Records how far w has moved.
template <class T>
void follow_way(const Samples<T>& samples, const LinearItem<T>& item) {
  const std::size_t columns = samples.columns();
  const HingeShard<T>& hinge = item.hinge;
  const double way = std::sqrt(samples.kernels().squared_distance(columns, item.w, hinge.last_w));
  *hinge.travelled += way * (1 + 1e-6);
  *hinge.largest_norm =
      std::max(*hinge.largest_norm, std::sqrt(samples.kernels().squared_norm(columns, item.w)));
  std::copy_n(item.w, columns, hinge.last_w);
}

// The HingeSums of one row block.
template <class T>
HingeSums hinge_of_block(const HingeShard<T>& shard, std::size_t block, std::size_t slot,
                         std::size_t columns) {
  return {shard.active + block * kActiveWords, shard.sums + slot * columns, shard.reach + block * kRowBlock,
          *shard.travelled};
}

}  // namespace

template <class T>
double weighted_losses(Loss loss, const Samples<T>& samples, Shard rows, const double* margins,
                       T* coefficients) {
  const T* y = samples.targets(rows.first);
  const T* weights = samples.weights(rows.first);
  double sum = 0;
  for (std::size_t r = 0; r < rows.count; ++r)
    sum += static_cast<double>(weights[r]) *
           samples.kernels().losses(loss, 1, margins + r, y + r,
                                    coefficients == nullptr ? nullptr : coefficients + r);
  return sum;
}

double largest_curvature(Loss loss) { return loss == Loss::kLogistic ? 0.25 : 1; }

namespace {

std::size_t all_row_blocks(std::span<const Shard> shards) {
  std::size_t blocks = 0;
  for (const Shard& shard : shards) blocks += row_blocks(shard.count);
  return blocks;
}

}  // namespace

template <class T>
HingeMemory<T>::HingeMemory(std::span<const Shard> shards, std::size_t columns, std::size_t wave)
    : columns_(columns),
      wave_(wave),
      active_(all_row_blocks(shards) * kActiveWords),
      sums_(shards.size() * wave * columns),
      reach_(all_row_blocks(shards) * kRowBlock, -1),
      last_w_(shards.size() * columns),
      travelled_(shards.size()),
      largest_norm_(shards.size()) {
  std::size_t blocks = 0;
  for (const Shard& shard : shards) {
    first_blocks_.push_back(blocks);
    blocks += row_blocks(shard.count);
  }
}

template <class T>
std::size_t HingeMemory<T>::bytes(std::span<const Shard> shards, std::size_t columns, std::size_t wave) {
  return shards.size() * columns * (wave * sizeof(std::int32_t) + sizeof(T)) +
         all_row_blocks(shards) * kRowBlock * sizeof(float);
}

template <class T>
HingeShard<T> HingeMemory<T>::of(std::size_t shard) {
  return {active_.data() + first_blocks_[shard] * kActiveWords,
          sums_.data() + shard * wave_ * columns_,
          reach_.data() + first_blocks_[shard] * kRowBlock,
          last_w_.data() + shard * columns_,
          &travelled_[shard],
          &largest_norm_[shard]};
}

namespace {

// Runs pass(block, slot) for all row blocks of the shard, as many concurrently as the memory allows, and after(slot) for each
// of them in order.
template <class Pass, class After>
void for_blocks(std::size_t blocks, std::size_t wave, const ForEach* run, const Pass& pass,
                const After& after) {
  for (std::size_t first = 0; first < blocks; first += wave) {
    const std::size_t count = std::min(wave, blocks - first);
    if (run != nullptr) {
      (*run)(count, [&](std::size_t slot) { pass(first + slot, slot); });
    } else {
      for (std::size_t slot = 0; slot < count; ++slot) pass(first + slot, slot);
    }
    for (std::size_t slot = 0; slot < count; ++slot) after(first + slot, slot);
  }
}

// The weights of the items in the layout that a pass reads.
template <class T>
const T* packed_weights(const Samples<T>& samples, std::span<LinearItem<T>* const> items,
                        BlockMemory<T>& memory) {
  if (items.size() == 1) return items[0]->w;
  std::array<const T*, kMaxBatch> w;
  for (std::size_t s = 0; s < items.size(); ++s) w[s] = items[s]->w;
  samples.kernels().pack(samples.columns(), items.size(), w.data(), memory.packed_weights());
  return memory.packed_weights();
}

// Losses, not yet divided, and gradients from HingeSums: all items that want a loss in one pass, the others by visiting
// only the rows that may have changed sides.
template <class T>
void follow_hinge(const Samples<T>& samples, Shard shard, std::span<LinearItem<T>> items,
                  BlockMemory<T>& memory, const ForEach* run) {
  const Kernels<T>& kernels = samples.kernels();
  const std::size_t columns = samples.columns();
  const double rounding = margin_rounding<T>(columns);
  std::array<LinearItem<T>*, kMaxBatch> whole, part;
  std::size_t wholes = 0, parts = 0;
  for (LinearItem<T>& item : items) {
    follow_way(samples, item);
    (item.wants_loss ? whole[wholes++] : part[parts++]) = &item;
  }
  const T* weights =
      wholes == 0 ? nullptr : packed_weights<T>(samples, std::span(whole.data(), wholes), memory);
  for_blocks(
      row_blocks(shard.count), memory.wave(), run,
      [&](std::size_t block, std::size_t slot) {
        const Shard rows = block_of(shard, block);
        const T* y = samples.targets(rows.first);
        std::array<HingeSums, kMaxBatch> hinge;
        for (std::size_t s = 0; s < wholes; ++s)
          hinge[s] = hinge_of_block(whole[s]->hinge, block, slot, columns);
        if (wholes != 0)
          kernels.loss_and_hinge_sums(samples.rows(rows), y, wholes, weights, hinge.data(),
                                      memory.losses(slot));
        for (std::size_t s = 0; s < parts; ++s)
          kernels.follow_hinge_sums(samples.rows(rows), y, part[s]->w,
                                    hinge_of_block(part[s]->hinge, block, slot, columns),
                                    rounding * *part[s]->hinge.largest_norm);
      },
      [&](std::size_t, std::size_t slot) {
        for (std::size_t s = 0; s < wholes; ++s) whole[s]->loss += memory.losses(slot)[s];
      });
  for (LinearItem<T>& item : items) kernels.halve(columns, memory.wave(), item.hinge.sums, item.gradient);
}

// The loss of a block whose rows have weights, and its gradient added to g.
template <class T>
double weighted_block(Loss loss, const Samples<T>& samples, Shard rows, const T* w, T* g) {
  const Kernels<T>& kernels = samples.kernels();
  const RowBlock<T> block = samples.rows(rows);
  const T* weights = samples.weights(rows.first);
  std::array<double, kRowBlock> margins;
  std::array<T, kRowBlock> coefficients;
  kernels.margins(block, w, margins.data());
  const double sum = weighted_losses(loss, samples, rows, margins.data(), coefficients.data());
  for (std::size_t r = 0; r < rows.count; ++r) coefficients[r] *= weights[r];
  kernels.add_rows(block, coefficients.data(), g);
  return sum;
}

// The same for any loss and any rows.
template <class T>
void pass_over_rows(Loss loss, const Samples<T>& samples, Shard shard, std::span<LinearItem<T>> items,
                    BlockMemory<T>& memory, const ForEach* run) {
  const Kernels<T>& kernels = samples.kernels();
  const std::size_t columns = samples.columns();
  std::array<LinearItem<T>*, kMaxBatch> all;
  for (std::size_t s = 0; s < items.size(); ++s) all[s] = &items[s];
  const T* weights = packed_weights<T>(samples, std::span(all.data(), items.size()), memory);
  for_blocks(
      row_blocks(shard.count), memory.wave(), run,
      [&](std::size_t block, std::size_t slot) {
        const Shard rows = block_of(shard, block);
        std::array<T*, kMaxBatch> sums;
        for (std::size_t s = 0; s < items.size(); ++s) {
          sums[s] = block == 0 ? items[s].gradient : memory.gradient(slot, s).data();
          std::fill_n(sums[s], columns, T{0});
        }
        if (samples.weights(rows.first) == nullptr)
          kernels.loss_and_gradient(samples.rows(rows), loss, samples.targets(rows.first), items.size(),
                                    weights, sums.data(), memory.losses(slot));
        else
          for (std::size_t s = 0; s < items.size(); ++s)
            memory.losses(slot)[s] = weighted_block(loss, samples, rows, items[s].w, sums[s]);
      },
      [&](std::size_t block, std::size_t slot) {
        for (std::size_t s = 0; s < items.size(); ++s) {
          items[s].loss += memory.losses(slot)[s];
          if (block != 0) kernels.add(columns, memory.gradient(slot, s).data(), items[s].gradient);
        }
      });
}

}  // namespace

template <class T>
void loss_and_gradient(Loss loss, const Samples<T>& samples, Shard shard, std::span<LinearItem<T>> items,
                       BlockMemory<T>& memory, const ForEach* run, std::size_t counted) {
  assert(!items.empty() && items.size() <= kMaxBatch);
  for (LinearItem<T>& item : items) item.loss = 0;
  if (items[0].hinge.active != nullptr && samples.has_hinge_sums(loss, shard.count)) {
    follow_hinge(samples, shard, items, memory, run);
  } else {
    pass_over_rows(loss, samples, shard, items, memory, run);
  }
  const T factor = static_cast<T>(samples.data().scale / static_cast<double>(shard.count));
  counted = std::min(counted, samples.columns());
  const auto finish = [&](const LinearItem<T>& item, std::size_t first, std::size_t end, double lambda) {
    samples.kernels().finish_gradient(end - first, factor, static_cast<T>(lambda), item.w + first,
                                      item.gradient + first);
  };
  for (LinearItem<T>& item : items) {
    finish(item, 0, counted, item.lambda);
    finish(item, counted, samples.columns(), 0);
    if (item.wants_loss)
      item.loss = regularised(item.lambda, samples, counted, item.loss, shard.count, item.w);
  }
}

template <class T>
Evaluation evaluate(const Objective& objective, const Samples<T>& samples, Shard shard, const Vector<T>& w) {
  return linear_model<T>(objective.loss, samples.columns())
      ->evaluate(samples, shard, objective.lambda, w.data());
}

#define MFL_INSTANTIATE(T)                                                                                   \
  template class HingeMemory<T>;                                                                             \
  template double weighted_losses(Loss, const Samples<T>&, Shard, const double*, T*);                        \
  template void loss_and_gradient(Loss, const Samples<T>&, Shard, std::span<LinearItem<T>>, BlockMemory<T>&, \
                                  const ForEach*, std::size_t);                                              \
  template Evaluation evaluate(const Objective&, const Samples<T>&, Shard, const Vector<T>&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
