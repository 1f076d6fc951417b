#include "mfl/report/test_metrics.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/model/score_metrics.h"
#include "tests/report/text.h"

namespace mfl {
namespace {

using test::widest_line;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// Class c has c + 1 samples more than `each`, of which one is taken for the class before it.
std::string metrics(std::size_t classes, std::uint64_t each, const std::string& prefix = "") {
  ClassCounts counts(classes);
  std::vector<std::string> names;
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::uint64_t i = 0; i < each + c; ++i) counts.add(c, c, 0);
    counts.add(c, c == 0 ? 1 : c - 1, 1);
    names.push_back(fmt::format("{}{}", prefix, c));
  }
  return to_json(counts, names).dump();
}

TEST(TestMetrics, AreReadAsTheyWereKept) {
  const auto tested = read_test_metrics(metrics(4, 8));
  ASSERT_TRUE(tested);
  ASSERT_EQ(tested->classes.size(), 4U);
  EXPECT_EQ(tested->classes[0].name, "0");
  EXPECT_EQ(tested->classes[0].count, 9U);
  EXPECT_EQ(tested->classes[0].recall, 8.0 / 9);
  EXPECT_EQ(tested->classes[3].precision, 1) << "an integer to a reader of JSON";
  EXPECT_EQ(tested->confusion[1], (std::vector<std::uint64_t>{1, 9, 0, 0}));
  ASSERT_TRUE(tested->top);
  EXPECT_EQ(tested->top->k, 3U);
  EXPECT_EQ(top_text(*tested), " (top 3: 100.00 %)");
  EXPECT_THAT(macro_text(*tested), StartsWith("precision 90."));
  EXPECT_EQ(top_text(*read_test_metrics(metrics(2, 8))), "");
}

TEST(TestMetrics, TwoClassesNameThePositiveOneAndAuc) {
  const TestLabels labels{.has_accuracy = true, .classes = {"no", "yes"}};
  const std::vector<double> scores = {1, 0.5, -1, 2, -3}, targets = {1, 1, 1, -1, -1};
  const std::string kept = metrics_text(evaluate_scores(scores, targets, labels), labels);
  EXPECT_THAT(metric_lines(kept),
              ElementsAre(Pair("by class", "precision 58.33 %, recall 58.33 %, F1 58.33 % (macro)"),
                          Pair("positive", "yes: precision 66.67 %, recall 66.67 %, F1 66.67 %"),
                          Pair("ROC AUC", "0.5")));
  EXPECT_THAT(class_tables_text(kept), AllOf(HasSubstr("\nno "), HasSubstr("rows: true class")));
  EXPECT_THAT(metric_lines(metrics(2, 8)), ::testing::SizeIs(2))
      << "a run of an earlier version has no ROC AUC";
  EXPECT_THAT(metric_lines(metrics(3, 8)), ::testing::SizeIs(1));
}

TEST(TestMetrics, NumbersShowTheirErrors) {
  const std::string kept = R"({"samples":2,"rmse":0.5,"mae":0.25,"r2":0.875})";
  EXPECT_THAT(metric_lines(kept), ElementsAre(Pair("test errors", "RMSE 0.5, MAE 0.25, R^2 0.875")));
  EXPECT_EQ(class_tables_text(kept), "");
  EXPECT_FALSE(read_test_metrics(kept));
  EXPECT_THAT(metric_lines(R"({"samples":2,"rmse":1,"mae":1,"r2":null})"),
              ElementsAre(Pair("test errors", "RMSE 1, MAE 1")));
  for (const char* text : {"", "null", "{}", R"({"rmse":null,"mae":null})", "nonsense"})
    EXPECT_THAT(metric_lines(text), ::testing::IsEmpty()) << text;
}

TEST(TestMetrics, OtherTextHasNoMetrics) {
  for (const char* text :
       {"", "null", "[]", "{}", "nonsense", R"({"classes":[]})", R"({"classes":[],"macro":{}})",
        R"({"classes":[{"class":"a"}],"macro":{}})", R"({"classes":3,"macro":4})"})
    EXPECT_FALSE(read_test_metrics(text)) << text;
  const auto ragged =
      read_test_metrics(R"({"classes":[{"class":"a","support":1}],"macro":{},"confusion":[[1,2],[3]]})");
  ASSERT_TRUE(ragged);
  EXPECT_TRUE(ragged->confusion.empty());
}

TEST(TestMetrics, OneLineForEachClassInLessThanSixtyColumns) {
  const std::string text = classes_text(*read_test_metrics(metrics(10, 900, "a class with a long name ")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 12);
  EXPECT_LE(widest_line(text), 60U) << text;
  EXPECT_THAT(classes_text(*read_test_metrics(metrics(2, 8))),
              HasSubstr("class  precision   recall       F1  count\n"));
}

TEST(TestMetrics, ManyClassesShowTheWorst) {
  const std::string text = classes_text(*read_test_metrics(metrics(100, 0)));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + 20 + 1);
  EXPECT_THAT(text, HasSubstr("\n0 "));
  EXPECT_THAT(text, Not(HasSubstr("\n99 ")));
  EXPECT_THAT(text, HasSubstr("20 of 100 classes, those with the lowest F1; all of them: --json\n"));
}

TEST(TestMetrics, TheMatrixIsShownWhereItFits) {
  const auto ten = *read_test_metrics(metrics(10, 900));
  const std::string text = confusion_text(ten);
  EXPECT_THAT(text, HasSubstr("rows: true class, columns: predicted"));
  EXPECT_THAT(text, HasSubstr("class    0    1    2"));
  EXPECT_LE(widest_line(text), 80U);
  EXPECT_EQ(confusion_text(ten, 50), "");
  EXPECT_NE(confusion_text(*read_test_metrics(metrics(12, 900))), "");
  EXPECT_EQ(confusion_text(*read_test_metrics(metrics(13, 9))), "");
  EXPECT_EQ(confusion_text(*read_test_metrics(metrics(12, 9, "long names "))), "");
}

}  // namespace
}  // namespace mfl
