// A trained model as a value: weights with all that is needed to use them.
//
//   MFL_TRY(const Store store, Store::open("runs.db", {.read_only = true}));
//   MFL_TRY(const TrainedModel model, model_of_run(store, "latest"));
//   MFL_CHECK(write_model_file("diabetes.npz", model));      // model_file.h
//   MFL_TRY(const Predictor predictor, Predictor::make(model));  // predictor.h
//
// Plain values; a copy is as good as the original.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/data/schema.h"
#include "mfl/model/model.h"
#include "mfl/model/models.h"
#include "mfl/record/store.h"

namespace mfl {

struct TrainedModel {
  std::string model;  // of models()
  Precision precision = Precision::kF32;
  Schema
      schema;  // complete, with the number of columns and what is done to features before the model sees them
  std::vector<Tensor> tensors;   // in the order of the weights
  std::vector<double> weights;   // numbers of the precision
  std::optional<double> scale;   // multiplies stored features; absent: 1, or 1/255 for bytes
  double lambda = 0;             // of the regulariser, which is part of a loss
  std::string digest;            // of the weights, as runs have it: 64 hexadecimal digits
  std::string run;               // id of the run; empty: unknown
  std::string mfl_version = {};  // that trained it

  bool operator==(const TrainedModel&) const = default;
};

// SHA-256 (hex) of the weights as little-endian numbers of the precision.
std::string digest_of_weights(const TrainedModel& model);

// kBadData unless the model is one of models(), its tensors are those that it has for the schema, and the weights are as many and
// have the digest.
Result<void> check_model(const TrainedModel& model);

// kBadConfig for an external model, of which mfl knows the weights alone. `what` ("mfl predict") needs more.
Result<void> require_own(const TrainedModel& model, std::string_view what);

// The entry of the table. The model has passed check_model(), here and below.
const ModelEntry& entry_of(const TrainedModel& model);
// Without weights.
template <class T>
std::shared_ptr<const Model<T>> make_model(const TrainedModel& model);
// T has at least the precision of the model.
template <class T>
Vector<T> weights_of(const TrainedModel& model);
// All but the weights: {"model", "precision", "tensors", "schema", "scale", "lambda", "digest", "run", "mfl_version"}.
Json to_json(const TrainedModel& model);
// One of the tensors.
std::vector<double> tensor_values(const TrainedModel& model, std::string_view name);
bool has_tensor(const TrainedModel& model, std::string_view name);

// The classes in the order of the schema, whatever they are called; empty for a regression.
std::vector<std::string> classes_of(const TrainedModel& model);

// The model of a run, as Store::get names it. kBadConfig if the run has none: it has not ended, diverged, or was made before models were kept.
Result<TrainedModel> model_of_run(const Store& store, std::string_view run);

// From a file if `what` ends in .npz or .onnx or has a slash, else from the run of that name, else from the file of that name.
Result<TrainedModel> find_model(std::string_view what, const std::filesystem::path& store);

}  // namespace mfl
