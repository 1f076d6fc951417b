// mfl init, and what its experiments and --folds do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two noisy classes whose features have very different sizes, an id and a column that is always the same.
std::string patients() {
  std::string out = "id,age,income,site,ill\n";
  for (int i = 0; i < 120; ++i)
    out += fmt::format("p{},{},{},7,{}\n", i, 20 + i * 37 % 60, 20000 + i * 7919 % 50000,
                       (i * 37 % 60) * 900 + i * 7919 % 50000 > 52000 ? "yes" : "no");
  return out;
}

TEST(Init, WritesAnExperimentThatRunsAndConverges) {
  const Sandbox box;
  box.write("patients.csv", patients());
  const auto made = ok_data(box.run({"init", "csv:patients.csv", "--drop", "id,site", "--json"}));
  EXPECT_EQ(made["model"], "logistic");
  EXPECT_EQ(made["train"], 96);
  EXPECT_EQ(made["test"], 24);
  const std::string text = box.read("experiment.toml");
  for (const char* part :
       {"standardise = \"full\"", "intercept = true", "eta = \"auto\"", "drop = [\"id\", \"site\"]",
        "features = [\"age\", \"income\"]", "positive = \"yes\""})
    EXPECT_THAT(text, HasSubstr(part));
  const auto run = ok_data(box.run({"run", "experiment.toml", "--quiet", "--json"}));
  EXPECT_EQ(run["config"]["algorithm"]["eta"], made["eta"]);
  EXPECT_GT(run["final"]["test_accuracy"].number(), 0.9);
}

TEST(Init, KeepsAFileThatExists) {
  const Sandbox box;
  box.write("patients.csv", patients());
  box.write("experiment.toml", "keep");
  const auto refused = box.run({"init", "csv:patients.csv", "--drop", "id"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(box.read("experiment.toml"), "keep");
  EXPECT_EQ(box.run({"init", "csv:patients.csv", "--drop", "id", "--force"}).code, 0);
  EXPECT_THAT(box.read("experiment.toml"), HasSubstr("[model]"));
}

TEST(Init, ChoosesTheModelByTheLabels) {
  const Sandbox box;
  std::string classes = "a,b,kind\n", numbers = "a,b,price\n";
  for (int i = 0; i < 60; ++i) {
    classes += fmt::format("{},{},{}\n", i % 7, i % 11, i % 3);
    numbers += fmt::format("{},{},{}.5\n", i % 7, i % 11, i);
  }
  box.write("classes.csv", classes);
  box.write("numbers.csv", numbers);
  EXPECT_EQ(ok_data(box.run({"init", "csv:classes.csv", "--out", "a.toml", "--json"}))["model"], "softmax");
  EXPECT_EQ(ok_data(box.run({"init", "csv:numbers.csv", "--out", "b.toml", "--json"}))["model"], "linear");
}

TEST(Standardise, WarnsOfAConstantFeatureAndIgnoresIt) {
  const Sandbox box;
  box.write("patients.csv", patients());
  const std::vector<std::string> words = {
      "run",     "--data", "csv:patients.csv", "--model", "logistic", "--standardise", "full",
      "--steps", "40",     "--quiet",          "--json",  "--drop"};
  auto with = words, without = words;
  with.emplace_back("id");
  without.emplace_back("id,site");
  const auto constant = ok_data(box.run(with)), plain = ok_data(box.run(without));
  EXPECT_THAT(constant["warnings"].dump(), HasSubstr("constant_feature"));
  EXPECT_THAT(constant["warnings"].dump(), HasSubstr("site"));
  EXPECT_THAT(plain["warnings"].dump(), Not(HasSubstr("constant_feature")));
  EXPECT_NEAR(constant["final"]["train_loss"].number(), plain["final"]["train_loss"].number(), 1e-5);
}

TEST(Folds, TestEveryRowOnceAndGiveTheMean) {
  const Sandbox box;
  box.write("patients.csv", patients());
  const auto all =
      ok_data(box.run({"run", "--data", "csv:patients.csv", "--drop", "id,site", "--model", "logistic",
                       "--standardise", "full", "--steps", "40", "--folds", "5", "--quiet", "--json"}));
  ASSERT_EQ(all["folds"].size(), 5U);
  double mean = 0;
  std::uint64_t tested = 0;
  for (const auto& fold : all["folds"]) {
    mean += fold["final"]["test_accuracy"].number() / 5;
    tested += fold["test_metrics"]["samples"].count();
  }
  EXPECT_EQ(tested, 120U);
  EXPECT_NEAR(all["test_accuracy"]["mean"].number(), mean, 1e-12);
  const auto one = ok_data(box.run({"run", "--data", "csv:patients.csv", "--drop", "id,site", "--model",
                                    "logistic", "--standardise", "full", "--steps", "40", "--folds", "5",
                                    "--fold", "3", "--quiet", "--json"}));
  EXPECT_EQ(one["digest"], all["folds"][3]["digest"]);
}

}  // namespace
}  // namespace mfl::test
