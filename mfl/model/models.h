// The table of models. A program adds its own before it reads a configuration:
//
//   models().add({{.name = "ridge", .description = "..."}, TargetKind::kReal, ...});
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "mfl/base/catalog.h"
#include "mfl/data/schema.h"
#include "mfl/model/model.h"

namespace mfl {

// What a model is made for.
struct ModelShape {
  std::size_t columns = 0;           // features, without a constant column
  std::size_t classes = 0;           // of the schema; 0 for a regression
  bool intercept = false;            // only for models that have one
  std::vector<Tensor> tensors = {};  // of an external model
};

// What makes probabilities of classes out of scores.
enum class Link {
  kNone,     // nothing: the model has none
  kSigmoid,  // of the positive class, from one score
  kSoftmax,  // of all classes, from one score for each
};

struct ModelEntry : CatalogEntry {
  TargetKind targets = TargetKind::kReal;
  double lambda = 0;              // of the regulariser, unless the experiment says otherwise
  bool has_intercept = false;     // on request
  std::optional<Loss> loss = {};  // of a linear model: what the theory measures
  Link link = Link::kNone;
  // No F_i of the model is below it, whatever the data and w, for any lambda >= 0.
  double least_loss = -std::numeric_limits<double>::infinity();
  // Whether Model::smoothness gives a bound.
  bool smooth = false;
  // What eta = auto takes in place of the smoothness of a model whose gradients jump, for rows whose Gram
  // matrix X'X/n has this largest eigenvalue. A model that is not smooth and has no step bound needs a step
  // size that is stated.
  std::function<double(double gram_eigenvalue, double lambda)> step_bound = {};
  bool external = false;  // trained outside of mfl, by a program of the user's (docs/trainer.md)
  std::function<std::shared_ptr<const Model<float>>(const ModelShape&)> make_f32 = {};
  std::function<std::shared_ptr<const Model<double>>(const ModelShape&)> make_f64 = {};

  bool has_step_bound() const { return smooth || step_bound; }

  template <class T>
  std::shared_ptr<const Model<T>> make(const ModelShape& shape) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return make_f32(shape);
    } else {
      return make_f64(shape);
    }
  }
};

Catalog<ModelEntry>& models();

}  // namespace mfl
