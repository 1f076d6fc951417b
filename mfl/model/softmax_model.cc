#include <algorithm>
#include <cassert>
#include <utility>

#include "mfl/model/metrics.h"
#include "mfl/model/model.h"

namespace mfl {
namespace {

// Of the row blocks that are computed concurrently.
template <class T>
struct SoftmaxWorkspace final : Workspace {
  struct Slot {
    Vector<T> logits;
    std::vector<Vector<T>> gradients;  // one per item; empty before the first use
    std::vector<double> losses;
  };
  SoftmaxWorkspace(std::size_t classes, std::size_t settings, std::size_t wave)
      : slots(wave, Slot{Vector<T>(kRowBlock * classes), std::vector<Vector<T>>(settings),
                         std::vector<double>(settings)}) {}
  std::vector<Slot> slots;
};

// Multinomial logistic regression: the scores of a row are z = x W + b, its loss is log sum_k exp(z_k) - z_y.
template <class T>
class SoftmaxModel final : public Model<T> {
 public:
  SoftmaxModel(std::size_t columns, std::size_t classes, bool intercept)
      : columns_(columns), classes_(classes), intercept_(intercept) {
    tensors_.push_back({"weights", {columns, classes}});
    if (intercept) tensors_.push_back({"intercept", {classes}});
  }

  std::span<const Tensor> tensors() const override { return tensors_; }
  std::size_t outputs() const override { return classes_; }

  // diag(p) - p p' has no eigenvalue above 1/2, and a column of ones adds at most 1 to those of the Gram matrix.
  std::optional<double> smoothness(double gram_eigenvalue, double lambda) const override {
    return lambda + (gram_eigenvalue + (intercept_ ? 1 : 0)) / 2;
  }

  std::unique_ptr<Workspace> make_workspace(std::size_t settings, std::size_t wave) const override {
    return std::make_unique<SoftmaxWorkspace<T>>(classes_, settings, wave);
  }

  void loss_and_gradient(const Samples<T>& samples, Shard rows, std::span<Item<T>> items,
                         Workspace& workspace, const ForEach* run) const override {
    assert(samples.columns() == columns_ && rows.count > 0);
    auto& slots = static_cast<SoftmaxWorkspace<T>&>(workspace).slots;
    const Kernels<T>& kernels = samples.kernels();
    const std::size_t parameters = this->parameters();
    const std::size_t blocks = row_blocks(rows.count);
    if (blocks == 1) {
      for (Item<T>& item : items) pass_over_rows(samples, rows, item, slots.front().logits.data());
      return;
    }
    for (Item<T>& item : items) {
      std::fill_n(item.gradient, parameters, T{0});
      item.loss = 0;
    }
    for (std::size_t first = 0; first < blocks; first += slots.size()) {
      const std::size_t count = std::min(slots.size(), blocks - first);
      const auto pass = [&](std::size_t slot) {
        pass_over_block(samples, block_of(rows, first + slot), items, slots[slot], first + slot == 0);
      };
      if (run != nullptr)
        (*run)(count, pass);
      else
        for (std::size_t slot = 0; slot < count; ++slot) pass(slot);
      for (std::size_t slot = 0; slot < count; ++slot)
        for (std::size_t i = 0; i < items.size(); ++i) {
          items[i].loss += slots[slot].losses[i];
          if (first + slot != 0) kernels.add(parameters, slots[slot].gradients[i].data(), items[i].gradient);
        }
    }
    for (Item<T>& item : items) finish(samples, rows.count, item);
  }

  Evaluation evaluate_block(const Samples<T>& samples, Shard block, const T* w) const override {
    const Vector<T> z = logits(samples, block, w);
    const T* y = samples.targets(block.first);
    Evaluation out;
    out.loss = losses(samples, block, z.data(), nullptr);
    for (std::size_t r = 0; r < block.count; ++r)
      out.correct +=
          static_cast<T>(predicted_class(std::span<const T>(z).subspan(r * classes_, classes_))) == y[r] ? 1
                                                                                                         : 0;
    return out;
  }

  void scores(const Samples<T>& samples, Shard block, const T* w, double* out) const override {
    std::ranges::copy(logits(samples, block, w), out);
  }

