// Servers and nodes as processes, on free ports of loopback.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "bad_line.h"
#include "mfl/base/files.h"
#include "mfl/base/rng.h"
#include "processes.h"

namespace mfl::test {
namespace {

struct Case {
  const char* algorithm;
  const char* precision;
};

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

class Equality : public ::testing::TestWithParam<Case> {};

JsonValue participation(const Processes& federation, const std::string& store) {
  return ok_data(
      federation.box.run({"runs", "show", "latest", "--nodes", "--json", "--store", store}))["participation"];
}

// Waits for the end of the server: its result and the rows of all rounds are those of mfl run.
void expect_simulated(const Processes& federation, Background& server) {
  EXPECT_EQ(server.wait(), 0) << server.log();
  const auto served = server.data(), simulated = federation.simulated();
  for (const char* key : {"status", "digest", "best", "rounds", "warnings", "bytes_up", "bytes_down"})
    EXPECT_EQ(served[key], simulated[key]) << key;
  EXPECT_EQ(served["final"]["train_loss"], simulated["final"]["train_loss"]);
  EXPECT_EQ(federation.rounds("state/runs.db"), federation.rounds("store.db"));
  const auto nodes = participation(federation, "state/runs.db");
  EXPECT_EQ(nodes["faults"], Json::array());
  EXPECT_EQ(nodes["attendance"].front()["first_round"], 1);
  EXPECT_EQ(nodes["attendance"].back()["last_round"], served["rounds"]);
  EXPECT_EQ(participation(federation, "store.db")["nodes"], Json::array());
}

TEST_P(Equality, FourNodesOverTheNetworkGiveTheDigestOfTheSimulation) {
  Processes federation(4, {"--algorithm", GetParam().algorithm, "--precision", GetParam().precision,
                           "--steps", "1000", "--tau", "30"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  expect_simulated(federation, *server);
  EXPECT_EQ(server->data()["status"], "done");
  EXPECT_EQ(server->data()["rounds"], 34);
  for (const auto& node : nodes) {
    EXPECT_EQ(node->wait(), 0) << node->log();
    EXPECT_EQ(node->data()["digest"], server->data()["digest"]);
    EXPECT_EQ(node->data()["rounds"], 34);
  }
  const auto took_part = participation(federation, "state/runs.db");
  ASSERT_EQ(took_part["nodes"].size(), 4U);
  EXPECT_EQ(took_part["nodes"][3]["rounds"], 34);
  EXPECT_GT(took_part["nodes"][3]["samples"], 0);
  EXPECT_TRUE(took_part["nodes"][3]["seconds"].is_number());
  ASSERT_EQ(took_part["attendance"].size(), 1U);
  EXPECT_EQ(took_part["attendance"][0]["complete"], true);
  const Outcome csv = federation.box.run({"runs", "export", "latest", "--nodes", "--store", "state/runs.db"});
  EXPECT_EQ(count_of(csv.out, "\n"), 1U + 4 * 34);
}

TEST(Equality, AFederationStopsEarlyWhereTheSimulationDoesAlsoAfterARestart) {
  Processes federation(
      2, {"--algorithm", "mfl", "--tau", "1", "--steps", "20000", "--eta", "1e-9", "--patience", "800"});
  auto server = federation.server();
  const auto nodes = federation.all_nodes();
  EXPECT_TRUE(eventually([&] { return server->committed() > 10; })) << server->log();
  server->signal_and_wait(SIGKILL);
  server = federation.server();
  expect_simulated(federation, *server);
  const std::string message = server->data()["message"];
  EXPECT_TRUE(message.starts_with("stopped early in round 800: ")) << message;
  EXPECT_EQ(message, federation.simulated()["message"]);
  for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->log();
}

TEST(Equality, AFederationStopsAtTheTestAccuracyWhereTheSimulationDoes) {
  Processes federation(
      2, {"--algorithm", "mfl", "--tau", "3", "--steps", "300", "--eta", "0.05", "--target-accuracy", "0.6"});
  const auto server = federation.server({"--test-data", "npy:parts/node-0000"});
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 0) << server->log();
  std::vector<std::string> arguments{"run", "--json", "--quiet", "--set",
                                     "data.test_source=npy:parts/node-0000"};
  for (const std::string& word : federation.setting())
    arguments.push_back(word == "data.test=0" ? "data.test=all" : word);
  const auto simulated = ok_data(federation.box.run(arguments));
  for (const char* key : {"message", "digest", "rounds", "final", "test_metrics"})
    EXPECT_EQ(server->data()[key], simulated[key]) << key;
  EXPECT_LT(simulated["rounds"], 100) << "it stopped early";
  EXPECT_GE(simulated["final"]["test_accuracy"], 0.6);
}

TEST(Equality, MeasurementsOfTheDataMatchTheSimulation) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--model", "logistic", "--standardise", "full"},
        {"--model", "squared-svm", "--standardise", "scale", "--intercept", "true", "--class-weight",
         "balanced", "--precision", "f64"}}) {
    std::vector<std::string> experiment = {"--eta", "0.01", "--steps", "20"};
    experiment.insert(experiment.end(), more.begin(), more.end());
    Processes federation(3, experiment);
    const auto server = federation.server();
    const auto nodes = federation.all_nodes();
    ASSERT_EQ(server->wait(), 0) << server->log();
    EXPECT_EQ(server->data()["digest"], federation.simulated()["digest"]);
  }
}

