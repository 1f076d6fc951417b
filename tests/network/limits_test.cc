// Peers that try to exhaust the server's file descriptors and memory.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "call.h"
#include "mfl/network/certs.h"
#include "mfl/network/node.h"
#include "processes.h"

namespace mfl::test {
namespace {

class Socket {
 public:
  explicit Socket(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { ::close(fd_); }

 private:
  int fd_;
};

TEST(Limits, MoreSocketsThanFilesAndItServesAsSoonAsTheyGo) {
  constexpr std::uint64_t kFiles = 128;
  constexpr int kSockets = 300;
  Processes federation(2, {"--tau", "1", "--steps", "1000000"});
  const auto server = federation.server({}, kFiles);
  const auto nodes = federation.all_nodes();
  ASSERT_TRUE(eventually([&] { return federation.status()["round"] > 0; })) << server->log();
  std::vector<std::unique_ptr<Socket>> sockets;
  for (int i = 0; i < kSockets; ++i) sockets.push_back(std::make_unique<Socket>(federation.port()));
  ASSERT_TRUE(eventually([&] { return server->log().find(" full ") != std::string::npos; })) << server->log();
  const std::uint64_t before = server->committed();
  EXPECT_TRUE(eventually([&] { return server->committed() > before; })) << "connected nodes must continue";
  sockets.clear();
  const auto gone = Clock::now();
  const auto ask = [&] {
    return federation.box.run({"server", "status", federation.address(), "--tls", "pki/node-0000", "--json"});
  };
  EXPECT_TRUE(eventually([&] { return ask().code == 0; })) << server->log();
  const auto served = ms_since(gone);
  fmt::print("{} ms until it serves after {} sockets with a limit of {} files\n", served, kSockets, kFiles);
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0) << server->log();
}

TEST(Limits, ConnectionsAreCapped) {
  constexpr int kSockets = 50;
  Processes federation(1, {});
  const auto server = federation.server({"--max-connections", "20"});
  std::vector<std::unique_ptr<Socket>> sockets;
  for (int i = 0; i < kSockets; ++i) sockets.push_back(std::make_unique<Socket>(federation.port()));
  EXPECT_TRUE(eventually([&] { return server->log().find(" full ") != std::string::npos; })) << server->log();
  sockets.clear();
  EXPECT_EQ(federation.status()["phase"], "waiting");
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
}

TEST(Limits, ANodeRefusesAModelThatIsTooLargeForIt) {
  Processes federation(1, {"--model", "softmax", "--tau", "1", "--steps", "1000000"});
  const auto server = federation.server();
  NodeOptions options;
  options.client = {federation.address(), read_tls_folder(federation.box.path("pki/node-0000")).value(), {}};
  options.data.source = "npy:" + federation.box.path("parts/node-0000").string();
  options.max_payload = 100;
  const auto outcome = run_node(options);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().text().find("2 vectors of 40 numbers, more than the 100 bytes"),
            std::string::npos)
      << outcome.error().text();
}

// Repeatedly sends the same message.
class Sender {
 public:
  Sender(const std::string& address, const TlsFiles& tls, const MessageBytes& message)
      : thread_([this, address, tls, message] {
          const auto rpc = RpcClient::make({address, tls, {}, 1000}).value();
          while (!stop_) send(*rpc, message);
        }) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() {
    stop_ = true;
    thread_.join();
  }
  int sent() const { return sent_; }
  int accepted() const { return accepted_; }

 private:
  void send(RpcClient& rpc, const MessageBytes& message) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const StreamId call = rpc.open("/mfl.wire.v1.Federation/Submit", deadline);
    if (call < 0) return std::this_thread::sleep_for(milliseconds(50));
    rpc.send(call, message, deadline);
    rpc.end(call);
    ++sent_;
    if (rpc.finish(call, deadline).ok()) ++accepted_;
  }

  std::atomic<bool> stop_{false};
  std::atomic<int> sent_{0}, accepted_{0};
  std::thread thread_;
};

// MFL_BAD_MB=512 is the long form.
TEST(Limits, SendersOfHugeMessagesNeitherFillTheMemoryNorKeepHonestUpdatesOut) {
  constexpr std::size_t kHonest = 40, kSenders = 4;
  constexpr int kQuotaMb = 64;
  const int bad_mb = from_environment("MFL_BAD_MB", 64);
  Processes federation(kHonest + kSenders, {"--algorithm", "fl", "--tau", "1", "--steps", "1"},
                       {"synthetic:88x20000", 88});
  const auto server =
      federation.server({"--memory-quota-mb", fmt::to_string(kQuotaMb), "--round-deadline", "600",
                         "--min-available-nodes", fmt::to_string(kHonest), "--linger", "20"});
  const auto huge = std::make_shared<const std::string>(static_cast<std::size_t>(bad_mb) << 20U, '\0');
  std::vector<std::unique_ptr<Sender>> senders;
  const auto files = [&](std::size_t i) {
    return read_tls_folder(federation.box.path("pki/" + Processes::name(i))).value();
  };
  for (std::size_t i = 0; i < kSenders; ++i)
    senders.push_back(std::make_unique<Sender>(federation.address(), files(kHonest + i), huge));
  std::this_thread::sleep_for(milliseconds(500));
  std::vector<std::thread> honest;
  std::atomic<std::size_t> counted{0};
  for (std::size_t i = 0; i < kHonest; ++i)
    honest.emplace_back([&, i] {
      NodeOptions options;
      options.client = {federation.address(), files(i), {}};
      options.data.source = "npy:" + federation.box.path("parts/" + Processes::name(i)).string();
      options.threads = 1;
      options.give_up_after = kPatience;
      const auto outcome = run_node(options);
      if (outcome && outcome->rounds == 1) ++counted;
    });
  double peak = 0;
  EXPECT_TRUE(eventually([&] {
    peak = std::max(peak, server->peak_mb());
    return server->committed() == 1;
  }));
  for (std::thread& thread : honest) thread.join();
  int sent = 0, accepted = 0;
  for (const auto& sender : senders) {
    sent += sender->sent();
    accepted += sender->accepted();
  }
  senders.clear();
  fmt::print(
      "{} of {} honest updates counted beside {} senders of {} MB; {:.0f} MB of memory at most, quota {} "
      "MB\n",
      counted.load(), kHonest, kSenders, bad_mb, peak, kQuotaMb);
  EXPECT_EQ(counted, kHonest);
  EXPECT_EQ(accepted, 0);
  if (kFiguresCount) {
    EXPECT_LT(peak, kQuotaMb + 100);
  }
  EXPECT_EQ(server->wait(), 0) << server->log();
}

}  // namespace
}  // namespace mfl::test
