#include <algorithm>
#include <array>
#include <cassert>

#include "mfl/model/model.h"
#include "mfl/model/objective.h"

namespace mfl {
namespace {

template <class T>
struct LinearWorkspace final : Workspace {
  LinearWorkspace(std::size_t columns, std::size_t settings, std::size_t wave)
      : memory(columns, settings, wave) {}
  BlockMemory<T> memory;
};

template <class T>
struct HingeCache final : PassCache {
  explicit HingeCache(std::vector<HingeMemory<T>> memories) : settings(std::move(memories)) {}
  std::vector<HingeMemory<T>> settings;
};

template <class T>
class LinearModel final : public Model<T> {
 public:
  LinearModel(Loss loss, std::size_t columns, bool intercept)
      : loss_(loss), tensors_{{"weights", {columns}}} {
    if (intercept) tensors_.push_back({"intercept", {1}});
  }

  std::span<const Tensor> tensors() const override { return tensors_; }
  std::size_t outputs() const override { return 1; }
  bool constant_column() const override { return tensors_.size() > 1; }

  std::optional<double> smoothness(double gram_eigenvalue, double lambda) const override {
    if (loss_ == Loss::kHinge) return std::nullopt;
    return lambda + largest_curvature(loss_) * gram_eigenvalue;
  }

  std::unique_ptr<Workspace> make_workspace(std::size_t settings, std::size_t wave) const override {
    return std::make_unique<LinearWorkspace<T>>(columns(), settings, wave);
  }

  // None where they would take much memory compared with the data, as with many settings on nodes of few samples.
  std::unique_ptr<PassCache> make_cache(const Samples<T>& samples, std::span<const Shard> shards,
                                        std::size_t settings, std::size_t wave) const override {
    const auto fits = [&](const Shard& shard) { return samples.has_hinge_sums(loss_, shard.count); };
    if (!std::ranges::all_of(shards, fits)) return nullptr;
    const std::size_t bytes = settings * HingeMemory<T>::bytes(shards, columns(), wave);
    if (bytes > samples.size() * columns() / 2) return nullptr;
    return std::make_unique<HingeCache<T>>(
        std::vector<HingeMemory<T>>(settings, HingeMemory<T>(shards, columns(), wave)));
  }

  void loss_and_gradient(const Samples<T>& samples, Shard rows, std::span<Item<T>> items,
                         Workspace& workspace, const ForEach* run) const override {
    assert(items.size() <= kMaxBatch && samples.columns() == columns());
    std::array<LinearItem<T>, kMaxBatch> linear;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item<T>& item = items[i];
      linear[i] = {.w = item.w,
                   .gradient = item.gradient,
                   .lambda = item.lambda,
                   .wants_loss = item.wants_loss,
                   .hinge = hinge_of(item)};
    }
    mfl::loss_and_gradient(loss_, samples, rows, std::span(linear.data(), items.size()),
                           static_cast<LinearWorkspace<T>&>(workspace).memory, run, counted_columns());
    for (std::size_t i = 0; i < items.size(); ++i) items[i].loss = linear[i].loss;
  }

  Evaluation evaluate_block(const Samples<T>& samples, Shard block, const T* w) const override {
    std::array<double, kRowBlock> z;
    scores(samples, block, w, z.data());
    const T* y = samples.targets(block.first);
    Evaluation out;
    out.loss = samples.weights(block.first) == nullptr
                   ? samples.kernels().losses(loss_, block.count, z.data(), y, nullptr)
                   : weighted_losses<T>(loss_, samples, block, z.data(), nullptr);
    for (std::size_t r = 0; r < block.count; ++r) out.correct += (z[r] > 0) == (y[r] > 0) ? 1 : 0;
    return out;
  }

  void scores(const Samples<T>& samples, Shard block, const T* w, double* out) const override {
    assert(block.count <= kRowBlock);
    samples.kernels().margins(samples.rows(block), w, out);
  }

  double squared_norm(const Kernels<T>& kernels, const T* w) const override {
    return kernels.squared_norm(counted_columns(), w);
  }

 private:
  // By the regulariser.
  std::size_t counted_columns() const { return tensors_[0].shape[0]; }
  std::size_t columns() const { return counted_columns() + (constant_column() ? 1 : 0); }

  static HingeShard<T> hinge_of(const Item<T>& item) {
    if (item.cache == nullptr) return {};
    return static_cast<HingeCache<T>&>(*item.cache).settings[item.setting].of(item.shard);
  }

  Loss loss_;
  std::vector<Tensor> tensors_;
};

}  // namespace

template <class T>
std::shared_ptr<const Model<T>> linear_model(Loss loss, std::size_t columns, bool intercept) {
  return std::make_shared<LinearModel<T>>(loss, columns, intercept);
}

template std::shared_ptr<const Model<float>> linear_model(Loss, std::size_t, bool);
template std::shared_ptr<const Model<double>> linear_model(Loss, std::size_t, bool);

}  // namespace mfl
