// Simulations with trainers on mfl's own library have the bits of simulations without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "trainer_runs.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  std::string name, algorithm, run;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class ExternalSimulation : public ::testing::TestWithParam<Case> {};

TEST_P(ExternalSimulation, HasTheDigestOfMflItself) {
  const auto& [name, algorithm, run] = GetParam();
  const Sandbox box;
  box.write("native.toml", native_toml(algorithm, run));
  box.write("external.toml", external_toml(algorithm, run));
  const std::string expected = digest_of(box, {"native.toml"});
  const std::string trainer = trainer_command("native.toml");
  EXPECT_EQ(digest_of(box, {"external.toml", "--trainer", trainer}), expected);
  EXPECT_EQ(digest_of(box, {"external.toml", "--trainer", trainer, "--trainer-processes", "3"}), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, ExternalSimulation,
    ::testing::Values(
        Case{"mfl", "name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "steps = 20"},
        Case{"mfl_f64", "name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3",
             "steps = 20\nprecision = \"f64\""},
        Case{"fl", "name = \"fl\"\neta = 0.05\ntau = 2", "rounds = 6"},
        Case{"reset", "name = \"mfl\"\neta = 0.05\nmomentum = \"reset\"\ntau = 3", "rounds = 5"},
        Case{"keep_local", "name = \"mfl\"\neta = 0.05\nmomentum = \"keep-local\"\ntau = 3", "rounds = 5"},
        Case{"sync_momentum", "name = \"mfl\"\neta = 0.05\nsync_momentum = 2\ntau = 3", "rounds = 5"},
        Case{"fedadam", "name = \"fedadam\"\neta = 0.05\ntau = 3", "rounds = 5"},
        Case{"fedavgm", "name = \"fedavgm\"\neta = 0.05\ntau = 3", "rounds = 5"},
        Case{"fedacg", "name = \"fedacg\"\neta = 0.05\ntau = 3", "rounds = 5"},
        Case{"fednova", "name = \"fednova\"\neta = 0.05\ntau = 3", "rounds = 5"},
        Case{"batches", "name = \"mfl\"\neta = 0.05\ntau = 3\nbatch_size = 7", "rounds = 5"},
        Case{"epochs", "name = \"mfl\"\neta = 0.05\nlocal_epochs = 2\nbatch_size = 7",
             "rounds = 5\nevaluate_every = 2"}),
    ::testing::PrintToStringParamName());

TEST(ExternalRuns, ASweepGivesEachSettingTheRunOfItsOwn) {
  const Sandbox box;
  const std::string algorithm = "name = \"mfl\"\neta = 0.05\ngamma = 0.5\ntau = 3";
  box.write("native.toml", native_toml(algorithm, "rounds = 5"));
  box.write("external.toml", external_toml(algorithm, "rounds = 5"));
  const std::string trainer = trainer_command("native.toml");
  const JsonValue swept = ok_data(box.run({"sweep", "external.toml", "--trainer", trainer, "--set",
                                      "algorithm.gamma=[0.5, 0.9]", "--json", "--quiet"}));
  ASSERT_EQ(swept["runs"].size(), 2U);
  EXPECT_EQ(swept["runs"][0]["digest"], digest_of(box, {"native.toml"}));
  EXPECT_EQ(swept["runs"][1]["digest"], digest_of(box, {"native.toml", "--gamma", "0.9"}));
}

TEST(ExternalRuns, StoppedAndResumedIsTheSameRun) {
  const Sandbox box;
  const std::string algorithm = "name = \"mfl\"\neta = 0.05\nmomentum = \"keep-local\"\ntau = 3";
  box.write("native.toml", native_toml(algorithm, "rounds = 4000"));
  box.write("external.toml", external_toml(algorithm, "rounds = 4000"));
  const std::string trainer = trainer_command("native.toml");
  Limits limits;
  limits.interrupt_after = "step";
  const Outcome stopped = box.run({"run", "external.toml", "--trainer", trainer}, limits);
  ASSERT_EQ(stopped.code, 1) << stopped.err;
  const Outcome resumed = box.run({"run", "--resume", "latest", "--trainer", trainer, "--json", "--quiet"});
  EXPECT_EQ(ok_data(resumed)["digest"], digest_of(box, {"native.toml"}));
}

TEST(ExternalRuns, RecordsWhatEveryNodeSentAndMeasured) {
  const Sandbox box;
  const std::string algorithm = "name = \"mfl\"\neta = 0.05\ntau = 3";
  box.write("native.toml", native_toml(algorithm, "rounds = 4"));
  box.write("external.toml", external_toml(algorithm, "rounds = 4\nevaluate_every = 1"));
  const auto run = ok_data(
      box.run({"run", "external.toml", "--trainer", trainer_command("native.toml"), "--json", "--quiet"}));
  EXPECT_EQ(run["final"]["test_accuracy"], 0.75) << run.dump(1);
  EXPECT_EQ(run["final"]["test_loss"], 0.5);
  const Outcome csv = box.run({"runs", "export", "latest", "--nodes", "--format", "csv"});
  EXPECT_THAT(
      csv.out,
      HasSubstr("run,round,node,weight,train_loss,batch_loss,start_loss,seconds,digest,metrics,committed"));
  EXPECT_THAT(csv.out, HasSubstr("test_accuracy"));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1 + 4 * static_cast<int>(kNodes)) << csv.out;
}

// Two runs whose trainers part: compare names round and node.
TEST(ExternalRuns, CompareNamesTheNodeAndTheRoundWhereRunsFirstDiffer) {
  const Sandbox box;
  const std::string algorithm = "name = \"mfl\"\neta = 0.05\ntau = 3";
  box.write("native.toml", native_toml(algorithm, "rounds = 6"));
  box.write("other.toml", native_toml(algorithm, "rounds = 6\nseed = 2"));
  box.write("external.toml", external_toml(algorithm, "rounds = 6\nevaluate_every = 0"));
  digest_of(box, {"external.toml", "--trainer", trainer_command("native.toml")});
  // The same hello, but other data at some nodes.
  box.write("both.sh", "exec " + trainer_command("native.toml", "drift:9:count") + "\n");
  digest_of(box, {"external.toml", "--trainer", "sh both.sh"});
  const Outcome compared = box.run({"runs", "compare", "latest~1", "latest"});
  EXPECT_THAT(compared.out, HasSubstr("part at round 3: node-0000 sent another update"));
}

TEST(ExternalRuns, TheModelIsExportedAsSafetensorsAndNpz) {
  const Sandbox box;
  const std::string algorithm = "name = \"fl\"\neta = 0.05\ntau = 3";
  box.write("native.toml", native_toml(algorithm, "rounds = 2"));
  box.write("external.toml", external_toml(algorithm, "rounds = 2"));
  digest_of(box, {"external.toml", "--trainer", trainer_command("native.toml")});
  EXPECT_EQ(box.run({"model", "export", "latest", "--format", "safetensors", "--out", "m.safetensors"}).code,
            0);
  EXPECT_THAT(box.read("m.safetensors"), HasSubstr("\"weights\":{\"dtype\":\"F32\",\"shape\":[12]"));
  EXPECT_EQ(box.run({"model", "export", "latest", "--out", "m.npz"}).code, 0);
  expect_error(box.run({"model", "export", "latest", "--format", "onnx", "--out", "m.onnx"}), 2, {"trainer"});
  expect_error(box.run({"predict", "latest", "--data", "synthetic:20x12"}), 2, {"trainer", "safetensors"});
  // And it is where another run starts.
  EXPECT_NE(digest_of(box, {"external.toml", "--trainer", trainer_command("native.toml"), "--init", "m.npz"}),
            "");
}

TEST(ExternalRuns, WhatTheTrainerDecidesIsItsOwn) {
  const Sandbox box;
  const std::string algorithm = "name = \"fl\"\neta = 0.05\ntau = 3";
  box.write("native.toml", native_toml(algorithm, "rounds = 2"));
  box.write("external.toml", external_toml(algorithm, "rounds = 2"));
  const Outcome ran =
      box.run({"run", "external.toml", "--trainer", trainer_command("native.toml"), "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part :
       {"model and data by the trainer", "(split by the trainer)", "batches by the trainer"})
    EXPECT_THAT(ran.out, HasSubstr(part));
  const Outcome shown = box.run({"runs", "show", "latest"});
  for (const char* unknown : {"iid", "lambda", "feature_skew"})
    EXPECT_THAT(shown.out, Not(HasSubstr(unknown)));
}

TEST(ExternalRuns, RefusesWhatItCannotDo) {
  const Sandbox box;
  box.write("native.toml", native_toml("name = \"mfl\"\neta = 0.05", "rounds = 2"));
  const auto refused = [&](const std::vector<std::string>& more, const std::vector<std::string>& fragments) {
    std::vector<std::string> words = {"run",     "--trainer", trainer_command("native.toml"),
                                      "--nodes", "3",         "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    expect_error(box.run(words), 2, fragments);
  };
  refused({}, {"step size", "eta"});
  refused({"--eta", "0.1", "--algorithm", "scaffold"}, {"scaffold", "step"});
  refused({"--eta", "0.1", "--algorithm", "gd"}, {"gd", "one place"});
  refused({"--eta", "0.1", "--lambda", "0.1"}, {"lambda"});
  refused({"--eta", "0.1", "--data", "synthetic:90x12"}, {"own data", "synthetic:90x12"});
  refused({"--eta", "0.1", "--model", "logistic"}, {"the model is logistic"});
  refused({"--eta", "0.1", "--model", "svm"}, {"the model is svm"});
  refused({"--eta", "0.1", "--test", "10"}, {"[data]"});
  refused({"--eta", "0.1", "--partition", "dirichlet(0.3)"}, {"partition"});
  refused({"--eta", "0.1", "--algorithm", "fedprox(0.1)"}, {"mu", "fedprox"});
  refused({"--eta", "0.1", "--algorithm", "fednag"}, {"nesterov"});
  expect_error(box.run({"run", "--model", "external", "--eta", "0.1"}), 2, {"--trainer"});
  expect_error(box.run({"sweep", "--model", "external", "--eta", "0.1"}), 2, {"--trainer"});
  expect_error(box.run({"run", "--trainer", "unix:nowhere", "--trainer-deadline", "0.2", "--eta", "0.1"}), 1,
               {"unix:nowhere", "nobody listens"});
  expect_error(box.run({"run", "--trainer", "exit 3", "--eta", "0.1", "--quiet"}), 1, {"exit 3", "code 3"});
}

}  // namespace
}  // namespace mfl::test
