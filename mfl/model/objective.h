// What a run minimises: F_i(w) = lambda/2 |w|^2 + (1/n) sum_r loss(w . x_r, y_r) over the n samples of a shard.
// Loss and gradient come from one pass over the shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/vectors.h"
#include "mfl/data/dataset.h"

namespace mfl {

struct Objective {
  Loss loss = Loss::kHinge;
  double lambda = 0;
};

// Consecutive samples: what one node holds.
struct Shard {
  std::size_t first = 0;
  std::size_t count = 0;
};

constexpr std::size_t row_blocks(std::size_t rows) { return (rows + kRowBlock - 1) / kRowBlock; }

// A data set with the targets of its task, ready to train on in precision T. Owns both; immutable but for refill, so
// safe to share among threads.
template <class T>
class Samples {
 public:
  // The features are bytes or of precision T (see with_precision); one target a row.
  Samples(Dataset data, std::span<const double> targets, const KernelSet& kernels = default_kernel_set());

  // Room for up to `most` rows of bytes that one worker fills again and again. Holds none at first.
  static Samples room(std::size_t most, std::size_t columns, double scale,
                      const KernelSet& kernels = default_kernel_set());
  struct Unfilled {
    std::span<std::uint8_t> bytes;  // rows x columns
    std::span<T> targets;           // a row
  };
  // Of a room: from now on it holds `rows` rows, which the caller writes. Nothing is allocated.
  Unfilled refill(std::size_t rows);

  std::size_t size() const { return data_.rows; }
  std::size_t columns() const { return data_.columns; }
  const Dataset& data() const { return data_; }
  const Kernels<T>& kernels() const { return *kernels_; }
  RowBlock<T> rows(Shard shard) const;
  const T* targets(std::size_t first) const { return targets_.data() + first; }
  // Whether the gradient of this loss over so many samples can be had from HingeSums.
  bool has_hinge_sums(Loss loss, std::size_t count) const;

 private:
  Dataset data_;
  std::vector<T> targets_;
  std::vector<std::uint64_t> chunks_;  // as RowBlock::chunks; empty where few chunks are zero
  std::vector<float> lengths_;         // as RowBlock::lengths; empty where they are of no use
  const Kernels<T>* kernels_;
};

// Runs work(i) once for every i < n, in any order or at once, and returns when all are done.
using ForEach = std::function<void(std::size_t n, const std::function<void(std::size_t)>& work)>;

// Memory for the gradients of row blocks, used again in every pass: `wave` blocks may be under way at once.
template <class T>
class BlockMemory {
 public:
  BlockMemory(std::size_t columns, std::size_t settings, std::size_t wave)
      : settings_(settings),
        losses_(settings * wave),
        gradients_(settings * wave, Vector<T>(columns)),
        packed_(settings > 1 ? packed_size(columns, settings) : 0) {}

  std::size_t wave() const { return losses_.size() / settings_; }
  double* losses(std::size_t slot) { return losses_.data() + slot * settings_; }
  Vector<T>& gradient(std::size_t slot, std::size_t setting) {
    return gradients_[slot * settings_ + setting];
  }
  T* packed_weights() { return packed_.data(); }

 private:
  std::size_t settings_;
  std::vector<double> losses_;
  std::vector<Vector<T>> gradients_;
  Vector<T> packed_;
};

// The HingeSums of a shard, and the way of w. Null pointers where there are none.
template <class T>
struct HingeShard {
  std::uint32_t* active = nullptr;  // kActiveWords for each row block
  std::int32_t* sums = nullptr;     // a vector for each row block that may be under way at once
  float* reach = nullptr;           // one a row
  T* last_w = nullptr;              // where the last pass was; zero at first
  double* travelled = nullptr;      // zero at first, both
  double* largest_norm = nullptr;   // of w on its way
};

// Owns the HingeSums of one model on some shards. Nothing in it depends on where the model is: it may go on anywhere.
template <class T>
class HingeMemory {
 public:
  // `wave` row blocks of a shard may be under way at once.
  HingeMemory(std::span<const Shard> shards, std::size_t columns, std::size_t wave);
  static std::size_t bytes(std::span<const Shard> shards, std::size_t columns, std::size_t wave);

  HingeShard<T> of(std::size_t shard);

 private:
  std::size_t columns_, wave_;
  std::vector<std::size_t> first_blocks_;  // of each shard
  std::vector<std::uint32_t> active_;
  Vector<std::int32_t> sums_;
  std::vector<float> reach_;
  Vector<T> last_w_;
  std::vector<double> travelled_, largest_norm_;
};

// One model that is being trained, of several that share each pass over the data.
template <class T>
struct Item {
  const T* w;   // columns() numbers
  T* gradient;  // written
  double lambda;
  bool wants_loss = true;
  double loss = 0;  // F_i(w), written if it is wanted
  // Kept from pass to pass over this shard where the samples have them. All items of a pass have them or none; they make
  // it faster, most of all where no loss is wanted, and change no bit.
  HingeShard<T> hinge = {};
};

// One pass over the shard for all items, 1 <= items.size() <= kMaxBatch: F_i(w) and its gradient for each. What an item
// gets depends neither on the others nor on `run`, which may spread the row blocks over threads and is null for one
// after the other. Nothing is allocated.
template <class T>
void loss_and_gradient(Loss loss, const Samples<T>& samples, Shard shard, std::span<Item<T>> items,
                       BlockMemory<T>& memory, const ForEach* run = nullptr);

struct Evaluation {
  double loss = 0;          // F_i(w), the same bits as loss_and_gradient gives
  std::size_t correct = 0;  // samples on whose side of zero the margin stands; z > 0 is the positive class
};

template <class T>
Evaluation evaluate(const Objective& objective, const Samples<T>& samples, Shard shard, const Vector<T>& w);

// The parts that evaluate adds up, for callers that spread blocks of kRowBlock rows over workers.
// Sums over one block: loss without the regulariser, not yet divided by n.
template <class T>
Evaluation evaluate_block(const Objective& objective, const Samples<T>& samples, Shard block,
                          const Vector<T>& w);
// Adds the blocks of a shard of n samples in their order.
template <class T>
Evaluation combine_blocks(const Objective& objective, const Samples<T>& samples,
                          std::span<const Evaluation> blocks, std::size_t n, const Vector<T>& w);

}  // namespace mfl
