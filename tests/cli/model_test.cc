// mfl model, predict, evaluate and --init: what they print, and every way in which they refuse.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Models : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string rows = "age,dose,outcome\n";
    for (int i = 0; i < 60; ++i)
      rows += fmt::format("{},{},{}\n", i % 9, (i * 7) % 11, i % 9 > 4 ? "well" : "ill");
    box_.write("train.csv", rows);
    run_ = ok_data(train({}))["run_id"];
  }
  Outcome train(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "run",     "--data", "csv:train.csv", "--model", "logistic", "--eta", "0.05",
        "--nodes", "2",      "--steps",       "40",      "--test",   "0",     "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return box_.run(words);
  }

  Sandbox box_;
  std::string run_;
};

TEST_F(Models, AreShownFromTheStoreAndFromAFile) {
  const auto stored = ok_data(box_.run({"model", "show", "latest", "--json"}));
  EXPECT_EQ(stored["run"], run_);
  EXPECT_EQ(stored["tensors"][0]["name"], "weights");
  EXPECT_EQ(stored["schema"]["features"], (std::vector<std::string>{"age", "dose"}));
  EXPECT_EQ(ok_data(box_.run({"model", "export", "latest", "--out", "m.npz", "--json"}))["digest"],
            stored["digest"]);
  EXPECT_EQ(ok_data(box_.run({"model", "show", "m.npz", "--json"})), stored);
  EXPECT_THAT(box_.run({"model", "show", "m.npz"}).out, HasSubstr("features      2: age, dose"));
}

TEST_F(Models, PredictInTheOrderOfTheRows) {
  box_.write("new.csv", "dose,name,age\n3,Ann,8\n5,Bob,0\n");
  const Outcome said = box_.run({"predict", run_, "--data", "csv:new.csv"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, StartsWith("label,probability_ill,probability_well\nwell,0."));
  EXPECT_THAT(said.out, HasSubstr("\nill,0."));
  ASSERT_EQ(box_.run({"model", "export", run_, "--out", "m.npz"}).code, 0);
  const auto written =
      ok_data(box_.run({"predict", "m.npz", "--data", "csv:new.csv", "--out", "p.csv", "--json"}));
  EXPECT_EQ(written["rows"], 2);
  EXPECT_EQ(box_.read("p.csv"), said.out);
  const Outcome both = box_.run({"predict", "m.npz", "--data", "csv:new.csv", "--json"});
  EXPECT_EQ(both.code, 2);
  EXPECT_EQ(both.json()["error"]["hint"], "name a file with --out");
}

TEST_F(Models, ABadRowLeavesNoFile) {
  box_.write("new.csv", "dose,age\n3,8\n5,x\n");
  expect_error(box_.run({"predict", run_, "--data", "csv:new.csv", "--out", "p.csv"}), 3,
               {"new.csv, line 3", "column 2"});
  EXPECT_FALSE(std::filesystem::exists(box_.path("p.csv")));
  for (const auto& entry : std::filesystem::directory_iterator(box_.path()))
    EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr(".tmp-")));
}

TEST_F(Models, AnInputIsNotReplacedByPredictions) {
  ASSERT_EQ(box_.run({"model", "export", run_, "--out", "m.npz"}).code, 0);
  box_.write("new.csv", "dose,age\n3,8\n");
  std::filesystem::create_symlink("new.csv", box_.path("link.csv"));
  const auto before = box_.files();
  for (const std::string out : {"new.csv", "./new.csv", "link.csv", "m.npz"})
    expect_error(box_.run({"predict", "m.npz", "--data", "csv:new.csv", "--out", out}), 2,
                 {"--out " + out, "replaced"});
  EXPECT_EQ(box_.files(), before);
}

