#include "mfl/report/settings.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mfl/config/config_keys.h"
#include "mfl/report/brief_names.h"
#include "tests/record/support.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunRow run_of(const std::string& id, const std::string& algorithm, int seed,
              const std::string& more = "eta = 0.02", RunStatus status = RunStatus::kDone) {
  RunRow run;
  static_cast<RunSpec&>(run) = spec(algorithm);
  run.config = fmt::format(
      "[federation]\npartition = \"iid\"\n\n[algorithm]\nname = \"{}\"\n{}\ngamma = 0.5\n\n[run]\nname = "
      "\"{}\"\n"
      "seed = {}\nthreads = {}\n",
      algorithm, more, id, seed, seed % 2);
  run.id = id;
  run.status = status;
  if (status == RunStatus::kDone) run.summary = summary(0.25);
  return run;
}

TEST(Settings, RunsThatDifferOnlyInTheSeedAreOne) {
  const std::vector<RunRow> runs = {run_of("a", "fl", 1), run_of("b", "mfl", 1), run_of("c", "fl", 2),
                                    run_of("d", "mfl", 2), run_of("e", "mfl", 1, "eta = 0.04")};
  const Settings found = settings_of(runs);
  ASSERT_EQ(found.all.size(), 3U);
  EXPECT_TRUE(found.grouped());
  EXPECT_THAT(found.all[0].runs, ElementsAre(0U, 2U));
  EXPECT_THAT(found.all[0].seeds, ElementsAre(1U, 2U));
  EXPECT_THAT(found.all[1].runs, ElementsAre(1U, 3U));
  EXPECT_EQ(found.all[0].title, "fl eta 0.02");
  EXPECT_EQ(found.all[2].title, "mfl eta 0.04");
  EXPECT_THAT(found.all[2].differences,
              ElementsAre(ConfigValue{"algorithm", "name", "mfl"}, ConfigValue{"algorithm", "eta", "0.04"}));
  EXPECT_THAT(found.common, ElementsAre(ConfigValue{"federation", "partition", "\"iid\""},
                                        ConfigValue{"algorithm", "gamma", "0.5"}));
  EXPECT_THAT(found.varying, ElementsAre("run.name", "run.seed", "run.threads"));
  EXPECT_EQ(differences_text(std::vector{runs[0], runs[2]}), "run.seed (1, 2), run.threads (1, 0)");
}

TEST(Settings, ALabelIsTheTitleOfItsSetting) {
  const std::vector<RunRow> runs = {run_of("a", "fl", 1), run_of("b", "mfl", 1), run_of("c", "fl", 2)};
  const Settings found = settings_of(runs, {{"c", "plain"}});
  EXPECT_EQ(found.all[0].title, "plain");
  EXPECT_EQ(found.all[0].algorithm, "fl");
  EXPECT_EQ(found.all[1].title, "mfl");
}

TEST(BriefNames, HaveOnlyTheParametersThatDiffer) {
  const auto brief = [](const std::vector<std::string>& names) { return brief_algorithms(names); };
  EXPECT_THAT(brief({"fl", "fedadam(beta1=0.9, server_lr=0.1)"}), ElementsAre("fl", "fedadam"));
  EXPECT_THAT(brief({"fedadam(beta1=0.9, server_lr=0.1)", "fedadam(beta1=0.9, server_lr=1)",
                     "fedavgm(beta=0.9, server_lr=1, nesterov=0)"}),
              ElementsAre("fedadam(server_lr=0.1)", "fedadam(server_lr=1)", "fedavgm"));
  EXPECT_THAT(brief({"mfl momentum=frozen(beta=0.5)", "mfl"}),
              ElementsAre("mfl momentum=frozen(beta=0.5)", "mfl"));
  EXPECT_THAT(brief({"fedprox(mu=0.1) momentum=reset", "fedprox(mu=1)", ""}),
              ElementsAre("fedprox(mu=0.1) momentum=reset", "fedprox(mu=1)", ""));
  EXPECT_THAT(brief({}), ElementsAre());
  EXPECT_TRUE(is_algorithm("fedadam(beta1=0.9)", "fedadam"));
  EXPECT_TRUE(is_algorithm("fedadam(beta1=0.9)", "fedadam(beta1=0.9)"));
  EXPECT_FALSE(is_algorithm("fedadam(beta1=0.9)", "fed"));
  EXPECT_FALSE(is_algorithm("mfl momentum=frozen(beta=0.5)", "mfl"));
}

TEST(Settings, ASettingOfOneAlgorithmIsNoDifference) {
  std::vector<RunRow> runs = {run_of("a", "fl", 1), run_of("b", "mfl", 1)};
  EXPECT_EQ(settings_of(runs).all[1].title, "mfl") << "fl has no gamma";
  runs[0].config.replace(runs[0].config.find("0.5"), 3, "0.9");
  EXPECT_EQ(settings_of(runs).all[0].title, "fl");
}

