// Running a federation day by day: stopping, restarting, removing a site, certificates, logs and files, of real processes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <sstream>
#include <thread>

#include "mfl/base/files.h"
#include "mfl/network/certs.h"
#include "mfl/record/store.h"
#include "processes.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

mode_t mode_of(const std::filesystem::path& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777U;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) out.push_back(line);
  return out;
}

TEST(Stopping, SigtermSaysWhatTheStoreHolds) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "1", "--steps", "1000000"});
  auto server = federation.server();
  const auto nodes = federation.all_nodes();
  std::int64_t slowest = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(eventually([&, before = server->committed()] { return server->committed() > before + 20; }))
        << server->log();
    const auto start = Clock::now();
    EXPECT_EQ(server->signal_and_wait(SIGTERM), 0) << server->log();
    slowest = std::max(slowest, ms_since(start));
    const auto said = server->data();
    EXPECT_EQ(said["status"], "interrupted") << server->log();
    EXPECT_EQ(said["rounds"], server->committed());

    const auto store = Store::open(federation.box.path("state/runs.db"), {.read_only = true}).value();
    const auto run = store.get("latest").value();
    const auto rounds = store.rounds(run.id).value();
    EXPECT_EQ(said["rounds"], store.latest_checkpoint(run.id).value()->round);
    EXPECT_EQ(said["rounds"], rounds.back().round + 1) << "each row comes with the round after it";
    EXPECT_EQ(said["final"]["step"], rounds.back().step + 1);
    EXPECT_EQ(said["final"]["train_loss"], rounds.back().train_loss);
    EXPECT_EQ(run.message, fmt::format("stopped after round {}", said["rounds"].count()));
    server = federation.server();
  }
  fmt::print("the server was gone {} ms after SIGTERM at worst\n", slowest);
}

TEST(Stopping, TheNextServerNeedNotWaitForTheLast) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "1", "--steps", "1000000"});
  auto server = federation.server();
  const auto nodes = federation.all_nodes();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(eventually([&, before = server->committed()] { return server->committed() > before + 10; }))
        << server->log();
    server->signal(SIGTERM);
    auto next = federation.server();  // while the last is still stopping
    EXPECT_TRUE(next->running()) << next->log();
    EXPECT_EQ(server->wait(), 0);
    server = std::move(next);
  }
}

TEST(Sites, ARunContinuesWithoutASiteThatWasRemoved) {
  Processes federation(3, {"--algorithm", "fl", "--tau", "1", "--steps", "1000000"});
  federation.box.write("allowed", "node-0000\nnode-0001\nnode-0002\n");
  federation.box.write("revoked", "");
  const auto server = federation.server({"--allow", "allowed", "--revoked", "revoked"});
  auto nodes = federation.all_nodes();
  ASSERT_TRUE(eventually([&] { return server->committed() > 5; })) << server->log();
  EXPECT_EQ(federation.status()["nodes_needed"], 3);
  federation.box.write("allowed", "node-0001\nnode-0002\n");
  EXPECT_EQ(nodes[0]->wait(), 4) << nodes[0]->log();
  const auto status = federation.status();
  EXPECT_EQ(status["nodes_needed"], 2) << status.dump();
  EXPECT_TRUE(eventually([&, before = server->committed()] { return server->committed() > before + 20; }))
      << server->log();
  for (std::size_t i = 1; i < 3; ++i) EXPECT_TRUE(nodes[i]->running()) << nodes[i]->log();
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0) << server->log();
  EXPECT_THAT(server->log(), HasSubstr("needed nodes=2"));
}

TEST(Sites, ARevokedCertificateCountsAsASiteThatWasRemoved) {
  Processes federation(3, {"--algorithm", "fl", "--tau", "1", "--steps", "1000000"});
  federation.box.write("allowed", "node-0000\nnode-0001\nnode-0002\n");
  federation.box.write("pki/revoked_certificates.txt", "");
  const auto server = federation.server({"--allow", "allowed", "--revoked", "pki/revoked_certificates.txt"});
  auto nodes = federation.all_nodes();
  ASSERT_TRUE(eventually([&] { return server->committed() > 5; })) << server->log();
  EXPECT_EQ(ok_data(federation.box.run({"certs", "revoke", "pki", "node-0000", "--json"}))["revoked"].size(),
            1U);
  EXPECT_EQ(nodes[0]->wait(), 4) << nodes[0]->log();
  EXPECT_TRUE(eventually([&, before = server->committed()] { return server->committed() > before + 20; }))
      << server->log();
  const auto status = [&] {
    return ok_data(
        federation.box.run({"server", "status", federation.address(), "--tls", "pki/server", "--json"}));
  };
  EXPECT_TRUE(eventually([&] { return status()["node_list"][0]["barred"] == "revoked"; })) << status().dump();
  EXPECT_THAT(federation.box.run({"server", "status", federation.address(), "--tls", "pki/server"}).out,
              ::testing::ContainsRegex("node-0000 +revoked"));
  // A new certificate, and it is a node as any other.
  ASSERT_EQ(federation.box.run({"certs", "renew", "pki", "node-0000"}).code, 0);
  nodes[0] = federation.node(0);
  EXPECT_TRUE(eventually([&] { return status()["node_list"][0]["connected"] == true; })) << nodes[0]->log();
  EXPECT_TRUE(eventually([&] { return status()["node_list"][0]["barred"].is_null(); })) << status().dump();
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0) << server->log();
}

