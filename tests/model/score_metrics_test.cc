#include "mfl/model/score_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace mfl {
namespace {

using Numbers = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Schema two_classes() {
  Schema schema;
  schema.task = LabelTask::kBinary;
  schema.classes = {"no", "yes"};
  schema.positive = "yes";
  return schema;
}

Schema numbers() {
  Schema schema;
  schema.task = LabelTask::kRegression;
  return schema;
}

TEST(RocAuc, IsTheShareOfPairsInOrder) {
  // Of the 2 x 3 pairs, 0.8 is above all three and 0.3 above one.
  EXPECT_EQ(roc_auc(Numbers{0.1, 0.8, 0.4, 0.3, 0.35}, Numbers{-1, 1, -1, 1, -1}), 4.0 / 6);
  EXPECT_EQ(roc_auc(Numbers{1, 2, 3, 4}, Numbers{-1, -1, 1, 1}), 1);
  EXPECT_EQ(roc_auc(Numbers{1, 2, 3, 4}, Numbers{1, 1, 0, 0}), 0);
}

TEST(RocAuc, ATieCountsHalf) {
  EXPECT_EQ(roc_auc(Numbers{5, 5, 5}, Numbers{1, 0, 0}), 0.5);
  // (0.5 + 1) of the pairs with 0.5, (0.5 + 1) of those with the other.
  EXPECT_EQ(roc_auc(Numbers{0.5, 0.5, 0.2, 0.5}, Numbers{1, -1, -1, 1}), 3.0 / 4);
  EXPECT_EQ(roc_auc(Numbers{-0.0, 0.0}, Numbers{1, -1}), 0.5);
}

TEST(RocAuc, IsAbsentForOneClass) {
  EXPECT_FALSE(roc_auc(Numbers{1, 2}, Numbers{1, 1}));
  EXPECT_FALSE(roc_auc(Numbers{1, 2}, Numbers{-1, -1}));
  EXPECT_FALSE(roc_auc(Numbers{}, Numbers{}));
}

TEST(RocAuc, NanIsBelowEveryNumber) {
  const double low = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(roc_auc(Numbers{kNan, low}, Numbers{-1, 1}), 1);
  EXPECT_EQ(roc_auc(Numbers{kNan, low}, Numbers{1, -1}), 0);
  EXPECT_EQ(roc_auc(Numbers{kNan, kNan}, Numbers{1, -1}), 0.5);
}

RC_GTEST_PROP(RocAuc, MatchesACountOverAllPairs, ()) {
  const auto samples = *rc::gen::container<std::vector<std::pair<int, bool>>>(
      rc::gen::pair(rc::gen::inRange(-4, 5), rc::gen::arbitrary<bool>()));
  Numbers scores, targets, opposite, others;
  for (const auto& [score, positive] : samples) {
    scores.push_back(score);
    targets.push_back(positive ? 1 : -1);
    opposite.push_back(-score);
    others.push_back(positive ? -1 : 1);
  }
  double pairs = 0, wins = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (targets[i] < 0 || targets[j] > 0) continue;
      pairs += 1;
      wins += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    }
  const auto auc = roc_auc(scores, targets);
  RC_ASSERT(auc.has_value() == (pairs > 0));
  if (auc) RC_ASSERT(*auc == wins / pairs);
  RC_ASSERT(auc == roc_auc(opposite, others));
}

TEST(NumberMetrics, ThreeSamples) {
  // Errors 1, -1 and 2; the mean of the targets is 2.
  const NumberMetrics metrics = number_metrics(Numbers{2, 1, 5}, Numbers{1, 2, 3});
  EXPECT_EQ(metrics, (NumberMetrics{3, std::sqrt(6.0 / 3), 4.0 / 3, 1 - 6.0 / 2}));
  EXPECT_EQ(number_metrics(Numbers{1, 2}, Numbers{1, 2}), (NumberMetrics{2, 0, 0, 1}));
}

TEST(NumberMetrics, AConstantTargetHasNoRSquared) {
  EXPECT_EQ(number_metrics(Numbers{1, 3}, Numbers{2, 2}), (NumberMetrics{2, 1, 1, {}}));
  EXPECT_EQ(number_metrics(Numbers{0.1, 0.1, 0.1}, Numbers{0.1, 0.1, 0.1}), (NumberMetrics{3, 0, 0, {}}));
  EXPECT_EQ(number_metrics(Numbers{4}, Numbers{1}), (NumberMetrics{1, 3, 3, {}}));
  EXPECT_EQ(number_metrics(Numbers{}, Numbers{}), NumberMetrics{});
}

