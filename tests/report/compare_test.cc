#include "mfl/report/compare.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/json_value.h"
#include "tests/record/support.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

struct CompareBench : Home {
  Store opened = Store::open(store).value();

  // Ends after `last` rounds at the loss of that round, scaled.
  std::string add(const std::string& algorithm, std::uint64_t last, double scale = 1,
                  const std::string& problem = "p0", std::uint64_t other_from = UINT64_MAX) {
    RunSpec said = spec(algorithm);
    said.problem = problem;
    const std::string id = opened.create_run(said).value();
    auto rows = rounds(0, last);
    for (RoundRow& row : rows) {
      row.train_loss = *row.train_loss * scale;
      if (row.round >= other_from) row.digest = digest(row.round + 1000);
      if (algorithm == "gd") row.bytes_up = row.bytes_down = 0;
    }
    RunSummary ended = summary(rows.back().train_loss.value());
    ended.digest = rows.back().digest;
    EXPECT_TRUE(opened.append(id, rows, {}));
    EXPECT_TRUE(opened.finish(id, RunStatus::kDone, "", ended, 1));
    return id;
  }
};

TEST(Compare, TheTargetIsWhereTheBaselineEnded) {
  CompareBench bench;
  const std::vector<std::string> ids = {bench.add("mfl", 9, 0.5), bench.add("fl", 9), bench.add("gd", 9, 0.5),
                                        bench.add("mgd", 9, 2.0)};
  const Comparison found = compare_runs(bench.opened, ids).value();
  ASSERT_EQ(found.rows.size(), 4U);
  ASSERT_EQ(found.targets.size(), 1U);
  EXPECT_EQ(found.targets[0].loss, 1.0 / 10);
  EXPECT_EQ(found.targets[0].run, ids[1]);
  // 0.5 / (1 + r) <= 0.1 from round 4 on: step 16, 4 * (100 + 200) bytes.
  EXPECT_EQ(found.rows[0].run.id, ids[0]);
  EXPECT_EQ(found.rows[0].steps_to_target, 16U);
  EXPECT_EQ(found.rows[0].bytes_to_target, 1200U);
  EXPECT_EQ(found.rows[1].steps_to_target, 36U);
  EXPECT_EQ(found.rows[2].bytes_to_target, 0U);
  EXPECT_FALSE(found.rows[3].steps_to_target);
  EXPECT_FALSE(found.rows[3].bytes_to_target);

  const std::string text = compare_text(found);
  EXPECT_THAT(text, HasSubstr("steps to target  bytes to target  digest"));
  EXPECT_THAT(text, HasSubstr("             16           1.2 kB  "));
  EXPECT_THAT(text, HasSubstr("             16                0  "));
  EXPECT_THAT(text, HasSubstr("              -                -  "));
  EXPECT_THAT(text,
              HasSubstr("target for svm on mnist: train loss 0.1, where fl (run " + ids[1] + ") ended\n"));

  const auto json = JsonValue::parse(compare_json(found).dump());
  EXPECT_EQ(json["runs"][0]["steps_to_target"], 16);
  EXPECT_EQ(json["runs"][0]["bytes_to_target"], 1200);
  EXPECT_EQ(json["runs"][0]["target"], 0.1);
  EXPECT_TRUE(json["runs"][3]["steps_to_target"].is_null());
  EXPECT_EQ(json["targets"][0]["baseline_run"], ids[1]);
}

TEST(Compare, AGivenTargetAndAnotherBaseline) {
  CompareBench bench;
  const std::vector<std::string> ids = {bench.add("mfl", 9), bench.add("fl", 3)};
  const Comparison given = compare_runs(bench.opened, ids, {.target = 0.2}).value();
  EXPECT_EQ(given.rows[0].steps_to_target, 16U);
  EXPECT_FALSE(given.rows[1].steps_to_target);
  EXPECT_THAT(compare_text(given), HasSubstr("target for svm on mnist: train loss 0.2\n"));
  EXPECT_THAT(compare_json(given).dump(), HasSubstr("\"baseline_run\":null"));
  const Comparison other = compare_runs(bench.opened, ids, {.baseline = "mfl"}).value();
  EXPECT_EQ(other.targets.at(0).run, ids[0]);
  EXPECT_FALSE(other.rows[1].steps_to_target);
}

TEST(Compare, GroupsByModelAndProblem) {
  CompareBench bench;
  const std::vector<std::string> ids = {bench.add("fl", 9), bench.add("mfl", 9, 1, "p1"),
                                        bench.add("fl", 4, 1, "p1"), bench.add("mfl", 9, 1, "p2")};
  const Comparison found = compare_runs(bench.opened, ids).value();
  ASSERT_EQ(found.targets.size(), 2U);
  EXPECT_EQ(found.rows[1].target, 0.2);
  EXPECT_EQ(found.rows[1].steps_to_target, 16U);
  EXPECT_FALSE(found.rows[3].target);
  EXPECT_TRUE(found.partings.empty());
}