TEST(Certificates, AreListedRenewedAndUsedWhileAFederationRuns) {
  Processes federation(2, {"--tau", "1", "--steps", "1000000"});
  const auto& box = federation.box;
  EXPECT_TRUE(make_node_certificate(box.path("pki"), "soon", Days(12)));
  const auto list = [&] { return ok_data(box.run({"certs", "list", "pki", "--json"}))["certificates"]; };
  EXPECT_EQ(list().size(), 5U);
  const auto renewed = ok_data(box.run({"certs", "renew", "pki", "node-0000", "--json"}));
  const auto after = list();
  ASSERT_EQ(after.size(), 6U);
  EXPECT_EQ(after[0]["role"], "authority");
  EXPECT_EQ(after[1]["name"], "server");
  EXPECT_EQ(after[2]["name"], "node-0000");
  EXPECT_EQ(after[2]["current"], true);
  EXPECT_EQ(after[3]["serial"], renewed["old_serial"]);
  EXPECT_EQ(after[3]["current"], false);
  EXPECT_EQ(after[5]["days_left"], 11);
  ok_data(box.run({"certs", "revoke", "pki", renewed["old_serial"], "--json"}));
  EXPECT_EQ(list()[3]["revoked"], true);
  EXPECT_THAT(box.run({"certs", "list", "pki"}).out, HasSubstr("revoked"));

  // A server with a list of the old certificate takes the new one.
  const auto server = federation.server({"--revoked", "pki/revoked_certificates.txt"});
  const auto nodes = federation.all_nodes();
  ASSERT_TRUE(eventually([&] { return server->committed() > 2; })) << server->log();
  EXPECT_THAT(server->log(), Not(HasSubstr("expiring")));
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

TEST(Certificates, BothSidesWarnOfOneThatExpiresSoon) {
  Processes federation(1, {"--tau", "1", "--steps", "1000000"});
  for (const char* name : {"node-0000", "server"})
    ok_data(federation.box.run({"certs", "renew", "pki", name, "--days", "10", "--json"}));
  const auto server = federation.server();
  const auto node = federation.node(0);
  ASSERT_TRUE(eventually([&] { return server->committed() > 2; })) << server->log();
  EXPECT_THAT(server->log(), HasSubstr("the certificate of this server expires in 9 days"));
  EXPECT_THAT(server->log(), HasSubstr("the certificate of node-0000 expires in 9 days"));
  EXPECT_THAT(node->log(), HasSubstr("the certificate of this node expires in 9 days"));
  EXPECT_THAT(node->log(), HasSubstr("the certificate of the server expires in 9 days"));
  const auto shown =
      federation.box.run({"server", "status", federation.address(), "--tls", "pki/node-0000"}).out;
  EXPECT_THAT(shown, HasSubstr("the server's expires in 9 days"));
  EXPECT_EQ(lines_with(shown, "expires in 9 days").size(), 2U) << shown;
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

TEST(Logging, OneLinePerRoundOnTheServerAndNoneOnTheNodes) {
  constexpr int kRounds = 40;
  Processes federation(2, {"--algorithm", "fl", "--tau", "1", "--steps", fmt::to_string(kRounds)});
  const auto server = federation.server();
  const auto quiet = federation.node(0);
  const auto chatty = federation.node(1, {"--log-level", "debug"});
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(quiet->wait(), 0);
  EXPECT_EQ(chatty->wait(), 0);
  EXPECT_EQ(lines_with(server->log(), " round round=").size(), static_cast<std::size_t>(kRounds));
  EXPECT_EQ(lines_with(quiet->log(), "round=").size(), 0U) << quiet->log();
  EXPECT_EQ(lines_with(chatty->log(), " sent round=").size(), static_cast<std::size_t>(kRounds));
  EXPECT_EQ(lines_with(chatty->log(), fmt::format("round={}", kRounds + 1)).size(), 0U);
  EXPECT_EQ(lines_with(chatty->log(), "reason=none").size(), 0U);
  EXPECT_EQ(lines_with(chatty->log(), " evaluated ").size(), 1U);
}

TEST(Logging, LevelsLeaveOutWhatIsBelow) {
  Processes federation(1, {"--tau", "1", "--steps", "20"});
  const auto server = federation.server({"--log-level", "warning"});
  const auto node = federation.node(0, {"--log-level", "error"});
  EXPECT_EQ(server->wait(), 0);
  EXPECT_EQ(node->wait(), 0);
  EXPECT_EQ(server->log(), "");
  EXPECT_EQ(node->log(), "");
  expect_error(federation.box.run({"server", "--plaintext", "--log-level", "loud"}), 2, {"--log-level loud"});
}

TEST(Logging, ANodeThatNeverJoinedSaysSo) {
  const Sandbox box;
  Background node(box, "node",
                  {"node", "--server", "127.0.0.1:1", "--plaintext", "--name", "a", "--data", "synthetic"});
  ASSERT_TRUE(eventually([&] { return node.log().find("disconnected") != std::string::npos; }));
  EXPECT_EQ(node.signal_and_wait(SIGTERM), 0);
  EXPECT_THAT(box.read("node.out"), HasSubstr("stopped before the node had joined"));
  EXPECT_THAT(box.read("node.out"), Not(HasSubstr("rounds")));
}

TEST(Files, TheStateFolderIsForItsOwnerAlone) {
  Processes federation(1, {"--tau", "1", "--steps", "20"});
  {
    const auto server = federation.server();
    EXPECT_EQ(mode_of(federation.box.path("state")), 0700U);
    for (const char* file : {"state/runs.db", "state/runs.db-wal"})
      EXPECT_EQ(mode_of(federation.box.path(file)), 0600U) << file;
    EXPECT_THAT(server->log(), Not(HasSubstr("permissions")));
    EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
  }
  ASSERT_EQ(::chmod(federation.box.path("state").c_str(), 0755), 0);
  const auto server = federation.server();
  EXPECT_THAT(server->log(), HasSubstr("other users may read state: chmod go= state"));
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

}  // namespace
}  // namespace mfl::test
