// mfl report and mfl reproduce, on settings small enough to finish immediately.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "process.h"

namespace mfl::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// Small versions of the paper's experiments: the same files with other numbers.
void write_experiments(const Sandbox& box, const std::string& eta = "0.02") {
  const std::string data =
      "[data]\nsource = \"synthetic:300x24\"\ntrain = 160\ntest = 80\ntake = \"random\"\n";
  const auto file = [&](const std::string& models, const std::string& algorithms, const std::string& gammas,
                        const std::string& taus, int steps) {
    return data + "[model]\nname = " + models + "\n[algorithm]\nname = " + algorithms + "\neta = " + eta +
           "\ngamma = " + gammas + "\ntau = " + taus + "\n[run]\nsteps = " + std::to_string(steps) +
           "\nrecord_every = 4\n";
  };
  box.write("small/figure-4.toml", file("[\"svm\", \"squared-svm\", \"linear\", \"logistic\"]",
                                        "[\"gd\", \"mgd\", \"fl\", \"mfl\"]", "0.5", "4", 40));
  box.write("small/figure-5.toml", file("[\"svm\"]", "\"mfl\"", "[0.0, 0.3, 0.5, 0.7, 0.9, 0.99]", "4", 40));
  box.write("small/figure-6.toml", file("\"svm\"", "[\"fl\", \"mfl\"]", "0.5", "[1, 4, 10]", 40));
  box.write("small/figure-6-long.toml", file("\"svm\"", "\"mfl\"", "0.5", "[10, 100, 200]", 400));
}

