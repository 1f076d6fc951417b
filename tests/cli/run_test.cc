#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> small_run(std::vector<std::string> more = {}) {
  std::vector<std::string> args{"run",    "--data", "synthetic:120x16", "--train", "80",
                                "--test", "40",     "--steps",          "10",      "--tau",
                                "4",      "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Run, JsonHasTheShapeOfTheContract) {
  const Sandbox box;
  const Outcome outcome = box.run(small_run());
  EXPECT_EQ(outcome.err, "") << "no progress beside --json in a pipe";
  const auto data = ok_data(outcome);
  EXPECT_TRUE(data["run_id"].is_string());
  EXPECT_EQ(data["status"], "done");
  EXPECT_EQ(data["reused"], false);
  EXPECT_EQ(data["config"]["algorithm"]["tau"], 4);
  EXPECT_EQ(data["config"]["data"]["source"], "synthetic:120x16");
  EXPECT_EQ(data["final"]["step"], 10);
  for (const char* key : {"train_loss", "test_loss", "test_accuracy"})
    EXPECT_TRUE(data["final"][key].is_double()) << key;
  EXPECT_TRUE(data["best"]["step"].is_integer());
  EXPECT_TRUE(data["best"]["train_loss"].is_double());
  EXPECT_EQ(data["rounds"], 3);
  EXPECT_EQ(data["bytes_up"], data["bytes_down"]);
  EXPECT_GT(data["bytes_up"], 0);
  EXPECT_TRUE(data["load_seconds"].is_double());
  EXPECT_TRUE(data["wall_seconds"].is_double());
  EXPECT_TRUE(std::regex_match(data["digest"].text(), std::regex("[0-9a-f]{64}")));
  EXPECT_TRUE(std::filesystem::exists(box.store()));
  EXPECT_EQ(data["test_metrics"]["samples"], 40);
  EXPECT_EQ(data["test_metrics"]["accuracy"], data["final"]["test_accuracy"]);
  EXPECT_EQ(data["test_metrics"]["classes"][1]["class"], "even");
  EXPECT_EQ(data["test_metrics"]["confusion"].size(), 2U);
}

TEST(Run, TenClassesAreShownOneByOne) {
  const Sandbox box;
  const Outcome people = box.run({"run", "--data", "synthetic:400x16", "--train", "300", "--test", "100",
                                  "--model", "softmax", "--steps", "8", "--quiet"});
  EXPECT_EQ(people.code, 0) << people.err;
  EXPECT_TRUE(
      std::regex_search(people.out, std::regex(R"(\ntest accuracy  \d+\.\d\d % \(top 3: \d+\.\d\d %\)\n)"
                                               R"(by class       precision [^\n]* \(macro\)\n)")))
      << people.out;
  EXPECT_THAT(people.out, HasSubstr("\nclasses        one by one: mfl runs show "));
  const Outcome show = box.run({"runs", "show", "latest"});
  EXPECT_TRUE(std::regex_search(
      show.out,
      std::regex(R"(\nclass  precision +recall +F1  count\n[- ]+\n0 (.|\n)*\n9 [^\n]*\n\nconfusion matrix)")))
      << show.out;
  EXPECT_THAT(show.out, HasSubstr("confusion matrix (rows: true class, columns: predicted)\nclass "));
  const auto metrics = ok_data(box.run({"runs", "show", "latest", "--json"}))["run"]["test_metrics"];
  EXPECT_EQ(metrics["classes"].size(), 10U);
  EXPECT_EQ(metrics["confusion"].size(), 10U);
  const auto exported = JsonValue::parse(box.run({"runs", "export", "latest", "--format", "json"}).out);
  EXPECT_EQ(exported["runs"][0]["run"]["test_metrics"], metrics);
  ASSERT_EQ(box.run({"report", "latest", "--out", "page"}).code, 0);
  const std::string page = box.read("page/report.html");
  EXPECT_THAT(page, HasSubstr("By class of the test set: precision "));
  EXPECT_THAT(page, HasSubstr("Confusion matrix: a row for each true class"));
}

TEST(Run, TwoClassesHaveAPositiveOneAndAuc) {
  const Sandbox box;
  const Outcome people =
      box.run({"run", "--data", "synthetic:400x16", "--test", "100", "--steps", "8", "--quiet"});
  EXPECT_EQ(people.code, 0) << people.err;
  EXPECT_TRUE(std::regex_search(people.out, std::regex(R"(\nby class       precision [^\n]* \(macro\)\n)"
                                                       R"(positive       even: precision [^\n]*\n)"
                                                       R"(ROC AUC        0\.\d+\n)")))
      << people.out;
  EXPECT_THAT(box.run({"runs", "show", "latest"}).out, HasSubstr("confusion matrix"));
  const auto metrics = ok_data(box.run({"runs", "show", "latest", "--json"}))["run"]["test_metrics"];
  EXPECT_EQ(metrics["positive"], metrics["classes"][1]);
  EXPECT_GT(metrics["roc_auc"], 0.5);
  EXPECT_THAT(box.run({"runs", "show", "latest"}).out, HasSubstr("ROC AUC"));
  ASSERT_EQ(box.run({"report", "latest", "--out", "page"}).code, 0);
  EXPECT_THAT(box.read("page/report.html"), HasSubstr("ROC AUC"));
}

