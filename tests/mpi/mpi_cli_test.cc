// mpirun and the mfl binary: one digest, clean stops, killed ranks, error messages, sweeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "mfl/data/npy.h"
#include "mfl/data/synthetic.h"
#include "tests/cli/process.h"
#include "tests/cli/sparse_rows.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// In a session of its own: mpirun signals whole process groups.
Limits ranks(int count) {
  Limits limits;
  limits.launcher = {"/usr/bin/setsid",     "/usr/bin/env",   MFL_MPI_ENVIRONMENT, MFL_MPIRUN, "-n",
                     std::to_string(count), "--oversubscribe"};
  return limits;
}

// The same through a shell that runs `before` in every rank first.
Limits ranks(int count, const std::string& before) {
  Limits limits = ranks(count);
  for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), before + "; exec \"$0\" \"$@\""})
    limits.launcher.push_back(word);
  return limits;
}

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// "mfl: ..." lines of stderr; mpirun prints more after them.
Words own_lines(const std::string& err) {
  Words lines;
  std::istringstream rest(err);
  for (std::string line; std::getline(rest, line);)
    if (line.starts_with("mfl: ")) lines.push_back(line);
  return lines;
}

JsonValue shown(const Sandbox& box, const std::string& id) {
  const auto data = ok_data(box.run({"runs", "export", id, "--format", "json", "--rounds", "--json"}));
  return data;
}

TEST(Mpirun, OneDigestWhateverTheRanks) {
  const Sandbox box;
  ASSERT_TRUE(write_npy_folder(box.path("data"), *make_synthetic(300, 24, 3)));
  box.write("who.txt",
            "0 1 2 3 4 5 6 7\n8 9 10\n11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 30\n26\n27 28 29\n");
  const Words file = {"run", "--data",      "npy:data",     "--task",  "even-odd", "--train",
                      "200", "--test",      "80",           "--take",  "random",   "--nodes",
                      "5",   "--partition", "file:who.txt", "--steps", "24",       "--json"};
  const Words synthetic = {"run", "--data", "synthetic:400x50", "--test", "90", "--steps", "10", "--json"};
  std::string numbers;
  for (int i = 0; i < 700; ++i)
    numbers += std::to_string(i * 7 % 13 - 6) + "," + std::to_string(i * 5 % 17) + "\n";
  box.write("numbers.csv", numbers);
  const Words regression = {"run", "--data", "csv:numbers.csv", "--model", "linear", "--test",
                            "600", "--eta",  "0.001",           "--steps", "8",      "--json"};
  const Words own = {"run", "--data", "csv:numbers.csv", "--test", "100", "--steps", "8", "--json"};
  for (const Words& words :
       {file, regression, own + Words{"--model", "linear", "--standardise", "full"},
        own + Words{"--model", "softmax", "--standardise", "scale", "--class-weight", "balanced"},
        Words{"run", "--data", "csv:numbers.csv", "--model", "linear", "--folds", "3", "--fold", "1",
              "--steps", "8", "--json"},
        synthetic + Words{"--target-accuracy", "0.6"}, synthetic + Words{"--eta", "1e-8", "--patience", "2"},
        file + Words{"--precision", "f64", "--algorithm", "fl", "--model", "logistic"},
        synthetic +
            Words{"--nodes", "6", "--partition", "label-sorted", "--monitor", "--model", "squared-svm"},
        synthetic + Words{"--algorithm", "gd"}, synthetic + Words{"--model", "softmax"}}) {
    const auto expected = ok_data(box.run(words + Words{"--engine", "serial"}));
    for (const int count : {2, 3}) {
      const auto got = ok_data(box.run(words + Words{"--threads", std::to_string(count - 1)}, ranks(count)));
      EXPECT_EQ(got["digest"], expected["digest"]) << count;
      for (const char* part : {"message", "final", "best", "bytes_up", "rounds", "warnings", "test_metrics"})
        EXPECT_EQ(got[part], expected[part]) << part;
      EXPECT_EQ(got["config"]["run"]["engine"], "mpi");
      // The same data by its digest, so the same run.
      const auto reused = ok_data(box.run(words + Words{"--reuse"}));
      EXPECT_EQ(reused["run_id"], got["run_id"]);
    }
  }
}