// Four sites with a table each, of which the last may have its first column in another unit.
class Sites {
 public:
  explicit Sites(const std::string& steps = "24")
      : federation_(4, {"--model", "logistic", "--standardise", "full", "--algorithm", "mfl", "--steps",
                        steps, "--tau", "2"}) {
    for (int site = 0; site < 4; ++site)
      for (const double unit : {1.0, 1e6}) {
        std::string table = "a,b,y\n";
        for (int i = 0; i < 40; ++i)
          table += fmt::format("{},{},{}\n", unit * (1 + 0.1 * i + site), 0.5 * ((i + site) % 7),
                               (i * (site + 1)) % 3 == 0 ? 1 : 0);
        EXPECT_TRUE(write_file(
            federation_.box.path(fmt::format("{}-{}.csv", site, unit > 1 ? "wrong" : "right")), table));
      }
  }

  std::unique_ptr<Background> site(int i, const std::string& table) const {
    const std::string name = Processes::name(static_cast<std::size_t>(i));
    return std::make_unique<Background>(
        federation_.box, name,
        std::vector<std::string>{"node", "--server", federation_.address(), "--tls", "pki/" + name, "--data",
                                 fmt::format("csv:{}-{}.csv", i, table), "--json", "--give-up-after", "10"});
  }
  std::vector<std::unique_ptr<Background>> sites(int count) const {
    std::vector<std::unique_ptr<Background>> out;
    for (int i = 0; i < count; ++i) out.push_back(site(i, "right"));
    return out;
  }

  std::string finish(Background& server) const {
    EXPECT_EQ(server.wait(), 0) << server.log();
    EXPECT_EQ(server.data()["status"], "done");
    return server.data()["digest"];
  }

  // Of another run, whose sites are as they should be.
  std::string digest_of(int count) {
    std::filesystem::remove_all(federation_.box.path("state"));
    const auto server = federation_.server({"--min-available-nodes", fmt::to_string(count)});
    const auto nodes = sites(count);
    return finish(*server);
  }

  Processes& federation() { return federation_; }

 private:
  Processes federation_;
};

TEST(Outliers, StopTheRunBeforeItsFirstRoundAndTheServerStaysUp) {
  Sites sites;
  const auto server = sites.federation().server();
  const auto honest = sites.sites(3);
  auto wrong = sites.site(3, "wrong");
  ASSERT_TRUE(eventually([&] {
    const std::string trouble = sites.federation().status()["trouble"];
    return trouble.find("column a of node-0003") != std::string::npos;
  })) << server->log();
  EXPECT_EQ(sites.federation().status()["phase"], "preparing");
  EXPECT_EQ(sites.federation().status()["round"], 0);
  EXPECT_TRUE(server->running());
  EXPECT_NE(server->log().find(" warning blocked text=\"before the first round: column a of node-0003"),
            std::string::npos)
      << server->log();
  wrong->signal_and_wait(SIGTERM);
  wrong = sites.site(3, "right");  // the table was fixed
  const std::string digest = sites.finish(*server);
  const auto again = sites.federation().server({"--from-round", "0", "--drop-all-rounds"});
  const auto nodes = sites.sites(4);
  EXPECT_EQ(sites.finish(*again), digest) << "all is measured and trained again";
  EXPECT_EQ(sites.digest_of(4), digest);
}