TEST_F(Models, AreEvaluatedAsTheirRunWas) {
  const auto judged = ok_data(box_.run({"evaluate", run_, "--data", "csv:train.csv", "--json"}));
  EXPECT_EQ(judged["samples"], 60);
  const auto run = ok_data(box_.run({"runs", "show", run_, "--json"}))["run"];
  EXPECT_NEAR(judged["loss"].number(), run["final"]["train_loss"].number(), 1e-6);
  EXPECT_EQ(judged["metrics"]["confusion"].size(), 2U);
  const Outcome people = box_.run({"evaluate", run_, "--data", "csv:train.csv", "--label", "outcome"});
  EXPECT_THAT(people.out, HasSubstr("ROC AUC"));
  EXPECT_THAT(people.out, HasSubstr("confusion matrix"));
}

TEST_F(Models, OtherDataIsRefused) {
  box_.write("short.csv", "age,outcome\n1,ill\n");
  box_.write("other.csv", "age,dose,outcome\n1,2,ill\n3,4,dead\n");
  box_.write("wide.svm", "1 1:1 3:2\n");
  expect_error(box_.run({"predict", run_, "--data", "csv:short.csv"}), 3,
               {"short.csv", "missing column 'dose'"});
  expect_error(box_.run({"evaluate", run_, "--data", "csv:other.csv"}), 3,
               {"other.csv, line 3, column 3", "dead"});
  expect_error(box_.run({"evaluate", run_, "--data", "csv:other.csv", "--label", "fate"}), 2, {"fate"});
  expect_error(box_.run({"predict", run_, "--data", "libsvm:wide.svm"}), 3, {"wide.svm, line 1", "index 3"});
  expect_error(box_.run({"predict", run_, "--data", "synthetic:40x8"}), 3, {"8 features and the model 2"});
  expect_error(box_.run({"evaluate", run_, "--data", "synthetic:40x8"}), 3, {"8 features, and the model 2"});
}

TEST_F(Models, BadModelFilesAreRefused) {
  ASSERT_EQ(box_.run({"model", "export", run_, "--out", "m.npz"}).code, 0);
  const std::string whole = box_.read("m.npz");
  box_.write("cut.npz", whole.substr(0, whole.size() / 2));
  std::string altered = whole;
  altered[200] = static_cast<char>(altered[200] ^ 1);
  box_.write("altered.npz", altered);
  box_.write("net.onnx", "\x08\x08");
  for (const std::string name : {"cut.npz", "altered.npz"})
    for (const std::string command : {"predict", "evaluate"})
      expect_error(box_.run({command, name, "--data", "csv:train.csv"}), 3, {name, "not a model file"});
  expect_error(box_.run({"predict", "net.onnx", "--data", "csv:train.csv"}), 2, {"net.onnx is an ONNX file"});
  expect_error(box_.run({"model", "show", "none.npz"}), 3, {"none.npz"});
  expect_error(box_.run({"model", "show", "nosuch"}), 2, {"nosuch"});
  expect_error(box_.run({"model", "export", run_, "--format", "pickle", "--out", "m"}), 2,
               {"npz, onnx or safetensors"});
}

TEST_F(Models, ARunStartsFromAModel) {
  ASSERT_EQ(box_.run({"model", "export", run_, "--out", "m.npz"}).code, 0);
  const std::string from_file = ok_data(train({"--init", "m.npz"}))["digest"];
  EXPECT_EQ(ok_data(train({"--init", run_}))["digest"], from_file);
  EXPECT_NE(ok_data(box_.run({"model", "show", run_, "--json"}))["digest"], from_file);
  box_.write("other.csv", "age,weight,outcome\n1,2,ill\n3,4,well\n");
  expect_error(box_.run({"run", "--data", "csv:other.csv", "--model", "logistic", "--nodes", "1", "--steps",
                         "4", "--test", "0", "--init", "m.npz"}),
               2, {"the initial model does not fit this run", "dose", "weight"});
  expect_error(box_.run({"run", "--data", "csv:train.csv", "--init", "none.npz"}), 3, {"none.npz"});
  expect_error(box_.run({"theory", "run", "--data", "synthetic:40x8", "--init", "m.npz"}), 2,
               {"leave init out"});
}

}  // namespace
}  // namespace mfl::test
