// What is trained: parameters as named tensors in one flat vector w, and F_i(w) = lambda/2 |w|^2 + (1/n) sum_r loss(w, row r) over
// the n rows of a shard, with its gradient. A model knows no algorithm, no node and no engine; nobody asks which model it is.
//
//   const auto model = linear_model<float>(Loss::kLogistic, samples.columns());
//   const auto workspace = model->make_workspace(1, 1);
//   Vector<float> w(model->parameters()), gradient(model->parameters());
//   Item<float> item{.w = w.data(), .gradient = gradient.data(), .lambda = 0.3};
//   model->loss_and_gradient(samples, {0, samples.size()}, std::span(&item, 1), *workspace, nullptr);
//   // item.loss is F(w); gradient holds its gradient
//
// docs/extending.md has a model written outside of this repository.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/base/for_each.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/rng.h"
#include "mfl/base/vectors.h"
#include "mfl/model/samples.h"

namespace mfl {

// A part of w: `shape` numbers, the last index running fastest. The tensors of a model follow each other in w.
struct Tensor {
  std::string name;
  std::vector<std::size_t> shape;

  std::size_t size() const;
  bool operator==(const Tensor&) const = default;
};

// Memory for passes, made once per worker and used by one pass at a time. What is in it is the model's own.
class Workspace {
 public:
  virtual ~Workspace() = default;
};

// What a model keeps between passes over the same shards in order to be faster; it changes no bit. Different shards may be used
// concurrently.
class PassCache {
 public:
  virtual ~PassCache() = default;
};

// One of the weight vectors that share a pass over the data.
template <class T>
struct Item {
  const T* w;   // parameters() numbers
  T* gradient;  // written
  double lambda = 0;
  bool wants_loss = true;
  double loss = 0;  // F_i(w), written if wants_loss
  // Of make_cache(), with the number of the setting and of the shard there. Either all items of a pass have one or none.
  PassCache* cache = nullptr;
  std::size_t setting = 0, shard = 0;
};

// Sums over some rows, or means over all of them.
struct Evaluation {
  double loss = 0;
  std::size_t correct = 0;  // rows whose class is predicted
};

// Immutable, so safe to share among threads.
template <class T>
class Model {
 public:
  virtual ~Model() = default;

  virtual std::span<const Tensor> tensors() const = 0;
  std::size_t parameters() const;
  // Scores of a row: a margin, or one per class.
  virtual std::size_t outputs() const = 0;
  // Whether the rows that it is given end in a column of ones, which belongs to its intercept (preprocessed()).
  virtual bool constant_column() const { return false; }
  // The w that a run starts from; zero unless the model says otherwise. The stream belongs to the run's seed.
  virtual void initialise(std::span<T> w, Stream stream) const;
  // An upper bound of beta in |grad F_i(a) - grad F_i(b)| <= beta |a - b| for rows whose Gram matrix X'X/n has this largest
  // eigenvalue; nothing where gradients jump or where none is known.
  virtual std::optional<double> smoothness(double gram_eigenvalue, double lambda) const;

  // For passes with up to `settings` items, at most kMaxBatch, that compute up to `wave` row blocks concurrently.
  virtual std::unique_ptr<Workspace> make_workspace(std::size_t settings, std::size_t wave) const = 0;
  // For these shards and settings; null where there is nothing to gain.
  virtual std::unique_ptr<PassCache> make_cache(const Samples<T>& samples, std::span<const Shard> shards,
                                                std::size_t settings, std::size_t wave) const;

  // F_i(w) and its gradient for every item in one pass over the rows; 1 <= items.size() <= kMaxBatch. What an item gets depends
  // neither on the other items nor on `run`, which may distribute row blocks over threads; if it is null they run one after the
  // other. Does not allocate.
  virtual void loss_and_gradient(const Samples<T>& samples, Shard rows, std::span<Item<T>> items,
                                 Workspace& workspace, const ForEach* run) const = 0;

  // The sums over at most kRowBlock rows: the loss without the regulariser, not divided by n. Of the same bits as in a pass.
  virtual Evaluation evaluate_block(const Samples<T>& samples, Shard block, const T* w) const = 0;
  // outputs() numbers for each of at most kRowBlock rows. The class of a row is its largest score, the first of equal ones; for one
  // output it is the positive one if that is > 0.
  virtual void scores(const Samples<T>& samples, Shard block, const T* w, double* out) const = 0;
  // |w|^2 over the parameters that the regulariser counts.
  virtual double squared_norm(const Kernels<T>& kernels, const T* w) const = 0;

  // F over n rows whose losses sum to loss_sum.
  double regularised(const Kernels<T>& kernels, double lambda, double loss_sum, std::size_t n,
                     const T* w) const;
  // The mean over the rows, added up block by block in their order; `correct` is a sum.
  Evaluation evaluate(const Samples<T>& samples, Shard rows, double lambda, const T* w) const;
};

// The rows of one block of a shard.
Shard block_of(Shard shard, std::size_t block);

// One margin per row, w . x (objective.h): weights [columns] and, if wanted, an intercept [1], which the regulariser does not count
// and which is the weight of a constant column.
template <class T>
std::shared_ptr<const Model<T>> linear_model(Loss loss, std::size_t columns, bool intercept = false);

// Multinomial logistic regression: weights [columns, classes] and, if wanted, an intercept [classes], which the regulariser does
// not count. Targets are numbers of classes. classes >= 2.
template <class T>
std::shared_ptr<const Model<T>> softmax_model(std::size_t columns, std::size_t classes, bool intercept);

// What mfl knows of a model that it does not train: its tensors. Losses, gradients and scores throw std::logic_error.
template <class T>
std::shared_ptr<const Model<T>> external_model(std::vector<Tensor> tensors);

}  // namespace mfl
