// How good the scores of a model are on a test set: metrics by class, ROC AUC of two classes, and the errors of a regression.
//
//   const TestLabels labels = test_labels(schema, TargetKind::kSigned, model.outputs());
//   const ScoreMetrics metrics = evaluate_scores(scores, targets, labels);  // outputs() scores and one target per sample
//   reply["test_metrics"] = to_json(metrics, labels);                       // mfl/report/test_metrics.h makes text of it
//
// Equal scores and targets in the same order give equal bits; nothing here knows of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/data/schema.h"
#include "mfl/model/metrics.h"

namespace mfl {

// What the targets of a test set are, and with them which metrics apply.
struct TestLabels {
  bool has_accuracy = false;  // they are classes
  std::vector<std::string>
      classes;               // their names in the order of ClassCounts; empty: metrics by class do not apply
  bool are_numbers = false;  // they are numbers that the one score of a sample predicts
  bool external = false;     // trainers measure what they like
};

// For targets that make_targets() has made for a model of this kind with as many outputs. Of two classes the positive one is the
// last; where the schema names none, it is the last of the schema.
TestLabels test_labels(const Schema& schema, TargetKind kind, std::size_t outputs);

// Of predicted numbers. As scikit-learn's root_mean_squared_error, mean_absolute_error and r2_score, but that R^2 is absent where
// the targets are all the same (or there is one only): it compares with their variance, which is then 0. No samples: no errors.
struct NumberMetrics {
  std::uint64_t samples = 0;
  double rmse = 0;
  double mae = 0;
  std::optional<double> r2;

  bool operator==(const NumberMetrics&) const = default;
};

// One prediction per target. Sums go over blocks of 256 samples in their order.
NumberMetrics number_metrics(std::span<const double> predictions, std::span<const double> targets);

// The probability that a sample with a target > 0 has a larger score than one of the others, where equal scores count half: the
// area under the ROC curve. Counted exactly in whole numbers and divided once. Absent where all samples are of one class. NaN is
// below every number. Takes O(n log n) time, and memory for a copy.
std::optional<double> roc_auc(std::span<const double> scores, std::span<const double> targets);

// The one score of a sample with two classes: itself, or the last score minus the first.
double two_class_score(std::span<const double> scores);

struct ScoreMetrics {
  std::optional<ClassCounts> classes;    // where targets are classes
  std::optional<double> auc;             // of two classes that both have samples
  std::optional<NumberMetrics> numbers;  // where targets are numbers
};

// scores.size() is a multiple of targets.size(): all scores of a sample follow each other. A target is > 0 for the positive one of two
// classes where there is one score per sample, and the number of a class where there are more.
ScoreMetrics evaluate_scores(std::span<const double> scores, std::span<const double> targets,
                             const TestLabels& labels);

// What a run keeps. Of classes what metrics.h says and, of two, between "macro" and "classes", "positive" (the object of the last
// class) and "roc_auc" (null where it is absent). Of numbers {"samples", "rmse", "mae", "r2"}. null if there are neither.
Json to_json(const ScoreMetrics& metrics, const TestLabels& labels);
// The same as text; empty in place of null.
std::string metrics_text(const ScoreMetrics& metrics, const TestLabels& labels);

}  // namespace mfl
