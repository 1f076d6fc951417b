// Federations over TLS whose nodes have trainers: the digest is that of the simulation, whatever dies.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "mfl/network/certs.h"
#include "processes.h"
#include "trainer_runs.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

class TrainerFederation : public ::testing::Test {
 protected:
  TrainerFederation() {
    EXPECT_TRUE(make_authority(box_.path("pki")));
    EXPECT_TRUE(make_server_certificate(box_.path("pki"), {"127.0.0.1"}));
    for (std::size_t i = 0; i < kNodes; ++i)
      EXPECT_TRUE(make_node_certificate(box_.path("pki"), Processes::name(i)));
  }

  void write(const std::string& algorithm, const std::string& run) const {
    box_.write("native.toml", native_toml(algorithm, run));
    box_.write("external.toml", external_toml(algorithm, run));
  }

  std::unique_ptr<Background> server() {
    std::filesystem::remove(box_.path("state/address"));
    auto process = std::make_unique<Background>(
        box_, "server",
        std::vector<std::string>{"server", "external.toml", "--state", "state", "--tls", "pki/server",
                                 "--json", "--listen", "127.0.0.1:0"});
    EXPECT_TRUE(eventually(
        [&] { return std::filesystem::exists(box_.path("state/address")) || !process->running(); }));
    address_ = box_.read("state/address");
    while (address_.ends_with('\n')) address_.pop_back();
    return process;
  }

  std::unique_ptr<Background> node(std::size_t i, const std::string& trainer,
                                   const std::string& deadline = "20") const {
    const std::string name = Processes::name(i);
    return std::make_unique<Background>(
        box_, name,
        std::vector<std::string>{"node", "--server", address_, "--tls", "pki/" + name, "--trainer", trainer,
                                 "--trainer-deadline", deadline, "--state", name + ".kept", "--json",
                                 "--give-up-after", "60"});
  }

  // The digest of a federation whose node i has the trainer `trainer_of(i)`.
  std::string federated(const std::function<std::string(std::size_t)>& trainer_of,
                        const std::string& deadline = "20") {
    const auto serving = server();
    std::vector<std::unique_ptr<Background>> nodes;
    for (std::size_t i = 0; i < kNodes; ++i) nodes.push_back(node(i, trainer_of(i), deadline));
    EXPECT_EQ(serving->wait(), 0) << serving->log();
    for (const auto& one : nodes) EXPECT_EQ(one->wait(), 0) << one->log();
    return serving->data()["digest"];
  }

  Sandbox box_;
  std::string address_;  // of the server that was started last
};

