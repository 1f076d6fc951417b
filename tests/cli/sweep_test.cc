#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// Settings whose rounds do not end together, long enough to be stopped several times.
const Words kLong = {"sweep",
                     "--data",
                     "synthetic:600x100",
                     "--test",
                     "0",
                     "--steps",
                     "6000",
                     "--set",
                     "algorithm.gamma=[0.1, 0.5, 0.9]",
                     "--set",
                     "algorithm.tau=[3, 4]",
                     "--checkpoint-every",
                     "50"};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> digests(const JsonValue& sweep) {
  std::vector<std::string> out;
  for (const auto& run : sweep["runs"]) out.push_back(run["digest"]);
  return out;
}

// Ends with the digests of a sweep that was not stopped, in one run per setting.
void expect_whole(const Sandbox& box, const JsonValue& ended) {
  const Sandbox other;
  EXPECT_EQ(digests(ended), digests(ok_data(other.run(kLong + Words{"--json"}))));
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--json"}))["runs"].size(), 6U)
      << "continued, not started again";
}

TEST(Sweep, ThreeInterruptionsDoNotChangeTheResult) {
  const Sandbox box;
  for (int i = 0; i < 3; ++i) {
    Limits limits;
    limits.interrupt_after = "step ";
    const Outcome stopped = box.run(kLong + Words{"--resume"}, limits);
    ASSERT_EQ(stopped.code, 1) << stopped.err;
    EXPECT_THAT(stopped.out, HasSubstr("interrupted"));
    EXPECT_THAT(stopped.err, HasSubstr("mfl: stopping after this round; Ctrl-C again to stop now\n"));
    EXPECT_THAT(stopped.err, HasSubstr("--resume continues"));
  }
  expect_whole(box, ok_data(box.run(kLong + Words{"--resume", "--json"})));
}

TEST(Sweep, AKilledSweepContinuesFromItsCheckpoints) {
  const Sandbox box;
  Limits limits;
  limits.interrupt_after = "step ";
  limits.launcher = {"/bin/sh", "-c", "echo $$ > pid; exec \"$0\" \"$@\""};
  limits.instead = [&] { ::kill(std::stoi(box.read("pid")), SIGKILL); };
  EXPECT_EQ(box.run(kLong, limits).code, 128 + SIGKILL);
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--status", "killed", "--json"}))["runs"].size(), 6U);
  expect_whole(box, ok_data(box.run(kLong + Words{"--reuse", "--json"})));
}

TEST(Sweep, AGridOnTheCommandLineNeedsNoFile) {
  const Sandbox box;
  const Words small = {"--data", "synthetic:60x8", "--test", "0", "--steps", "4"};
  const auto sweep = ok_data(box.run(Words{"sweep", "--set", "model.name=[svm, \"linear\"]", "--set",
                                           "algorithm.name=[fl,mfl]", "--eta", "[0.1, 0.2]", "--json"} +
                                     small));
  ASSERT_EQ(sweep["settings"], 8);
  const auto& second = sweep["runs"][1]["config"];
  EXPECT_EQ(second["model"]["name"], "svm");
  EXPECT_EQ(second["algorithm"]["name"], "fl");
  EXPECT_EQ(second["algorithm"]["eta"], 0.2) << "the last array varies fastest";
  const Words alone = {"run", "--model", "linear", "--algorithm", "mfl", "--eta", "0.2", "--json"};
  EXPECT_EQ(sweep["runs"][7]["digest"], ok_data(box.run(alone + small))["digest"]);
}

TEST(Sweep, OfOneTakesTheFlagsOfARun) {
  const Sandbox box;
  const Words steep = {"--data", "synthetic:200x16", "--test", "0", "--eta", "5", "--steps", "40"};
  const auto of = [&](const std::string& command) {
    return box.run(Words{command, "--weights-out", command + ".npy", "--monitor", "--json"} + steep);
  };
  const JsonValue run = ok_data(of("run")), swept = ok_data(of("sweep"));
  ASSERT_EQ(swept["runs"].size(), 1U);
  EXPECT_GT(run["warnings"].size(), 0U);
  EXPECT_EQ(swept["runs"][0]["warnings"], run["warnings"]);
  EXPECT_EQ(swept["runs"][0]["digest"], run["digest"]);
  EXPECT_EQ(box.read("sweep.npy"), box.read("run.npy"));
}