TEST(Outliers, LeaveTheDigestOfTheOthersWhereTheyAreExcluded) {
  Sites sites;
  const auto server = sites.federation().server({"--on-outlier", "exclude"});
  const auto honest = sites.sites(3);
  const auto wrong = sites.site(3, "wrong");
  const std::string digest = sites.finish(*server);
  EXPECT_EQ(wrong->wait(), 4);
  EXPECT_NE(wrong->log().find("excluded from this run"), std::string::npos) << wrong->log();
  EXPECT_EQ(sites.digest_of(3), digest);
}

TEST(Outliers, StayExcludedWhenTheServerIsKilled) {
  Sites sites("4000");
  auto server = sites.federation().server({"--on-outlier", "exclude"});
  auto honest = sites.sites(3);
  auto wrong = sites.site(3, "wrong");
  ASSERT_TRUE(eventually([&] { return server->committed() > 3 || !server->running(); })) << server->log();
  server->signal_and_wait(SIGKILL);
  wrong.reset();  // its operator has switched it off
  server = sites.federation().server({"--on-outlier", "exclude"});
  const std::string digest = sites.finish(*server);
  const std::string result = sites.federation().box.read("server.out");
  EXPECT_NE(result.find("excluded from this run: column a of node-0003"), std::string::npos) << result;
  EXPECT_EQ(sites.digest_of(3), digest);
}

TEST(Outliers, TheResultSaysWhoseDataWasMeasuredAlsoAfterARestart) {
  Sites sites("200000");
  const std::vector<std::string> some = {"--min-available-nodes", "2"};
  auto server = sites.federation().server(some);
  const auto nodes = sites.sites(2);
  ASSERT_TRUE(eventually([&] { return server->committed() > 3 || !server->running(); })) << server->log();
  server->signal_and_wait(SIGKILL);
  server = sites.federation().server(some);
  ASSERT_TRUE(server->running()) << server->log();
  const std::string warning = sites.federation().status()["warnings"][0];
  EXPECT_NE(warning.find("measured at 2 of 4 nodes"), std::string::npos) << warning;
  EXPECT_NE(warning.find("node-0000, node-0001"), std::string::npos) << warning;
}

TEST(Outliers, AreInTheResultWhereTheyAreWarnedOf) {
  Sites sites;
  const auto server = sites.federation().server({"--on-outlier", "warn"});
  const auto honest = sites.sites(3);
  const auto wrong = sites.site(3, "wrong");
  sites.finish(*server);
  const std::string result = sites.federation().box.read("server.out");
  EXPECT_NE(result.find("column a of node-0003"), std::string::npos) << result;
}

TEST(Sites, ASiteThatWithholdsItsSumsIsRefusedAndBothSidesSayWhy) {
  Sites sites;
  const auto server = sites.federation().server();
  Background shy(sites.federation().box, "shy",
                 {"node", "--server", sites.federation().address(), "--tls", "pki/node-0001", "--data",
                  "csv:1-right.csv", "--allow", "train"});
  EXPECT_EQ(shy.wait(), 4);
  EXPECT_NE(shy.log().find("--allow"), std::string::npos) << shy.log();
  EXPECT_TRUE(eventually([&] { return server->log().find("node-0001 does not allow") != std::string::npos; }))
      << server->log();
}

// The server is killed as soon as it measures, wherever that finds it, and once more.
TEST(RealFaults, AServerKilledWhileItMeasuresEndsWithTheSameDigest) {
  Processes federation(3,
                       {"--model", "logistic", "--standardise", "full", "--class-weight", "balanced", "--eta",
                        "0.05", "--steps", "40"},
                       {"synthetic:30000x50", 30000});
  const std::string expected = federation.simulated()["digest"];
  auto server = federation.server({"--log-level", "info"});
  const auto nodes = federation.all_nodes();
  for (int kill = 0; kill < 2; ++kill) {
    ASSERT_TRUE(eventually([&] {
      return server->log().find(" measuring ") != std::string::npos || server->committed() > 0 ||
             !server->running();
    }));
    server->signal_and_wait(SIGKILL);
    server = federation.server({"--log-level", "info"});
  }
  ASSERT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(server->data()["digest"], expected);
}

