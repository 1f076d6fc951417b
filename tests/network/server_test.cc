// A real server on a free port of loopback, and peers good and bad.
#include "mfl/network/server.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "call.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/base/files.h"
#include "mfl/federation/payload.h"
#include "mfl/network/client.h"
#include "mfl/network/transport/tls.h"
#include "mfl/network/wire.h"
#include "mfl/network/wire.pb.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

class NoLog final : public RoundLog {
 public:
  Result<void> commit(const CommittedRound& round) override {
    if (round.round == slow_round) std::this_thread::sleep_for(std::chrono::seconds(13));
    ++rounds;
    return {};
  }
  Result<void> finish(const Ending&) override { return {}; }
  std::atomic<int> rounds = 0;
  std::uint64_t slow_round = 0;
};

constexpr std::uint64_t kColumns = 3;
const Plan kServedPlan{"run", "config", "", 64};

// An authority with a server and nodes a, b, and a second authority with a node a.
class Pki {
 public:
  Pki() : folder_(TempFolder::make().value()) {
    for (const char* name : {"pki", "other"}) {
      EXPECT_TRUE(make_authority(path(name)));
      EXPECT_TRUE(make_node_certificate(path(name), "a"));
    }
    EXPECT_TRUE(make_server_certificate(path("pki"), {"127.0.0.1"}));
    std::filesystem::rename(path("pki") / "server", path("pki") / "server2");
    EXPECT_TRUE(make_server_certificate(path("pki"), {"127.0.0.1"}));
    EXPECT_TRUE(make_node_certificate(path("pki"), "b"));
    EXPECT_TRUE(make_node_certificate(path("pki"), "late", Days(-1)));
    EXPECT_TRUE(write_file(path("allowed"), "a\nb\nlate\n"));
    EXPECT_TRUE(write_file(path("revoked"), ""));
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  TlsFiles files(const std::string& name) const { return read_tls_folder(path("pki") / name).value(); }

 private:
  TempFolder folder_;
};

class ServerTest : public ::testing::Test {
 protected:
  void start(bool tls, std::size_t nodes = 1, std::uint64_t epoch = 5) {
    CoordinatorOptions options;
    options.run_id = "run";
    options.config_digest = "config";
    options.epoch = epoch;
    options.steps = 1000;
    options.min_available_nodes = nodes;
    options.retry_pause = Time(10);
    options.columns = columns;
    ServerOptions server;
    if (tls) {
      server.tls = pki.files("server");
      server.admission = {pki.path("allowed"), pki.path("revoked")};
    }
    server.log = [this](const LogLine& line) {
      const std::lock_guard lock(mutex);
      for (const auto& [key, value] : line.fields) {
        if (key == "text") texts.push_back(value);
        if (line.event == "handshake" && key == "failed") logged_handshakes.push_back(std::stoul(value));
        if (line.event == "handshake" && key == "address") {
          EXPECT_EQ(value, "127.0.0.1");
        }
      }
    };
    running =
        FederationServer::start(make_coordinator<double>(make_fl(0.1, 2), options, log), kServedPlan, server)
            .value();
  }

  std::unique_ptr<FederationClient> client(const std::optional<TlsFiles>& tls, const std::string& name = {}) {
    return FederationClient::make({running->address(), tls, name}).value();
  }

  // A call with one request, past the client.
  std::pair<CallStatus, std::string> call(const std::string& request, const std::string& method) const {
    const auto rpc =
        RpcClient::make({running->address(), std::nullopt, {{"mfl-node", "a"}}, 1 << 20}).value();
    return test::call_once(*rpc, "/mfl.wire.v1.Federation/" + method, request);
  }

  static Joining joining() {
    Schema schema;
    schema.columns = kColumns;
    schema.task = LabelTask::kRegression;
    return {"config", 4, kColumns, 64, schema};
  }

  static Update answer(const Assignment& task, double value) {
    return {task.run_id,
            task.ticket,
            4,
            {.train_loss = 0.5},
            task.blocks,
            to_payload(std::vector<Vector<double>>{Vector<double>(kColumns, value)}),
            {},
            {},
            task.state_digest};
  }