TEST(Compare, ADivergedOrUnfinishedBaselineSetsNoTarget) {
  CompareBench bench;
  const std::string diverged = bench.opened.create_run(spec("fl")).value();
  ASSERT_TRUE(bench.opened.finish(diverged, RunStatus::kDiverged, "", summary(std::nan("")), 1));
  const std::string going = bench.opened.create_run(spec("fl")).value();
  const std::vector<std::string> ids = {diverged, going, bench.add("mfl", 9)};
  const Comparison found = compare_runs(bench.opened, ids).value();
  EXPECT_TRUE(found.targets.empty());
  EXPECT_FALSE(found.rows[2].steps_to_target);
  const std::string text = compare_text(found);
  EXPECT_THAT(text, HasSubstr("running"));
  EXPECT_THAT(text, HasSubstr("nan"));
}

TEST(Compare, ARunWithoutASummaryIsShownByItsLastRound) {
  CompareBench bench;
  const std::string id = bench.opened.create_run(spec("mfl")).value();
  ASSERT_TRUE(bench.opened.append(id, rounds(0, 9), records(0, 8)));
  ASSERT_TRUE(bench.opened.set_status(id, RunStatus::kInterrupted, "stopped after round 9"));
  const Comparison found = compare_runs(bench.opened, std::vector{id}).value();
  ASSERT_TRUE(found.rows[0].last);
  EXPECT_EQ(found.rows[0].last->step, 36U);
  EXPECT_EQ(found.rows[0].last->train_loss, 0.1);
  EXPECT_EQ(found.rows[0].last->test_accuracy, 0.9);
  EXPECT_THAT(compare_text(found), HasSubstr("36 (interrupted)        0.1        90.00 %"));
}

TEST(Compare, StepsOfSampledLossesComeFromAMeanOverNeighbours) {
  CompareBench bench;
  // Falls to 0.5 in a straight line, with an error of 0.2 that changes its sign each round.
  std::vector<RoundRow> rows;
  for (std::uint64_t r = 0; r <= 200; ++r)
    rows.push_back({r, 4 * r, 1.0 - 0.0025 * static_cast<double>(r) + (r % 2 == 0 ? 0.2 : -0.2), 0, 0, ""});
  EXPECT_NEAR(smoothed_losses(rows)[100], 0.75, 0.01);
  EXPECT_EQ(smoothed_losses(rows).size(), rows.size());
  for (const bool sampled : {false, true}) {
    RunSpec run = spec("fl");
    run.sampled = sampled;
    const std::string id = bench.opened.create_run(run).value();
    ASSERT_TRUE(bench.opened.append(id, rows, {}));
    ASSERT_TRUE(bench.opened.finish(id, RunStatus::kDone, "", summary(rows.back().train_loss.value()), 1));
    const Comparison given = compare_runs(bench.opened, std::vector{id}, {.target = 0.75}).value();
    EXPECT_NEAR(static_cast<double>(given.rows[0].steps_to_target.value()), sampled ? 400 : 84, 20);
    EXPECT_EQ(has_sampled_target(given), sampled);
    EXPECT_EQ(compare_text(given).find("an estimate") != std::string::npos, sampled);
    const Comparison own = compare_runs(bench.opened, std::vector{id}).value();
    EXPECT_NEAR(own.targets[0].loss, sampled ? 0.53 : 0.7, 0.02);
    EXPECT_TRUE(own.rows[0].steps_to_target);
  }
}

TEST(Compare, SaysWhereTwoRunsFirstDiffer) {
  CompareBench bench;
  const std::string first = bench.add("mfl", 250);
  const std::string twin = bench.add("mfl", 250);
  const std::string other = bench.add("mfl", 250, 1, "p0", 17);
  const std::string shorter = bench.add("mfl", 30);
  const std::string fl = bench.add("fl", 250);
  const std::vector<std::string> ids = {first, twin, other, shorter, fl};
  const Comparison found = compare_runs(bench.opened, ids).value();
  ASSERT_EQ(found.partings.size(), 3U);
  EXPECT_EQ(parting_text(found.partings[0]), "identical for all 250 rounds");
  EXPECT_EQ(parting_text(found.partings[1]), "part at round 17");
  EXPECT_EQ(parting_text(found.partings[2]), "identical for all 30 common rounds");
  EXPECT_THAT(compare_text(found), HasSubstr(first + " and " + other + ": part at round 17\n"));
  const auto json = JsonValue::parse(compare_json(found).dump());
  EXPECT_TRUE(json["partings"][0]["parted_at_round"].is_null());
  EXPECT_EQ(json["partings"][1]["parted_at_round"], 17);
  EXPECT_EQ(json["partings"][2]["same_length"], false);
}

