#include "mfl/study/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace mfl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPlanFile = R"([data]
source = "synthetic:60x4"
[run]
rounds = 3
[study]
algorithms = ["fl", { name = "mfl", tune = { gamma = [0.9, 0.5] } }]
splits = ["iid", "label-sorted"]
problems = [{ data = "synthetic:60x4", model = "squared-svm", eta = [0.02, 0.01] },
            { data = "synthetic:80x4", model = "logistic", label = "second", set = { model.lambda = 0.25 } }]
eta = [0.1]
seeds = [1, 2, 3]
tuning_seeds = [11, 12]
reference = "fl"
focus = "mfl"
[study.quick]
algorithms = ["mfl", "fl"]
problems = ["second"]
splits = ["label-sorted"]
seeds = [1]
tuning_seeds = [12]
set = { run.rounds = 2, "data.test" = 10 }
)";

StudyPlan plan_of(std::string_view text, bool quick = false) {
  auto plan = parse_study(text, "study.toml", {.quick = quick});
  EXPECT_TRUE(plan) << plan.error().text();
  return plan.value_or(StudyPlan{});
}

// The file with one text in place of another.
std::string changed(std::string_view from, std::string_view to) {
  std::string text = kPlanFile;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text, bool quick = false) {
  const auto plan = parse_study(text, "study.toml", {.quick = quick});
  if (plan) return "(accepted)";
  EXPECT_EQ(plan.error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(plan.error().text().find('\n'), std::string::npos);
  return plan.error().text();
}

TEST(StudyPlan, TuneReplacesTheParameterThatTheNameHas) {
  std::string file = kPlanFile;
  const std::string tuned = "{ name = \"mfl\", tune = { gamma = [0.9, 0.5] } }";
  ASSERT_NE(file.find(tuned), std::string::npos);
  file.replace(file.find(tuned), tuned.size(),
               "{ name = \"fedavgm(0.3)\", label = \"mfl\", tune = { beta = [0.9, 0.5] } }");
  const StudyPlan plan = plan_of(file);
  ASSERT_EQ(plan.algorithms.size(), 2U);
  EXPECT_EQ(plan.algorithms[1].spec, "fedavgm");
  EXPECT_THAT(plan.algorithms[1].values, ElementsAre(0.5, 0.9));
}

TEST(StudyPlan, HasWhatTheFileSays) {
  const StudyPlan plan = plan_of(kPlanFile);
  ASSERT_EQ(plan.algorithms.size(), 2U);
  EXPECT_EQ(plan.algorithms[1].tuned, "gamma");
  EXPECT_THAT(plan.algorithms[1].values, ElementsAre(0.5, 0.9));
  EXPECT_THAT(plan.splits, ElementsAre("iid", "label-sorted"));
  EXPECT_EQ(plan.problems[0].label, "synthetic:60x4, squared-svm");
  EXPECT_THAT(plan.problems[0].eta, ElementsAre(0.01, 0.02));
  EXPECT_EQ(plan.problems[1].label, "second");
  EXPECT_THAT(plan.problems[1].eta, ElementsAre(0.1));
  EXPECT_THAT(plan.seeds, ElementsAre(1, 2, 3));
  EXPECT_EQ(plan.focus, 1U);
  EXPECT_EQ(cells_of(plan).size(), 4U);
}

TEST(StudyPlan, EveryCandidateIsTunedAndTheChosenOnesAreReported) {
  const StudyPlan plan = plan_of(kPlanFile);
  EXPECT_EQ(candidates(plan, 0, 0).size(), 2U);
  EXPECT_EQ(candidates(plan, 0, 1).size(), 4U);
  const auto tuning = tuning_runs(plan).value();
  EXPECT_EQ(tuning.size(), 2 * 2 * (2 + 4 + 1 + 2)) << "2 seeds, 2 splits, grids of both problems";
  const ChosenCandidates chosen = {{0, 3}, {1, 0}, {0, 1}, {0, 0}};
  const auto reported = reported_runs(plan, chosen).value();
  EXPECT_EQ(reported.size(), 3U * 4 * 2);
  const Config& config = reported[3].config;  // the first cell's mfl, seed 1
  EXPECT_EQ(config.algorithm.name, "mfl");
  EXPECT_EQ(config.algorithm.eta, 0.02);
  EXPECT_EQ(config.algorithm.gamma, 0.9);
  EXPECT_EQ(config.run.seed, 1U);
  EXPECT_EQ(config.federation.partition, "iid");
  EXPECT_EQ(reported.back().config.model.lambda, 0.25);
  for (const PlannedStudyRun& run : tuning)
    EXPECT_EQ(std::ranges::count(plan.seeds, run.config.run.seed), 0) << "a tuning seed is never reported";
}

TEST(StudyPlan, TheQuickFormKeepsWhatItNames) {
  const StudyPlan plan = plan_of(kPlanFile, true);
  EXPECT_TRUE(plan.quick);
  EXPECT_EQ(plan.algorithms.size(), 2U);
  EXPECT_EQ(plan.problems.size(), 1U);
  EXPECT_THAT(plan.splits, ElementsAre("label-sorted"));
  EXPECT_THAT(plan.seeds, ElementsAre(1));
  EXPECT_EQ(plan.base.run.rounds, 2U);
  EXPECT_EQ(plan.base.data.test, 10U);
}

TEST(StudyPlan, FlagsCountAfterTheFile) {
  const StudyOptions options{.quick = true,
                             .adjust = [](Config& config) { return set_key(config, "run.rounds", "7"); }};
  EXPECT_EQ(parse_study(kPlanFile, "study.toml", options)->base.run.rounds, 7U);
}

TEST(StudyPlan, SeedsOfTuningAndReportMustDiffer) {
  EXPECT_THAT(error_of(changed("[11, 12]", "[11, 3]")),
              HasSubstr("study.toml:12: seed 3 is in seeds and in tuning_seeds"));
  EXPECT_THAT(error_of(changed("seeds = [1]", "seeds = [12]"), true), HasSubstr("seed 12 is in seeds"));
}

TEST(StudyPlan, WrongFilesAreRefusedWithTheirLine) {
  struct Case {
    const char *from, *to, *message;
  };
  const Case cases[] = {
      {"reference = \"fl\"", "refrence = \"fl\"",
       "study.toml:13: unknown key \"refrence\" in [study]; did you mean \"reference\"?"},
      {"reference = \"fl\"", "", "[study] has no reference"},
      {"reference = \"fl\"", "reference = \"flx\"",
       "study.toml:13: reference = \"flx\": not one of the algorithms; did you mean \"fl\"?"},
      {"focus = \"mfl\"", "focus = \"fl\"", "focus and reference are the same"},
      {"[\"fl\", {", "[\"gd\", {", "study.toml:6: algorithms: gd is not federated"},
      {"[\"fl\", {", "[\"flx\", {", "unknown algorithm \"flx\""},
      {"[\"fl\", {", "[\"fl\", \"fl\", {", "\"fl\" is there twice"},
      {"[\"fl\", {", "[3, {", "must be strings or tables, not an integer"},
      {"[\"fl\", { name = \"mfl\", tune = { gamma = [0.9, 0.5] } }]", "[\"fl\"]", "at least two"},
      {"gamma = [0.9, 0.5]", "gamma = [0.9, 1.5]", "1.5"},
      {"gamma = [0.9, 0.5]", "gama = [0.9, 0.5]", "mfl has no parameter \"gama\"; did you mean \"gamma\"?"},
      {"gamma = [0.9, 0.5]", "gamma = 0.9", "must be an array"},
      {"gamma = [0.9, 0.5]", "gamma = [0.5], x = [1]", "must be a table with one parameter"},
      {"gamma = [0.9, 0.5]", "eta = [0.5]", "step sizes are in eta"},
      {"[\"iid\", \"label-sorted\"]", "[\"iid\", \"label\"]", "study.toml:7: splits: unknown partition"},
      {"[\"iid\", \"label-sorted\"]", "[\"iid\", \" iid\"]", "twice"},
      {"[\"iid\", \"label-sorted\"]", "[]", "the array is empty"},
      {"[\"iid\", \"label-sorted\"]", "\"iid\"", "must be an array, not a string"},
      {"model = \"squared-svm\"", "model = \"squared\"", "squared"},
      {"eta = [0.02, 0.01]", "eta = [0.02, 0]", "0 is not a step size"},
      {"eta = [0.02, 0.01]", "eta = [0.02, 0.02]", "0.02 is there twice"},
      {"eta = [0.02, 0.01]", "eta = [\"a\"]", "must be a finite number, not a string"},
      {"eta = [0.02, 0.01]", "eta = [inf]", "must be a finite number"},
      {"\neta = [0.1]", "", "there are no step sizes for second"},
      {"set = { model.lambda = 0.25 }", "set = { model.lamda = 0.25 }", "lambda"},
      {"set = { model.lambda = 0.25 }", "set = { run.rounds = 4 }",
       "run.rounds is the same for all problems"},
      {"set = { model.lambda = 0.25 }", "set = 3", "must be a table of keys, not an integer"},
      {"label = \"second\"", "label = \"\"", "must be a string that is not empty"},
      {"seeds = [1, 2, 3]", "seeds = [1, -2]", "a seed is an integer >= 0"},
      {"seeds = [1, 2, 3]", "seeds = [1, 1]", "1 is there twice"},
      {"seeds = [1, 2, 3]", "seeds = []", "the array is empty"},
      {"rounds = 3", "rounds = 3\npatience = 2", "end runs early"},
      {"rounds = 3", "steps = 30\nbudget_bytes = 1000", "gives every run rounds of its own"},
      {"rounds = 3", "rounds = 3\nroundz = 2", "roundz"},
      {"source = \"synthetic:60x4\"", "source = \"synthetic:60x4\"\nfolds = 3", "no cross-validation"},
      {"[run]", "[algorithm]\nbatch_size = 8\n[run]\nevaluate_every = 0", "no loss is over all samples"},
      {"[run]", "[federation]\nfraction_train = 0.5\n[run]", "where not all nodes take part"},
      {"[study]\n", "[study]\nmetric = \"loss\"\n", "must be train-loss or test-accuracy"},
      {"[study]\n", "[study]\ntitle = 3\n", "must be a string"},
  };
  for (const Case& one : cases)
    EXPECT_THAT(error_of(changed(one.from, one.to)), HasSubstr(one.message)) << one.to;
}

TEST(StudyPlan, AQuickFormThatDoesNotFitIsRefused) {
  EXPECT_THAT(error_of(changed("[\"second\"]", "[\"third\"]"), true),
              HasSubstr("the study has no \"third\""));
  EXPECT_THAT(error_of(changed("[\"mfl\", \"fl\"]\n", "[\"mfl\"]\n"), true), HasSubstr("at least two"));
  std::string none = kPlanFile;
  none.resize(none.find("[study.quick]"));
  EXPECT_THAT(error_of(none, true), HasSubstr("there is no table [study.quick]"));
  EXPECT_THAT(error_of("[run]\nrounds = 3\n"), HasSubstr("there is no table [study]"));
  EXPECT_THAT(error_of("study = 3\n"), HasSubstr("study must be a table"));
}

TEST(StudyPlan, AlgorithmsThatAreTunedHaveGridsOfTheSameSize) {
  EXPECT_THAT(error_of(changed("[\"fl\", {",
                               "[\"fl\", { name = \"mfl\", label = \"b\", tune = { gamma = [0.1] } }, {")),
              HasSubstr("tune of mfl: 2 values of gamma, while another algorithm has 1"));
}

TEST(StudyPlan, AnAlgorithmSetsOnlyWhatIsItsOwn) {
  EXPECT_THAT(error_of(changed("name = \"mfl\",", "name = \"mfl\", set = { tau = 9 },")),
              HasSubstr("algorithm.tau is the same for all algorithms"));
  const StudyPlan plan =
      plan_of(changed("[\"fl\", {", "[\"fl\", { name = \"mfl\", label = \"m\", set = { gamma = 0.3 } }, {"));
  EXPECT_EQ(study_config(plan, {{0, 0}, 1, 0, 1})->algorithm.gamma, 0.3);
}

}  // namespace
}  // namespace mfl