// Samples by a formula, more than one block of them. Expected are the numbers of scikit-learn 1.9.1: roc_auc_score,
// root_mean_squared_error, mean_absolute_error and r2_score.
TEST(ScoreMetrics, AreThoseOfScikitLearn) {
  Numbers classes, scores, targets, predictions;
  for (int i = 0; i < 300; ++i) {
    classes.push_back((i * 7 + i / 13) % 5 < 2 ? 1 : -1);
    scores.push_back(((i * 31 + i * i * 5) % 23 + (classes.back() > 0 ? 6 : 0)) / 4.0 - 3);
    targets.push_back((i * 37 % 101) / 8.0 - 5);
    predictions.push_back(targets.back() * 0.75 + (i * 29 % 17) / 16.0);
  }
  EXPECT_DOUBLE_EQ(roc_auc(scores, classes).value(), 0.7104166666666667);
  const NumberMetrics metrics = number_metrics(predictions, targets);
  EXPECT_DOUBLE_EQ(metrics.rmse, 0.9765012480790796);
  EXPECT_DOUBLE_EQ(metrics.mae, 0.829375);
  EXPECT_DOUBLE_EQ(metrics.r2.value(), 0.9282425025387311);
}

TEST(EvaluateScores, TwoClassesHaveAPositiveOneAndAuc) {
  const TestLabels labels = test_labels(two_classes(), TargetKind::kSigned, 1);
  // Two hits of three "yes", one of two "no".
  const ScoreMetrics metrics = evaluate_scores(Numbers{1, 0.5, -1, 2, -3}, Numbers{1, 1, 1, -1, -1}, labels);
  EXPECT_EQ(
      to_json(metrics, labels).dump(),
      R"({"samples":5,"accuracy":0.6,"macro":{"precision":0.5833333333333333,"recall":)"
      R"(0.5833333333333333,"f1":0.5833333333333333},"positive":{"class":"yes","precision":)"
      R"(0.6666666666666666,"recall":0.6666666666666666,"f1":0.6666666666666666,"support":3},"roc_auc":0.5,)"
      R"("classes":[{"class":"no","precision":0.5,"recall":0.5,"f1":0.5,"support":2},{"class":"yes",)"
      R"("precision":0.6666666666666666,"recall":0.6666666666666666,"f1":0.6666666666666666,"support":3}],)"
      R"("confusion":[[1,1],[1,2]]})");
}

TEST(EvaluateScores, TwoScoresPerSampleAreTwoClassesToo) {
  Schema schema = two_classes();
  schema.task = LabelTask::kMulticlass;
  schema.positive.clear();
  const TestLabels many = test_labels(schema, TargetKind::kIndex, 2);
  const TestLabels one = test_labels(two_classes(), TargetKind::kUnit, 1);
  const ScoreMetrics of_two =
      evaluate_scores(Numbers{1, 2, 0.5, 1, 0, -1, 0, 2, 3, 0}, Numbers{1, 1, 1, 0, 0}, many);
  const ScoreMetrics of_one = evaluate_scores(Numbers{1, 0.5, -1, 2, -3}, Numbers{1, 1, 1, 0, 0}, one);
  EXPECT_EQ(to_json(of_two, many).dump(), to_json(of_one, one).dump());
}

TEST(EvaluateScores, ThePositiveClassIsTheOneOfTheSchema) {
  Schema schema = two_classes();
  schema.positive = "no";
  EXPECT_THAT(test_labels(schema, TargetKind::kSigned, 1).classes, ::testing::ElementsAre("yes", "no"));
}

TEST(EvaluateScores, OneClassHasNoAuc) {
  const TestLabels labels = test_labels(two_classes(), TargetKind::kSigned, 1);
  const ScoreMetrics metrics = evaluate_scores(Numbers{1, -1}, Numbers{1, 1}, labels);
  ASSERT_TRUE(metrics.classes);
  EXPECT_FALSE(metrics.auc);
  EXPECT_TRUE(to_json(metrics, labels).find("roc_auc")->is_null());
}

TEST(EvaluateScores, ThreeClassesHaveNoAuc) {
  Schema schema;
  schema.task = LabelTask::kMulticlass;
  schema.classes = {"a", "b", "c"};
  const TestLabels labels = test_labels(schema, TargetKind::kIndex, 3);
  const Json json = to_json(evaluate_scores(Numbers{1, 2, 3}, Numbers{2}, labels), labels);
  EXPECT_EQ(json.find("roc_auc"), nullptr);
  EXPECT_EQ(json.find("positive"), nullptr);
  EXPECT_EQ(json.find("accuracy")->number(), 1);
}

TEST(EvaluateScores, NumbersHaveErrors) {
  const TestLabels labels = test_labels(numbers(), TargetKind::kReal, 1);
  EXPECT_TRUE(labels.are_numbers);
  EXPECT_FALSE(labels.has_accuracy);
  const ScoreMetrics metrics = evaluate_scores(Numbers{1, 4}, Numbers{2, 4}, labels);
  EXPECT_EQ(to_json(metrics, labels).dump(), R"({"samples":2,"rmse":0.7071067811865476,"mae":0.5,"r2":0.5})");
  EXPECT_EQ(metrics_text(evaluate_scores(Numbers{3}, Numbers{2}, labels), labels),
            R"({"samples":1,"rmse":1.0,"mae":1.0,"r2":null})");
  EXPECT_EQ(metrics_text(ScoreMetrics{}, labels), "");
}

}  // namespace
}  // namespace mfl
