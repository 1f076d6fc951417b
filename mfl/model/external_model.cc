#include <stdexcept>
#include <utility>

#include "mfl/model/model.h"

namespace mfl {
namespace {

[[noreturn]] void not_here() { throw std::logic_error("an external model is trained by its trainer"); }

template <class T>
class ExternalModel final : public Model<T> {
 public:
  explicit ExternalModel(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

  std::span<const Tensor> tensors() const override { return tensors_; }
  std::size_t outputs() const override { return 1; }
  std::unique_ptr<Workspace> make_workspace(std::size_t /*settings*/, std::size_t /*wave*/) const override {
    return std::make_unique<Workspace>();
  }
  void loss_and_gradient(const Samples<T>& /*samples*/, Shard /*rows*/, std::span<Item<T>> /*items*/,
                         Workspace& /*workspace*/, const ForEach* /*run*/) const override {
    not_here();
  }
  Evaluation evaluate_block(const Samples<T>& /*samples*/, Shard /*block*/, const T* /*w*/) const override {
    not_here();
  }
  void scores(const Samples<T>& /*samples*/, Shard /*block*/, const T* /*w*/,
              double* /*out*/) const override {
    not_here();
  }
  double squared_norm(const Kernels<T>& /*kernels*/, const T* /*w*/) const override { not_here(); }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace

template <class T>
std::shared_ptr<const Model<T>> external_model(std::vector<Tensor> tensors) {
  return std::make_shared<ExternalModel<T>>(std::move(tensors));
}

template std::shared_ptr<const Model<float>> external_model(std::vector<Tensor>);
template std::shared_ptr<const Model<double>> external_model(std::vector<Tensor>);

}  // namespace mfl