TEST(Compare, TakesPrefixesAndRefusesUnknownRuns) {
  CompareBench bench;
  const std::string id = bench.add("fl", 3);
  EXPECT_EQ(
      compare_runs(bench.opened, std::vector{id.substr(0, 5), std::string("latest")}).value().rows[1].run.id,
      id);
  EXPECT_EQ(compare_runs(bench.opened, std::vector<std::string>{"zz"}).error().code, ErrorCode::kBadConfig);
  EXPECT_TRUE(compare_runs(bench.opened, {}).value().rows.empty());
}

// A run with batches whose loss over them is always half of that over all samples, which is measured in some rounds and at the end.
std::string add_with_batches(CompareBench& bench, std::uint64_t evaluate_every,
                             RunStatus status = RunStatus::kDone, bool sampled = false) {
  RunSpec said = spec("mfl");
  said.config =
      fmt::format("[algorithm]\nbatch_size = 10\n\n[run]\nseed = 1\nevaluate_every = {}\n", evaluate_every);
  said.sampled = sampled;
  const std::string id = bench.opened.create_run(said).value();
  auto rows = rounds(0, 10);
  for (RoundRow& row : rows) {
    const bool last = row.round == 10 && status == RunStatus::kDone;
    if (row.round > 0) row.batch_loss = *row.train_loss / 2;
    if (!last && (evaluate_every == 0 || row.round % evaluate_every != 0)) row.train_loss.reset();
  }
  RunSummary ended = summary();
  ended.final.train_loss = rows.back().train_loss;
  ended.rounds = 10;
  EXPECT_TRUE(bench.opened.append(id, rows, {}));
  EXPECT_TRUE(bench.opened.finish(id, status, "", ended, 1));
  return id;
}

TEST(Compare, OnlyLossesOverAllSamplesAreCompared) {
  CompareBench bench;
  const std::string fl = bench.add("fl", 6);  // ends at 1/7
  const std::string never = add_with_batches(bench, 0), sometimes = add_with_batches(bench, 4),
                    always = add_with_batches(bench, 1);
  const Comparison found = compare_runs(bench.opened, std::vector{fl, never, sometimes, always}).value();
  EXPECT_EQ(found.rows[0].steps_to_target, 24U);
  EXPECT_FALSE(found.rows[1].steps_to_target) << "its losses over batches are at 1/7 in round 3";
  EXPECT_FALSE(found.rows[1].bytes_to_target);
  EXPECT_EQ(found.rows[2].steps_to_target, 32U) << "the first round after 6 with a loss over all samples";
  EXPECT_EQ(found.rows[3].steps_to_target, 24U);
  const std::string text = compare_text(found);
  const std::vector<std::string> parts = {"losses of",
                                          "all States",
                                          "1 of 11 States",
                                          "4 of 11 States",
                                          "No steps to target for run " + never + ": the train loss",
                                          "evaluate_every = \"auto\"",
                                          "Steps to target of run " + sometimes + " are read off the rounds"};
  for (const std::string& part : parts) EXPECT_THAT(text, HasSubstr(part));
  const auto runs = JsonValue::parse(compare_json(found).dump())["runs"];
  EXPECT_EQ(runs[0]["train_losses"], 7);
  EXPECT_EQ(runs[1]["train_losses"], 1);
  EXPECT_EQ(runs[2]["train_losses"], 4);
  EXPECT_EQ(runs[3]["train_losses"], 11);

  const Comparison alike = compare_runs(bench.opened, std::vector{fl, always}).value();
  EXPECT_EQ(compare_text(alike).find("losses of"), std::string::npos) << "all are of one kind";
  const Comparison given = compare_runs(bench.opened, std::vector{never}, {.target = 0.5}).value();
  EXPECT_FALSE(given.rows[0].steps_to_target);
  EXPECT_THAT(compare_text(given), HasSubstr("No steps to target"));
}

TEST(Compare, ALossOverBatchesIsNoLossOfTheEnd) {
  CompareBench bench;
  const std::string stopped = add_with_batches(bench, 0, RunStatus::kInterrupted),
                    evaluated = add_with_batches(bench, 5, RunStatus::kInterrupted);
  const Comparison found = compare_runs(bench.opened, std::vector{stopped, evaluated}).value();
  EXPECT_FALSE(found.rows[0].last->train_loss);
  EXPECT_EQ(found.rows[1].last->train_loss, 1.0 / 11) << "round 10 is one of those";
  EXPECT_TRUE(JsonValue::parse(compare_json(found).dump())["runs"][0]["final"]["train_loss"].is_null());
}

TEST(Compare, SampledLossesOverBatchesAreNotPartOfAMean) {
  CompareBench bench;
  const std::string id = add_with_batches(bench, 4, RunStatus::kDone, true);
  const Comparison found = compare_runs(bench.opened, std::vector{id}, {.target = 1.0 / 9}).value();
  EXPECT_EQ(found.rows[0].steps_to_target, 32U);
}

}  // namespace
}  // namespace mfl::test
