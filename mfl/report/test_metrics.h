// How a run does on its test set: what the store keeps (RunSummary::test_metrics), for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mfl {

struct TestedClass {
  std::string name;
  double precision = 0, recall = 0, f1 = 0;
  std::uint64_t count = 0;  // samples
};

struct TestedClasses {
  std::vector<TestedClass> classes;
  double precision = 0, recall = 0, f1 = 0;  // means over the classes
  struct Top {
    std::uint64_t k = 0;
    double accuracy = 0;
  };
  std::optional<double> auc;  // for two classes; absent where the test set has samples of one only
  std::optional<Top> top;     // for the smallest k that was counted; absent for few classes
  // A row of counts for each true class, a column for each predicted one; empty where it was not kept.
  std::vector<std::vector<std::uint64_t>> confusion;
};

struct TestedNumbers {
  double rmse = 0, mae = 0;
  std::optional<double> r2;
};

// Nothing where the text is empty, of numbers, or not what a run keeps.
std::optional<TestedClasses> read_test_metrics(std::string_view json);
// Reads the metrics of a regression.
std::optional<TestedNumbers> read_test_numbers(std::string_view json);

// "precision 89.45 %, recall 89.41 %, F1 89.38 % (macro)"
std::string macro_text(const TestedClasses& tested);
// " (top 3: 97.80 %)", to follow an accuracy; empty for few classes.
std::string top_text(const TestedClasses& tested);

// "RMSE 0.251, MAE 0.19, R^2 0.8713"
std::string numbers_text(const TestedNumbers& tested);

// What there is to say beside loss and accuracy, as names and values on short lines: the means over the
// classes, of two classes the scores of the positive one and ROC AUC, of numbers the errors. Empty where
// read_test_metrics() and read_test_numbers() have nothing.
std::vector<std::pair<std::string, std::string>> metric_lines(std::string_view json);
// The lines by class and the confusion matrix where it is shown, each after an empty line; empty where there
// are no classes.
std::string class_tables_text(std::string_view json);

// One line per class, at most 56 columns wide. Of many classes those with the lowest F1, and a line that says
// so.
inline constexpr std::size_t kMostClassLines = 20;
std::string classes_text(const TestedClasses& tested);

// The confusion matrix under its title; empty where there is none, for more classes than these, and where it
// is wider than `width`.
inline constexpr std::size_t kMostConfusionClasses = 12;
std::string confusion_text(const TestedClasses& tested, std::size_t width = 80);

}  // namespace mfl