TEST(Mpirun, UnusedFeaturesChangeNothing) {
  const Sandbox box;
  box.write("s.libsvm", sparse_rows(0, 120));
  const Words words = {"run", "--data",  "libsvm:s.libsvm", "--test",  "0",  "--nodes",
                       "3",   "--model", "squared-svm",     "--steps", "24", "--json"};
  const auto expected = ok_data(box.run(words + Words{"--engine", "serial"}));
  for (const int count : {2, 3, 5})
    EXPECT_EQ(ok_data(box.run(words, ranks(count)))["digest"], expected["digest"]);
}

const Words kLong = {"run",     "--data", "synthetic:1200x200", "--test", "0", "--nodes", "5",
                     "--steps", "300000", "--record-every",     "1000"};

std::string whole_digest(const Sandbox& box) {
  return ok_data(box.run(kLong + Words{"--json", "--name", "whole"}))["digest"];
}

std::string resumed_digest(const Sandbox& box, const std::string& id, int count) {
  return ok_data(box.run({"run", "--resume", id, "--json"}, ranks(count)))["digest"];
}

TEST(Mpirun, AnInterruptStopsAllRanksAndTheRunResumesOnOthers) {
  const Sandbox box;
  Limits limits = ranks(3);
  limits.interrupt_after = "step ";
  const Outcome stopped = box.run(kLong, limits);
  EXPECT_EQ(stopped.code, 1) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("interrupted"));
  constexpr std::string_view kHint = "mfl run --resume ";
  const std::size_t hint = stopped.err.find(kHint);
  ASSERT_NE(hint, std::string::npos) << stopped.err;
  constexpr std::size_t kIdLength = 8;
  EXPECT_EQ(resumed_digest(box, stopped.err.substr(hint + kHint.size(), kIdLength), 2), whole_digest(box));
}

TEST(Mpirun, AKilledRankEndsTheJobAndTheRunCanBeResumed) {
  const Sandbox box;
  std::chrono::steady_clock::time_point killed;
  Limits limits = ranks(3, "echo $$ > rank-$OMPI_COMM_WORLD_RANK");
  limits.interrupt_after = "step ";
  limits.instead = [&] {
    killed = std::chrono::steady_clock::now();
    ::kill(std::stoi(box.read("rank-1")), SIGKILL);
  };
  const Outcome outcome = box.run(kLong + Words{"--checkpoint-every", "100"}, limits);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - killed;
  std::printf("the job ended %.2f s after the kill\n", taken.count());
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1"));
  EXPECT_THAT(outcome.err, HasSubstr("signal 9"));
  const std::string resumed = resumed_digest(box, "latest", 2);
  EXPECT_EQ(resumed, whole_digest(box));
}

TEST(Mpirun, AFailedReadNamesTheRankAndTheCause) {
  const Sandbox box;
  ASSERT_TRUE(write_npy_folder(box.path("data"), *make_synthetic(60, 8, 3)));
  const Words words = {"run", "--data", "npy:data", "--task", "even-odd", "--steps", "4"};
  const Outcome one =
      box.run(words, ranks(3, "if [ $OMPI_COMM_WORLD_RANK = 2 ]; then mkdir -p away; cd away; fi"));
  EXPECT_EQ(one.code, 3) << one.err;
  EXPECT_EQ(one.out, "");
  ASSERT_EQ(own_lines(one.err).size(), 1U) << one.err;
  EXPECT_THAT(own_lines(one.err)[0], HasSubstr("rank 2: cannot open data/x.npy: No such file"));
  // One line if all ranks fail alike, and the exit code of mfl itself.
  const Outcome all = box.run({"run", "--data", "csv:nothing"}, ranks(3));
  EXPECT_EQ(all.code, 3) << all.err;
  EXPECT_EQ(own_lines(all.err).size(), 1U) << all.err;
  const Outcome flag = box.run({"run", "--gama", "1"}, ranks(3));
  EXPECT_EQ(flag.code, 2) << flag.err;
  EXPECT_EQ(own_lines(flag.err).size(), 1U) << flag.err;
  EXPECT_EQ(box.run(words + Words{"--engine", "threads"}, ranks(2)).code, 2);
}

