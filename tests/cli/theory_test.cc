#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> small_theory(const std::string& model, std::vector<std::string> more = {},
                                      const std::string& eta = "0.05") {
  std::vector<std::string> args{"theory", "run",   "--data", "synthetic:160x12", "--test", "0", "--model",
                                model,    "--eta", eta,      "--steps",          "30"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(TheoryH, GivesTheBoundsStepByStep) {
  const Sandbox box;
  const std::vector<std::string> args{"theory",  "h",   "--eta",   "0.01", "--beta",  "7",
                                      "--gamma", "0.6", "--delta", "2.5",  "--steps", "5"};
  auto with_json = args;
  with_json.emplace_back("--json");
  const auto data = ok_data(box.run(with_json));
  ASSERT_EQ(data["rows"].size(), 6U);
  EXPECT_EQ(data["rows"][1]["h"], 0.0);
  EXPECT_TRUE(data["rows"][1]["log_h"].is_null());
  EXPECT_NEAR(data["rows"][2]["h"].number(), 1e-4 * 7 * 2.5, 1e-15);
  EXPECT_NEAR(data["rows"][2]["log_h"].number(), std::log(1e-4 * 7 * 2.5), 1e-12);
  EXPECT_NEAR(data["rows"][1]["node_w"].number(), 0.025, 1e-15);
  EXPECT_NEAR(data["fl_rows"][3]["h"].number(), 2.5 / 7 * (std::pow(1.07, 3) - 1) - 0.01 * 2.5 * 3, 1e-12);
  const Outcome outcome = box.run(args);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("h(x) of FL"));
  EXPECT_TRUE(box.files().empty());
}

TEST(TheoryH, LargeStepsHaveALogarithmAndAShortTable) {
  const Sandbox box;
  const std::vector<std::string> args{"theory", "h",       "--eta", "0.9",     "--beta",
                                      "1",      "--gamma", "0.99",  "--steps", "20000"};
  auto with_json = args;
  with_json.emplace_back("--json");
  const auto last = ok_data(box.run(with_json))["rows"].back();
  EXPECT_TRUE(last["h"].is_null());
  EXPECT_GT(last["log_h"].number(), 1000);
  EXPECT_LT(std::ranges::count(box.run(args).out, '\n'), 30);
}

TEST(TheoryH, RefusesWhatIsOutOfRange) {
  const Sandbox box;
  const auto h = [&](const std::string& eta, const std::string& beta, const std::string& gamma) {
    return box.run({"theory", "h", "--eta", eta, "--beta", beta, "--gamma", gamma});
  };
  expect_error(h("0", "1", "0.5"), 2, {"--eta 0", "> 0"});
  expect_error(h("0.1", "-1", "0.5"), 2, {"--beta -1", ">= 0"});
  expect_error(h("0.1", "1", "1"), 2, {"--gamma 1", "in [0, 1)"});
  expect_error(h("nan", "1", "0.5"), 2, {"--eta"});
  expect_error(box.run({"theory", "h", "--eta", "0.1"}), 2, {"--beta"});
  expect_error(box.run({"theory"}), 2, {"run, h, advise"});
}

TEST(TheoryRun, JsonHoldsTheWholeDiagnosis) {
  const Sandbox box;
  const Outcome outcome = box.run(small_theory("squared-svm", {"--json"}));
  EXPECT_EQ(outcome.err, "");
  const auto data = ok_data(outcome);
  EXPECT_EQ(data["config"]["run"]["precision"], "f64");
  EXPECT_GT(data["curvature"]["beta"], 0.3);
  EXPECT_EQ(data["curvature"]["beta_i"].size(), 4U);
  EXPECT_EQ(data["curvature"]["mu"], 0.3);
  EXPECT_LE(data["optimum"]["gradient_norm"], 1e-10);
  EXPECT_EQ(data["optimum"]["w"].size(), 12U);
  for (const char* run : {"run", "fl"}) {
    const auto& part = data[run];
    EXPECT_EQ(part["steps"].size(), 30U);
    EXPECT_EQ(part["intervals"].size(), 8U);
    EXPECT_EQ(part["proposition_1"]["violations"], 0);
    EXPECT_EQ(part["constants"]["descent_violations"], 0);
    for (const auto& step : part["steps"]) {
      EXPECT_LE(step["w_gap"].number(), step["w_bound"].number() + 1e-12);
      EXPECT_EQ(step["node_w_gap"].size(), 4U);
    }
    const auto& second = part["proposition_2"];
    EXPECT_GE(second["bound"].number(), second["gap"].number());
    EXPECT_GE(second["a_posteriori"].number(), second["gap"].number());
  }
  EXPECT_EQ(data["proposition_3"]["verdict"], "PASS");
  EXPECT_GT(data["proposition_3"]["speed_up"], 1.0);
  for (const auto& condition : data["conditions"]) {
    EXPECT_EQ(condition["verdict"], "PASS") << condition;
    EXPECT_THAT(condition["why"].text(), ::testing::EndsWith("."));
  }
  EXPECT_TRUE(box.files().empty()) << "nothing is recorded";
  EXPECT_EQ(data["digest"],
            ok_data(box.run({"run", "--data", "synthetic:160x12", "--test", "0", "--model", "squared-svm",
                             "--eta", "0.05", "--steps", "30", "--precision", "f64", "--json"}))["digest"]);
}

TEST(TheoryRun, PeopleGetTitlesAndSentences) {
  const Outcome outcome = Sandbox().run(small_theory("squared-svm", {"--quiet"}));
  EXPECT_EQ(outcome.code, 0);
  for (const char* words :
       {"smoothness of each node's loss", "PASS            0 < eta beta < 1",
        "Proposition 1:", "Proposition 2:", "Proposition 3:", "a posteriori", "times as fast"})
    EXPECT_THAT(outcome.out, HasSubstr(words));
}

TEST(TheoryRun, SaysWhatDoesNotApplyAndWhy) {
  const Sandbox box;
  const Outcome hinge = box.run(small_theory("svm", {"--quiet"}));
  EXPECT_EQ(hinge.code, 0);
  EXPECT_THAT(hinge.out, HasSubstr("FAIL            every F_i has a Lipschitz gradient"));
  EXPECT_THAT(hinge.out, HasSubstr("The hinge has a kink"));
  EXPECT_THAT(hinge.out, HasSubstr("not applicable  Proposition 1"));
  const Outcome flat = box.run(small_theory("linear", {"--quiet"}));
  EXPECT_THAT(flat.out, HasSubstr("FAIL            F is strongly convex"));
  const Outcome heavy = box.run(small_theory("squared-svm", {"--gamma", "0.97", "--quiet"}, "0.3"));
  EXPECT_THAT(heavy.out, HasSubstr("FAIL            alpha > 0"));
  EXPECT_THAT(heavy.out, ::testing::ContainsRegex("by Proposition 2 +not applicable"));
  const auto json = ok_data(box.run(small_theory("svm", {"--json"})));
  for (const char* key : {"curvature", "optimum"}) EXPECT_TRUE(json[key].is_null()) << key;
  EXPECT_TRUE(json["run"]["proposition_1"].is_null());
}

TEST(TheoryRun, DivergenceIsAFailureWithItsReport) {
  const Outcome outcome = Sandbox().run(small_theory("linear", {"--json"}, "1e30"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.json()["error"]["code"], "run_failed");
  EXPECT_FALSE(outcome.json()["data"]["run"]["diverged_after"].is_null());
}

TEST(TheoryRun, ThePageHasItsFigures) {
  const Sandbox box;
  const auto data = ok_data(box.run(small_theory("squared-svm", {"--page", "page", "--json"})));
  EXPECT_EQ(data["page"], box.path("page/report.html").string());
  const std::string html = box.read("page/report.html");
  for (const char* words : {"<svg", "Drift and its bound", "a-posteriori bound", "PASS"})
    EXPECT_THAT(html, HasSubstr(words));
  for (const char* name : {"gaps-first", "gaps", "convergence"}) {
    EXPECT_THAT(box.read(std::string("page/figures/") + name + ".png"), HasSubstr("PNG"));
    EXPECT_THAT(box.read(std::string("page/figures/") + name + ".svg"), HasSubstr("<svg"));
  }
  ok_data(box.run(small_theory("squared-svm", {"--page", "page", "--json"})));
  box.write("mine/notes.txt", "keep");
  expect_error(box.run(small_theory("squared-svm", {"--page", "mine"})), 2, {"mine", "is not an mfl report"});
  EXPECT_EQ(box.read("mine/notes.txt"), "keep");
}

TEST(Monitor, WarnsOnceInBothOutputs) {
  const Sandbox box;
  std::vector<std::string> args{
      "run",   "--data", "synthetic:160x12", "--test", "0",      "--model", "squared-svm",
      "--eta", "9",      "--steps",          "8",      "--quiet"};
  EXPECT_THAT(box.run(args).err, Not(HasSubstr("warning"))) << "off by default";
  args.emplace_back("--monitor");
  const Outcome outcome = box.run(args);
  EXPECT_THAT(outcome.err, HasSubstr("mfl: warning at step 0: eta beta = "));
  EXPECT_THAT(outcome.err, HasSubstr("the run may diverge"));
  EXPECT_THAT(outcome.out, HasSubstr("warning  "));
  args.emplace_back("--json");
  const Outcome json = box.run(args);
  EXPECT_EQ(json.err, "");
  const auto warnings = json.json()["data"]["warnings"];
  ASSERT_GE(warnings.size(), 2U);
  EXPECT_EQ(warnings[0]["id"], "eta_beta");
  EXPECT_EQ(warnings[0]["step"], 0);
}

TEST(TheoryAdvise, GivesASettingThatRuns) {
  const Sandbox box;
  const std::vector<std::string> data_flags{"--data", "synthetic:160x12", "--test",
                                            "0",      "--model",          "logistic"};
  std::vector<std::string> args{"theory", "advise", "--budget-rounds", "8", "--max-tau", "8", "--json"};
  args.insert(args.end(), data_flags.begin(), data_flags.end());
  const auto data = ok_data(box.run(args));
  const auto& algorithm = data["config"]["algorithm"];
  EXPECT_EQ(data["pilot"]["setting"]["rounds"], 8);
  EXPECT_GT(data["theory"]["beta"], 0.0);
  EXPECT_TRUE(box.files().empty());
  std::vector<std::string> run{"run",         "--json",
                               "--algorithm", algorithm["name"],
                               "--eta",       algorithm["eta"].dump(),
                               "--gamma",     algorithm["gamma"].dump(),
                               "--tau",       algorithm["tau"].dump(),
                               "--steps",     data["config"]["run"]["steps"].dump()};
  run.insert(run.end(), data_flags.begin(), data_flags.end());
  EXPECT_EQ(ok_data(box.run(run))["best"]["train_loss"], data["pilot"]["expected_loss"]);
  args.erase(std::ranges::find(args, "--json"));
  EXPECT_THAT(box.run(args).out, HasSubstr("run it"));
}

// As a person would: the whole line into a shell.
Outcome paste(const Sandbox& box, std::string command) {
  EXPECT_TRUE(command.starts_with("mfl ")) << command;
  command.replace(0, 3, "\"$0\"");
  return box.run(
      {}, {.file_bytes = {}, .interrupt_after = {}, .launcher = {"/bin/sh", "-c", command + " --json"}});
}

TEST(TheoryAdvise, PrintsACommandThatCanBePasted) {
  const Sandbox box;
  std::string csv = "a,b c,label\n";
  for (int r = 0; r < 60; ++r)
    csv += std::to_string(r % 7) + "," + std::to_string((r * r) % 11) + "," + std::to_string(r % 2) + "\n";
  box.write("it's mine/points, 1.csv", csv);
  box.write("experiment.toml",
            "[data]\nsource = \"csv:it's mine/points, 1.csv\"\ntrain = 50\ntest = 10\n[model]\nname = "
            "\"logistic\"\n"
            "lambda = 0.01\n[federation]\nnodes = 3\npartition = \"label-sorted\"\n[run]\nname = \"a "
            "name\"\nseed = 7\n");
  const std::vector<std::string> args{"theory",    "advise", "experiment.toml", "--budget-rounds", "8",
                                      "--max-tau", "4"};
  auto with_json = args;
  with_json.emplace_back("--json");
  const auto data = ok_data(box.run(with_json));
  const std::string command = data["command"];
  EXPECT_THAT(box.run(args).out, HasSubstr("run it         " + command + "\n"));
  const auto run = ok_data(paste(box, command));
  EXPECT_EQ(run["config"], data["config"]);
  EXPECT_EQ(run["best"]["train_loss"], data["pilot"]["expected_loss"]);
}

TEST(TheoryAdvise, StaysBelowItsOwnLimit) {
  const Sandbox box;
  // Features of very different size: the longest stable step is the best.
  std::string csv = "a,b,c,label\n";
  for (int r = 0; r < 80; ++r)
    csv += std::to_string(r % 7) + "," + std::to_string(40 * ((r * r) % 11)) + "," +
           std::to_string(900 + 300 * ((r * 5) % 13)) + "," + std::to_string(r % 2) + "\n";
  box.write("uneven.csv", csv);
  for (const char* rounds : {"20", "60", "100"}) {
    const auto data =
        ok_data(box.run({"theory", "advise", "--data", "csv:uneven.csv", "--test", "0", "--model", "logistic",
                         "--budget-rounds", rounds, "--max-tau", "8", "--json"}));
    EXPECT_LT(data["pilot"]["setting"]["eta"].number(), data["pilot"]["stable_eta"].number()) << rounds;
  }
}

TEST(TheoryAdvise, NeedsABudget) {
  const Sandbox box;
  expect_error(box.run({"theory", "advise", "--data", "synthetic:160x12"}), 2, {"budget", "--budget-rounds"});
  expect_error(box.run({"theory", "advise", "--data", "synthetic:160x12", "--budget-bytes", "5"}), 2,
               {"does not cover one round"});
}

}  // namespace
}  // namespace mfl::test