  std::uint64_t columns = 0;
  Pki pki;
  NoLog log;
  std::mutex mutex;
  std::vector<std::string> texts;
  std::vector<std::uint64_t> logged_handshakes;  // how many had failed, by log line
  std::unique_ptr<FederationServer> running;
};

TEST_F(ServerTest, ANodeGreetsJoinsAndTakesPart) {
  start(true);
  const auto node = client(pki.files("a"));
  EXPECT_EQ(node->greet("").value(), kServedPlan);
  ASSERT_TRUE(node->attend(joining(), 1000));
  for (int round = 1; round <= 3; ++round) {
    const Order order = node->next_order().value();
    ASSERT_EQ(order.kind, Order::Kind::kTask);
    EXPECT_EQ(order.task.ticket.round, static_cast<std::uint64_t>(round));
    EXPECT_EQ(order.task.payload->size(), kColumns * 8);
    EXPECT_TRUE(node->submit(answer(order.task, round))->counts());
  }
  EXPECT_EQ(log.rounds, 3);
  EXPECT_EQ(node->watch()->round, 3U);
  EXPECT_EQ(node->watch()->nodes, 1U);
}

// Longer than a silent peer is kept.
TEST_F(ServerTest, ACommitOfThirteenSecondsDropsNobody) {
  log.slow_round = 2;
  start(true, 2);
  const auto a = client(pki.files("a")), b = client(pki.files("b"));
  ASSERT_TRUE(a->attend(joining(), 1000));
  ASSERT_TRUE(b->attend(joining(), 1000));
  for (int round = 1; round <= 3; ++round) {
    const Order first = a->next_order().value(), second = b->next_order().value();
    ASSERT_EQ(first.kind, Order::Kind::kTask) << first.status;
    ASSERT_EQ(second.kind, Order::Kind::kTask) << second.status;
    EXPECT_TRUE(a->submit(answer(first.task, round))->counts());
    std::thread waiting([&] { EXPECT_TRUE(b->submit(answer(second.task, round))->counts()); });
    if (round == 2) {
      EXPECT_EQ(a->watch()->nodes, 2U) << "the status waits for the commit";
    }
    waiting.join();
  }
  EXPECT_EQ(log.rounds, 3);
}

TEST_F(ServerTest, SixBadPeersAreRefused) {
  ASSERT_TRUE(write_file(pki.path("revoked"), read_certificate(pki.files("b").certificate)->serial));
  start(true);
  const std::string authority = pki.files("a").authority;
  TlsFiles foreign = read_tls_folder(pki.path("other") / "a").value();
  foreign.authority = authority;  // it trusts the server; the server must not trust it
  const std::pair<const char*, std::unique_ptr<FederationClient>> peers[] = {
      {"no certificate", client(TlsFiles{authority, "", ""})},
      {"a foreign authority", client(foreign)},
      {"an expired certificate", client(pki.files("late"))},
      {"a revoked certificate", client(pki.files("b"))},
      {"plaintext", client(std::nullopt, "a")},
      {"another node's name", client(pki.files("a"), "b")},
  };
  int refused = 0;
  for (const auto& [what, peer] : peers) {
    EXPECT_FALSE(peer->greet("")) << what;
    const bool attended = peer->attend(joining(), 1000).has_value();
    EXPECT_FALSE(attended) << what;
    const bool submitted =
        peer->submit({"run", {5, 1, 1}, 4, {.train_loss = 0.5}, {}, std::string(kColumns * 8, '\0')})
            .has_value();
    EXPECT_FALSE(submitted) << what;
    if (!attended && !submitted) ++refused;
  }
  fmt::print("{} of 6 bad peers refused\n", refused);
  EXPECT_EQ(running->status().nodes, 0U);
  EXPECT_TRUE(client(pki.files("a"))->greet(""));
}

// What an intruder sees is a closed door; what the operator sees is a count, and lines at a bounded rate.
TEST_F(ServerTest, FailedHandshakesAreCountedAndLoggedWithAddressAndReason) {
  constexpr std::uint64_t kKnocks = 60;
  start(true);
  TlsFiles foreign = read_tls_folder(pki.path("other") / "a").value();
  foreign.authority = pki.files("a").authority;
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < kKnocks; ++i)
    EXPECT_FALSE(client(i % 2 == 0 ? foreign : TlsFiles{foreign.authority, "", ""})->greet(""));
  const auto counted = [this] { return running->status().failed_handshakes; };
  while (counted() < kKnocks && std::chrono::steady_clock::now() < begun + std::chrono::seconds(120))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(counted(), kKnocks);
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const std::lock_guard lock(mutex);
  ASSERT_FALSE(logged_handshakes.empty());
  EXPECT_EQ(logged_handshakes.back(), kKnocks);
  EXPECT_LE(static_cast<double>(logged_handshakes.size()), 11 + elapsed);
  EXPECT_THAT(texts, ::testing::Contains(HasSubstr("certificate")));
  EXPECT_EQ(running->status().nodes, 0U);
}