TEST(Mpirun, AStoreThatCannotBeUsedEndsTheJob) {
  const Sandbox box;
  box.write("broken.db", "not a store");
  const Outcome outcome = box.run({"run", "--data", "synthetic:100x8", "--store", "broken.db"}, ranks(3));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  ASSERT_EQ(own_lines(outcome.err).size(), 1U) << outcome.err;
  EXPECT_THAT(own_lines(outcome.err)[0], HasSubstr("broken.db"));
  EXPECT_EQ(box.read("broken.db"), "not a store");
}

// Of ranks that have not handed over their runs.
Words rank_folders(const Sandbox& box) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(box.path()))
    if (const std::string name = entry.path().filename().string(); name.starts_with("store.db.rank-"))
      names.push_back(name);
  return names;
}

TEST(Mpirun, ASweepIsSpreadOverRanksAndRecordedInOneStore) {
  const Sandbox alone, box;
  const std::string sweep =
      "[data]\nsource = \"synthetic:200x20\"\ntest = 40\n[algorithm]\ngamma = [0.0, 0.5, 0.9]\ntau = [2, 5]\n"
      "[run]\nsteps = 20\nseed = [1, 2]\n";
  const auto digests = [](const JsonValue& data) {
    std::vector<std::string> out;
    for (const auto& run : data["runs"]) out.push_back(run["digest"]);
    return out;
  };
  alone.write("s.toml", sweep);
  box.write("s.toml", sweep);
  const auto expected = ok_data(alone.run({"sweep", "s.toml", "--json"}));
  const auto got = ok_data(box.run({"sweep", "s.toml", "--json"}, ranks(3)));
  ASSERT_EQ(digests(got).size(), 12U);
  EXPECT_EQ(digests(got), digests(expected));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(got["runs"][i]["final"], expected["runs"][i]["final"]);
    EXPECT_EQ(got["runs"][i]["schema"], expected["runs"][i]["schema"]);
    EXPECT_TRUE(expected["runs"][i]["test_metrics"].is_object());
    EXPECT_EQ(got["runs"][i]["test_metrics"], expected["runs"][i]["test_metrics"]);
    EXPECT_EQ(shown(box, got["runs"][i]["run_id"])["runs"][0]["rounds"],
              shown(alone, expected["runs"][i]["run_id"])["runs"][0]["rounds"]);
  }
  const auto again = ok_data(box.run({"sweep", "s.toml", "--reuse", "--json"}, ranks(2)));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(again["runs"][i]["reused"], true);
    EXPECT_EQ(again["runs"][i]["run_id"], got["runs"][i]["run_id"]);
  }
  EXPECT_EQ(rank_folders(box), Words{}) << "nothing is left behind";
}

TEST(Mpirun, AStoppedSweepContinuesOnOtherRanks) {
  const Sandbox alone, box;
  const Words data = {"sweep", "--data", "synthetic:1200x200", "--test", "0", "--nodes", "5"},
              long_runs = {"--steps", "400000", "--tau", "50", "--record-every", "10000"},
              grid = {"--set", "algorithm.gamma=[0, 0.9]"};
  const Words sweep = data + long_runs + grid;
  Limits limits = ranks(2);
  limits.interrupt_after = "step ";
  const Outcome stopped = box.run(sweep, limits);
  EXPECT_EQ(stopped.code, 1) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("interrupted"));
  const auto ended = ok_data(box.run(sweep + Words{"--resume", "--json"}, ranks(3)));
  const auto expected = ok_data(alone.run(sweep + Words{"--json"}));
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--json"}))["runs"].size(), 2U)
      << "continued, not started again";
  EXPECT_EQ(rank_folders(box), Words{});
  ASSERT_EQ(ended["runs"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ended["runs"][i]["digest"], expected["runs"][i]["digest"]);
    EXPECT_EQ(shown(box, ended["runs"][i]["run_id"])["runs"][0]["rounds"],
              shown(alone, expected["runs"][i]["run_id"])["runs"][0]["rounds"]);
  }
}

