// Metrics, health, log and status of a real server process.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "loopback.h"
#include "mfl/network/certs.h"
#include "processes.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&at), size), 0);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size), 0);
  ::close(socket);
  return ntohs(at.sin_port);
}

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
  const auto channel =
      grpc::CreateChannel(address, grpc::SslCredentials({tls.authority, tls.key, tls.certificate}));
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const grpc::Slice nothing("");
  const grpc::ByteBuffer request(&nothing, 1);
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  EXPECT_TRUE(status.ok()) << status.error_message();
  grpc::Slice whole;
  return answer.DumpToSingleSlice(&whole).ok() ? std::string(whole.begin(), whole.end()) : "";
}

TEST(Watching, MetricsHealthStatusAndLogTellOfTheRun) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "2", "--steps", "1000000"});
  const std::uint16_t port = free_port();
  const auto server = federation.server({"--metrics", fmt::format("127.0.0.1:{}", port), "--log", "json"});
  EXPECT_EQ(metric(http_get(port, "/metrics"), "mfl_nodes"), 0);
  auto nodes = federation.all_nodes();
  ASSERT_TRUE(eventually([&] { return federation.status()["round"] > 5; })) << server->log();

  const std::string page = http_get(port, "/metrics");
  EXPECT_THAT(page, HasSubstr("200 OK"));
  EXPECT_THAT(page, HasSubstr("# TYPE mfl_round_seconds summary"));
  EXPECT_EQ(metric(page, "mfl_nodes"), 2);
  EXPECT_GT(metric(page, "mfl_round"), 5);
  EXPECT_GT(metric(page, "mfl_train_loss"), 0);
  EXPECT_GT(metric(page, "mfl_vector_bytes_up_total"), 0);
  EXPECT_GE(metric(page, "mfl_round_seconds_count"), 5);
  EXPECT_GE(metric(page, "mfl_round_seconds_sum"), 0);
  EXPECT_EQ(metric(page, "mfl_refused_total{reason=\"stale\"}"), 0);
  EXPECT_EQ(metric(page, "mfl_over"), 0);
  const std::string later = http_get(port, "/metrics");
  EXPECT_GE(metric(later, "mfl_round"), metric(page, "mfl_round"));

  const auto tls = read_tls_folder(federation.box.path("pki/node-0000")).value();
  EXPECT_EQ(check_health(federation.address(), tls), std::string("\x08\x01", 2)) << "status: SERVING";

  const auto status = federation.status();
  EXPECT_EQ(status["phase"], "training");
  EXPECT_EQ(status["nodes"], 2);
  EXPECT_TRUE(status["train_loss"].is_number());
  EXPECT_GE(status["last_round_ms"].get<int>(), 0);

  nodes.clear();  // killed
  EXPECT_TRUE(eventually([&] { return federation.status()["nodes"] == 0; }));
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
  std::map<std::string, int> events;
  std::istringstream lines(server->log());
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << line;
    EXPECT_TRUE(parsed.contains("time") && parsed.contains("level")) << line;
    ++events[parsed.value("event", "")];
  }
  for (const char* event : {"serving", "joined", "round", "left"}) EXPECT_GT(events[event], 0) << event;
  EXPECT_EQ(events["joined"], 2);
  EXPECT_EQ(events["left"], 2);
}

}  // namespace
}  // namespace mfl::test