std::vector<std::string> reproduce(std::vector<std::string> more = {}) {
  std::vector<std::string> args = {"reproduce", "--experiments", "small", "--seeds",
                                   "2",         "--out",         "out",   "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// The files below a folder of the sandbox.
std::map<std::string, std::string> below(const Sandbox& box, const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const auto& [name, bytes] : box.files())
    if (name.starts_with(folder + "/") && bytes != "(folder)") found[name.substr(folder.size() + 1)] = bytes;
  return found;
}

TEST(Reproduce, WritesEveryFigureClaimAndTable) {
  const Sandbox box;
  write_experiments(box);
  const auto data = ok_data(box.run(reproduce()));
  EXPECT_EQ(data["report"], (box.path("out") / "report.html").string());
  EXPECT_EQ(data["runs"], 2 * (16 + 5 + 4 + 3));
  EXPECT_EQ(data["reused"], 0);
  const auto files = below(box, "out");
  for (const char* name : {"fig4a", "fig4b", "fig4c", "fig4d", "fig5a", "fig5b", "fig5c", "fig6"})
    for (const std::string& file :
         {std::string("figures/") + name + ".svg", std::string("figures/") + name + ".png",
          std::string("data/") + name + ".csv"})
      EXPECT_TRUE(files.contains(file)) << file;
  const auto claims = JsonValue::parse(files.at("claims.json"));
  ASSERT_TRUE(claims.is_object());
  EXPECT_EQ(claims["schema_version"], 1);
  EXPECT_GE(claims["claims"].size(), 12U);
  EXPECT_EQ(claims["claims"].size(), data["claims"].size());
  for (const auto& claim : claims["claims"]) EXPECT_NE(claim["verdict"], "not tested") << claim["id"];
  bool zero_is_fl = false;
  for (const auto& claim : claims["claims"])
    zero_is_fl = zero_is_fl || (claim["id"] == "5a-gamma-0-is-fl" && claim["verdict"] == "holds");
  EXPECT_TRUE(zero_is_fl);
  EXPECT_FALSE(claims["cost"].empty());
  for (const char* part :
       {"Claims of Section VII", "What it costs", "What was run", "Seeds 1 to 2", "d alone"})
    EXPECT_THAT(files.at("report.html"), HasSubstr(part));
}

TEST(Reproduce, ASecondTimeTrainsNothingAndGivesTheSameBytes) {
  const Sandbox box, other;
  for (const Sandbox* one : {&box, &other}) write_experiments(*one);
  const auto first = ok_data(box.run(reproduce()));
  const auto before = below(box, "out");
  const auto again = ok_data(box.run(reproduce()));
  EXPECT_EQ(again["reused"], first["runs"]);
  (void)ok_data(other.run(reproduce({"--set", "run.engine=serial"})));
  for (const auto& [name, bytes] : below(other, "out"))
    if (name != "report.html") {
      EXPECT_TRUE(bytes == before.at(name)) << name << " from another store and engine";
    }
  for (const auto& [name, bytes] : below(box, "out"))
    if (name != "report.html") {
      EXPECT_TRUE(bytes == before.at(name)) << name << " from the same store";
    }
}

TEST(Reproduce, RunsRecordedAtOtherStepsAreTrainedAgain) {
  const Sandbox box;
  write_experiments(box);
  (void)ok_data(box.run(reproduce({"--figure", "4c", "--set", "run.record_every=40"})));
  const auto data = ok_data(box.run(reproduce({"--figure", "4c"})));
  EXPECT_EQ(data["reused"], 0);
  EXPECT_EQ(ok_data(box.run(reproduce({"--figure", "4c"})))["reused"], data["runs"]);
}

TEST(Reproduce, QuickAndSingleFiguresSayWhatTheyLeaveOut) {
  const Sandbox box;
  write_experiments(box);
  const auto data = ok_data(box.run(reproduce({"--figure", "6,4c", "--quick"})));
  EXPECT_EQ(data["quick"], true);
  const auto files = below(box, "out");
  EXPECT_TRUE(files.contains("figures/fig6.svg"));
  EXPECT_TRUE(files.contains("figures/fig4c.svg"));
  EXPECT_FALSE(files.contains("figures/fig4a.svg"));
  EXPECT_FALSE(files.contains("figures/fig6-rise.svg"));
  for (const auto& claim : data["claims"])
    if (claim["id"] == "6-long-flat-to-100" || claim["id"] == "4a-converges-svm") {
      EXPECT_EQ(claim["verdict"], "not tested") << claim["id"];
    }
  EXPECT_THAT(files.at("report.html"), HasSubstr("leaves out the long runs"));
  EXPECT_THAT(files.at("report.html"), HasSubstr("Only these figures were asked for: 4c, 6"));
  EXPECT_THAT(files.at("report.html"), Not(HasSubstr(">not tested<")));
  EXPECT_THAT(files.at("report.html"), HasSubstr("claims were not tested: those of figures 4a"));
  const Outcome text = box.run(
      {"reproduce", "--experiments", "small", "--seeds", "1", "--out", "out", "--figure", "4c", "--quiet"});
  EXPECT_THAT(text.out, Not(HasSubstr("not tested  ")));
  EXPECT_THAT(text.out, HasSubstr("claims were not tested: those of figures 4a, 4b, 4d"));
  EXPECT_THAT(box.read("out/report.html"), HasSubstr("tested on one seed"));
  EXPECT_THAT(files.at("report.html"), HasSubstr("tested on 2 seeds"));
}

TEST(Reproduce, ADivergedRunIsDrawnAndMarked) {
  const Sandbox box;
  write_experiments(box, "30");
  const auto data = ok_data(box.run(reproduce({"--figure", "4c", "--set", "run.steps=400"})));
  bool seen = false;
  for (const auto& claim : data["claims"])
    if (claim["id"] == "4c-converges-linear") {
      EXPECT_EQ(claim["verdict"], "does not hold");
      seen = true;
    }
  EXPECT_TRUE(seen);
  EXPECT_THAT(box.read("out/figures/fig4c.svg"), HasSubstr("(diverged)"));
  EXPECT_THAT(box.read("out/report.html"), HasSubstr("marked with a cross"));
}

TEST(Reproduce, FailuresAreExplainedAndLeaveNothing) {
  const Sandbox box;
  write_experiments(box);
  const auto with = [](const std::string& flag, const std::string& value) {
    std::map<std::string, std::string> flags = {
        {"--experiments", "small"}, {"--figure", "4c"}, {"--seeds", "1"}, {"--out", "out"}};
    flags[flag] = value;
    std::vector<std::string> args = {"reproduce", "--quiet"};
    for (const auto& [name, word] : flags) args.insert(args.end(), {name, word});
    return args;
  };
  expect_error(box.run(with("--figure", "9")), 2, {"--figure 9", "5a to 5c"});
  expect_error(box.run(with("--seeds", "0")), 2, {"--seeds 0"});
  expect_error(box.run(with("--experiments", "nowhere")), 2, {"nowhere/figure-4.toml", "--experiments"});
  expect_error(box.run(with("--set", "algorithm.gama=1")), 2, {"gama", "gamma"});
  expect_error(box.run(with("--out", "/proc/mfl/out")), 1, {"/proc/mfl"});
  box.write("mine/notes.txt", "mine");
  expect_error(box.run(with("--out", "mine")), 2, {"mine", "not an mfl report"});
  expect_error(box.run(with("--out", "out"), {.file_bytes = {}, .interrupt_after = {}, .path = "/nowhere"}),
               1, {"gnuplot is not installed", "gnuplot-nox"});
  EXPECT_FALSE(fs::exists(box.store())) << "all of that is said before the training";
  expect_error(box.run(with("--out", "out"), {.file_bytes = 60000, .interrupt_after = {}}), 1, {});
  EXPECT_FALSE(fs::exists(box.path("out")));
  for (const auto& [name, bytes] : box.files()) EXPECT_FALSE(name.starts_with("mfl-")) << name;
}

TEST(Reproduce, AnInterruptionLeavesNoReportAndTheNextCallContinues) {
  const Sandbox box;
  write_experiments(box);
  const std::vector<std::string> args = {
      "reproduce", "--experiments", "small", "--figure",        "4c", "--seeds", "1",
      "--out",     "out",           "--set", "run.steps=200000"};
  const Outcome stopped = box.run(args, {.file_bytes = {}, .interrupt_after = "10 %"});
  EXPECT_EQ(stopped.code, 1);
  EXPECT_THAT(stopped.err, HasSubstr("interrupted after"));
  EXPECT_THAT(stopped.err, HasSubstr("run the same command again"));
  EXPECT_FALSE(fs::exists(box.path("out")));
}

TEST(Report, AnyRunsOfTheStoreBecomeAPage) {
  const Sandbox box;
  std::vector<std::string> args = {"report", "--out", "page", "--json"};
  for (const char* algorithm : {"fl", "mfl", "gd"})
    args.push_back(
        ok_data(box.run({"run", "--data", "synthetic:120x16", "--train", "80", "--test", "40", "--steps",
                         "12", "--algorithm", algorithm, "--name", "<b>mine", "--json"}))["run_id"]);
  const auto data = ok_data(box.run(args));
  EXPECT_EQ(data["report"], (box.path("page") / "report.html").string());
  const auto files = below(box, "page");
  for (const char* name : {"figures/loss-1.svg", "figures/loss-1.png", "figures/accuracy-1.svg",
                           "figures/traffic-1.svg", "data/records.csv", "data/rounds.csv"})
    EXPECT_TRUE(files.contains(name)) << name;
  const std::string& page = files.at("report.html");
  for (const std::string& part : {args[4], args[5], std::string("gamma = 0.5"), std::string("&lt;b&gt;mine"),
                                  std::string("digest of the weights"), std::string("steps to target")})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr(box.path().string()))) << "a page is for others";
  EXPECT_THAT(page, Not(HasSubstr("process ")));
  for (const char* title :
       {">Training loss: svm on synthetic:120x16", ">Test accuracy: svm", ">Loss over traffic: svm"})
    EXPECT_THAT(page, HasSubstr(title));
  (void)ok_data(box.run(args));
  EXPECT_EQ(below(box, "page").at("data/rounds.csv"), files.at("data/rounds.csv"));
  EXPECT_TRUE(below(box, "page").at("report.html") == page);
}