TEST_F(ServerTest, ItsOwnCertificateMayAskForTheStatusAlone) {
  ASSERT_TRUE(write_file(pki.path("allowed"), "a\n"));
  start(true);
  const auto operators = client(pki.files("server"));
  ASSERT_TRUE(operators->watch());
  EXPECT_THAT(operators->greet("").error().error.text(), HasSubstr("may ask for the status alone"));
  EXPECT_FALSE(operators->attend(joining(), 1000));
  EXPECT_FALSE(client(read_tls_folder(pki.path("pki") / "server2").value())->watch()) << "another server";
}

TEST(Server, ACertificateOfAnotherRoleIsRefusedAtTheStart) {
  const Pki pki;
  TlsFiles foreign = read_tls_folder(pki.path("other") / "a").value();
  foreign.authority = pki.files("a").authority;
  const auto refusal = [](const TlsFiles& files, CertificateFacts::Role role) {
    const auto checked = check_identity(files, role);
    return checked ? std::string()
                   : checked.error().text() + "; " + std::string(checked.error().first_hint());
  };
  using Role = CertificateFacts::Role;
  EXPECT_EQ(refusal(pki.files("server"), Role::kServer), "");
  EXPECT_EQ(refusal(pki.files("a"), Role::kNode), "");
  EXPECT_EQ(refusal(pki.files("late"), Role::kNode), "") << "whoever connects says that it has expired";
  EXPECT_THAT(refusal(pki.files("a"), Role::kServer),
              ::testing::AllOf(HasSubstr("of the role node (of a)"), HasSubstr("mfl certs server")));
  EXPECT_THAT(refusal(pki.files("server"), Role::kNode), HasSubstr("of the role server"));
  EXPECT_THAT(refusal(foreign, Role::kNode), HasSubstr("not of the authority in ca.pem"));
}

TEST_F(ServerTest, ANodeRefusesAServerOfAnotherAuthority) {
  start(true);
  EXPECT_FALSE(client(read_tls_folder(pki.path("other") / "a").value())->greet(""));
  const auto as_server = FederationClient::make({running->address(), pki.files("server"), {}}).value();
  EXPECT_FALSE(as_server->greet("")) << "a server's certificate is not a node's";
}

TEST_F(ServerTest, ANodeRevokedDuringTheRunIsDisconnectedAtOnce) {
  start(true, 2);
  const auto a = client(pki.files("a")), b = client(pki.files("b"));
  ASSERT_TRUE(a->attend(joining(), 1000));
  ASSERT_TRUE(b->attend(joining(), 1000));
  ASSERT_EQ(a->next_order()->kind, Order::Kind::kTask);
  ASSERT_TRUE(write_file(pki.path("revoked"), "a\n"));
  const auto order = a->next_order();
  ASSERT_FALSE(order);
  EXPECT_TRUE(order.error().final);
  EXPECT_THAT(order.error().error.text(), HasSubstr("revoked"));
  EXPECT_FALSE(a->attend(joining(), 1000));
  EXPECT_TRUE(b->watch());
}

TEST_F(ServerTest, LinesOfAListThatAreNotUsedAreLogged) {
  ASSERT_TRUE(write_file(pki.path("revoked"), "b\nserial=what\n"));
  start(true);
  const auto logged = [this] {
    const std::lock_guard lock(mutex);
    return std::ranges::any_of(
        texts, [](const std::string& text) { return text.find("what") != std::string::npos; });
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!logged() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(logged());
}

TEST_F(ServerTest, AnAllowListLimitsTheSamplesOfANode) {
  ASSERT_TRUE(write_file(pki.path("allowed"), "a max_samples=3\nb max_samples=4\n"));
  start(true);
  const auto refused = client(pki.files("a"))->attend(joining(), 1000);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().final);
  EXPECT_THAT(refused.error().error.text(), HasSubstr("at most 3"));
  EXPECT_TRUE(client(pki.files("b"))->attend(joining(), 1000));
}

TEST_F(ServerTest, MismatchesAreRefusedWithTheReason) {
  start(false);
  const auto node = client(std::nullopt, "a");
  const auto other = node->greet("another");
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().final);
  EXPECT_THAT(other.error().error.text(), HasSubstr("configuration"));
  const auto wrong = node->attend({"config", 0, kColumns, 64}, 1000);
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().final);
  EXPECT_FALSE(client(std::nullopt, "")->greet("")) << "without TLS a name is needed";
  for (const std::uint32_t version : {kProtocolVersion - 1, kProtocolVersion + 1}) {
    const auto status = call(wire::encode(wire::Hello{version, ""}), "Greet").first;
    EXPECT_EQ(status.code, StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.text, fmt::format("the server speaks protocol version {}, the node version {}",
                                       kProtocolVersion, version));
  }
}