  double squared_norm(const Kernels<T>& kernels, const T* w) const override {
    return kernels.squared_norm(weights(), w);
  }

 private:
  std::size_t weights() const { return columns_ * classes_; }

  Vector<T> logits(const Samples<T>& samples, Shard block, const T* w) const {
    Vector<T> z(block.count * classes_);
    samples.kernels().softmax_logits(samples.rows(block), classes_, intercept_, w, z.data());
    return z;
  }

  // Their sum, each with the weight of its row, and the coefficients unless null; they may replace the logits.
  double losses(const Samples<T>& samples, Shard rows, const T* z, T* coefficients) const {
    const Kernels<T>& kernels = samples.kernels();
    const T* y = samples.targets(rows.first);
    const T* weights = samples.weights(rows.first);
    if (weights == nullptr) return kernels.softmax_losses(rows.count, classes_, z, y, coefficients);
    double sum = 0;
    for (std::size_t r = 0; r < rows.count; ++r) {
      T* const c = coefficients == nullptr ? nullptr : coefficients + r * classes_;
      sum +=
          static_cast<double>(weights[r]) * kernels.softmax_losses(1, classes_, z + r * classes_, y + r, c);
      if (c != nullptr)
        for (std::size_t k = 0; k < classes_; ++k) c[k] *= weights[r];
    }
    return sum;
  }

  // All of a gradient that has one block.
  void pass_over_rows(const Samples<T>& samples, Shard rows, Item<T>& item, T* z) const {
    const Kernels<T>& kernels = samples.kernels();
    const RowBlock<T> block = samples.rows(rows);
    kernels.softmax_logits(block, classes_, intercept_, item.w, z);
    item.loss = losses(samples, rows, z, z);
    kernels.softmax_gradient(block, classes_, intercept_, z, finish_of(samples, rows.count, item),
                             item.gradient);
    if (item.wants_loss) item.loss = this->regularised(kernels, item.lambda, item.loss, rows.count, item.w);
  }

  void pass_over_block(const Samples<T>& samples, Shard block, std::span<Item<T>> items,
                       typename SoftmaxWorkspace<T>::Slot& slot, bool is_first) const {
    const Kernels<T>& kernels = samples.kernels();
    const RowBlock<T> rows = samples.rows(block);
    T* const z = slot.logits.data();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!is_first) slot.gradients[i].assign(this->parameters(), T{0});
      T* const gradient = is_first ? items[i].gradient : slot.gradients[i].data();
      kernels.softmax_logits(rows, classes_, intercept_, items[i].w, z);
      slot.losses[i] = losses(samples, block, z, z);
      kernels.softmax_add_rows(rows, classes_, intercept_, z, gradient);
    }
  }

  static SoftmaxFinish<T> finish_of(const Samples<T>& samples, std::size_t n, const Item<T>& item) {
    return {.w = item.w,
            .factor = static_cast<T>(samples.data().scale / static_cast<double>(n)),
            .lambda = static_cast<T>(item.lambda),
            .intercept_factor = static_cast<T>(1 / static_cast<double>(n))};
  }

  void finish(const Samples<T>& samples, std::size_t n, Item<T>& item) const {
    const Kernels<T>& kernels = samples.kernels();
    const SoftmaxFinish<T> factors = finish_of(samples, n, item);
    kernels.finish_gradient(weights(), factors.factor, factors.lambda, item.w, item.gradient);
    if (intercept_)
      kernels.finish_gradient(classes_, factors.intercept_factor, T{0}, item.w + weights(),
                              item.gradient + weights());
    if (item.wants_loss) item.loss = this->regularised(kernels, item.lambda, item.loss, n, item.w);
  }

  std::size_t columns_, classes_;
  bool intercept_;
  std::vector<Tensor> tensors_;
};

}  // namespace

template <class T>
std::shared_ptr<const Model<T>> softmax_model(std::size_t columns, std::size_t classes, bool intercept) {
  return std::make_shared<SoftmaxModel<T>>(columns, classes, intercept);
}

template std::shared_ptr<const Model<float>> softmax_model(std::size_t, std::size_t, bool);
template std::shared_ptr<const Model<double>> softmax_model(std::size_t, std::size_t, bool);

}  // namespace mfl
