#include "mfl/report/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/record/support.h"

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

TEST(Runs, AListOfNoneIsAHeader) {
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
  EXPECT_THAT(
      text,
      HasSubstr("0123abcd  2025-01-31T09:30:00Z  running  try   mnist  svm    mfl        0.002    0.5"));
  EXPECT_THAT(text, HasSubstr("1000     -         -  -\n"));
  EXPECT_THAT(text, HasSubstr("1000  0.25     0.875  " + digest(250).substr(0, 12) + "\n"));
}

TEST(Runs, ARunWhoseProcessIsGoneWasKilled) {
  RunRow run = example();
  EXPECT_EQ(shown_status(run), "running");
  ++run.owner.start;
  EXPECT_EQ(shown_status(run), "killed");
  const auto listed = nlohmann::json::parse(runs_json(std::vector{run}).dump())["runs"][0];
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
                           "final test accuracy 0.875\n", "bytes up            25.0 kB\n",
                           "\nconfiguration\n  [model]\n  name = \"svm\"\n", "\nrecords (last 3 of 31)\n"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("\n 112     28"));
  EXPECT_THAT(text, Not(HasSubstr("\n 108     27")));
  EXPECT_THAT(text, HasSubstr(digest(250) + "\n"));
}

TEST(Runs, ShowsARunThatGoes) {
  const RunExport one{example(), {}, {}};
  const std::string text = run_text(one);
  EXPECT_THAT(text, HasSubstr("status              running\n"));
  EXPECT_THAT(text, Not(HasSubstr("final step")));
  EXPECT_THAT(text, HasSubstr("records (last 0 of 0)\n"));
  const auto shown = nlohmann::json::parse(show_json(one).dump());
  EXPECT_EQ(shown["run"]["shown_status"], "running");
  EXPECT_TRUE(shown["records"].empty());
}

}  // namespace
}  // namespace mfl::test
