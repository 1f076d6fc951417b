// How well a classifier tells classes apart: counts of what was predicted for what, and the usual metrics of them.
//
//   ClassCounts counts(schema.classes.size());
//   counts.add_scores<float>(truth, scores);     // for every sample; scores has one number per class
//   counts.merge(other);                         // of another block, thread or rank
//   const ClassMetrics metrics = metrics_of(counts);
//   reply["metrics"] = to_json(metrics, schema.classes);  // or to_json(counts, schema.classes), with the matrix
//
// Counts are whole numbers, so a sum of them is the same in any order. A class is its position in Schema::classes. Two classes
// are counted as any other number of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mfl/base/json.h"

namespace mfl {

// The class with the largest score; of several, the one with the lowest index. NaN is below every number. `scores` is not empty;
// T is float or double.
template <class T>
std::size_t predicted_class(std::span<const T> scores);

// How many classes are ahead of `truth`: those with a larger score, and those with the same score and a lower index. 0 for
// the predicted class.
template <class T>
std::size_t rank_of(std::span<const T> scores, std::size_t truth);

// A confusion matrix with its sums by class. The matrix itself is kept for up to kMostMatrixClasses classes (8 MB); for more
// there are the sums alone, which all metrics are made of. Not thread-safe.
class ClassCounts {
 public:
  static constexpr std::size_t kMostMatrixClasses = 1000;
  static constexpr std::size_t kRanks = 5;  // ranks that are counted, from 0

  // classes >= 1. All counts are zero.
  explicit ClassCounts(std::size_t classes);

  std::size_t classes() const { return classes_; }
  bool has_matrix() const { return classes_ <= kMostMatrixClasses; }

  // One sample of class `truth` for which `predicted` was predicted; `rank` as of rank_of(): 0 if the two are
  // the same, else above 0. All three are below classes().
  void add(std::size_t truth, std::size_t predicted, std::size_t rank);
  // The same from the scores of a sample, one per class.
  template <class T>
  void add_scores(std::size_t truth, std::span<const T> scores);
  // The same for a target as models have them. With one score there are two classes: a target and a score > 0 are of the second.
  // With more, the target is the number of a class.
  void add_target(double target, std::span<const double> scores);

  // Adds the counts of other samples. Both have the same number of classes.
  void merge(const ClassCounts& other);
  // The same from the cells() of other counts of as many classes.
  void merge(std::span<const std::uint64_t> cells);
  // All counts as one array, whose length depends on classes() alone: what another process needs to merge them.
  std::span<const std::uint64_t> cells() const { return cells_; }

  std::uint64_t samples() const;
  std::uint64_t correct() const { return rank(0); }
  // Samples whose class has this rank; rank < kRanks.
  std::uint64_t rank(std::size_t rank) const { return cells_[rank]; }
  // Samples of a class; samples for which it was predicted; samples of it for which it was predicted.
  std::uint64_t support(std::size_t of_class) const { return sums(kSupport)[of_class]; }
  std::uint64_t predicted(std::size_t of_class) const { return sums(kPredicted)[of_class]; }
  std::uint64_t hits(std::size_t of_class) const { return sums(kHits)[of_class]; }
  // Samples of class `truth` for which `predicted` was predicted. Only with has_matrix().
  std::uint64_t count(std::size_t truth, std::size_t predicted) const;

 private:
  enum Sum : std::size_t { kSupport, kPredicted, kHits, kSums };

  std::span<const std::uint64_t> sums(Sum which) const {
    return std::span(cells_).subspan(kRanks + which * classes_, classes_);
  }
  std::uint64_t& sum(Sum which, std::size_t of_class) { return cells_[kRanks + which * classes_ + of_class]; }
  std::size_t matrix_cell(std::size_t truth, std::size_t predicted) const {
    return kRanks + kSums * classes_ + truth * classes_ + predicted;
  }

  std::size_t classes_;
  std::vector<std::uint64_t> cells_;  // ranks, the sums by class, the matrix row by row
};

// A quotient whose denominator is 0 is 0 throughout: the precision of a class that was never predicted, the recall of one without
// samples, the F1 of one that has neither, and all metrics of no samples. This is scikit-learn's zero_division=0.
struct ClassScore {
  double precision = 0;  // hits / predicted
  double recall = 0;     // hits / support
  double f1 = 0;         // 2 hits / (support + predicted)
  std::uint64_t support = 0;

  bool operator==(const ClassScore&) const = default;
};

struct TopK {
  std::size_t k = 0;
  double accuracy = 0;  // share of the samples whose class has a rank below k

  bool operator==(const TopK&) const = default;
};

struct ClassMetrics {
  static constexpr std::array<std::size_t, 2> kTopK = {3, 5};  // at most ClassCounts::kRanks

  std::uint64_t samples = 0;
  double accuracy = 0;
  std::vector<TopK> top;            // for those of kTopK that are below the number of classes
  std::vector<ClassScore> classes;  // in their order
  // The mean over all classes, each with the same weight and classes without samples included; its support is `samples`.
  ClassScore macro;

  bool operator==(const ClassMetrics&) const = default;
};

// Every quotient is rounded once, and means are summed in the order of the classes: equal counts give equal bits.
ClassMetrics metrics_of(const ClassCounts& counts);

// {"samples", "accuracy", "top_3", "top_5", "macro": {"precision", "recall", "f1"}, "classes": [{"class", "precision", "recall",
// "f1", "support"}, ...]}. `names` has one name per class.
Json to_json(const ClassMetrics& metrics, std::span<const std::string> names);

// The matrix as an array of rows, one per true class; null without has_matrix().
Json confusion_json(const ClassCounts& counts);

// What a run keeps: the metrics of the counts as above, and at the end "confusion", their matrix.
Json to_json(const ClassCounts& counts, std::span<const std::string> names);

}  // namespace mfl