TEST_F(ServerTest, BadUpdatesAreRefusedNamedAndCounted) {
  start(false, 2);
  const auto a = client(std::nullopt, "a"), b = client(std::nullopt, "b");
  ASSERT_TRUE(a->attend(joining(), 1000));
  ASSERT_TRUE(b->attend(joining(), 1000));
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto changed = [&](auto change) {
    return [change](Update u) {
      change(u);
      return u;
    };
  };
  const auto cut = changed([](Update& u) { u.payload.resize(8); });
  const std::pair<Reason, std::function<Update(Update)>> cases[] = {
      {Reason::kNotFinite, changed([&](Update& u) { u.losses.train_loss = nan; })},
      {Reason::kNotFinite, changed([&](Update& u) {
         u.payload = to_payload(std::vector<Vector<double>>{{0, inf, 0}});
       })},
      {Reason::kShape, changed([](Update& u) { u.payload += "12345678"; })},
      {Reason::kShape, changed([](Update& u) { u.payload.resize(1 << 20); })},
      {Reason::kFuture, changed([](Update& u) { u.ticket.round = 2; })},
      {Reason::kFuture, changed([](Update& u) { u.ticket.stage = 1; })},
      {Reason::kStale, changed([](Update& u) { u.ticket.epoch = 4; })},
      {Reason::kStale, changed([](Update& u) { u.base = "another"; })},
      {Reason::kForeign, changed([](Update& u) { u.run_id = "other"; })},
  };
  for (const auto& [reason, change] : cases) {
    const Assignment task = a->next_order()->task;
    const auto verdict = a->submit(change(answer(task, 1)));
    ASSERT_TRUE(verdict) << verdict.error().error.text();
    EXPECT_EQ(verdict->reason, reason);
    EXPECT_EQ(log.rounds, 0);
    // The other's update ends the attempt: it cannot be complete, or, where a's ticket was wrong, a leaves it open.
    b->submit(answer(b->next_order()->task, 1));
    if (reason != Reason::kShape && reason != Reason::kNotFinite) a->submit(cut(answer(task, 1)));
  }
  EXPECT_EQ(b->watch()->refused[static_cast<std::size_t>(Reason::kStale)], 2U);
  EXPECT_GE(b->watch()->refused[static_cast<std::size_t>(Reason::kShape)], 2U);
  const std::lock_guard lock(mutex);
  EXPECT_THAT(texts, ::testing::Contains(HasSubstr("is not finite")));
}

TEST_F(ServerTest, AnUpdateThatIsCutShortIsRefused) {
  start(false);
  const auto node = client(std::nullopt, "a");
  ASSERT_TRUE(node->attend(joining(), 1000));
  const Assignment task = node->next_order()->task;
  Update update = answer(task, 1);
  wire::v1::UpdatePart part;
  ASSERT_TRUE(part.ParseFromString(wire::encode_piece(update, 0)));
  part.mutable_chunk()->resize(part.chunk().size() - 8);
  const auto [status, answered] = call(part.SerializeAsString(), "Submit");
  ASSERT_TRUE(status.ok()) << status.text;
  EXPECT_EQ(wire::decode_verdict(answered)->reason, Reason::kShape);
  EXPECT_EQ(log.rounds, 0);
  const Assignment again = node->next_order()->task;
  EXPECT_EQ(again.ticket.round, 1U);
  EXPECT_TRUE(node->submit(answer(again, 1))->counts());
}

TEST_F(ServerTest, AReplayAcrossARestartIsStale) {
  start(false);
  Update captured;
  {
    const auto node = client(std::nullopt, "a");
    ASSERT_TRUE(node->attend(joining(), 1000));
    captured = answer(node->next_order()->task, 1);
  }
  running.reset();
  start(false, 1, 6);
  const auto node = client(std::nullopt, "a");
  ASSERT_TRUE(node->attend(joining(), 1000));
  EXPECT_EQ(node->submit(captured)->reason, Reason::kStale);
  EXPECT_EQ(log.rounds, 0);
}

TEST_F(ServerTest, StoppingEndsPendingOrders) {
  start(false, 2);
  const auto node = client(std::nullopt, "a");
  ASSERT_TRUE(node->attend(joining(), 1000));
  std::thread stopper([this] { running->stop(); });
  const auto order = node->next_order();
  stopper.join();
  ASSERT_TRUE(order);
  EXPECT_EQ(order->kind, Order::Kind::kEnded);
  EXPECT_FALSE(node->greet(""));
}

