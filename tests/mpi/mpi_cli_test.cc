// mpirun and the mfl binary: one digest, clean stops, killed ranks, error messages, sweeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
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

nlohmann::json shown(const Sandbox& box, const std::string& id) {
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
  for (const Words& words :
       {file, file + Words{"--precision", "f64", "--algorithm", "fl", "--model", "logistic"},
        synthetic +
            Words{"--nodes", "6", "--partition", "label-sorted", "--monitor", "--model", "squared-svm"},
        synthetic + Words{"--algorithm", "gd"}}) {
    const auto expected = ok_data(box.run(words + Words{"--engine", "serial"}));
    for (const int count : {2, 3}) {
      const auto got = ok_data(box.run(words + Words{"--threads", std::to_string(count - 1)}, ranks(count)));
      EXPECT_EQ(got["digest"], expected["digest"]) << count;
      for (const char* part : {"final", "best", "bytes_up", "rounds", "warnings"})
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
                     "--steps", "60000",  "--record-every",     "1000"};

std::string whole_digest(const Sandbox& box) {
  return ok_data(box.run(kLong + Words{"--json", "--name", "whole"}))["digest"];
}

std::string resumed_digest(const Sandbox& box, const std::string& id, int count) {
  return ok_data(box.run({"run", "--resume", id, "--json"}, ranks(count)))["digest"];
}

TEST(Mpirun, InterruptedItStopsTogetherAndResumesOnOtherRanks) {
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

TEST(Mpirun, AKilledRankEndsTheJobAndTheRunGoesOnAfterwards) {
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

TEST(Mpirun, ASweepIsSpreadOverRanksAndRecordedInOneStore) {
  const Sandbox alone, box;
  const std::string sweep =
      "[data]\nsource = \"synthetic:200x20\"\ntest = 40\n[algorithm]\ngamma = [0.0, 0.5, 0.9]\ntau = [2, 5]\n"
      "[run]\nsteps = 20\nseed = [1, 2]\n";
  const auto digests = [](const nlohmann::json& data) {
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
    EXPECT_EQ(shown(box, got["runs"][i]["run_id"])["runs"][0]["rounds"],
              shown(alone, expected["runs"][i]["run_id"])["runs"][0]["rounds"]);
  }
  const auto again = ok_data(box.run({"sweep", "s.toml", "--reuse", "--json"}, ranks(2)));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(again["runs"][i]["reused"], true);
    EXPECT_EQ(again["runs"][i]["run_id"], got["runs"][i]["run_id"]);
  }
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
  ASSERT_EQ(ended["runs"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ended["runs"][i]["digest"], expected["runs"][i]["digest"]);
    EXPECT_EQ(shown(box, ended["runs"][i]["run_id"])["runs"][0]["rounds"],
              shown(alone, expected["runs"][i]["run_id"])["runs"][0]["rounds"]);
  }
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

}  // namespace
}  // namespace mfl::test
