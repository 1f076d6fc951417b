#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Runs : public ::testing::Test {
 protected:
  void SetUp() override {
    fl_ = train("fl");
    mfl_ = train("mfl");
  }
  std::string train(const std::string& algorithm) const {
    return ok_data(box_.run({"run", "--data", "synthetic:120x16", "--steps", "12", "--algorithm", algorithm,
                             "--name", "mine", "--json"}))["run_id"];
  }
  Sandbox box_;
  std::string fl_, mfl_;
};

TEST_F(Runs, ListShowsNewestFirstAndFilters) {
  const auto runs = ok_data(box_.run({"runs", "list", "--json"}))["runs"];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["run_id"], mfl_);
  EXPECT_EQ(runs[1]["run_id"], fl_);
  const Outcome people = box_.run({"runs", "list"});
  EXPECT_EQ(people.code, 0);
  EXPECT_THAT(people.out, HasSubstr(fl_));
  EXPECT_THAT(people.out, HasSubstr(mfl_));
  const struct {
    std::vector<std::string> flags;
    std::size_t count;
  } table[] = {
      {{"--algorithm", "fl"}, 1}, {{"--status", "done"}, 2}, {{"--status", "failed"}, 0},
      {{"--limit", "1"}, 1},      {{"--name", "mine"}, 2},   {{"--model", "linear"}, 0},
  };
  for (const auto& row : table) {
    std::vector<std::string> args{"runs", "list", "--json"};
    args.insert(args.end(), row.flags.begin(), row.flags.end());
    EXPECT_EQ(ok_data(box_.run(args))["runs"].size(), row.count) << row.flags[0];
  }
}

TEST_F(Runs, ShowTakesAnIdItsBeginningOrLatest) {
  for (const std::string& id : {mfl_, mfl_.substr(0, 7), std::string("latest")}) {
    const auto data = ok_data(box_.run({"runs", "show", id, "--json"}));
    EXPECT_EQ(data["run"]["run_id"], mfl_);
    EXPECT_FALSE(data["records"].empty());
  }
  const Outcome people = box_.run({"runs", "show", "latest"});
  EXPECT_EQ(people.code, 0);
  EXPECT_THAT(people.out, HasSubstr("gamma               0.5"));
  EXPECT_THAT(people.out, HasSubstr("source = \"synthetic:120x16\""));
  EXPECT_THAT(people.out, Not(HasSubstr("partition =")));
}

TEST_F(Runs, ARunIsNamedByItsNameOrItsPlaceEverywhere) {
  const std::string other = ok_data(box_.run(
      {"run", "--data", "synthetic:120x16", "--steps", "12", "--name", "other", "--json"}))["run_id"];
  EXPECT_EQ(ok_data(box_.run({"runs", "show", "mine", "--json"}))["run"]["run_id"], mfl_);
  EXPECT_EQ(ok_data(box_.run({"runs", "show", "mine~1", "--json"}))["run"]["run_id"], fl_);
  EXPECT_EQ(ok_data(box_.run({"runs", "show", "latest~2", "--json"}))["run"]["run_id"], fl_);
  const auto rows = ok_data(box_.run({"runs", "compare", "other", "latest~1", "--json"}))["runs"];
  EXPECT_EQ(rows[0]["run_id"], other);
  EXPECT_EQ(rows[1]["run_id"], mfl_);
  EXPECT_THAT(box_.run({"runs", "export", "other"}).out, HasSubstr(other));
  expect_error(box_.run({"run", "--resume", "other"}), 2, {other, "done"});
  expect_error(box_.run({"runs", "show", "latest~3"}), 2, {"latest~3", "3 runs"});
  EXPECT_EQ(ok_data(box_.run({"runs", "delete", "mine", "mine~1", "--json"}))["deleted"], (Json{mfl_, fl_}));
}

TEST_F(Runs, ListSaysWhatWasKilled) {
  Limits killed;
  killed.interrupt_after = "step ";
  killed.launcher = {"/bin/sh", "-c", "echo $$ > pid; exec \"$0\" \"$@\""};
  killed.instead = [this] { ::kill(std::stoi(box_.read("pid")), SIGKILL); };
  (void)box_.run({"run", "--data", "synthetic:1500x784", "--test", "0", "--steps", "100000"}, killed);
  const auto only = [this](const char* status) {
    return ok_data(box_.run({"runs", "list", "--status", status, "--json"}))["runs"].size();
  };
  EXPECT_EQ(only("killed"), 1U);
  EXPECT_EQ(only("running"), 0U);
  EXPECT_EQ(only("done"), 2U);
  expect_error(box_.run({"runs", "list", "--status", "kiled"}), 2, {"did you mean \"killed\"?"});
}

