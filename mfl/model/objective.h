// The objective of the linear models: F_i(w) = lambda/2 |w|^2 + (1/n) sum_r loss(w . x_r, y_r) over the n samples of a shard. Loss and
// gradient are computed in one pass, with the same bits on any number of threads and any SIMD width. Example: end of file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mfl/base/for_each.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/vectors.h"
#include "mfl/model/model.h"
#include "mfl/model/samples.h"

namespace mfl {

struct Objective {
  Loss loss = Loss::kHinge;
  double lambda = 0;
};

// The largest second derivative of a loss by its margin: 1, or 1/4 for the logistic loss. Not for the hinge.
double largest_curvature(Loss loss);

// The sum over rows that have weights of weight times loss; coefficients[r] = d loss / d margin, without the weight, unless null.
template <class T>
double weighted_losses(Loss loss, const Samples<T>& samples, Shard rows, const double* margins,
                       T* coefficients);

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
struct LinearItem {
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
// run one after the other. The regulariser counts the first `counted` columns. Does not allocate.
template <class T>
void loss_and_gradient(Loss loss, const Samples<T>& samples, Shard shard, std::span<LinearItem<T>> items,
                       BlockMemory<T>& memory, const ForEach* run = nullptr,
                       std::size_t counted = std::numeric_limits<std::size_t>::max());

template <class T>
Evaluation evaluate(const Objective& objective, const Samples<T>& samples, Shard shard, const Vector<T>& w);

}  // namespace mfl

// Example: the loss and the gradient of one model over all samples, on this thread.
//
//   Samples<float> samples(std::move(dataset), targets);
//   BlockMemory<float> memory(samples.columns(), 1, 1);
//   LinearItem<float> item = {.w = w.data(), .gradient = gradient.data(), .lambda = 0.3};
//   loss_and_gradient(Loss::kHinge, samples, {0, samples.size()}, std::span(&item, 1), memory);
//   // item.loss is F(w); gradient holds its gradient
