#include "mfl/model/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace mfl {
namespace {

using ::testing::ElementsAre;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
std::size_t predicted(const std::vector<T>& scores) {
  return predicted_class(std::span<const T>(scores));
}

std::size_t rank(const std::vector<double>& scores, std::size_t truth) {
  return rank_of(std::span<const double>(scores), truth);
}

TEST(PredictedClass, IsTheLowestIndexOfTheLargestScore) {
  EXPECT_EQ(predicted<double>({1, 3, 2}), 1U);
  EXPECT_EQ(predicted<double>({3, 1, 3}), 0U);
  EXPECT_EQ(predicted<float>({-1, -1}), 0U);
  EXPECT_EQ(predicted<double>({-kInfinity, -kInfinity, -1}), 2U);
  EXPECT_EQ(predicted<double>({0, kInfinity, kInfinity}), 1U);
  EXPECT_EQ(predicted<double>({7}), 0U);
}

TEST(PredictedClass, NanIsBelowEveryNumber) {
  EXPECT_EQ(predicted<double>({kNaN, -kInfinity, 1}), 2U);
  EXPECT_EQ(predicted<double>({kNaN, -kInfinity}), 1U);
  EXPECT_EQ(predicted<double>({kNaN, kNaN}), 0U);
  EXPECT_EQ(rank({kNaN, 1, kNaN, 2}, 0), 2U);
  EXPECT_EQ(rank({kNaN, 1, kNaN, 2}, 1), 1U);
  EXPECT_EQ(rank({kNaN, 1, kNaN, 2}, 2), 3U);
}

TEST(RankOf, CountsLargerScoresAndEqualOnesOfALowerIndex) {
  EXPECT_EQ(rank({5, 9, 5, 7, 5}, 1), 0U);
  EXPECT_EQ(rank({5, 9, 5, 7, 5}, 3), 1U);
  EXPECT_EQ(rank({5, 9, 5, 7, 5}, 0), 2U);
  EXPECT_EQ(rank({5, 9, 5, 7, 5}, 2), 3U);
  EXPECT_EQ(rank({5, 9, 5, 7, 5}, 4), 4U);
}

RC_GTEST_PROP(RankOf, OrdersAllClassesAndZeroIsThePredictedOne, ()) {
  const auto scores = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<double>>(rc::gen::element(kNaN, -kInfinity, -1.0, 0.0, 1.0, 2.0)));
  std::vector<std::size_t> ranks, all(scores.size());
  for (std::size_t c = 0; c < scores.size(); ++c) ranks.push_back(rank(scores, c));
  RC_ASSERT(ranks[predicted(scores)] == 0U);
  std::ranges::sort(ranks);
  std::iota(all.begin(), all.end(), std::size_t{0});
  RC_ASSERT(ranks == all);
}

// truth 0: predicted 0, 0, 1; truth 1: predicted 1; truth 2: predicted 0.
ClassCounts example() {
  ClassCounts counts(3);
  counts.add(0, 0, 0);
  counts.add(0, 0, 0);
  counts.add(0, 1, 1);
  counts.add(1, 1, 0);
  counts.add(2, 0, 2);
  return counts;
}

TEST(ClassCounts, CountWhatWasPredictedForWhat) {
  const ClassCounts counts = example();
  EXPECT_EQ(counts.samples(), 5U);
  EXPECT_EQ(counts.correct(), 3U);
  EXPECT_EQ(counts.count(0, 0), 2U);
  EXPECT_EQ(counts.count(0, 1), 1U);
  EXPECT_EQ(counts.count(2, 0), 1U);
  EXPECT_EQ(counts.count(0, 2), 0U);
  EXPECT_EQ(counts.support(0), 3U);
  EXPECT_EQ(counts.predicted(0), 3U);
  EXPECT_EQ(counts.hits(0), 2U);
  EXPECT_EQ(counts.rank(2), 1U);
  EXPECT_EQ(confusion_json(counts).dump(), "[[2,1,0],[0,1,0],[1,0,0]]");
}

TEST(ClassMetrics, ThreeClasses) {
  const ClassMetrics metrics = metrics_of(example());
  EXPECT_EQ(metrics.samples, 5U);
  EXPECT_DOUBLE_EQ(metrics.accuracy, 3.0 / 5);
  EXPECT_TRUE(metrics.top.empty()) << "three of three classes are always right";
  EXPECT_THAT(metrics.classes, ElementsAre(ClassScore{2.0 / 3, 2.0 / 3, 2.0 / 3, 3},
                                           ClassScore{1.0 / 2, 1, 2.0 / 3, 1}, ClassScore{0, 0, 0, 1}));
  EXPECT_DOUBLE_EQ(metrics.macro.precision, (2.0 / 3 + 1.0 / 2) / 3);
  EXPECT_DOUBLE_EQ(metrics.macro.recall, (2.0 / 3 + 1) / 3);
  EXPECT_DOUBLE_EQ(metrics.macro.f1, (4.0 / 3) / 3);
  EXPECT_EQ(metrics.macro.support, 5U);
}