TEST(Run, ARegressionHasItsErrors) {
  const Sandbox box;
  std::string rows;
  for (int i = 0; i < 60; ++i)
    rows += std::to_string(i % 7) + ",1," + std::to_string(3 * (i % 7) - 4) + ".5\n";
  box.write("numbers.csv", rows);
  const Outcome people = box.run({"run", "--data", "csv:numbers.csv", "--model", "linear", "--test", "20",
                                  "--steps", "100", "--nodes", "2", "--eta", "0.05", "--quiet"});
  EXPECT_EQ(people.code, 0) << people.err;
  EXPECT_TRUE(
      std::regex_search(people.out, std::regex(R"(\ntest errors +RMSE [^\n]*, MAE [^\n]*, R\^2 0\.\d+\n)")))
      << people.out;
  const auto metrics = ok_data(box.run({"runs", "show", "latest", "--json"}))["run"]["test_metrics"];
  EXPECT_EQ(metrics["samples"], 20);
  EXPECT_GE(metrics["rmse"], metrics["mae"]);
  EXPECT_GT(metrics["r2"], 0.9);
  EXPECT_THAT(box.run({"runs", "show", "latest"}).out, HasSubstr("RMSE"));
  ASSERT_EQ(box.run({"report", "latest", "--out", "page"}).code, 0);
  EXPECT_THAT(box.read("page/report.html"), HasSubstr("RMSE"));
}

TEST(Run, NumbersAreNullWithoutATestSet) {
  const auto data = ok_data(
      Sandbox().run(small_run({"--set", "data.test=all", "--set", "data.test=0", "--test-source", ""})));
  EXPECT_FALSE(data["final"]["test_loss"].is_null()) << "the flag --test wins over --set";
  const auto none =
      ok_data(Sandbox().run({"run", "--data", "synthetic:120x16", "--test", "0", "--steps", "4", "--json"}));
  EXPECT_TRUE(none["final"]["test_loss"].is_null());
  EXPECT_TRUE(none["final"]["test_accuracy"].is_null());
  EXPECT_TRUE(none["test_metrics"].is_null());
}

TEST(Run, LaterFlagsWin) {
  const Sandbox box;
  box.write("e.toml",
            "[data]\nsource = \"synthetic:120x16\"\n[algorithm]\neta = 0.01\ngamma = 0.1\ntau = "
            "2\n[run]\nsteps = 6\n");
  const auto config = ok_data(box.run({"run", "e.toml", "--set", "algorithm.gamma=0.2", "--set",
                                       "algorithm.tau=3", "--tau", "5", "--json"}))["config"];
  EXPECT_EQ(config["algorithm"]["eta"], 0.01);
  EXPECT_EQ(config["algorithm"]["gamma"], 0.2);
  EXPECT_EQ(config["algorithm"]["tau"], 5);
  EXPECT_EQ(config["run"]["steps"], 6);
  EXPECT_EQ(config["run"]["seed"], 1);
}

TEST(Run, PeopleGetATableAndPlainProgress) {
  const Sandbox box;
  const std::vector<std::string> args{"run", "--data", "synthetic:120x16", "--steps", "40"};
  const Outcome outcome = box.run(args);
  EXPECT_EQ(outcome.code, 0);
  for (const char* word : {"run ", "train loss", "traffic", "digest"})
    EXPECT_THAT(outcome.out, HasSubstr(word));
  EXPECT_THAT(outcome.err, HasSubstr("100 %  step 40/40  train loss "));
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos);
  EXPECT_LE(std::ranges::count(outcome.err, '\n'), 11);
  auto quiet = args;
  quiet.emplace_back("--quiet");
  EXPECT_EQ(box.run(quiet).err, "");
}

TEST(Run, ReuseShowsTheRecordedRun) {
  const Sandbox box;
  const auto first = ok_data(box.run(small_run({"--reuse"})));
  EXPECT_EQ(first["reused"], false);
  const auto second = ok_data(box.run(small_run({"--reuse", "--engine", "serial"})));
  EXPECT_EQ(second["reused"], true);
  EXPECT_EQ(second["run_id"], first["run_id"]);
  EXPECT_EQ(second["digest"], first["digest"]);
  EXPECT_EQ(ok_data(box.run(small_run({"--reuse", "--eta", "0.003"})))["reused"], false);
}

