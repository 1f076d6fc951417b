#include "mfl/report/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/json_value.h"
#include "tests/record/support.h"
#include "tests/report/text.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunRow example() {
  RunRow run;
  static_cast<RunSpec&>(run) = spec();
  run.id = "0123abcd";
  run.created = "2025-01-31T09:30:00Z";
  run.owner = this_process();
  return run;
}

TEST(Runs, AnEmptyListIsAHeader) {
  const std::string text = runs_text({});
  EXPECT_THAT(text, HasSubstr("run  created  status"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Runs, List) {
  RunRow done = example();
  done.id = "89abcdef";
  done.status = RunStatus::kDone;
  done.summary = summary();
  const std::string text = runs_text(std::vector{example(), done});
  EXPECT_THAT(text, HasSubstr("0123abcd  running  try   svm    mfl        0.002    0.5    4"));
  EXPECT_THAT(text, HasSubstr("1000     -         -\n"));
  EXPECT_THAT(text, HasSubstr("1000  0.25   87.50 %\n"));
}

TEST(Runs, AListIsAtMostAHundredColumnsWide) {
  RunRow wide = example();
  wide.status = RunStatus::kInterrupted;
  wide.name = "a name much longer than any column should be";
  wide.data = "csv:/some/where/far/away/in/a/folder/points.csv";
  wide.model = "squared-svm";
  wide.eta = 1.0 / 3e7;
  wide.gamma = 1.0 / 3;
  wide.tau = wide.nodes = wide.planned_steps = 9'000'000'000'000'000'000ULL;
  wide.config = "[run]\nseed = 9000000000000000000\n";
  wide.summary = summary(-1.0 / 3e200);
  wide.summary->final.step = wide.planned_steps;
  const std::string alone = runs_text(std::vector{example()});
  const std::string both = runs_text(std::vector{example(), wide});
  EXPECT_LE(widest_line(both), 100U) << both;
  EXPECT_LE(widest_line(alone), 100U) << alone;
  EXPECT_THAT(both, HasSubstr("seed"));
  EXPECT_THAT(both, HasSubstr("9.00e+18"));
}

TEST(Runs, AListHasTheSeed) {
  RunRow run = example();
  run.config = "[data]\nsource = \"mnist\"\n[run]\nname = \"\"\nseed = 4711\n";
  EXPECT_THAT(runs_text(std::vector{run}), HasSubstr("4711"));
  const auto listed = [&] { return JsonValue::parse(runs_json(std::vector{run}).dump())["runs"][0]; };
  EXPECT_EQ(listed()["seed"], 4711);
  run.config = "not what mfl writes";
  EXPECT_FALSE(listed().contains("seed"));
}

TEST(Runs, ARunWhoseProcessIsGoneWasKilled) {
  RunRow run = example();
  EXPECT_EQ(shown_status(run), "running");
  ++run.owner.start;
  EXPECT_EQ(shown_status(run), "killed");
  const auto listed = JsonValue::parse(runs_json(std::vector{run}).dump())["runs"][0];
  EXPECT_EQ(listed["shown_status"], "killed");
  EXPECT_EQ(listed["status"], "running");
  EXPECT_FALSE(listed.contains("config"));
  run.status = RunStatus::kFailed;
  EXPECT_EQ(shown_status(run), "failed");
}

TEST(Runs, ShowsEverythingOfARun) {
  RunExport one{example(), records(0, 30), {}};
  one.run.status = RunStatus::kDiverged;
  one.run.message = "loss is not finite";
  one.run.summary = summary(1.0 / 3.0);
  const std::string text = run_text(one, 3);
  for (const char* part : {"run                 0123abcd\n", "status              diverged\n",
                           "message             loss is not finite\n", "eta                 0.002\n",
                           "gamma               0.5\n", "data digest         d0\n",
                           "problem             p0\n", "final train loss    0.33333333333333331\n",
                           "final test accuracy 87.50 %\n", "bytes up            25.0 kB\n",
                           "\nconfiguration\n  [model]\n  name = \"svm\"\n", "\nrecords (last 3 of 31)\n"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("\n 112     28"));
  EXPECT_THAT(text, Not(HasSubstr("\n 108     27")));
  EXPECT_THAT(text, HasSubstr("digest of w         " + digest(250) + "\n"));
  EXPECT_THAT(text, HasSubstr("state digest\n"));
  EXPECT_THAT(text, Not(HasSubstr("process")));
}

TEST(Runs, WarningsAreMarkedInTheListAndShown) {
  RunRow run = example();
  run.status = RunStatus::kDone;
  EXPECT_THAT(runs_text(std::vector{run}), Not(HasSubstr("!")));
  run.warnings = {{"rising", 1000, "the train loss rose", "lower eta"}};
  EXPECT_THAT(runs_text(std::vector{run}), HasSubstr("  done!  "));
  EXPECT_THAT(runs_text(std::vector{run}), HasSubstr("! ended with a warning"));
  EXPECT_THAT(run_text({run, {}, {}}), HasSubstr("warning             the train loss rose (lower eta)\n"));
  const auto json = JsonValue::parse(runs_json(std::vector{run}).dump())["runs"][0];
  EXPECT_EQ(json["shown_status"], "done");
  EXPECT_EQ(json["warnings"][0]["id"], "rising");
}

TEST(Runs, ShowsARunInProgress) {
  const RunExport one{example(), {}, {}};
  const std::string text = run_text(one);
  EXPECT_THAT(text, HasSubstr("status              running\n"));
  EXPECT_THAT(text, HasSubstr("owner               process "));
  EXPECT_THAT(text, Not(HasSubstr("final step")));
  EXPECT_THAT(text, HasSubstr("records (last 0 of 0)\n"));
  const auto shown = JsonValue::parse(show_json(one).dump());
  EXPECT_EQ(shown["run"]["shown_status"], "running");
  EXPECT_TRUE(shown["records"].empty());
}

TEST(Runs, ShowsMetricsByClass) {
  RunExport one{example(), records(0, 3), {}};
  one.run.status = RunStatus::kDone;
  one.run.summary = summary();
  EXPECT_THAT(run_text(one), Not(HasSubstr("by class")));
  one.run.summary->test_metrics =
      R"({"samples":4,"accuracy":0.75,"top_3":1.0,"macro":{"precision":0.75,"recall":0.5,"f1":0.6},"classes":[)"
      R"({"class":"no","precision":1.0,"recall":0.5,"f1":0.6,"support":2},)"
      R"({"class":"yes","precision":0.5,"recall":1.0,"f1":0.6,"support":2}],"confusion":[[1,1],[0,2]]})";
  const std::string text = run_text(one);
  EXPECT_THAT(text, HasSubstr("final test accuracy 87.50 %\n"
                              "top 3 accuracy      100.00 %\n"
                              "by class            precision 75.00 %, recall 50.00 %, F1 60.00 % (macro)\n"
                              "positive            yes: precision 50.00 %, recall 100.00 %, F1 60.00 %\n"
                              "best step"));
  EXPECT_THAT(text, HasSubstr("\ntest set by class\nclass  precision"));
  EXPECT_THAT(text, HasSubstr("\nno      100.00 %   50.00 %  60.00 %      2\n"));
  EXPECT_THAT(
      text,
      HasSubstr("columns: predicted)\nclass  no  yes\n-----  --  ---\nno      1    1\nyes     0    2\n"));
  EXPECT_EQ(JsonValue::parse(show_json(one).dump())["run"]["test_metrics"]["top_3"], 1.0);
  EXPECT_FALSE(JsonValue::parse(runs_json(std::vector{one.run}).dump())["runs"][0].contains("test_metrics"));
}

}  // namespace
}  // namespace mfl::test
