#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kStudy = R"([data]
source = "synthetic:600x60"
test = 40
[algorithm]
tau = 2
[run]
rounds = 1500
[study]
algorithms = ["fedavg", { name = "mfl", tune = { gamma = [0.5, 0.9] } }, "scaffold"]
splits = ["iid", "label-sorted"]
problems = [{ data = "synthetic:600x60", model = "squared-svm" }]
eta = [0.01, 0.1]
seeds = [1, 2]
tuning_seeds = [11]
reference = "fedavg"
focus = "mfl"
[study.quick]
splits = ["iid"]
set = { run.rounds = 3 }
)";

TEST(Study, AnInterruptedStudyContinuesAndWritesTheSameBytes) {
  const Sandbox whole, stopped;
  for (const Sandbox* box : {&whole, &stopped}) box->write("study.toml", kStudy);
  ASSERT_EQ(whole.run({"study", "study.toml", "--out", "page"}).code, 0);
  Limits limits;
  limits.interrupt_after = "step ";
  const Outcome first = stopped.run({"study", "study.toml", "--out", "page"}, limits);
  ASSERT_EQ(first.code, 1) << first.out << first.err;
  EXPECT_THAT(first.err, HasSubstr("run the same command again"));
  EXPECT_FALSE(std::filesystem::exists(stopped.path("page")));
  const Outcome second = stopped.run({"study", "study.toml", "--out", "page"});
  ASSERT_EQ(second.code, 0) << second.err;
  for (const char* file : {"report.html", "study.json", "tables/results.csv", "tables/results.md",
                           "tables/results.tex", "data/curves.csv", "data/runs.csv", "figures/ranking.svg"}) {
    const std::string bytes = whole.read(std::string("page/") + file);
    EXPECT_FALSE(bytes.empty()) << file;
    EXPECT_EQ(bytes, stopped.read(std::string("page/") + file)) << file;
  }
}

TEST(Study, TheQuickFormSaysThatItIsOne) {
  const Sandbox box;
  box.write("study.toml", kStudy);
  const auto data = ok_data(box.run({"study", "study.toml", "--quick", "--json"}));
  EXPECT_EQ(data["quick"], true);
  EXPECT_EQ(data["runs"], 2 + 4 + 2 + 3 * 2);
  EXPECT_THAT(data["cautions"][0].text(), HasSubstr("quick form"));
  EXPECT_THAT(box.read("study/report.html"), HasSubstr("(quick form)"));
  const Outcome again = box.run({"study", "study.toml", "--quick"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("mean rank"));
  EXPECT_THAT(again.out, HasSubstr("mfl is the best, or tied with the best"));
}

TEST(Study, WrongCommandsSayWhatToDoAndLeaveNothing) {
  const Sandbox box;
  box.write("study.toml", kStudy);
  box.write("plain.toml", "[run]\nrounds = 3\n");
  const auto expect = [&](std::vector<std::string> words, const char* message) {
    words.insert(words.begin(), "study");
    const Outcome outcome = box.run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  expect({}, "FILE");
  expect({"missing.toml"}, "missing.toml");
  expect({"plain.toml"}, "there is no table [study]");
  expect({"study.toml", "--set", "run.patience=3"}, "end runs early");
  expect({"study.toml", "--set", "run.roundz=3"}, "rounds");
  box.write("mine/thesis.txt", "mine");
  expect({"study.toml", "--out", "mine"}, "is not an mfl report");
  EXPECT_FALSE(std::filesystem::exists(box.path("study")));
}

}  // namespace
}  // namespace mfl::test