TEST(Sweep, ColumnsHaveDifferentHeadsAndNoQuotes) {
  const Sandbox box;
  box.write("two.toml",
            "[data]\nsource = \"synthetic:60x8\"\ntest = 0\n[model]\nname = [\"svm\", \"linear\"]\n"
            "[algorithm]\nname = [\"fl\", \"mfl\"]\ngamma = 0.5\n[run]\nsteps = 4\n");
  const Outcome sweep = box.run({"sweep", "two.toml"});
  EXPECT_EQ(sweep.code, 0) << sweep.err;
  EXPECT_THAT(sweep.out, ::testing::ContainsRegex("^run +model.name +algorithm.name +status"));
  EXPECT_THAT(sweep.out, ::testing::Not(HasSubstr("\"")));
  EXPECT_THAT(sweep.out, ::testing::ContainsRegex(" svm +mfl +done"));

  expect_error(box.run({"sweep", "two.toml", "--algorithm", "gd"}), 2,
               {"--algorithm gd: algorithm.name is an array in this sweep", "--set algorithm.name=[gd]"});
  expect_error(box.run({"sweep", "two.toml", "--set", "model.name=svm"}), 2,
               {"--set model.name=svm", "array"});
  const auto replaced =
      ok_data(box.run({"sweep", "two.toml", "--set", "algorithm.name=[gd]", "--gamma", "0.9", "--json"}));
  EXPECT_EQ(replaced["settings"], 2);
  EXPECT_EQ(replaced["runs"][0]["config"]["algorithm"]["name"], "gd");
  expect_error(box.run({"run", "--set", "algorithm.eta=[0.1,0.2]"}), 2, {"arrays are for mfl sweep"});
}

TEST(Sweep, TheLastProgressLineHasTheLossOfTheResult) {
  const Sandbox box;
  for (const Words& words : {Words{"run"}, Words{"sweep"}}) {
    const Outcome run = box.run(words + Words{"--data", "synthetic:200x20", "--test", "0", "--steps", "200"});
    ASSERT_EQ(run.code, 0) << run.err;
    const std::size_t last = run.err.rfind("loss ");
    ASSERT_NE(last, std::string::npos) << run.err;
    const std::string loss = run.err.substr(last + 5, run.err.find_first_of(" \n", last + 5) - last - 5);
    const double final =
        ok_data(box.run({"runs", "show", "latest", "--json"}))["run"]["final"]["train_loss"].number();
    EXPECT_NEAR(std::stod(loss), final, 1e-6 * final);
    EXPECT_THAT(run.err, HasSubstr("100 %  step 200/200"));
  }
}

// What docs/settings.md says of robust rules, on less data.
TEST(Sweep, RobustRulesDiscardNodesThatAloneHoldAClass) {
  const auto data = ok_data(Sandbox().run({"sweep", MFL_EXPERIMENTS "/robust.toml", "--data", "synthetic",
                                           "--train", "1000", "--test", "1000", "--steps", "200", "--json"}));
  std::map<std::string, std::map<std::string, double>> accuracy;
  for (const auto& run : data["runs"]) {
    const auto& federation = run["config"]["federation"];
    const std::string rule = federation["aggregator"];
    accuracy[federation["partition"]][rule.substr(0, rule.find('('))] =
        run["final"]["test_accuracy"].number();
  }
  ASSERT_EQ(accuracy["iid"].size(), 7U);
  for (const auto& [rule, reached] : accuracy["iid"])
    EXPECT_NEAR(reached, accuracy["iid"]["mean"], 0.02) << rule;
  EXPECT_NEAR(accuracy["label-sorted"]["mean"], accuracy["iid"]["mean"], 0.02);
  for (const char* rule : {"median", "trimmed-mean", "krum", "multi-krum", "centred-clipping"})
    EXPECT_LT(accuracy["label-sorted"][rule], accuracy["label-sorted"]["mean"] - 0.05) << rule;
}

}  // namespace
}  // namespace mfl::test