// Killed around its last commit, again and again, until a server has told its nodes the end.
TEST(RealFaults, AServerKilledAtItsEndKeepsTheModelOfTheSimulation) {
  Processes federation(2, {"--model", "logistic", "--eta", "0.05", "--tau", "1", "--steps", "30"});
  const JsonValue simulated = federation.simulated();
  auto server = federation.server();
  const auto nodes = federation.all_nodes();
  for (int kill = 0; kill < 3; ++kill) {
    ASSERT_TRUE(eventually([&] { return server->committed() >= 29 || !server->running(); })) << server->log();
    server->signal_and_wait(SIGKILL);
    server = federation.server();
  }
  ASSERT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(server->data()["digest"], simulated["digest"]);
  const auto model =
      ok_data(federation.box.run({"model", "show", "latest", "--store", "state/runs.db", "--json"}));
  EXPECT_EQ(model["digest"], simulated["digest"]);
}

TEST(Server, NeedsATestSetForATargetAccuracy) {
  const Sandbox box;
  const Outcome refused =
      box.run({"server", "--plaintext", "--listen", "127.0.0.1:0", "--target-accuracy", "0.9"});
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_THAT(refused.err, ::testing::HasSubstr("target_accuracy needs a test set"));
}

TEST(Server, TestsItsOwnTestSetAsTheSimulationDoes) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "3", "--steps", "50"});
  ok_data(federation.box.run({"data", "split", "synthetic:80x20", "--seed", "5", "--nodes", "1", "--train",
                              "80", "--test", "0", "--out", "test", "--json"}));
  const auto server = federation.server({"--test-data", "npy:test/node-0000"});
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 0) << server->log();
  for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0);
  std::vector<std::string> arguments{"run", "--json", "--quiet", "--set",
                                     "data.test_source=npy:test/node-0000"};
  for (const std::string& word : federation.setting())
    arguments.push_back(word == "data.test=0" ? "data.test=80" : word);
  ok_data(federation.box.run(arguments));
  // Every record, except its wall time.
  const auto records = [&](const std::string& store) {
    std::vector<std::map<std::string, std::string>> out;
    std::istringstream lines(
        federation.box.run({"runs", "export", "latest", "--format", "csv", "--store", store}).out);
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      std::map<std::string, std::string> row;
      std::size_t i = 0;
      for (std::string cell; std::getline(cells, cell, ','); ++i) {
        if (out.empty() && names.size() == i)
          names.push_back(cell);
        else if (names[i] == "test_loss" || names[i] == "test_accuracy" || names[i] == "step")
          row[names[i]] = cell;
      }
      out.push_back(row);
    }
    return out;
  };
  const auto served = records("state/runs.db");
  EXPECT_GT(served.size(), 3U);
  EXPECT_NE(served.back().at("test_loss"), "");
  EXPECT_EQ(served, records("store.db"));
}

TEST(Server, MeasuresItsFederationForTheSimulation) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "5", "--steps", "100"},
                       {"synthetic:200x4000", 200});
  const auto server = federation.server({"--measure"});
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 0) << server->log();
  for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0);
  const std::string measured = server->data()["measured"];
  fmt::print("measured:\n{}", measured);
  EXPECT_NE(measured.find("[devices]\nspeed = "), std::string::npos) << measured;
  EXPECT_EQ(measured.find("speed = \"none\""), std::string::npos) << measured;
  EXPECT_NE(measured.find("dropout = \"0.0\""), std::string::npos) << measured;
  // It is an experiment file, and the run then has a clock and the same bits.
  federation.box.write("measured.toml", measured);
  std::vector<std::string> arguments{"run", "measured.toml", "--json", "--quiet"};
  for (const std::string& word : federation.setting()) arguments.push_back(word);
  const auto simulated = ok_data(federation.box.run(arguments));
  EXPECT_EQ(simulated["digest"], server->data()["digest"]);
  EXPECT_GT(simulated["virtual_seconds"].number(), 0) << simulated.dump();
}

INSTANTIATE_TEST_SUITE_P(All, Equality,
                         ::testing::Values(Case{"fl", "f32"}, Case{"fl", "f64"}, Case{"mfl", "f32"},
                                           Case{"mfl", "f64"}),
                         [](const auto& test) {
                           return fmt::format("{}_{}", test.param.algorithm, test.param.precision);
                         });