TEST(Report, SeedsOfASettingAreOneCurveAndOneRow) {
  const Sandbox box;
  std::vector<std::string> ids;
  for (const char* algorithm : {"fl", "mfl"})
    for (const char* seed : {"1", "2", "3"})
      ids.push_back(
          ok_data(box.run({"run", "--data", "synthetic:120x16", "--train", "80", "--test", "40", "--steps",
                           "12", "--algorithm", algorithm, "--seed", seed, "--json"}))["run_id"]);
  const auto with = [&](std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), ids.begin(), ids.end());
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  (void)ok_data(box.run(with({"report"}, {"--out", "page", "--json"})));
  const auto files = below(box, "page");
  const std::string& page = files.at("report.html");
  for (const char* part : {"Means over 3 seeds", "reached fl&#39;s final loss in",
                           "What all runs have in common", "algorithm.name"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr("digest of the weights")))
      << "one table of runs in place of their sections";
  const Outcome csv = box.run(with({"runs", "compare"}, {"--format", "csv"}));
  EXPECT_EQ(csv.out, files.at("data/comparison.csv"));
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), 3);
  EXPECT_EQ(box.run(with({"runs", "compare"}, {"--format", "latex"})).out, files.at("data/comparison.tex"));
  EXPECT_EQ(box.run(with({"runs", "compare"}, {"--format", "markdown"})).out, files.at("data/comparison.md"));
  EXPECT_EQ(std::ranges::count(box.run(with({"runs", "compare"}, {"--format", "csv", "--each"})).out, '\n'),
            7);
  const auto data = ok_data(box.run(with({"runs", "compare"}, {"--json"})));
  EXPECT_EQ(data["settings"].size(), 2U);
  EXPECT_EQ(data["settings"][0]["seeds"].size(), 3U);
  EXPECT_EQ(data["headlines"][0]["seeds"], 3);
  expect_error(box.run(with({"runs", "compare"}, {"--format", "pdf"})), 2, {"--format", "pdf", "latex"});
}

