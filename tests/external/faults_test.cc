// Trainers that die, hang or answer nonsense.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer_runs.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

class TrainerFaults : public ::testing::Test {
 protected:
  TrainerFaults() {
    const std::string algorithm = "name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3";
    box_.write("native.toml", native_toml(algorithm, "rounds = 3"));
    box_.write("external.toml", external_toml(algorithm, "rounds = 3"));
  }

  Outcome run_with(const std::string& fault, const std::string& deadline = "20") const {
    std::filesystem::remove(box_.path("count"));
    return box_.run({"run", "external.toml", "--trainer", trainer_command("native.toml", fault),
                     "--trainer-deadline", deadline, "--json", "--quiet"});
  }

  Sandbox box_;
};

// hello, initialise, 3 rounds of 3 nodes and 3 evaluations: a restarted trainer is greeted again.
constexpr int kMessages = 2 + 9 + 3;

TEST_F(TrainerFaults, AKillAtAnyMessageDoesNotChangeTheRun) {
  const std::string expected = digest_of(box_, {"native.toml"});
  for (const char* kind : {"die", "die-late", "cut"})
    for (int message = 1; message <= kMessages; ++message) {
      const auto run = ok_data(run_with(fmt::format("{}:{}:count", kind, message)));
      EXPECT_EQ(run["digest"], expected) << kind << " at message " << message;
    }
}

TEST_F(TrainerFaults, AHangingTrainerIsRestarted) {
  const std::string expected = digest_of(box_, {"native.toml"});
  for (const int message : {1, 2, 5, kMessages})
    EXPECT_EQ(ok_data(run_with(fmt::format("hang:{}:count", message), "1"))["digest"], expected);
}

TEST_F(TrainerFaults, ATrainerThatAlwaysDiesEndsTheRunAndIsNamed) {
  const std::string command = "exit 7 # " + std::string(200, 'x') + " end";  // named whole
  const Outcome outcome = box_.run({"run", "external.toml", "--trainer", command, "--quiet"});
  expect_error(outcome, 1, {"trainer", command, "hello", "exited with code 7"});
}

// Nobody listens there, and the deadline is far.
TEST_F(TrainerFaults, AWaitForATrainerIsSaidAndEndsWhenAsked) {
  const Outcome outcome = box_.run({"run", "external.toml", "--trainer",
                                    "unix:" + box_.path("nobody").string(), "--trainer-deadline", "3600"},
                                   {.file_bytes = {}, .interrupt_after = "waiting for trainer"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("to listen"));
  EXPECT_THAT(outcome.err, HasSubstr("mfl: stopped while waiting for a trainer"));
}

TEST_F(TrainerFaults, WrongAnswersEndTheRunWithNodeTrainerAndReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"nan", "d/weights"},
      {"loss", "loss"},
      {"metric", "longer than 256 bytes"},
      {"samples", "1 samples"},
      {"shape", "shape"},
      {"type", "I32"},
      {"missing", "d/weights"},
      {"more", "3 tensors"},
      {"bytes", "bytes"},
      {"garbage", "safetensors"},
      {"text", "not a JSON object"},
      {"refuse", "on fire"},
  };
  for (const auto& [kind, reason] : cases) {
    SCOPED_TRACE(kind);
    std::filesystem::remove(box_.path("count"));
    const Outcome outcome =
        box_.run({"run", "external.toml", "--trainer",
                  trainer_command("native.toml", fmt::format("{}:5:count", kind)), "--quiet"});
    expect_error(outcome, 1, {"native_trainer", "('native')", "node-0001", "train of round 1", reason});
    const auto shown = ok_data(box_.run({"runs", "show", "latest", "--json"}));
    EXPECT_EQ(shown["run"]["status"], "failed");
  }
}

TEST_F(TrainerFaults, AnUpdateBeyondTheBoundDoesNotLeaveTheNode) {
  const Outcome outcome = box_.run({"run", "external.toml", "--trainer", trainer_command("native.toml"),
                                    "--max-update-norm", "0.0001", "--quiet"});
  expect_error(outcome, 1, {"native_trainer", "more than the 0.0001"});
}

}  // namespace
}  // namespace mfl::test