TEST(Equality, SoftmaxAndEveryAggregatorMatchTheSimulation) {
  for (const char* spec : {"mean", "median", "trimmed-mean(0.2)", "krum(1)", "multi-krum(1)",
                           "geometric-median", "centred-clipping(0.5, 2)"}) {
    Processes federation(5, {"--model", "softmax", "--intercept", "true", "--eta", "0.1", "--aggregator",
                             spec, "--batch-size", "16", "--tau", "3", "--rounds", "20"});
    const auto server = federation.server();
    const auto nodes = federation.all_nodes();
    SCOPED_TRACE(spec);
    expect_simulated(federation, *server);
  }
}

// Nodes that leave and join again draw the batches that they would have drawn.
TEST(Equality, BatchesMatchTheSimulation) {
  const std::vector<std::vector<std::string>> lengths = {
      {"--local-epochs", "2", "--rounds", "400"},
      {"--tau", "5", "--steps", "2003", "--evaluate-every", "3", "--drop-last", "true"}};
  for (const auto& length : lengths) {
    std::vector<std::string> setting{"--algorithm", "mfl", "--batch-size", "7"};
    setting.insert(setting.end(), length.begin(), length.end());
    Processes federation(3, setting);
    const auto server = federation.server();
    auto nodes = federation.all_nodes();
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(eventually([&, before = server->committed()] { return server->committed() > before + 5; }))
          << server->log();
      nodes[i]->signal_and_wait(SIGKILL);
      nodes[i] = federation.node(i);
    }
    expect_simulated(federation, *server);
  }
}

