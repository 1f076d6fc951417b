// The objective of a run: F_i(w) = lambda/2 |w|^2 + (1/n) sum_r loss(w . x_r, y_r) over the n samples of a shard. Loss and
// gradient are computed in one pass, with the same bits on any number of threads and any SIMD width. Example: end of file.
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

// No F_i is below it, whatever the data and w: 0 for all four losses with lambda >= 0.
double least_loss(const Objective& objective);

// Consecutive samples: the data of one node.
struct Shard {
  std::size_t first = 0;
  std::size_t count = 0;
};

constexpr std::size_t row_blocks(std::size_t rows) { return (rows + kRowBlock - 1) / kRowBlock; }

// A data set with the targets of its task, ready to train on in precision T. Owns both. Immutable except for refill, so
// safe to share among threads.
template <class T>
class Samples {
 public:
  // Features of bytes or of precision T (see with_precision), one target per row; else throws std::invalid_argument.
  Samples(Dataset data, std::span<const double> targets, const KernelSet& kernels = default_kernel_set());

  // A buffer for up to `most` rows of bytes that one worker refills. Initially empty.
  static Samples room(std::size_t most, std::size_t columns, double scale,
                      const KernelSet& kernels = default_kernel_set());
  struct Unfilled {
    std::span<std::uint8_t> bytes;  // rows x columns
    std::span<T> targets;           // one per row
  };
  // Only for room(): makes it hold `rows` <= `most` rows, which the caller then writes. Does not allocate.
  Unfilled refill(std::size_t rows);

  std::size_t size() const { return data_.rows; }
  std::size_t columns() const { return data_.columns; }
  const Dataset& data() const { return data_; }
  const Kernels<T>& kernels() const { return *kernels_; }
  RowBlock<T> rows(Shard shard) const;
  const T* targets(std::size_t first) const { return targets_.data() + first; }
  // Whether HingeSums can compute the gradient of this loss over `count` samples.
  bool has_hinge_sums(Loss loss, std::size_t count) const;

 private:
  Dataset data_;
  std::vector<T> targets_;
  std::vector<std::uint64_t> chunks_;  // as RowBlock::chunks; empty if few chunks are zero
  std::vector<float> lengths_;         // as RowBlock::lengths; empty if not needed
  const Kernels<T>* kernels_;
};

// Runs work(i) once for every i < n, in any order or concurrently, and returns when all are done.
using ForEach = std::function<void(std::size_t n, const std::function<void(std::size_t)>& work)>;

// Memory for the gradients of row blocks, reused in every pass. Up to `wave` blocks are computed concurrently.
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

// The HingeSums of a shard, and how far w has moved. All pointers are null if the shard has none.
template <class T>
struct HingeShard {
  std::uint32_t* active = nullptr;  // kActiveWords for each row block
  std::int32_t* sums = nullptr;     // one vector for each row block computed concurrently
  float* reach = nullptr;           // one per row
  T* last_w = nullptr;              // w of the last pass; initially zero
  double* travelled = nullptr;      // length of the path of w; initially zero
  double* largest_norm = nullptr;   // largest |w| on that path; initially zero
};

// Owns the HingeSums of one model on some shards. They adapt to any w, so the model may jump between passes.
template <class T>
class HingeMemory {
 public:
  // Up to `wave` row blocks of a shard are computed concurrently.
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

// One of the models that share a pass over the data.
template <class T>
struct Item {
  const T* w;   // columns() numbers
  T* gradient;  // written
  double lambda;
  bool wants_loss = true;
  double loss = 0;  // F_i(w), written if wants_loss
  // Kept between passes over this shard, if Samples::has_hinge_sums. Either all items of a pass have them or none. They make
  // the pass faster, especially without wants_loss, and change no bit.
  HingeShard<T> hinge = {};
};

// Computes F_i(w) and its gradient for every item in one pass over the shard; 1 <= items.size() <= kMaxBatch. The result of an
// item depends neither on the other items nor on `run`, which may distribute the row blocks over threads; if it is null they
// run one after the other. Does not allocate.
template <class T>
void loss_and_gradient(Loss loss, const Samples<T>& samples, Shard shard, std::span<Item<T>> items,
                       BlockMemory<T>& memory, const ForEach* run = nullptr);

struct Evaluation {
  double loss = 0;          // F_i(w), the same bits as from loss_and_gradient
  std::size_t correct = 0;  // samples whose margin has the sign of their class; z > 0 is positive
};

template <class T>
Evaluation evaluate(const Objective& objective, const Samples<T>& samples, Shard shard, const Vector<T>& w);

// The parts of evaluate, for callers that distribute blocks of kRowBlock rows over workers.
// The sums over one block: the loss without the regulariser, not divided by n.
template <class T>
Evaluation evaluate_block(const Objective& objective, const Samples<T>& samples, Shard block,
                          const Vector<T>& w);
// Adds the blocks of a shard of n samples in their order.
template <class T>
Evaluation combine_blocks(const Objective& objective, const Samples<T>& samples,
                          std::span<const Evaluation> blocks, std::size_t n, const Vector<T>& w);

}  // namespace mfl

// Example: the loss and the gradient of one model over all samples, on this thread.
//
//   Samples<float> samples(std::move(dataset), targets);
//   BlockMemory<float> memory(samples.columns(), 1, 1);
//   Item<float> item = {.w = w.data(), .gradient = gradient.data(), .lambda = 0.3};
//   loss_and_gradient(Loss::kHinge, samples, {0, samples.size()}, std::span(&item, 1), memory);
//   // item.loss is F(w); gradient holds its gradient
