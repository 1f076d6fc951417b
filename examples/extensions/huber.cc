// F(w) = lambda/2 |w|^2 + (1/n) sum_r huber(w . x_r - y_r), huber(e) = e^2/2 for |e| <= 1, |e| - 1/2 beyond.
#include <mfl/model/models.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "extensions.h"

namespace {

template <class T>
struct HuberWorkspace final : mfl::Workspace {
  std::array<double, mfl::kRowBlock> margins;
  std::array<T, mfl::kRowBlock> coefficients;
};

template <class T>
class Huber final : public mfl::Model<T> {
 public:
  explicit Huber(std::size_t columns) : tensors_{{"weights", {columns}}} {}

  std::span<const mfl::Tensor> tensors() const override { return tensors_; }
  std::size_t outputs() const override { return 1; }
  std::optional<double> smoothness(double gram_eigenvalue, double lambda) const override {
    return lambda + gram_eigenvalue;  // no loss has a second derivative above 1
  }

  std::unique_ptr<mfl::Workspace> make_workspace(std::size_t /*settings*/,
                                                 std::size_t /*wave*/) const override {
    return std::make_unique<HuberWorkspace<T>>();
  }

  void loss_and_gradient(const mfl::Samples<T>& samples, mfl::Shard rows, std::span<mfl::Item<T>> items,
                         mfl::Workspace& workspace, const mfl::ForEach* /*run*/) const override {
    auto& memory = static_cast<HuberWorkspace<T>&>(workspace);
    const mfl::Kernels<T>& kernels = samples.kernels();
    for (mfl::Item<T>& item : items) {
      std::fill_n(item.gradient, columns(), T{0});
      item.loss = 0;
      for (std::size_t b = 0; b < mfl::row_blocks(rows.count); ++b) {
        const mfl::Shard block = mfl::block_of(rows, b);
        kernels.margins(samples.rows(block), item.w, memory.margins.data());
        item.loss += losses(memory.margins.data(), samples.targets(block.first), block.count,
                            memory.coefficients.data());
        kernels.add_rows(samples.rows(block), memory.coefficients.data(), item.gradient);
      }
      const double n = static_cast<double>(rows.count);
      kernels.finish_gradient(columns(), static_cast<T>(samples.data().scale / n),
                              static_cast<T>(item.lambda), item.w, item.gradient);
      item.loss = this->regularised(kernels, item.lambda, item.loss, rows.count, item.w);
    }
  }

  mfl::Evaluation evaluate_block(const mfl::Samples<T>& samples, mfl::Shard block,
                                 const T* w) const override {
    std::array<double, mfl::kRowBlock> margins;
    scores(samples, block, w, margins.data());
    return {losses(margins.data(), samples.targets(block.first), block.count, nullptr), 0};
  }

  void scores(const mfl::Samples<T>& samples, mfl::Shard block, const T* w, double* out) const override {
    samples.kernels().margins(samples.rows(block), w, out);
  }

  double squared_norm(const mfl::Kernels<T>& kernels, const T* w) const override {
    return kernels.squared_norm(columns(), w);
  }

 private:
  std::size_t columns() const { return tensors_[0].shape[0]; }

  // The sum of the losses; d loss / d margin unless null.
  static double losses(const double* margins, const T* y, std::size_t count, T* coefficients) {
    double sum = 0;
    for (std::size_t r = 0; r < count; ++r) {
      const double error = margins[r] - static_cast<double>(y[r]);
      sum += std::abs(error) <= 1 ? error * error / 2 : std::abs(error) - 0.5;
      if (coefficients != nullptr) coefficients[r] = static_cast<T>(std::clamp(error, -1.0, 1.0));
    }
    return sum;
  }

  std::array<mfl::Tensor, 1> tensors_;
};

}  // namespace

void add_huber() {
  mfl::ModelEntry entry;
  entry.name = "huber";
  entry.description = "linear regression with the Huber loss";
  entry.targets = mfl::TargetKind::kReal;
  entry.least_loss = 0;
  entry.smooth = true;
  entry.make_f32 = [](const mfl::ModelShape& shape) { return std::make_shared<Huber<float>>(shape.columns); };
  entry.make_f64 = [](const mfl::ModelShape& shape) {
    return std::make_shared<Huber<double>>(shape.columns);
  };
  mfl::models().add(std::move(entry));
}
