#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mfl/report/compare.h"
#include "tests/base/json_value.h"
#include "tests/record/support.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct SettingsRun {
  std::string algorithm;
  int seed = 1;
  std::uint64_t rounds = 9;
  double scale = 1;  // of the loss 1 / (1 + round)
  std::string partition = "iid";
  std::string problem = {};  // empty: that of the seed
  RunStatus status = RunStatus::kDone;
  std::string eta = "0.01";
};

struct SettingsBench : Home {
  Store opened = Store::open(store).value();
  std::vector<std::string> ids = {};

  std::string add(const SettingsRun& run) {
    RunSpec said = spec(run.algorithm);
    said.problem = run.problem.empty() ? fmt::format("p{}", run.seed) : run.problem;
    said.data_digest = said.problem;
    said.config = fmt::format(
        "[federation]\npartition = \"{}\"\n\n[algorithm]\nname = \"{}\"\neta = {}\n\n[run]\nseed = {}\n",
        run.partition, run.algorithm, run.eta, run.seed);
    ids.push_back(opened.create_run(said).value());
    auto rows = rounds(0, run.rounds);
    for (RoundRow& row : rows) {
      row.train_loss = *row.train_loss * run.scale;
      if (run.algorithm == "mfl") row.bytes_up *= 2, row.bytes_down *= 2;
    }
    RunSummary ended = summary(run.status == RunStatus::kDone ? *rows.back().train_loss : std::nan(""));
    ended.final.step = rows.back().step;
    EXPECT_TRUE(opened.append(ids.back(), rows, {}));
    if (run.status == RunStatus::kInterrupted)
      EXPECT_TRUE(opened.set_status(ids.back(), run.status, "stopped"));
    else
      EXPECT_TRUE(opened.finish(ids.back(), run.status, "", ended, 1));
    return ids.back();
  }
  Comparison compare(const CompareOptions& options = {}) const {
    return compare_runs(opened, ids, options).value();
  }
};