TEST(Run, OneDigestOverEnginesAndThreads) {
  const Sandbox box;
  for (const char* precision : {"f32", "f64"}) {
    const auto reference = ok_data(box.run(small_run({"--engine", "serial", "--precision", precision})));
    for (const char* threads : {"1", "2", "3", "8"})
      EXPECT_EQ(ok_data(box.run(small_run({"--threads", threads, "--precision", precision})))["digest"],
                reference["digest"])
          << threads;
  }
}

TEST(Run, TheIdentitiesHoldOnTheCommandLine) {
  const Sandbox box;
  const auto digest = [&](std::vector<std::string> more) {
    return ok_data(box.run(small_run(std::move(more))))["digest"];
  };
  EXPECT_EQ(digest({"--algorithm", "mfl", "--gamma", "0"}), digest({"--algorithm", "fedavg"}));
  EXPECT_EQ(digest({"--algorithm", "mfl", "--nodes", "1"}), digest({"--algorithm", "mgd"}));
}

TEST(Run, WeightsOutIsANumpyFile) {
  const Sandbox box;
  ok_data(box.run(small_run({"--weights-out", "w.npy"})));
  const std::string bytes = box.read("w.npy");
  EXPECT_EQ(bytes.substr(0, 6), "\x93NUMPY");
  EXPECT_THAT(bytes, HasSubstr("'<f4'"));
}

TEST(Run, InterruptedAndResumedEndsWithTheSameDigest) {
  const Sandbox box;
  const std::vector<std::string> args{"run",     "--data", "synthetic:1500x784", "--test", "0",
                                      "--steps", "3000",   "--record-every",     "1000"};
  const Outcome stopped = box.run(args, {.file_bytes = {}, .interrupt_after = "step "});
  EXPECT_EQ(stopped.code, 1);
  EXPECT_THAT(stopped.out, HasSubstr("interrupted"));
  std::smatch match;
  const std::regex line(
      "mfl: run ([0-9a-f]+) stopped at step [0-9]+ \\(continue: mfl run --resume "
      "([0-9a-f]+)\\)");
  ASSERT_TRUE(std::regex_search(stopped.err, match, line)) << stopped.err;
  EXPECT_EQ(match[1], match[2]);
  const auto resumed = ok_data(box.run({"run", "--resume", match[2], "--threads", "1", "--json"}));
  EXPECT_EQ(resumed["run_id"], match[1].str());
  EXPECT_EQ(resumed["final"]["step"], 3000);
  auto whole_args = args;
  whole_args.emplace_back("--json");
  const auto whole = ok_data(box.run(whole_args));
  EXPECT_EQ(resumed["digest"], whole["digest"]);
  EXPECT_EQ(resumed["final"], whole["final"]);
  EXPECT_EQ(resumed["best"], whole["best"]);
}

TEST(Run, ShippedExperimentFilesAreValid) {
  const Sandbox box;
  const auto quick = ok_data(box.run({"run", MFL_EXPERIMENTS "/quickstart.toml", "--json"}));
  EXPECT_EQ(quick["status"], "done");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MFL_EXPERIMENTS "/paper")) {
    const bool sweep = entry.path().stem().string().starts_with("figure-");
    const auto data = ok_data(box.run({sweep ? "sweep" : "run", entry.path().string(), "--data", "synthetic",
                                       "--train", "40", "--test", "20", "--steps", "4", "--json"}));
    if (sweep) {
      EXPECT_GT(data["settings"], 1) << entry.path();
      continue;
    }
    ++files;
    EXPECT_EQ(data["config"]["model"]["name"], entry.path().stem().string());
    EXPECT_EQ(data["config"]["algorithm"]["gamma"], 0.5);
  }
  EXPECT_EQ(files, 4);
}

TEST(Run, AnEmptyTrainerIsRefused) {
  const Sandbox box;
  for (const char* nothing : {"", "  "})
    expect_error(box.run({"run", "--nodes", "2", "--algorithm", "mfl", "--eta", "0.1", "--rounds", "3",
                          "--trainer", nothing}),
                 2, {"--trainer", "must not be empty"});
}

TEST(Run, WithoutEvaluationsTheTrainLossIsSaidNotToBeMeasured) {
  const Sandbox box;
  const Outcome outcome = box.run(
      {"run", "--data", "synthetic:120x16", "--rounds", "5", "--batch-size", "8", "--evaluate-every", "0"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("train loss     not measured: evaluate_every is 0"));
  EXPECT_THAT(outcome.out, HasSubstr("the last State, at step 20"));
  EXPECT_THAT(outcome.err, HasSubstr("batch loss "));
  expect_error(box.run({"run", "--data", "synthetic:120x16", "--rounds", "5", "--batch-size", "8",
                        "--evaluate-every", "0", "--patience", "2"}),
               2, {"patience", "evaluate_every"});
}

}  // namespace
}  // namespace mfl::test
