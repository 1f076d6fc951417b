#include "mfl/study/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_study.h"
#include "mfl/report/table_formats.h"
#include "mfl/study/study_figures.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

AlgorithmResult reached(std::size_t count) {
  AlgorithmResult result;
  result.seeds = 3;
  result.reached = count;
  return result;
}

TEST(StudyTables, ACostSaysHowManySeedsReachedTheTarget) {
  EXPECT_EQ(cost_text({31.25, 1.5}, reached(3)), "31.2 ± 1.5");
  EXPECT_EQ(cost_text({31.25, {}}, reached(3)), "31.2");
  EXPECT_EQ(cost_text({52, {}}, reached(2)), "> 52.0 (2 of 3)");
  EXPECT_EQ(cost_text({60, {}}, reached(0)), "not reached");
}

TEST(StudyTables, ASummaryHasTheUnitOfItsMetric) {
  EXPECT_EQ(summary_text({3, 0.31256, 0.00412}, StudyMetric::kTrainLoss), "0.3126 ± 0.0041");
  EXPECT_EQ(summary_text({3, 0.91234, 0.0041}, StudyMetric::kTestAccuracy), "91.23 ± 0.41 %");
  EXPECT_EQ(summary_text({1, 0.5, {}}, StudyMetric::kTestAccuracy), "50.00 %");
  EXPECT_EQ(summary_text({0, 0, {}}, StudyMetric::kTrainLoss), "diverged");
}

TEST(StudyTables, OneLinePerCellAndAlgorithmInEveryFormat) {
  const StudyEvidence evidence =
      made_evidence({{{falling_run(0.5), falling_run(0.5)}, {falling_run(0.0), falling_run(0.9)}},
                     {{falling_run(0.5), diverged_run()}, {diverged_run(), diverged_run()}}});
  const StudyResults results = results_of(evidence);
  EXPECT_EQ(results_table(evidence, results).rows().size(), 4U);
  EXPECT_EQ(problem_table(evidence, results, 0).rows().size(), 4U);
  const std::string csv = table_as(results_data(evidence, results), TableFormat::kCsv);
  EXPECT_THAT(csv, HasSubstr("problem,split,algorithm,eta,tuned,tuned_value,seeds,diverged,reached"));
  EXPECT_THAT(csv, HasSubstr("made,split1,mfl,"));
  EXPECT_THAT(table_as(results_table(evidence, results), TableFormat::kLatex), HasSubstr("not reached"));
  EXPECT_THAT(table_as(results_table(evidence, results), TableFormat::kMarkdown), HasSubstr("7.5 (1 of 2)"));
  EXPECT_EQ(points_data(evidence).rows().size(), 5 * 11U + 3 * 3);
  EXPECT_EQ(runs_data(evidence).rows().size(), 8U);
  EXPECT_EQ(settings_table(evidence, results).rows()[1][3], "eta 0.1, gamma 0.9");
}

TEST(StudyFigures, CurvesHaveMeansAndBands) {
  const StudyEvidence evidence =
      made_evidence({{{falling_run(0.5), falling_run(0.7)}, {falling_run(0.1), diverged_run()}}});
  const Plot plot = curves_of(evidence, 0);
  ASSERT_EQ(plot.series.size(), 2U);
  EXPECT_DOUBLE_EQ(plot.series[0].y.back(), 0.6);
  EXPECT_DOUBLE_EQ(plot.series[0].low.back(), 0.5);
  EXPECT_DOUBLE_EQ(plot.series[0].high.back(), 0.7);
  EXPECT_TRUE(plot.series[1].diverged);
  EXPECT_EQ(plot.series[1].x.size(), 3U) << "as far as all seeds go";
}

TEST(StudyFigures, MapsHaveNoColourWhereThereIsNoValue) {
  const StudyEvidence evidence =
      made_evidence({{{falling_run(0.5)}, {falling_run(0.25)}}, {{falling_run(0.5)}, {diverged_run()}}});
  const StudyResults results = results_of(evidence);
  const HeatMap ends = final_map(evidence, results, 0);
  EXPECT_DOUBLE_EQ(ends.cells[0][0].value.value(), 2);
  EXPECT_DOUBLE_EQ(ends.cells[1][0].value.value(), 1);
  EXPECT_FALSE(ends.cells[1][1].value);
  EXPECT_EQ(ends.cells[1][1].text, "diverged");
  const HeatMap rounds = rounds_map(evidence, results, 0);
  EXPECT_EQ(rounds.cells[1][0].text, "7");
  EXPECT_EQ(rounds.cells[1][1].text, "never");
  const DotPlot ranking = ranking_plot(evidence, results);
  EXPECT_EQ(ranking.rows.front().name, "fl") << "1.5 and 1.5: the first of the file";
}

}  // namespace
}  // namespace mfl