// Tasks of many chunks to nodes that do not read them, while rounds are abandoned, sessions replaced and nodes put out: the end of a
// presence must wait for the write in progress, but not forever.
TEST_F(ServerTest, PresencesEndInOrderWhileWritesAreUnderWay) {
  columns = 1 << 19;  // 4 MB per State
  start(true, 2);
  Joining large = joining();
  large.columns = large.schema.columns = columns;
  for (int i = 0; i < 20; ++i) {
    const auto a = client(pki.files("a")), b = client(pki.files("b"));
    ASSERT_TRUE(a->attend(large, std::uint64_t{1} << 30U));
    ASSERT_TRUE(b->attend(large, std::uint64_t{1} << 30U));
    const auto again = client(pki.files("a"));  // the first a has not read its task
    ASSERT_TRUE(again->attend(large, std::uint64_t{1} << 30U));
    if (i % 2 == 0) {
      EXPECT_EQ(again->next_order()->kind, Order::Kind::kTask);
    }
  }
  const auto idle = client(pki.files("b"));
  ASSERT_TRUE(idle->attend(large, std::uint64_t{1} << 30U));
  const auto a = client(pki.files("a"));
  ASSERT_TRUE(a->attend(large, std::uint64_t{1} << 30U));
  EXPECT_EQ(a->next_order()->kind, Order::Kind::kTask);
  ASSERT_TRUE(write_file(pki.path("revoked"), "b\n"));  // which does not read
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (running->attending() != 1 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(running->attending(), 1U);
  EXPECT_EQ(running->status().nodes, 1U);
}

// A socket to the server on which nothing is ever sent.
class SilentSocket {
 public:
  explicit SilentSocket(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  SilentSocket(const SilentSocket&) = delete;
  SilentSocket& operator=(const SilentSocket&) = delete;
  ~SilentSocket() { ::close(fd_); }
  // Blocks until the server hangs up.
  void wait_for_the_end() const {
    std::array<char, 256> ignored{};
    while (::recv(fd_, ignored.data(), ignored.size(), 0) > 0) {
    }
  }

 private:
  int fd_;
};

TEST_F(ServerTest, SocketsThatSayNothingAreClosedAndKeepNobodyOut) {
  constexpr int kSockets = 500;
  start(true);
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<SilentSocket>> sockets;
  for (int i = 0; i < kSockets; ++i) sockets.push_back(std::make_unique<SilentSocket>(running->address()));
  EXPECT_TRUE(client(pki.files("a"))->greet(""));
  for (const auto& socket : sockets) socket->wait_for_the_end();
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  fmt::print("{} half-open sockets closed {} ms after the first was opened\n", kSockets, took.count());
  EXPECT_TRUE(client(pki.files("a"))->greet(""));
}

TEST(Server, ListensWhereItCan) {
  NoLog log;
  const auto start = [&](const std::string& listen) {
    ServerOptions options;
    options.listen = listen;
    return FederationServer::start(make_coordinator<double>(make_fl(0.1, 2), {}, log), kServedPlan, options);
  };
  const auto server = start("localhost:0");
  ASSERT_TRUE(server) << server.error().text();
  EXPECT_TRUE(FederationClient::make({(*server)->address(), std::nullopt, "a"}).value()->greet(""));
  const std::string taken = (*server)->address();
  const std::pair<std::string, std::string> rows[] = {
      {taken, "cannot listen on " + taken},
      {"127.0.0.1:70000", "--listen 127.0.0.1:70000: the port must be a number from 0 to 65535"},
      {"127.0.0.1:x", "--listen 127.0.0.1:x: the port must be"},
      {"127.0.0.1", "--listen 127.0.0.1: has no port"}};
  for (const auto& [bad, why] : rows) {
    const auto second = start(bad);
    ASSERT_FALSE(second) << bad;
    EXPECT_THAT(second.error().text(), HasSubstr(why));
  }
}

TEST(Server, PlaintextBeyondLoopbackIsRefused) {
  NoLog log;
  ServerOptions options;
  options.listen = "0.0.0.0:0";
  const auto server =
      FederationServer::start(make_coordinator<double>(make_fl(0.1, 2), {}, log), kServedPlan, options);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::kBadConfig);
  EXPECT_FALSE(FederationClient::make({"fl.example.org:1", std::nullopt, "a"}));
  EXPECT_FALSE(FederationClient::make({"nowhere", std::nullopt, "a"}));
}

}  // namespace
}  // namespace mfl