TEST(Mpirun, AKilledSweepKeepsWhatEachRankHasFinished) {
  const Sandbox alone, box;
  const Words sweep = {"sweep",  "--data",  "synthetic:1200x200",
                       "--test", "0",       "--nodes",
                       "5",      "--steps", "20000",
                       "--tau",  "50",      "--checkpoint-every",
                       "20",     "--set",   "run.seed=[1, 2, 3, 4, 5, 6]"};
  Limits limits = ranks(2, "echo $$ > rank-$OMPI_COMM_WORLD_RANK");
  limits.interrupt_after = "step ";
  std::set<std::string> finished;  // by rank 1
  limits.instead = [&] {
    for (int tries = 0; finished.empty() && tries < 1000 && !rank_folders(box).empty(); ++tries) {
      const std::string store = rank_folders(box).front() + "/runs.db";
      const auto runs = ok_data(box.run({"runs", "list", "--store", store, "--json"}))["runs"];
      for (const auto& run : runs)
        if (run["status"] == "done") finished.insert(run["run_id"]);
    }
    ::kill(std::stoi(box.read("rank-0")), SIGKILL);
  };
  EXPECT_NE(box.run(sweep, limits).code, 0);
  ASSERT_FALSE(finished.empty());
  EXPECT_EQ(rank_folders(box).size(), 1U);
  const auto ended = ok_data(box.run(sweep + Words{"--resume", "--json"}, ranks(3)));
  const auto expected = ok_data(alone.run(sweep + Words{"--json"}));
  ASSERT_EQ(ended["runs"].size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(ended["runs"][i]["digest"], expected["runs"][i]["digest"]);
    EXPECT_EQ(shown(box, ended["runs"][i]["run_id"])["runs"][0]["rounds"],
              shown(alone, expected["runs"][i]["run_id"])["runs"][0]["rounds"]);
    if (ended["runs"][i]["reused"] == true) finished.erase(ended["runs"][i]["run_id"]);
  }
  EXPECT_TRUE(finished.empty()) << "they are not trained again";
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--json"}))["runs"].size(), 6U);
  EXPECT_EQ(rank_folders(box), Words{});
}

TEST(Mpirun, OtherCommandsAreDoneOnceOrRefused) {
  const Sandbox box;
  ok_data(box.run({"run", "--data", "synthetic:50x5", "--steps", "4", "--engine", "mpi", "--json"}));
  const Outcome list = box.run({"runs", "list", "--json"}, ranks(2));
  EXPECT_EQ(ok_data(list)["runs"].size(), 1U);
  for (const Words& words : {Words{"theory", "run"}, Words{"theory", "advise"}, Words{"reproduce"}}) {
    const Outcome refused = box.run(words, ranks(2));
    EXPECT_EQ(refused.code, 2) << refused.err;
    ASSERT_EQ(own_lines(refused.err).size(), 1U) << refused.err;
    EXPECT_THAT(own_lines(refused.err)[0], HasSubstr("over MPI"));
  }
}

// One rank with these words and two with those.
Outcome mixed(const Sandbox& box, const Words& first, const Words& others,
              const std::string& binary = MFL_BINARY) {
  return box.run(first + Words{":", "-n", "2", "--oversubscribe", binary} + others, ranks(1));
}

void expect_difference(const Outcome& outcome, int code, const std::string& what) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  ASSERT_EQ(own_lines(outcome.err).size(), 1U) << outcome.err;
  EXPECT_THAT(own_lines(outcome.err)[0], HasSubstr("rank 1: "));
  EXPECT_THAT(own_lines(outcome.err)[0], HasSubstr(what));
}