TEST(CompareSettings, MeansOverSeedsAndEachSeedItsTarget) {
  SettingsBench bench;
  for (const int seed : {1, 2, 3}) {
    bench.add({"fl", seed, 8 + static_cast<std::uint64_t>(seed)});
    bench.add({"mfl", seed, 11, 0.5});
  }
  const Comparison found = bench.compare();
  ASSERT_EQ(found.setting_rows.size(), 2U);
  EXPECT_EQ(found.targets.size(), 3U);
  EXPECT_EQ(found.rows[0].target, 1.0 / 10);
  EXPECT_EQ(found.rows[3].target, 1.0 / 11);
  EXPECT_EQ(found.rows[3].target_run, bench.ids[2]);
  // 0.5 / (1 + r) is at 1/10, 1/11, 1/12 from rounds 4, 5, 5 on; fl took 9, 10, 11.
  EXPECT_EQ(found.rows[1].rounds_to_target, 4U);
  EXPECT_EQ(found.rows[5].rounds_to_target, 5U);
  EXPECT_DOUBLE_EQ(found.setting_rows[1].rounds_to_target->mean, 14.0 / 3);
  EXPECT_NEAR(found.setting_rows[0].loss->deviation.value(), 0.00834, 1e-5);
  ASSERT_EQ(found.headlines.size(), 1U);
  EXPECT_EQ(
      found.headlines[0].text,
      "mfl reached fl's final loss in 0.47 ± 0.03 of the rounds and 0.93 ± 0.06 of the bytes (3 seeds).");

  const std::string text = compare_text(found);
  EXPECT_THAT(text, StartsWith("setting  seeds        loss at T  accuracy at T  rounds to target\n")) << text;
  EXPECT_THAT(text, HasSubstr("\nfl           3  0.0914 ± 0.0083"));
  EXPECT_THAT(text, HasSubstr("The target is the training loss at which fl ended, seed by seed."));
  EXPECT_THAT(text, HasSubstr("Columns that do not fit are left out"));
  EXPECT_THAT(text, HasSubstr("common configuration"));
  EXPECT_THAT(text, HasSubstr("  [federation] partition = \"iid\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("part at round"))) << "seeds differ, and that is no news";
  EXPECT_THAT(compare_text(found, {TableFormat::kText, true}), StartsWith("run "));

  const auto json = JsonValue::parse(compare_json(found).dump());
  EXPECT_EQ(json["settings"][1]["title"], "mfl");
  EXPECT_EQ(json["settings"][1]["seeds"], JsonValue::parse("[1,2,3]"));
  EXPECT_EQ(json["settings"][1]["reached"], 3);
  EXPECT_EQ(json["settings"][0]["differences"]["algorithm.name"], "fl");
  EXPECT_EQ(json["common_config"]["federation.partition"], "\"iid\"");
  EXPECT_EQ(json["headlines"][0]["seeds"], 3);
  EXPECT_EQ(json["runs"].size(), 6U);
}

TEST(CompareSettings, ASeedThatNeverReachedItIsNotPartOfAMean) {
  SettingsBench bench;
  for (const int seed : {1, 2}) {
    bench.add({"fl", seed});
    bench.add({"mfl", seed, 9, seed == 1 ? 0.5 : 2.0});
  }
  const Comparison found = bench.compare();
  EXPECT_EQ(found.setting_rows[1].reached, 1U);
  EXPECT_FALSE(found.setting_rows[1].rounds_to_target);
  EXPECT_THAT(compare_text(found), HasSubstr("1 of 2 seeds"));
  EXPECT_EQ(
      found.headlines.at(0).text,
      "mfl reached fl's final loss in 1 of 2 seeds, and there in 0.44 of the rounds and 0.89 of the bytes.");
  const Comparison other = bench.compare({.target = {}, .baseline = "mfl"});
  EXPECT_EQ(other.headlines.at(0).reached, 1U) << "seed 2, where mfl ended above";
}

TEST(CompareSettings, TheHeadlineCountsMissedTargetsDivergedRunsAndSeedsWithoutABaseline) {
  SettingsBench bench;
  for (const int seed : {1, 2}) bench.add({"fl", seed});
  bench.add({"mfl", 1, 7, 1});
  bench.add({.algorithm = "mfl", .seed = 2, .scale = 0.5, .status = RunStatus::kDiverged});
  bench.add({"mfl", 3, 7, 1});
  bench.add({.algorithm = "mfl", .seed = 4, .status = RunStatus::kInterrupted});
  const Comparison found = bench.compare();
  EXPECT_EQ(
      found.headlines.at(0).text,
      "mfl did not reach fl's final loss in any of 2 seeds within its 28 steps (1 diverged; 1 seed without a "
      "run of fl left out).");
  const std::string text = compare_text(found);
  EXPECT_THAT(text, HasSubstr("2 of 4"));
  EXPECT_THAT(text, HasSubstr(fmt::format("No target for runs {}, {}", bench.ids[4], bench.ids[5])));
  EXPECT_THAT(text, HasSubstr("(mfl, seed 2) is not part of the means: diverged."));
  EXPECT_THAT(text, HasSubstr("(mfl, seed 4) is not part of the means: interrupted."));
}

TEST(CompareSettings, ABaselineOfOneSeedServesAllRunsOfItsProblem) {
  SettingsBench bench;
  bench.add({.algorithm = "fl", .seed = 1, .problem = "p"});
  for (const int seed : {1, 2}) bench.add({.algorithm = "mfl", .seed = seed, .scale = 0.5, .problem = "p"});
  const Comparison found = bench.compare();
  EXPECT_EQ(found.rows[2].target, 0.1);
  EXPECT_EQ(found.headlines.at(0).seeds, 1U) << "only seed 1 is a pair";
  EXPECT_THAT(compare_text(found),
              HasSubstr("The target is the training loss 0.1 at which fl (run " + bench.ids[0]));
}

TEST(CompareSettings, TheBaselineIsThatOfTheSamePartition) {
  SettingsBench bench;
  for (const char* partition : {"iid", "label-sorted"})
    for (const int seed : {1, 2}) {
      const double scale = partition == std::string("iid") ? 1 : 3;
      bench.add({"fl", seed, 9, scale, partition});
      bench.add({"mfl", seed, 9, scale / 2, partition});
    }
  const Comparison found = bench.compare();
  ASSERT_EQ(found.headlines.size(), 2U);
  EXPECT_EQ(found.headlines[1].setting, "mfl label-sorted");
  EXPECT_EQ(found.headlines[1].baseline, "fl label-sorted");
  EXPECT_THAT(found.headlines[1].text,
              StartsWith("mfl label-sorted reached the final loss of fl label-sorted in 0.44"));
}

TEST(CompareSettings, WithSeveralBaselinesAHeadlineHasOneCause) {
  SettingsBench bench;
  for (const char* eta : {"0.01", "0.02"})
    for (const char* algorithm : {"fl", "mfl"}) bench.add({.algorithm = algorithm, .scale = 0.5, .eta = eta});
  const Comparison found = bench.compare();
  ASSERT_EQ(found.headlines.size(), 2U);
  EXPECT_EQ(found.headlines[0].setting, "mfl eta 0.01");
  EXPECT_EQ(found.headlines[1].setting, "fl eta 0.02");
  EXPECT_EQ(found.headlines[1].baseline, "fl eta 0.01");
  bench.ids = {bench.ids[0], bench.ids[3]};
  EXPECT_EQ(bench.compare().headlines.at(0).setting, "mfl eta 0.02") << "the only baseline there is";
}

TEST(CompareSettings, IncomparableRunsHaveNoHeadline) {
  SettingsBench bench;
  bench.add({.algorithm = "fl", .seed = 1, .problem = "p"});
  bench.add({.algorithm = "mfl", .seed = 1, .problem = "q"});
  EXPECT_THAT(bench.compare().headlines, IsEmpty()) << "other data";
  SettingsBench split;
  split.add({.algorithm = "fl", .seed = 1, .partition = "iid", .problem = "p"});
  split.add({.algorithm = "mfl", .seed = 1, .partition = "label-sorted", .problem = "p"});
  EXPECT_THAT(split.compare().headlines, IsEmpty());
  EXPECT_TRUE(split.compare().rows[1].target) << "as before: the only baseline there is";
}

TEST(CompareSettings, AGivenTargetCountsBoth) {
  SettingsBench bench;
  for (const int seed : {1, 2}) {
    bench.add({"fl", seed, seed == 1 ? 9U : 3U});
    bench.add({"mfl", seed, 9, 0.5});
  }
  EXPECT_EQ(bench.compare({.target = 0.125}).headlines.at(0).text,
            "mfl reached a training loss of 0.125 in 2 of 2 seeds, fl in 1.");
  EXPECT_EQ(bench.compare({.target = 0.25}).headlines.at(0).text,
            "mfl reached a training loss of 0.25 in 0.33 ± 0.00 of the rounds and 0.67 ± 0.00 of the bytes "
            "of fl (2 "
            "seeds).");
}

TEST(CompareSettings, Formats) {
  SettingsBench bench;
  for (const int seed : {1, 2}) {
    bench.add({"fl", seed});
    bench.add({"mfl", seed, 9, 0.5});
  }
  const Comparison found = bench.compare();
  const std::string csv = compare_text(found, {TableFormat::kCsv, false});
  EXPECT_THAT(
      csv, StartsWith("setting,algorithm,seeds,left_out,with_target,reached,train_loss_mean,train_loss_sd,"));
  EXPECT_THAT(csv, HasSubstr("\nmfl,mfl,2,0,2,2,0.05,0,"));
  EXPECT_THAT(compare_text(found, {TableFormat::kCsv, true}),
              StartsWith("run,name,status,data,model,algorithm,seed,"));
  const std::string latex = compare_text(found, {TableFormat::kLatex, false});
  EXPECT_THAT(latex, StartsWith("% mfl reached fl's final loss"));
  EXPECT_THAT(latex, HasSubstr("\nmfl & 2 & 0.05 $\\pm$ 0 & 87.5 $\\pm$ 0.0 \\% & 4 $\\pm$ 0 & "));
  const std::string markdown = compare_text(found, {TableFormat::kMarkdown, false});
  EXPECT_THAT(markdown, StartsWith("| setting | seeds |"));
  EXPECT_THAT(markdown, HasSubstr("\n- mfl reached fl's final loss"));
}

}  // namespace
}  // namespace mfl::test