TEST(Report, WarningsAreInTheRunTheListTheSheetAndThePage) {
  const Sandbox box;
  const std::vector<std::string> run = {"run", "--data", "synthetic:120x16", "--train", "80",  "--test",
                                        "40",  "--eta",  "0.00001",          "--steps", "200", "--quiet"};
  const Outcome text = box.run(run);
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("the train loss still fell by"));
  EXPECT_THAT(
      text.out,
      HasSubstr("mfl theory advise --data synthetic:120x16 --train 80 --test 40 --budget-rounds 50\n"));
  auto reused = run;
  reused.insert(reused.end(), {"--reuse", "--json"});
  const auto data = ok_data(box.run(reused));
  EXPECT_EQ(data["reused"], true);
  ASSERT_EQ(data["warnings"].size(), 1U);
  EXPECT_EQ(data["warnings"][0]["id"], "still_falling");
  const std::string message = data["warnings"][0]["message"], hint = data["warnings"][0]["hint"];
  EXPECT_THAT(hint, HasSubstr("a larger eta"));
  EXPECT_THAT(box.run({"runs", "list"}).out, HasSubstr("done!"));
  EXPECT_THAT(box.run({"runs", "show", "latest"}).out, HasSubstr(message));
  EXPECT_EQ(ok_data(box.run({"runs", "show", "latest", "--json"}))["run"]["warnings"], data["warnings"]);
  (void)ok_data(box.run({"report", "latest", "--out", "page", "--json"}));
  EXPECT_THAT(box.read("page/report.html"), HasSubstr(message));
  EXPECT_THAT(box.read("page/report.html"), HasSubstr("done, warned"));
}

TEST(Report, ErrorsAreThoseOfTheStoreAndTheFolder) {
  const Sandbox box;
  expect_error(box.run({"report", "abcd"}), 2, {"no run store"});
  (void)ok_data(box.run({"run", "--data", "synthetic:40x8", "--steps", "8", "--json"}));
  expect_error(box.run({"report", "zzzz"}), 2, {"zzzz"});
  box.write("report/mine.txt", "x");
  expect_error(box.run({"report", "latest"}), 2, {"not an mfl report"});
}

}  // namespace
}  // namespace mfl::test