TEST(Equality, TwoOfFiveNodesPerRoundMatchTheSimulation) {
  Processes federation(5, {"--fraction-train", "0.4", "--steps", "200", "--tau", "10"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  expect_simulated(federation, *server);
}

TEST(Server, WarnsOfARunThatEndedFarFromConverged) {
  Processes federation(2, {"--eta", "0.000001", "--steps", "100", "--tau", "4"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 0) << server->log();
  const auto warnings = server->data()["warnings"];
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0]["id"], "still_falling");
  EXPECT_EQ(warnings, federation.simulated()["warnings"]);
}

// MFL_KILLS=200 is the long form. The moments of the kills are drawn; MFL_KILL_SEED=N draws them again.
// A run whose rounds are planned.
class Planned {
 public:
  explicit Planned(std::vector<std::string> budget)
      : federation_(3, [&] {
          std::vector<std::string> experiment = {"--model", "squared-svm", "--algorithm", "mfl",
                                                 "--eta",   "0.02",        "--tau",       "adaptive"};
          experiment.insert(experiment.end(), budget.begin(), budget.end());
          return experiment;
        }()) {}

  // Kills the server as often, once each process of it has committed some rounds.
  void expect_simulated_after(int kills) {
    auto server = federation_.server();
    const auto nodes = federation_.all_nodes();
    for (int kill = 0; kill < kills; ++kill) {
      const std::uint64_t before = server->committed();
      EXPECT_TRUE(eventually([&] { return server->committed() > before + 3; })) << server->log();
      server->signal_and_wait(SIGKILL);
      server = federation_.server();
    }
    expect_simulated(federation_, *server);
    EXPECT_EQ(server->data()["message"], federation_.simulated()["message"]);
    EXPECT_TRUE(std::string(server->data()["message"]).starts_with("budget used: ")) << server->log();
    const auto served = choices("state/runs.db");
    EXPECT_EQ(served, choices("store.db"));
    EXPECT_GT(served.size(), 10U);
    for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->log();
  }

 private:
  // Of all rounds of the latest run, without what they took by a clock.
  std::vector<JsonValue> choices(const std::string& store) const {
    const auto run = ok_data(federation_.box.run({"runs", "show", "latest", "--json", "--store", store}));
    std::vector<JsonValue> out;
    for (std::size_t i = 1; i < run["rounds"].size(); ++i)
      for (const char* key : {"tau", "rho", "beta", "delta", "bound"})
        out.push_back(run["rounds"][i]["choice"][key]);
    return out;
  }

  Processes federation_;
};

TEST(Budgets, AdaptiveRoundsUnderABudgetOfBytesAreThoseOfTheSimulation) {
  Planned({"--budget-bytes", "400000"}).expect_simulated_after(0);
}

TEST(Budgets, AServerThatIsKilledPlansTheRoundsOfTheSimulation) {
  Planned({"--budget-bytes", "400000"}).expect_simulated_after(2);
}

TEST(Budgets, DescribedDevicesCostWhatTheyCostInTheSimulation) {
  Planned({"--budget-seconds", "40", "--set", "devices.speed=uniform(20000, 30000)", "--set",
           "network.latency=0.06"})
      .expect_simulated_after(1);
}

TEST(Budgets, AFixedTauEndsWhereItsBytesDo) {
  Processes federation(2, {"--algorithm", "fl", "--tau", "7", "--budget-bytes", "20000"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  expect_simulated(federation, *server);
  EXPECT_EQ(server->data()["message"], federation.simulated()["message"]);
}

TEST(Budgets, OneThatAllowsNoRoundIsAnError) {
  Processes federation(2, {"--algorithm", "fl", "--tau", "7", "--budget-bytes", "100"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 2);
  EXPECT_NE(server->log().find("the budget does not allow a round"), std::string::npos) << server->log();
}

TEST(RealFaults, AServerKilledAtAnyMomentContinuesAndEndsWithTheSameDigest) {
  const std::uint64_t seed = drawn_seed("MFL_KILL_SEED");
  SCOPED_TRACE(fmt::format(
      "replay with MFL_KILL_SEED={} network_process_test --gtest_filter=RealFaults.AServerKilledAtAnyMoment*",
      seed));
  const int kills = from_environment("MFL_KILLS", 20);
  Processes federation(3, {"--algorithm", "mfl", "--tau", "1", "--steps", fmt::to_string(500 * kills)});
  const std::string expected = federation.simulated()["digest"];
  Stream dice(seed, Purpose::kSynthetic);
  std::vector<std::string> more{"--linger", "20"};
  auto server = federation.server(more);
  const auto nodes = federation.all_nodes();
  std::uint64_t round = 0;
  milliseconds slowest{0};
  for (int i = 0; i < kills; ++i) {
    // Neither a slow nor a fast machine ends the run before the last kill.
    eventually([&] { return server->committed() > round + 200; }, milliseconds(50 + dice.below(400)));
    EXPECT_EQ(server->signal_and_wait(SIGKILL), 128 + SIGKILL) << server->log();
    const auto start = Clock::now();
    server = federation.server(more);
    const auto status = federation.status();
    slowest = std::max(slowest, milliseconds(ms_since(start)));
    EXPECT_GE(status["round"].count(), round) << "a committed round was lost";
    round = status["round"].count();
  }
  EXPECT_GT(round, 0U) << "no kill fell into the rounds";
  for (const auto& node : nodes) {
    EXPECT_EQ(node->wait(), 0) << node->log();
    EXPECT_EQ(node->data()["digest"], expected);
  }
  EXPECT_EQ(server->wait(), 0);
  EXPECT_EQ(server->data()["digest"], expected);
  fmt::print(
      "{} kills of the server, the last at round {}: the digest of mfl run; serving again after {} ms at "
      "worst\n",
      kills, round, slowest.count());
}

// What the server and the nodes keep for an algorithm survives the death of both.
TEST(RealFaults, ServerAndNodesKilledInTurnKeepWhatNodesKeep) {
  const std::vector<std::vector<std::string>> settings = {
      {"--algorithm", "scaffold-acg", "--momentum", "keep-local"},
      {"--algorithm", "feddyn(0.5)"},
      {"--algorithm", "mfl", "--sync-momentum", "3"},
      {"--algorithm", "mfl", "--codecs", "topk(0.3), int8"},
  };
  for (const auto& setting : settings) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(setting, " ")));
    std::vector<std::string> arguments{"--eta", "0.02", "--tau", "1", "--steps", "4000"};
    arguments.insert(arguments.end(), setting.begin(), setting.end());
    Processes federation(2, arguments);
    const std::string expected = federation.simulated()["digest"];
    const auto start_node = [&](std::size_t i) {
      return federation.node(i, {"--state", fmt::format("node-{}.kept", i)});
    };
    auto server = federation.server({"--linger", "20"});
    std::vector<decltype(start_node(0))> nodes;
    for (std::size_t i = 0; i < 2; ++i) nodes.push_back(start_node(i));
    std::uint64_t round = 0;
    for (std::size_t kill = 0; kill < 6; ++kill) {
      eventually([&] { return server->committed() > round + 50; }, milliseconds(300));
      if (kill % 2 == 0) {
        server->signal_and_wait(SIGKILL);
        server = federation.server({"--linger", "20"});
      } else {
        nodes[kill / 2 % 2]->signal_and_wait(SIGKILL);
        nodes[kill / 2 % 2] = start_node(kill / 2 % 2);
      }
      round = federation.status()["round"].count();
    }
    EXPECT_EQ(server->wait(), 0) << server->log();
    EXPECT_EQ(server->data()["digest"], expected);
  }
}

// Three of ten, different ones in every round. MFL_KILLED_ROUNDS sets how many rounds.
TEST(RealFaults, WithAThirdOfTheNodesKilledEveryRoundEveryRoundCompletes) {
  constexpr std::size_t kNodes = 10, kVictims = 3;
  const int rounds = from_environment("MFL_KILLED_ROUNDS", 10);
  constexpr int kTau = 20'000;  // a round lasts long enough for the kills to fall into it
  Processes federation(
      kNodes, {"--algorithm", "fl", "--tau", fmt::to_string(kTau), "--steps", fmt::to_string(kTau * rounds)});
  const auto server = federation.server(
      {"--quorum", "7", "--min-available-nodes", "7", "--round-deadline", "30", "--log", "json"});
  auto nodes = federation.all_nodes();
  const auto committed = [&] { return count_of(server->log(), "\"event\":\"round\""); };
  std::size_t kills = 0;
  for (std::size_t round = 0; server->running(); ++round) {
    for (std::size_t i = 0; i < kVictims; ++i) {
      const std::size_t victim = (kVictims * round + i) % kNodes;
      nodes[victim]->signal_and_wait(SIGKILL);
      nodes[victim] = federation.node(victim);
      ++kills;
    }
    eventually([&, before = committed()] { return committed() > before || !server->running(); });
  }
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(server->data()["rounds"], rounds);
  EXPECT_EQ(server->data()["status"], "done");
  EXPECT_GE(kills, 2 * static_cast<std::size_t>(rounds));
  fmt::print("{} rounds of {} completed, {} node kills, three of ten per round\n", committed(), rounds,
             kills);
}

TEST(RealFaults, SigtermEndsAServerCleanlyAndItContinuesLater) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "1", "--steps", "2000"});
  auto server = federation.server();
  const auto nodes = federation.all_nodes();
  EXPECT_TRUE(eventually([&] { return server->committed() > 10; })) << server->log();
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0) << server->log();
  EXPECT_EQ(server->data()["status"], "interrupted");
  server = federation.server();
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(server->data()["digest"], federation.simulated()["digest"]);
  for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->log();
}