TEST(ClassMetrics, TwoClassesHaveMetricsForEach) {
  ClassCounts counts(2);
  for (int i = 0; i < 6; ++i) counts.add(1, 1, 0);
  for (int i = 0; i < 2; ++i) counts.add(1, 0, 1);
  for (int i = 0; i < 3; ++i) counts.add(0, 1, 1);
  for (int i = 0; i < 9; ++i) counts.add(0, 0, 0);
  const ClassMetrics metrics = metrics_of(counts);
  EXPECT_DOUBLE_EQ(metrics.accuracy, 15.0 / 20);
  EXPECT_THAT(metrics.classes, ElementsAre(ClassScore{9.0 / 11, 9.0 / 12, 18.0 / 23, 12},
                                           ClassScore{6.0 / 9, 6.0 / 8, 12.0 / 17, 8}));
  EXPECT_TRUE(metrics.top.empty());
}

TEST(ClassMetrics, AQuotientByZeroIsZero) {
  EXPECT_EQ(metrics_of(ClassCounts(4)).accuracy, 0);
  EXPECT_THAT(metrics_of(ClassCounts(4)).top, ElementsAre(TopK{3, 0}));
  ClassCounts counts(3);
  counts.add(0, 1, 1);
  EXPECT_THAT(metrics_of(counts).classes,
              ElementsAre(ClassScore{0, 0, 0, 1}, ClassScore{0, 0, 0, 0}, ClassScore{0, 0, 0, 0}));
}

TEST(ClassMetrics, TopKOnlyWhereThereAreMoreClasses) {
  ClassCounts counts(6);
  for (std::size_t rank = 0; rank < 6; ++rank)
    for (std::size_t i = 0; i <= rank; ++i) counts.add(2, rank == 0 ? 2 : 0, rank);  // 1 + 2 + ... + 6 = 21
  EXPECT_THAT(metrics_of(counts).top, ElementsAre(TopK{3, 6.0 / 21}, TopK{5, 15.0 / 21}));
  EXPECT_THAT(metrics_of(ClassCounts(5)).top, ElementsAre(TopK{3, 0}));
}

TEST(ClassMetrics, AsJson) {
  ClassCounts counts(4);
  counts.add(0, 0, 0);
  counts.add(1, 0, 3);
  const std::vector<std::string> names = {"a\"", "b", "c", "d"};
  EXPECT_EQ(to_json(metrics_of(counts), names).dump(),
            R"({"samples":2,"accuracy":0.5,"top_3":0.5,)"
            R"("macro":{"precision":0.125,"recall":0.25,"f1":0.16666666666666666},"classes":[)"
            R"({"class":"a\"","precision":0.5,"recall":1.0,"f1":0.6666666666666666,"support":1},)"
            R"({"class":"b","precision":0.0,"recall":0.0,"f1":0.0,"support":1},)"
            R"({"class":"c","precision":0.0,"recall":0.0,"f1":0.0,"support":0},)"
            R"({"class":"d","precision":0.0,"recall":0.0,"f1":0.0,"support":0}]})");
}

TEST(ClassCounts, VeryManyClassesHaveNoMatrix) {
  constexpr std::size_t kMany = ClassCounts::kMostMatrixClasses + 1;
  ClassCounts counts(kMany);
  EXPECT_FALSE(counts.has_matrix());
  counts.add(kMany - 1, kMany - 1, 0);
  counts.add(kMany - 1, 0, 7);
  EXPECT_LT(counts.cells().size(), 4 * kMany);
  EXPECT_TRUE(confusion_json(counts).is_null());
  EXPECT_EQ(metrics_of(counts).accuracy, 0.5);
  EXPECT_EQ(metrics_of(counts).classes.back(), (ClassScore{1, 0.5, 2.0 / 3, 2}));
  EXPECT_TRUE(ClassCounts(kMany - 1).has_matrix());
}

struct Sample {
  std::size_t truth;
  std::vector<float> scores;
};

ClassCounts counted(std::size_t classes, std::span<const Sample> samples) {
  ClassCounts counts(classes);
  for (const Sample& sample : samples) counts.add_scores<float>(sample.truth, sample.scores);
  return counts;
}