TEST_F(TrainerFederation, HasTheDigestOfMflItself) {
  for (const auto& [algorithm, run] :
       {std::pair{"name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "rounds = 12"},
        std::pair{"name = \"mfl\"\neta = 0.05\nmomentum = \"keep-local\"\ntau = 3\nbatch_size = 5",
                  "rounds = 6\nprecision = \"f64\""},
        std::pair{"name = \"fedacg\"\neta = 0.05\ntau = 2", "rounds = 6"}}) {
    SCOPED_TRACE(algorithm);
    write(algorithm, run);
    std::filesystem::remove_all(box_.path("state"));
    for (std::size_t i = 0; i < kNodes; ++i) std::filesystem::remove(box_.path(Processes::name(i) + ".kept"));
    EXPECT_EQ(federated([](std::size_t) { return trainer_command("native.toml"); }),
              digest_of(box_, {"native.toml"}));
  }
}

TEST_F(TrainerFederation, ANodeThatWaitsForItsTrainerStopsWhenAsked) {
  write("name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "rounds = 6");
  const auto serving = server();
  const auto waiting = node(0, "unix:" + box_.path("nobody").string(), "3600");
  ASSERT_TRUE(eventually([&] { return waiting->log().find("waiting for trainer") != std::string::npos; }))
      << waiting->log();
  EXPECT_EQ(waiting->signal_and_wait(SIGTERM), 0) << waiting->log();
  EXPECT_EQ(waiting->data()["status"], "stopped");
}

TEST_F(TrainerFederation, SurvivesTrainersThatDieAndHang) {
  write("name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "rounds = 6");
  const std::string expected = digest_of(box_, {"native.toml"});
  EXPECT_EQ(federated(
                [](std::size_t i) {
                  const char* const kinds[] = {"die", "cut", "hang"};
                  return trainer_command("native.toml", fmt::format("{}:4:count-{}", kinds[i], i));
                },
                "2"),
            expected);
}

TEST_F(TrainerFederation, StoresTheDigestAndMetricsOfEveryUpdate) {
  write("name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "rounds = 4");
  box_.write("external.toml", external_toml("name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3",
                                            "rounds = 4\nevaluate_every = 1"));
  federated([](std::size_t) { return trainer_command("native.toml"); });
  digest_of(box_, {"external.toml", "--trainer", trainer_command("native.toml")});
  const auto digests = [&](const std::string& store) {
    std::vector<std::string> out;
    const auto shown = JsonValue::parse(
        box_.run({"runs", "export", "latest", "--nodes", "--format", "json", "--store", store}).out);
    for (const auto& node : shown["runs"][0]["nodes"]) {
      EXPECT_EQ(node["metrics"]["test_accuracy"], 0.75);
      out.push_back(node["node"].text() + " " + node["digest"].text());
    }
    return out;
  };
  const auto served = digests("state/runs.db");
  EXPECT_EQ(served.size(), 4 * kNodes);
  EXPECT_EQ(served, digests("store.db"));
  const auto run = ok_data(box_.run({"runs", "show", "latest", "--json", "--store", "state/runs.db"}));
  EXPECT_EQ(run["run"]["final"]["test_accuracy"], 0.75) << run.dump(1);
}

TEST_F(TrainerFederation, ANodeWithAWrongTrainerReportsItAndIsNotCounted) {
  write("name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "rounds = 3");
  const auto serving = server();
  std::vector<std::unique_ptr<Background>> nodes;
  nodes.push_back(node(0, trainer_command("native.toml", "nan:6:count")));
  for (std::size_t i = 1; i < kNodes; ++i) nodes.push_back(node(i, trainer_command("native.toml")));
  EXPECT_EQ(nodes[0]->wait(), 1);
  const std::string said = box_.read(Processes::name(0) + ".out");
  for (const char* part : {"native_trainer", "node-0000", "round 2", "d/weights", "not finite"})
    EXPECT_THAT(said, HasSubstr(part));
  // A node with a better trainer takes its place, and the run ends as it would have.
  nodes[0] = node(0, trainer_command("native.toml"));
  EXPECT_EQ(serving->wait(), 0) << serving->log();
  EXPECT_EQ(serving->data()["digest"], digest_of(box_, {"native.toml"}));
}

// The first node by name would decide where the run starts.
TEST_F(TrainerFederation, AHugeStartStopsTheRunWithItsName) {
  write("name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "rounds = 3");
  const auto serving = server();
  std::vector<std::unique_ptr<Background>> nodes;
  nodes.push_back(node(0, trainer_command("native.toml", "start:1:count")));
  for (std::size_t i = 1; i < kNodes; ++i) nodes.push_back(node(i, trainer_command("native.toml")));
  const auto status = [&] {
    return ok_data(box_.run({"server", "status", address_, "--tls", "pki/node-0001", "--json"}));
  };
  ASSERT_TRUE(eventually([&] {
    const std::string trouble = status()["trouble"];
    return trouble.find("the initial weights of node-0000 is 3e+38") != std::string::npos;
  })) << serving->log();
  EXPECT_EQ(status()["phase"], "preparing");
  nodes[0]->signal_and_wait(SIGTERM);
  nodes[0] = node(0, trainer_command("native.toml"));
  EXPECT_EQ(serving->wait(), 0) << serving->log();
  EXPECT_EQ(serving->data()["digest"], digest_of(box_, {"native.toml"}));
}

TEST_F(TrainerFederation, RefusesOtherModelsAndNodesWithoutATrainer) {
  write("name = \"mfl\"\neta = 0.05\ngamma = 0.9\ntau = 3", "rounds = 3");
  std::string wide = native_toml("name = \"mfl\"\neta = 0.05", "rounds = 3");
  wide.replace(wide.find("90x12"), 5, "90x13");
  box_.write("wide.toml", wide);
  const auto serving = server();
  const auto first = node(0, trainer_command("native.toml"));
  ASSERT_TRUE(eventually([&] { return first->log().find("joined") != std::string::npos; }));
  const auto other = node(1, trainer_command("wide.toml"));
  EXPECT_NE(other->wait(), 0);
  EXPECT_THAT(box_.read("node-0001.out"),
              HasSubstr("tensor 1 of the model is weights [13] here and weights [12] in the run"));
  const Outcome bare =
      box_.run({"node", "--server", address_, "--tls", "pki/node-0002", "--data", "synthetic:30x12"});
  expect_error(bare, 2, {"--trainer"});
}

}  // namespace
}  // namespace mfl::test