TEST(RealFaults, AStoppedNodeIsNoticedAndComesBack) {
  Processes federation(2, {"--tau", "1", "--steps", "1000000"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  const auto wait_for = [&](int count) {
    const auto start = Clock::now();
    EXPECT_TRUE(eventually([&] { return federation.status()["nodes"] == count; })) << server->log();
    return ms_since(start);
  };
  wait_for(2);
  nodes[0]->signal(SIGSTOP);
  const auto noticed = wait_for(1);
  EXPECT_TRUE(nodes[0]->running()) << "its end is not what was noticed";
  nodes[0]->signal(SIGCONT);
  const auto back = wait_for(2);
  fmt::print("{} ms until a stopped node is noticed, {} ms until it is back after it continues\n", noticed,
             back);
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

TEST(RealFaults, AStoppedServerIsNoticedAndTheNodesComeBack) {
  Processes federation(2, {"--tau", "1", "--steps", "1000000"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  const auto lines = [&](const char* event) {
    return count_of(nodes[0]->log(), event) > 0 && count_of(nodes[1]->log(), event) > 0;
  };
  ASSERT_TRUE(eventually([&] { return lines(" joined "); })) << nodes[0]->log();
  server->signal(SIGSTOP);
  const auto start = Clock::now();
  EXPECT_TRUE(eventually([&] { return lines(" disconnected "); })) << nodes[0]->log();
  const auto noticed = ms_since(start);
  EXPECT_TRUE(server->running()) << "its end is not what was noticed";
  server->signal(SIGCONT);
  const auto resumed = Clock::now();
  EXPECT_TRUE(eventually([&] { return federation.status()["nodes"] == 2; })) << server->log();
  fmt::print("{} ms until a stopped server is noticed, {} ms until both nodes are back\n", noticed,
             ms_since(resumed));
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

// Delays, stalls, resets and low bandwidth between nodes and server. An update that is counted twice, or lost and not sent
// again, would change the digest. MFL_PROXY_STEPS sets the length of the run.
TEST(RealFaults, ALineThatDelaysStallsResetsAndThrottlesChangesNothing) {
  const int steps = from_environment("MFL_PROXY_STEPS", 40);
  Processes federation(3, {"--algorithm", "mfl", "--tau", "1", "--steps", fmt::to_string(steps)},
                       {"synthetic:60x4000", 60});
  const std::string expected = federation.simulated()["digest"];
  const auto server = federation.server({"--round-deadline", "5", "--linger", "30"});
  BadLine line(federation.port(), {.reset = 0.005, .stall = 0.001, .delay = 0.1}, 7);
  const auto nodes = federation.all_nodes(line.address());
  for (const auto& node : nodes) {
    EXPECT_EQ(node->wait(kPatience + std::chrono::seconds(steps)), 0) << node->log();
    EXPECT_EQ(node->data()["digest"], expected);
  }
  EXPECT_EQ(server->wait(), 0);
  EXPECT_EQ(server->data()["digest"], expected);
  EXPECT_EQ(server->data()["rounds"], steps);
  const BadLine::Seen seen = line.seen();
  fmt::print(
      "{} rounds over a bad line with {} connections, {} resets, {} stalls, {} delays: the digest of mfl "
      "run\n",
      steps, seen.connections, seen.resets, seen.stalls, seen.delays);
  EXPECT_GT(seen.resets + seen.stalls, 0U);
}

TEST(RealFaults, SigtermEndsANodeCleanly) {
  Processes federation(2, {});
  const auto server = federation.server();
  const auto node = federation.node(0);
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(node->signal_and_wait(SIGTERM), 0) << node->log();
  EXPECT_EQ(node->data()["status"], "stopped");
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

TEST(Commands, SayWhatIsWrong) {
  const Sandbox box;
  expect_error(box.run({"server"}), 2, {"--tls"});
  expect_error(box.run({"server", "--plaintext", "--listen", "0.0.0.0:0"}), 2, {"loopback"});
  expect_error(box.run({"server", "--plaintext", "--listen", "127.0.0.1:0", "--algorithm", "gd"}), 2,
               {"one place"});
  expect_error(box.run({"node", "--server", "127.0.0.1:1", "--plaintext", "--data", "synthetic"}), 2,
               {"--name"});
  expect_error(box.run({"node", "--server", "127.0.0.1:1", "--plaintext", "--name", "a", "--data",
                        "synthetic", "--log", "none", "--give-up-after", "0"}),
               4, {"gave up"});
  expect_error(box.run({"server", "status", "127.0.0.1:1", "--plaintext"}), 4, {"127.0.0.1:1"});
  expect_error(box.run({"server", "status", "127.0.0.1:1"}), 2, {"--tls", "the server's own folder"});
  ASSERT_EQ(box.run({"certs", "init", "own"}).code, 0);
  ASSERT_EQ(box.run({"certs", "server", "own", "127.0.0.1"}).code, 0);
  ASSERT_EQ(box.run({"certs", "node", "own", "a"}).code, 0);
  expect_error(box.run({"server", "--tls", "own/a", "--listen", "127.0.0.1:0", "--log", "none"}), 2,
               {"certificate of the role node", "mfl certs server"});
  expect_error(box.run({"node", "--server", "127.0.0.1:1", "--tls", "own/server", "--data", "synthetic"}), 2,
               {"certificate of the role server", "mfl certs node"});
  expect_error(box.run({"certs", "node", "pki", "a"}), 2, {"authority"});
}

TEST(Commands, TheDemonstrationAgreesWithTheSimulation) {
  const Sandbox box;
  const auto data = ok_data(
      box.run({"demo", "federation", "--data", "synthetic", "--train", "200", "--steps", "20", "--json"}));
  EXPECT_EQ(data["equal"], true);
  EXPECT_EQ(data["federation_digest"], data["simulation_digest"]);
  EXPECT_EQ(data["rounds"], 5);
}

}  // namespace
}  // namespace mfl::test