TEST_F(Runs, MergeGathersStores) {
  const auto run_in = [this](const std::string& store, const std::string& name) {
    return ok_data(box_.run({"run", "--data", "synthetic:60x8", "--steps", "4", "--name", name, "--store",
                             store, "--json"}))["run_id"];
  };
  const std::string one = run_in("one.db", "one"), two = run_in("two.db", "two");
  const auto merged = ok_data(box_.run({"runs", "merge", "one.db", "two.db", "--into", "all.db", "--json"}));
  EXPECT_EQ(merged["stores"][0]["merged"], Json{one});
  EXPECT_EQ(merged["stores"][1]["merged"], Json{two});
  EXPECT_EQ(
      ok_data(box_.run({"runs", "compare", "one", "two", "--store", "all.db", "--json"}))["runs"].size(), 2U);
  const Outcome again = box_.run({"runs", "merge", "one.db", "--into", "all.db"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out, "one.db: 0 runs merged, 1 already there\n");
  expect_error(box_.run({"runs", "merge", "one.db", "none.db", "--into", "new.db"}), 2, {"none.db"});
  EXPECT_FALSE(std::filesystem::exists(box_.path("new.db"))) << "all stores are looked at first";
}

TEST_F(Runs, CompareMeasuresAgainstTheBaseline) {
  const auto rows = ok_data(box_.run({"runs", "compare", fl_, mfl_, "--json"}))["runs"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["run_id"], fl_);
  EXPECT_EQ(rows[1]["run_id"], mfl_);
  EXPECT_EQ(rows[1]["target"], rows[0]["final"]["train_loss"]);
  EXPECT_EQ(rows[0]["steps_to_target"], 12);
  EXPECT_LE(rows[1]["steps_to_target"], 12) << "momentum is not slower";
  const Outcome people = box_.run({"runs", "compare", fl_, mfl_, "--target", "0.3", "--baseline", "fl"});
  EXPECT_EQ(people.code, 0);
  EXPECT_THAT(people.out, HasSubstr(mfl_));
}

TEST_F(Runs, ExportWritesCsvAndJson) {
  const Outcome csv = box_.run({"runs", "export", mfl_});
  EXPECT_EQ(csv.code, 0);
  EXPECT_GT(std::ranges::count(csv.out, '\n'), 1);
  EXPECT_THAT(csv.out, HasSubstr(mfl_));
  const Outcome rounds = box_.run({"runs", "export", mfl_, "--rounds"});
  EXPECT_EQ(std::ranges::count(rounds.out, '\n'), 1 + 4) << "a header, the initial state and three rounds\n"
                                                         << rounds.out;
  const Outcome json = box_.run({"runs", "export", mfl_, fl_, "--format", "json"});
  const auto parsed = JsonValue::parse(json.out);
  ASSERT_TRUE(parsed.is_object());
  EXPECT_EQ(parsed["schema_version"], 1);
  EXPECT_EQ(parsed["runs"].size(), 2U);
  EXPECT_EQ(ok_data(box_.run({"runs", "export", mfl_, "--json", "--rounds"}))["runs"][0]["rounds"].size(),
            4U);
  const auto written = ok_data(box_.run({"runs", "export", mfl_, "--out", "curve.csv", "--json"}));
  EXPECT_EQ(written["file"], "curve.csv");
  EXPECT_EQ(box_.read("curve.csv"), csv.out);
}

TEST_F(Runs, DeleteForgetsAllThatAreNamed) {
  EXPECT_EQ(ok_data(box_.run({"runs", "delete", fl_, fl_, "--json"}))["deleted"], Json{fl_});
  EXPECT_EQ(ok_data(box_.run({"runs", "list", "--json"}))["runs"].size(), 1U);
  const Outcome people = box_.run({"runs", "delete", "latest"});
  EXPECT_EQ(people.code, 0);
  EXPECT_EQ(people.out, "deleted " + mfl_ + "\n");
  const Outcome empty = box_.run({"runs", "list"});
  EXPECT_EQ(empty.code, 0);
  EXPECT_THAT(empty.out, StartsWith("no runs in "));
}

TEST(RunsList, WithoutAStoreIsEmptyAndMakesNone) {
  const Sandbox box;
  EXPECT_TRUE(ok_data(box.run({"runs", "list", "--json"}))["runs"].empty());
  EXPECT_TRUE(box.files().empty());
}

}  // namespace
}  // namespace mfl::test
