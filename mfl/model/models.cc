#include "mfl/model/models.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mfl {
namespace {

// That of the squared hinge, with room for a gradient that jumps.
double hinge_step_bound(double gram_eigenvalue, double lambda) {
  constexpr double kCaution = 10;
  return kCaution * (gram_eigenvalue + lambda);
}

ModelEntry linear(std::string name, std::string description, Loss loss, TargetKind targets, double lambda) {
  ModelEntry entry;
  entry.name = std::move(name);
  entry.description = std::move(description);
  entry.targets = targets;
  entry.lambda = lambda;
  entry.has_intercept = true;
  entry.loss = loss;
  if (loss == Loss::kLogistic) entry.link = Link::kSigmoid;
  entry.least_loss = 0;
  entry.smooth = loss != Loss::kHinge;
  if (loss == Loss::kHinge) entry.step_bound = hinge_step_bound;
  entry.make_f32 = [loss](const ModelShape& shape) {
    return linear_model<float>(loss, shape.columns, shape.intercept);
  };
  entry.make_f64 = [loss](const ModelShape& shape) {
    return linear_model<double>(loss, shape.columns, shape.intercept);
  };
  return entry;
}

template <class T>
std::shared_ptr<const Model<T>> softmax(const ModelShape& shape) {
  return softmax_model<T>(shape.columns, std::max<std::size_t>(2, shape.classes), shape.intercept);
}

ModelEntry softmax_entry() {
  ModelEntry entry;
  entry.name = "softmax";
  entry.description = "multinomial logistic regression, for two or more classes";
  entry.targets = TargetKind::kIndex;
  entry.has_intercept = true;
  entry.link = Link::kSoftmax;
  entry.least_loss = 0;
  entry.smooth = true;
  entry.make_f32 = softmax<float>;
  entry.make_f64 = softmax<double>;
  return entry;
}

ModelEntry external_entry() {
  ModelEntry entry;
  entry.name = "external";
  entry.description = "a model of your own, trained by a program of your own (--trainer)";
  entry.targets = TargetKind::kNone;
  entry.external = true;
  entry.make_f32 = [](const ModelShape& shape) { return external_model<float>(shape.tensors); };
  entry.make_f64 = [](const ModelShape& shape) { return external_model<double>(shape.tensors); };
  return entry;
}

}  // namespace

Catalog<ModelEntry>& models() {
  constexpr double kPaperLambda = 0.3;
  static Catalog<ModelEntry> all(
      "model",
      {linear("svm", "linear support vector machine with the hinge loss", Loss::kHinge, TargetKind::kSigned,
              kPaperLambda),
       linear("squared-svm", "the same with the squared hinge", Loss::kSquaredHinge, TargetKind::kSigned,
              kPaperLambda),
       linear("linear", "linear regression with the squared loss", Loss::kSquared, TargetKind::kReal, 0),
       linear("logistic", "logistic regression, for two classes", Loss::kLogistic, TargetKind::kUnit, 0),
       softmax_entry(), external_entry()});
  return all;
}

}  // namespace mfl
