// Metrics, health, log and status of a real server process.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "call.h"
#include "loopback.h"
#include "mfl/base/version.h"
#include "mfl/federation/messages.h"
#include "mfl/network/certs.h"
#include "processes.h"

namespace mfl::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string http_get(std::uint16_t port, const std::string& path) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = loopback(port);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  const std::string request = fmt::format("GET {} HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
  EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 4096> piece;
  for (ssize_t got; (got = ::recv(socket, piece.data(), piece.size(), 0)) > 0;)
    answer.append(piece.data(), static_cast<std::size_t>(got));
  ::close(socket);
  return answer;
}

// The value of a metric without labels, or with just these.
double metric(const std::string& text, const std::string& name) {
  const std::size_t at = text.find('\n' + name + ' ');
  if (at == std::string::npos) ADD_FAILURE() << "no " << name << " in\n" << text;
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

// The answer of grpc.health.v1.Health/Check as bytes.
std::string check_health(const std::string& address, const TlsFiles& tls) {
  const auto rpc = RpcClient::make({address, tls, {}, 1000}).value();
  const auto [status, answer] = call_once(*rpc, "/grpc.health.v1.Health/Check", "");
  EXPECT_TRUE(status.ok()) << status.text;
  return answer;
}

TEST(Watching, MetricsHealthStatusAndLogTellOfTheRun) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "2", "--steps", "1000000"});
  const HeldPort port;
  const auto server = federation.server({"--metrics", port.address(), "--log", "json"});
  EXPECT_EQ(metric(http_get(port.number(), "/metrics"), "mfl_nodes"), 0);
  auto nodes = federation.all_nodes();
  ASSERT_TRUE(eventually([&] { return federation.status()["round"] > 5; })) << server->log();

  std::string page;
  ASSERT_TRUE(eventually([&] {
    page = http_get(port.number(), "/metrics");
    return metric(page, "mfl_round_seconds_sum") > 0;
  })) << page;
  EXPECT_THAT(page, HasSubstr("200 OK"));
  EXPECT_THAT(page, HasSubstr("# TYPE mfl_round_seconds summary"));
  EXPECT_EQ(metric(page, "mfl_nodes"), 2);
  EXPECT_GT(metric(page, "mfl_round"), 5);
  EXPECT_GT(metric(page, "mfl_train_loss"), 0);
  EXPECT_GT(metric(page, "mfl_vector_bytes_up_total"), 0);
  EXPECT_GE(metric(page, "mfl_round_seconds_count"), 5);
  EXPECT_GE(metric(page, "mfl_round_seconds_sum"), metric(page, "mfl_last_round_seconds"));
  EXPECT_EQ(metric(page, "mfl_refused_total{reason=\"stale\"}"), 0);
  EXPECT_EQ(metric(page, "mfl_refused_total{reason=\"admission\"}"), 0);
  EXPECT_EQ(metric(page, "mfl_nodes_needed"), 2);
  EXPECT_EQ(metric(page, fmt::format("mfl_build_info{{version=\"{}\",protocol=\"{}\"}}", version(),
                                     kProtocolVersion)),
            1);
  EXPECT_GT(metric(page, "mfl_certificate_expiry_timestamp_seconds"), 1e9);
  for (const char* node : {"node-0000", "node-0001"}) {
    const auto of_node = [&](const char* name) {
      return metric(page, fmt::format("{}{{node=\"{}\"}}", name, node));
    };
    EXPECT_EQ(of_node("mfl_node_connected"), 1);
    EXPECT_EQ(of_node("mfl_node_samples"), 150);
    EXPECT_GT(of_node("mfl_node_last_round"), 0);
    EXPECT_GT(of_node("mfl_node_train_loss"), 0);
    EXPECT_GT(of_node("mfl_node_last_seconds"), 0);
    EXPECT_GT(of_node("mfl_node_last_seen_timestamp_seconds"), 1e9);
    EXPECT_GT(of_node("mfl_node_certificate_expiry_timestamp_seconds"), 1e9);
  }
  EXPECT_EQ(metric(page, "mfl_over"), 0);
  const std::string later = http_get(port.number(), "/metrics");
  EXPECT_GE(metric(later, "mfl_round"), metric(page, "mfl_round"));

  const auto tls = read_tls_folder(federation.box.path("pki/node-0000")).value();
  EXPECT_EQ(check_health(federation.address(), tls), std::string("\x08\x01", 2)) << "status: SERVING";

  const auto status = federation.status();
  EXPECT_EQ(status["phase"], "training");
  EXPECT_EQ(status["nodes"], 2);
  EXPECT_TRUE(status["train_loss"].is_number());
  EXPECT_TRUE(eventually([&] { return federation.status()["last_round_ms"] > 0; }));
  ASSERT_EQ(status["node_list"].size(), 2U) << status.dump();
  EXPECT_EQ(status["node_list"][0]["name"], "node-0000");
  EXPECT_EQ(status["node_list"][0]["connected"], true);
  EXPECT_EQ(status["node_list"][0]["samples"], 150);
  EXPECT_TRUE(status["node_list"][1]["train_loss"].is_number());
  EXPECT_THAT(federation.box.run({"server", "status", federation.address(), "--tls", "pki/node-0000"}).out,
              AllOf(HasSubstr("2 connected, 2 needed"), HasSubstr("node-0001"), HasSubstr("connected")));

  nodes.clear();  // killed
  EXPECT_TRUE(eventually([&] { return federation.status()["nodes"] == 0; }));
  EXPECT_EQ(federation.status()["node_list"][0]["connected"], false);
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
  std::map<std::string, int> events;
  std::istringstream lines(server->log());
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = JsonValue::parse(line);
    ASSERT_TRUE(parsed.is_object()) << line;
    EXPECT_TRUE(parsed.contains("time") && parsed.contains("level")) << line;
    ++events[parsed["event"]];
  }
  for (const char* event : {"serving", "joined", "round", "left"}) EXPECT_GT(events[event], 0) << event;
  EXPECT_EQ(events["joined"], 2);
  EXPECT_EQ(events["left"], 2);
}