TEST(Mpirun, RanksWithAnotherConfigurationAreRefused) {
  const Sandbox box;
  const Words data = {"--data", "synthetic:200x20", "--test", "0"};
  const Words run = Words{"run"} + data, sweep = Words{"sweep"} + data;
  expect_difference(mixed(box, run + Words{"--gamma", "0.5"}, run + Words{"--gamma", "0.25"}), 2,
                    "algorithm.gamma is 0.25 here and 0.5 on rank 0");
  expect_difference(mixed(box, run + Words{"--steps", "20"}, run + Words{"--steps", "40"}), 2,
                    "run.steps is 40 here and 20 on rank 0");
  expect_difference(mixed(box, run, run + Words{"--reuse"}), 2, "--reuse is yes");
  expect_difference(mixed(box, run, {"run", "--resume", "latest"}), 2, "--resume is latest");
  expect_difference(mixed(box, run, sweep), 2, "the command is sweep");
  const Words gammas = {"--set", "algorithm.gamma=[0.1, 0.5]"};
  expect_difference(mixed(box, sweep + gammas, sweep + Words{"--set", "algorithm.gamma=[0.1, 0.25]"}), 2,
                    "setting 2: algorithm.gamma is 0.25 here and 0.5 on rank 0");
  expect_difference(mixed(box, sweep + gammas, sweep + gammas + Words{"--steps", "40"}), 2,
                    "run.steps is 40");
  expect_difference(mixed(box, sweep + gammas, sweep), 2, "the number of settings is 1");
  const Words short_run = run + Words{"--steps", "8", "--json"};
  ok_data(mixed(box, short_run + Words{"--threads", "1"}, short_run + Words{"--threads", "2"}));
}

TEST(Mpirun, RanksOfAnotherBuildAreRefused) {
  const Sandbox box;
  std::string bytes = box.read(MFL_BINARY);
  constexpr std::string_view kNote("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  const std::size_t note = bytes.find(kNote);
  ASSERT_NE(note, std::string::npos) << "mfl/cli/CMakeLists.txt asks the linker for a build ID";
  bytes[note + kNote.size()] ^= 1;
  box.write("other-mfl", bytes);
  const std::string other = box.path("other-mfl");
  std::filesystem::permissions(other, std::filesystem::perms::owner_all);
  const Words run = {"run", "--data", "synthetic:200x20", "--steps", "20"};
  expect_difference(mixed(box, run, run, other), 2, "the build of mfl is");
}

TEST(Mpirun, RanksWithOtherDataAreRefused) {
  const Sandbox box;
  // The same files by name, in folders of their own.
  const auto data = [&](const std::string& folder, std::size_t rows, std::size_t columns,
                        std::uint64_t seed) {
    std::filesystem::create_directory(box.path(folder));
    ASSERT_TRUE(write_npy_folder(box.path(folder) / "npy", *make_synthetic(rows, columns, seed)));
    std::string csv;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column)
        csv += std::to_string((row * 7 + column * 3 + (row == rows - 1 ? seed : 0)) % 11) + ",";
      csv += row % 2 == 0 ? "1\n" : "0\n";
    }
    box.write(folder + "/rows.csv", csv);
  };
  data("first", 60, 8, 3);
  data("seed", 60, 8, 4);
  data("fewer", 50, 8, 3);
  data("columns", 60, 7, 3);
  const auto in_folders = [](const std::string& others) {
    return ranks(3, "if [ $OMPI_COMM_WORLD_RANK = 0 ]; then cd first; else cd " + others + "; fi");
  };
  const Words options = {"--steps", "8", "--nodes", "4", "--test", "0"};
  const Words npy = {"--data", "npy:npy", "--task", "even-odd"}, csv = {"--data", "csv:rows.csv"};
  const Words run = Words{"run"} + options, sweep = Words{"sweep"} + options;
  ok_data(box.run(run + csv + Words{"--json"}, in_folders("first")));
  expect_difference(box.run(run + npy, in_folders("seed")), 3, "digest of the training labels");
  expect_difference(box.run(run + npy, in_folders("fewer")), 3,
                    "the number of training samples is 50 here and 60 on rank 0");
  expect_difference(box.run(run + csv, in_folders("columns")), 3,
                    "the number of training features is 7 here and 8 on rank 0");
  for (const std::string other : {"seed", "fewer", "columns"})
    expect_difference(box.run(sweep + csv, in_folders(other)), 3, "the digest of csv:rows.csv is");
  const Words tested = {"run", "--steps", "8",  "--nodes", "4",           "--train",
                        "20",  "--test",  "40", "--data",  "csv:rows.csv"};
  const Outcome last = box.run(tested, in_folders("seed"));
  EXPECT_EQ(last.code, 3) << last.err;
  EXPECT_THAT(last.err, HasSubstr("the rows differ from those on rank 0")) << "one test row";
}

}  // namespace
}  // namespace mfl::test
