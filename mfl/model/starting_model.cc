#include "mfl/model/starting_model.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mfl {
namespace {

template <class T>
class StartingModel final : public Model<T> {
 public:
  StartingModel(std::shared_ptr<const Model<T>> model, Vector<T> w)
      : model_(std::move(model)), w_(std::move(w)) {
    assert(w_.size() == model_->parameters());
  }

  void initialise(std::span<T> w, Stream /*stream*/) const override { std::ranges::copy(w_, w.begin()); }

  std::span<const Tensor> tensors() const override { return model_->tensors(); }
  std::size_t outputs() const override { return model_->outputs(); }
  bool constant_column() const override { return model_->constant_column(); }
  std::optional<double> smoothness(double gram_eigenvalue, double lambda) const override {
    return model_->smoothness(gram_eigenvalue, lambda);
  }
  std::unique_ptr<Workspace> make_workspace(std::size_t settings, std::size_t wave) const override {
    return model_->make_workspace(settings, wave);
  }
  std::unique_ptr<PassCache> make_cache(const Samples<T>& samples, std::span<const Shard> shards,
                                        std::size_t settings, std::size_t wave) const override {
    return model_->make_cache(samples, shards, settings, wave);
  }
  void loss_and_gradient(const Samples<T>& samples, Shard rows, std::span<Item<T>> items,
                         Workspace& workspace, const ForEach* run) const override {
    model_->loss_and_gradient(samples, rows, items, workspace, run);
  }
  Evaluation evaluate_block(const Samples<T>& samples, Shard block, const T* w) const override {
    return model_->evaluate_block(samples, block, w);
  }
  void scores(const Samples<T>& samples, Shard block, const T* w, double* out) const override {
    model_->scores(samples, block, w, out);
  }
  double squared_norm(const Kernels<T>& kernels, const T* w) const override {
    return model_->squared_norm(kernels, w);
  }

 private:
  std::shared_ptr<const Model<T>> model_;
  Vector<T> w_;
};

}  // namespace

template <class T>
std::shared_ptr<const Model<T>> starting_from(std::shared_ptr<const Model<T>> model, Vector<T> w) {
  return std::make_shared<StartingModel<T>>(std::move(model), std::move(w));
}

template std::shared_ptr<const Model<float>> starting_from(std::shared_ptr<const Model<float>>,
                                                           Vector<float>);
template std::shared_ptr<const Model<double>> starting_from(std::shared_ptr<const Model<double>>,
                                                            Vector<double>);

}  // namespace mfl