TEST(Settings, RunsLeftOutOfTheMeansAreNamed) {
  const std::vector<RunRow> runs = {
      run_of("a", "fl", 1), run_of("b", "fl", 2, "eta = 0.02", RunStatus::kDiverged), run_of("c", "fl", 1),
      run_of("d", "fl", 3, "eta = 0.02", RunStatus::kInterrupted), run_of("e", "fl", 4)};
  const Settings found = settings_of(runs);
  ASSERT_EQ(found.all.size(), 1U);
  EXPECT_THAT(found.all[0].runs, ElementsAre(0U, 4U));
  EXPECT_EQ(found.all[0].distinct_seeds, 4U);
  EXPECT_THAT(left_out_notes(found, runs),
              ElementsAre("Run b (fl, seed 2) is not part of the means: diverged.",
                          "Run c (fl, seed 1) is not part of the means: repeats run a.",
                          "Run d (fl, seed 3) is not part of the means: interrupted."));
}

TEST(Settings, OneSeedIsNoGroup) {
  const std::vector<RunRow> twins = {run_of("a", "fl", 1), run_of("b", "fl", 1), run_of("c", "mfl", 2)};
  EXPECT_FALSE(settings_of(twins).grouped());
  RunRow unseeded = run_of("d", "fl", 1);
  unseeded.config = "[model]\nname = \"svm\"\n";
  EXPECT_EQ(settings_of(std::vector{unseeded, unseeded}).all.size(), 2U);
  EXPECT_TRUE(settings_of({}).all.empty());
}

TEST(Settings, OtherDataUnderTheSameSeedIsAnotherSetting) {
  std::vector<RunRow> runs = {run_of("a", "fl", 1), run_of("b", "fl", 1)};
  runs[1].data_digest = "other";
  const Settings found = settings_of(runs);
  ASSERT_EQ(found.all.size(), 2U);
  EXPECT_EQ(found.all[0].title, "fl a");
  EXPECT_EQ(found.all[1].title, "fl b");
}

TEST(Settings, TheKeysWithoutEffectAreThoseOfTheConfiguration) {
  std::vector<std::string> keys = {"run.seed"};
  for (const Key& key : config_keys())
    if (key.digested == Digested::kNever) keys.push_back(fmt::format("{}.{}", key.table, key.key));
  std::ranges::sort(keys);
  EXPECT_TRUE(std::ranges::equal(keys, keys_without_effect()));
}

TEST(Settings, Spreads) {
  EXPECT_FALSE(spread_of({}));
  const Spread one = *spread_of(std::vector{3.0});
  EXPECT_EQ(one.mean, 3);
  EXPECT_FALSE(one.deviation);
  const Spread spread = *spread_of(std::vector{1.0, 2.0, 6.0});
  EXPECT_EQ(spread.mean, 3);
  EXPECT_DOUBLE_EQ(spread.deviation.value(), std::sqrt(7.0));
  EXPECT_EQ(spread_text(std::nullopt), "-");
  EXPECT_EQ(spread_text(one), "3");
  EXPECT_EQ(spread_text(spread), "3.0 ± 2.6");
  EXPECT_EQ(spread_text(Spread{0.123456, 0.00123, 3}), "0.1235 ± 0.0012");
  EXPECT_EQ(spread_text(Spread{12345.6, 234.5, 3}), "12346 ± 234");
  EXPECT_EQ(spread_text(Spread{30, 0.0, 3}), "30 ± 0");
  EXPECT_EQ(spread_text(Spread{0.5, 1e-17, 3}), "0.5 ± 1e-17");
}

TEST(Settings, TheMeanCurveIsOnStepsThatAllHave) {
  RunExport first, second;
  for (const std::uint64_t step : {0U, 4U, 8U})
    first.records.push_back({step, step / 4, 1.0, {}, {}, 0, 0, 0, ""});
  for (const std::uint64_t step : {0U, 8U, 16U})
    second.records.push_back({step, step / 4, 2.0, {}, {}, 0, 0, 0, ""});
  second.records[1].train_loss = 3;
  const auto step = [](const RecordRow& row) { return std::optional(static_cast<double>(row.step)); };
  const auto loss = [](const RecordRow& row) { return std::optional(row.train_loss); };
  const MeanCurve both = mean_curve(std::vector<const RunExport*>{&first, &second}, step, loss);
  EXPECT_THAT(both.x, ElementsAre(0, 8));
  EXPECT_THAT(both.mean, ElementsAre(1.5, 2));
  EXPECT_DOUBLE_EQ(both.high[1], 2 + std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(both.low[1], 2 - std::sqrt(2.0));
  const MeanCurve one = mean_curve(std::vector<const RunExport*>{&first}, step, loss);
  EXPECT_THAT(one.mean, ElementsAre(1, 1, 1));
  EXPECT_THAT(one.low, IsEmpty());
  const auto tested = [](const RecordRow& row) { return row.test_loss; };
  EXPECT_THAT(mean_curve(std::vector<const RunExport*>{&first}, step, tested).x, IsEmpty());
}

}  // namespace
}  // namespace mfl::test
