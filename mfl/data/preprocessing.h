// What is done to the features of a row before a model sees them, and undone nowhere: a model is trained on,
// and predicts from, z_j = (x_j - mean_j) / deviation_j, with a constant 1 behind the features where it has
// an intercept.
//
//   Dataset ready = *preprocessed(std::move(data), schema.preprocessing, model->constant_column());
//
// Plain values.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl {

enum class Standardise {
  kNone,
  kScale,  // divides by the deviation: for sparse rows, whose zeros stay zeros
  kFull,   // subtracts the mean, and divides by the deviation
};

// "none", "scale", "full".
std::string_view standardise_name(Standardise standardise);
std::optional<Standardise> parse_standardise(std::string_view name);

struct Preprocessing {
  bool intercept = false;  // the model has one
  Standardise standardise = Standardise::kNone;
  // One per feature, in the unit of Dataset::scale * stored number. `means` only for kFull; deviations are >
  // 0, and 1 for a feature that is constant in the training data. Both are empty as long as they are not
  // measured.
  std::vector<double> means = {};
  std::vector<double> deviations = {};
  // What a training sample of each class counts in the loss, in the order of Schema::classes; empty: 1 each.
  std::vector<double> class_weights = {};

  bool operator==(const Preprocessing&) const = default;
};

// Whether everything that a row needs is known.
bool is_measured(const Preprocessing& preprocessing);

// The rows as a model sees them, in f64 and of scale 1 where anything changes; the same data where nothing
// does. With `constant_column` they end in a column of ones. kBadConfig for sparse rows and kFull; kBadData
// for a number that is too large.
Result<Dataset> preprocessed(Dataset data, const Preprocessing& preprocessing, bool constant_column);

}  // namespace mfl
