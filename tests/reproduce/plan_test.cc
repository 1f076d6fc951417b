#include "mfl/reproduce/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mfl {
namespace {

FigurePlan plan_of(std::string_view figures, std::uint64_t seeds, bool quick) {
  PlanOptions options;
  options.experiments = std::string(MFL_EXPERIMENTS) + "/paper";
  options.figures = parse_figures(figures).value();
  options.seeds = seeds;
  options.quick = quick;
  auto plan = make_plan(options);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan.value_or(FigurePlan{});
}

TEST(Plan, FiguresAreNamedAsInThePaper) {
  EXPECT_EQ(parse_figures("all")->size(), 8U);
  EXPECT_THAT(*parse_figures("4"), ::testing::ElementsAre("4a", "4b", "4c", "4d"));
  EXPECT_THAT(*parse_figures("6,5c"), ::testing::ElementsAre("5c", "6"));
  for (const char* wrong : {"", "7", "4e", "4a,", "four"}) {
    const auto figures = parse_figures(wrong);
    ASSERT_FALSE(figures) << wrong;
    EXPECT_EQ(figures.error().code, ErrorCode::kBadConfig);
  }
}

TEST(Plan, IsThePapersSetting) {
  const FigurePlan plan = plan_of("all", 2, false);
  EXPECT_EQ(plan.gamma, 0.5);
  EXPECT_EQ(plan.tau, 4U);
  EXPECT_EQ(plan.steps, 1000U);
  EXPECT_EQ(plan.long_steps, 60000U);
  for (const PlannedRun& run : plan.runs) {
    const Config& config = run.config;
    EXPECT_EQ(config.data.source, "mnist");
    EXPECT_EQ(config.data.train, 5000U);
    EXPECT_EQ(config.data.test, 5000U);
    EXPECT_EQ(config.data.take, Take::kRandom) << "or the seed would not choose the samples";
    EXPECT_EQ(config.federation.nodes, 4U);
    EXPECT_EQ(config.federation.partition, "iid");
    EXPECT_EQ(config.algorithm.eta, 0.002);
    EXPECT_EQ(effective_lambda(config.model), config.model.name.ends_with("svm") ? 0.3 : 0);
  }
}

TEST(Plan, RunsThatFiguresShareAreTrainedOnce) {
  const FigurePlan plan = plan_of("all", 1, true);
  EXPECT_EQ(plan.long_steps, 0U);
  std::size_t shared = 0;
  for (const PlannedRun& run : plan.runs)
    if (run.config.model.name == "svm" && run.config.algorithm.name == "mfl" &&
        run.config.algorithm.tau == 4 && run.config.algorithm.gamma == 0.5) {
      ++shared;
      EXPECT_TRUE(run.rounds && run.accuracy);
    }
  EXPECT_EQ(shared, 1U) << "it is in figures 4, 5 and 6";
  EXPECT_EQ(plan_of("all", 3, true).runs.size(), 3 * plan.runs.size());
}

TEST(Plan, OneFigureNeedsOnlyItsRuns) {
  EXPECT_EQ(plan_of("4c", 1, false).runs.size(), 4U);
  EXPECT_EQ(plan_of("4a", 1, false).runs.size(), 8U);
  const FigurePlan five = plan_of("5c", 1, false);
  EXPECT_EQ(std::ranges::count_if(five.runs,
                                  [](const PlannedRun& run) { return run.config.algorithm.name == "fl"; }),
            2);
}

TEST(Plan, AFolderWithoutTheFilesSaysHowToNameOne) {
  PlanOptions options;
  options.experiments = "/nowhere";
  options.figures = {"4a"};
  const auto plan = make_plan(options);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(plan.error().hint, ::testing::HasSubstr("--experiments"));
}

}  // namespace
}  // namespace mfl