RC_GTEST_PROP(ClassCounts, AreTheSameInPartsOfAnyOrder, ()) {
  const auto classes = *rc::gen::inRange<std::size_t>(1, 9);
  std::vector<Sample> samples(*rc::gen::inRange<std::size_t>(0, 40));
  for (Sample& sample : samples) {
    sample.truth = *rc::gen::inRange<std::size_t>(0, classes);
    for (std::size_t c = 0; c < classes; ++c)
      sample.scores.push_back(static_cast<float>(*rc::gen::inRange(-3, 4)));
  }
  const ClassCounts whole = counted(classes, samples);
  const auto cut = *rc::gen::inRange<std::size_t>(0, samples.size() + 1);
  ClassCounts last = counted(classes, std::span(samples).subspan(cut));
  const ClassCounts first = counted(classes, std::span(samples).first(cut));
  ClassCounts from_cells(classes);
  from_cells.merge(last.cells());
  from_cells.merge(first.cells());
  last.merge(first);
  RC_ASSERT(std::ranges::equal(last.cells(), whole.cells()));
  RC_ASSERT(std::ranges::equal(from_cells.cells(), whole.cells()));

  // Rows and columns of the matrix add up to the sums, and weighted recall is accuracy.
  RC_ASSERT(whole.samples() == samples.size());
  double weighted = 0;
  const ClassMetrics metrics = metrics_of(whole);
  for (std::size_t c = 0; c < classes; ++c) {
    std::uint64_t row = 0, column = 0;
    for (std::size_t other = 0; other < classes; ++other) {
      row += whole.count(c, other);
      column += whole.count(other, c);
    }
    RC_ASSERT(row == whole.support(c) && column == whole.predicted(c) && whole.count(c, c) == whole.hits(c));
    weighted += metrics.classes[c].recall * static_cast<double>(metrics.classes[c].support);
  }
  if (!samples.empty())
    RC_ASSERT(std::abs(weighted / static_cast<double>(samples.size()) - metrics.accuracy) < 1e-12);
}

// Samples by a formula, with a class that is never predicted (5) and one without samples (6). Expected are the numbers of
// scikit-learn 1.9.1: accuracy_score, top_k_accuracy_score, precision_recall_fscore_support and confusion_matrix with
// labels=range(7), zero_division=0.
TEST(ClassMetrics, AreThoseOfScikitLearn) {
  constexpr std::size_t kClasses = 7;
  ClassCounts counts(kClasses);
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t truth = (i * 7 + i / 13) % 6;
    std::vector<double> scores;
    for (std::size_t c = 0; c < kClasses; ++c)
      scores.push_back(c == 5
                           ? -100
                           : static_cast<double>((i * 31 + c * 17 + i * c * 5) % 23 + (c == truth ? 6 : 0)) +
                                 static_cast<double>(c) / 16);
    counts.add_scores<double>(truth, scores);
  }
  const ClassMetrics metrics = metrics_of(counts);
  EXPECT_EQ(metrics.accuracy, 0.335);
  EXPECT_THAT(metrics.top, ElementsAre(TopK{3, 0.6}, TopK{5, 0.85}));
  constexpr ClassScore kExpected[] = {
      {0.35714285714285715, 0.4166666666666667, 0.38461538461538464, 36},
      {0.41935483870967744, 0.41935483870967744, 0.41935483870967744, 31},
      {0.3695652173913043, 0.4722222222222222, 0.4146341463414634, 36},
      {1.0, 0.0967741935483871, 0.17647058823529413, 31},
      {0.5, 0.5277777777777778, 0.5135135135135135, 36},
      {0.0, 0.0, 0.0, 30},
      {0.0, 0.0, 0.0, 0},
  };
  EXPECT_THAT(metrics.classes, ::testing::ElementsAreArray(kExpected));
  EXPECT_DOUBLE_EQ(metrics.macro.precision, 0.3780089876062627);
  EXPECT_DOUBLE_EQ(metrics.macro.recall, 0.27611367127496156);
  EXPECT_DOUBLE_EQ(metrics.macro.f1, 0.27265549591647614);
  EXPECT_EQ(confusion_json(counts).dump(),
            "[[15,2,7,0,6,0,6],[4,13,7,0,1,0,6],[4,7,17,0,2,0,6],[7,3,6,3,6,0,6],[4,2,5,0,19,0,6],"
            "[8,4,4,0,4,0,10],[0,0,0,0,0,0,0]]");
}

TEST(ClassMetrics, WithTheirMatrixAsOneObject) {
  ClassCounts counts(2);
  counts.add(0, 0, 0);
  counts.add(0, 1, 1);
  counts.add(1, 1, 0);
  const std::vector<std::string> names = {"no", "yes"};
  const Json json = to_json(counts, names);
  EXPECT_EQ(json.find("confusion")->dump(), "[[1,1],[0,1]]");
  Json metrics = json;
  metrics.erase("confusion");
  EXPECT_EQ(metrics.dump(), to_json(metrics_of(counts), names).dump());
  const ClassCounts many(ClassCounts::kMostMatrixClasses + 1);
  EXPECT_TRUE(to_json(many, std::vector<std::string>(many.classes())).find("confusion")->is_null());
}

}  // namespace
}  // namespace mfl
