// What a trained model says of rows that it has not seen.
//
//   MFL_TRY(const TrainedModel model, read_model_file("diabetes.npz"));
//   MFL_TRY(const Predictor predictor, Predictor::make(model));
//   MFL_TRY(const Predictions said, predictor.predict(std::vector{0.5, 1.25, 3.0}));  // one row of three features
//   predictor.classes()[said.labels[0]];                                             // its class
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/trained/trained_model.h"

namespace mfl {

struct Predictions {
  std::size_t rows = 0;
  std::vector<std::uint32_t>
      labels;                  // one per row: the position in Predictor::classes(); empty for a regression
  std::vector<double> values;  // one per row and Predictor::value_names(), row by row
};

// The scores of rows, and what they are worth against known targets.
struct ScoredRows {
  std::vector<double> scores;   // one per row and output of the model, row by row
  std::vector<double> targets;  // one per row, as the model has been trained on
  double loss = 0;              // the mean over the rows with the regulariser, as runs report it
  std::size_t correct = 0;      // rows whose class is predicted
};

// Scores have the bits that an evaluation during training gives: same kernels, same precision. Immutable, so safe to share among threads.
class Predictor {
 public:
  // kBadData for a model that check_model() refuses.
  static Result<Predictor> make(TrainedModel model);

  const TrainedModel& model() const { return *model_; }
  // Empty for a regression.
  const std::vector<std::string>& classes() const { return classes_; }
  // "probability_CLASS" for each class, "score" (above zero for the positive class; "score_CLASS" with a score for each class), or "prediction".
  const std::vector<std::string>& value_names() const { return value_names_; }

  // Rows with the model's columns in the order of its schema; their labels are not looked at. Memory: a few times that of the rows. kBadData for another
  // number of columns.
  Result<Predictions> predict(Dataset rows) const;
  // The same of plain numbers, row by row.
  Result<Predictions> predict(std::span<const double> rows) const;

  // The same rows with labels, which the schema must know: kBadData names file, line and column of one that it does not.
  Result<ScoredRows> score(Dataset rows) const;

 private:
  class Scorer;
  template <class T>
  class ScorerOf;
  explicit Predictor(TrainedModel model);
  Result<Dataset> prepared(Dataset rows) const;
  void label_and_value(const std::vector<double>& scores, Predictions& out) const;

  std::shared_ptr<const TrainedModel> model_;
  std::shared_ptr<const Scorer> scorer_;
  std::vector<std::string> classes_, value_names_;
  std::size_t positive_ = 0;  // position of the positive class of two
};

}  // namespace mfl