TEST(Watching, StatusIsFollowedToTheEndOfTheRun) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "2", "--steps", "40"});
  const auto server = federation.server();
  Background watching(federation.box, "watching",
                      {"server", "status", federation.address(), "--tls", "pki/server", "--watch"});
  ASSERT_TRUE(
      eventually([&] { return federation.box.read("watching.out").find("(waiting)") != std::string::npos; }));
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(watching.wait(), 0) << watching.log();
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_THAT(federation.box.read("watching.out"), HasSubstr("(done)"));
}

TEST(Watching, RefusedConnectionsAreCounted) {
  Processes federation(2, {"--steps", "1000000"});
  federation.box.write("allowed", "node-0001\n");
  const HeldPort port;
  const auto server = federation.server({"--metrics", port.address(), "--allow", "allowed"});
  const auto node = federation.node(0);
  EXPECT_EQ(node->wait(), 4) << node->log();
  const auto counted = [&](const std::string& reason) {
    const std::string name = fmt::format("mfl_refused_total{{reason=\"{}\"}}", reason);
    return eventually([&] { return metric(http_get(port.number(), "/metrics"), name) >= 1; });
  };
  EXPECT_TRUE(counted("admission"));
  EXPECT_GE(federation.status()["refused"]["admission"], 1);
  const auto other = federation.node(1, {"--config-digest", "abc"});
  EXPECT_EQ(other->wait(), 4) << other->log();
  EXPECT_TRUE(counted("config"));
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

TEST(Watching, TestLossAndAccuracyAreShownWhereThereIsATestSet) {
  Processes federation(1, {"--tau", "1", "--steps", "400", "--record-every", "10"});
  const HeldPort port;
  const std::vector<std::string> more{"--test-data", "npy:parts/node-0000", "--metrics", port.address()};
  const auto server = federation.server(more);
  EXPECT_EQ(http_get(port.number(), "/metrics").find("mfl_test_accuracy"), std::string::npos);
  const auto node = federation.node(0);
  const auto shown = [&] { return federation.status()["test_accuracy"].is_number(); };
  ASSERT_TRUE(eventually(shown)) << server->log();
  const std::string page = http_get(port.number(), "/metrics");
  EXPECT_GT(metric(page, "mfl_test_accuracy"), 0);
  EXPECT_GT(metric(page, "mfl_test_loss"), 0);
  EXPECT_EQ(server->wait(), 0) << server->log();
  const double accuracy = server->data()["final"]["test_accuracy"].number();
  EXPECT_EQ(server->data()["test_metrics"]["accuracy"], accuracy);
  EXPECT_EQ(server->data()["test_metrics"]["classes"].size(), 2U);
  EXPECT_GT(server->data()["test_metrics"]["roc_auc"], 0.5);

  std::vector<std::string> again{"server", "--state",  "state",       "--plaintext", "--log",
                                 "none",   "--listen", "127.0.0.1:0", "--linger",    "0"};
  for (const std::string& word : federation.setting()) again.push_back(word);
  EXPECT_THAT(federation.box.run(again).out,
              AllOf(HasSubstr("(done)"), HasSubstr(fmt::format("test accuracy  {:.2f} %", 100 * accuracy)),
                    HasSubstr("\nby class "), HasSubstr("\nclass  precision ")));
}

}  // namespace
}  // namespace mfl::test
