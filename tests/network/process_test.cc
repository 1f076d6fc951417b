// Servers and nodes as processes, on free ports of loopback.
#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <thread>

#include "mfl/base/files.h"
#include "mfl/base/rng.h"
#include "mfl/network/certs.h"

namespace mfl::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience{120};

// `mfl arguments...` in the background, with NAME.out and NAME.log. Killed with the object.
class Background {
 public:
  Background(const Sandbox& box, std::string name, std::vector<std::string> arguments)
      : box_(box), name_(std::move(name)) {
    arguments.insert(arguments.begin(), MFL_BINARY);
    std::vector<char*> argv;
    for (std::string& word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string folder = box.path().string(), out = name_ + ".out", log = name_ + ".log";
    pid_ = ::fork();
    if (pid_ != 0) return;
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND;
    if (::chdir(folder.c_str()) == 0 && ::dup2(::open(out.c_str(), kFlags | O_TRUNC, 0644), 1) == 1 &&
        ::dup2(::open(log.c_str(), kFlags, 0644), 2) == 2)
      ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    if (pid_ > 0) signal_and_wait(SIGKILL);
  }

  // Exit code, or 128 + signal; a test failure when it takes too long.
  int wait() {
    const auto until = Clock::now() + kPatience;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (Clock::now() > until) {
        ADD_FAILURE() << name_ << " does not end:\n" << log();
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, &status, 0);
        break;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int signal_and_wait(int signal) {
    ::kill(pid_, signal);
    return wait();
  }
  void signal(int signal) const { ::kill(pid_, signal); }
  std::string log() const { return box_.read(name_ + ".log"); }
  nlohmann::json data() const {
    return nlohmann::json::parse(box_.read(name_ + ".out"), nullptr, false).value("data", nlohmann::json());
  }

 private:
  const Sandbox& box_;
  std::string name_;
  pid_t pid_ = -1;
};

// A federation of processes: certificates, data in parts, a server and nodes.
class Processes {
 public:
  Processes(std::size_t nodes, std::vector<std::string> experiment)
      : nodes_(nodes), experiment_(std::move(experiment)) {
    EXPECT_TRUE(make_authority(box.path("pki")));
    EXPECT_TRUE(make_server_certificate(box.path("pki"), {"127.0.0.1"}));
    for (std::size_t i = 0; i < nodes; ++i) EXPECT_TRUE(make_node_certificate(box.path("pki"), name(i)));
    ok_data(box.run({"data", "split", kData, "--train", "300", "--test", "0", "--nodes",
                     fmt::to_string(nodes), "--partition", "contiguous", "--out", "parts", "--json"}));
  }

  static std::string name(std::size_t i) { return fmt::format("node-{:04}", i); }

  std::vector<std::string> setting() const {
    std::vector<std::string> out{"--set",   std::string("data.source=") + kData,
                                 "--set",   "data.train=300",
                                 "--set",   "data.test=0",
                                 "--set",   "federation.partition=contiguous",
                                 "--nodes", fmt::to_string(nodes_)};
    out.insert(out.end(), experiment_.begin(), experiment_.end());
    return out;
  }

  // What mfl run says.
  nlohmann::json simulated() const {
    std::vector<std::string> arguments{"run", "--json", "--quiet"};
    const auto words = setting();
    arguments.insert(arguments.end(), words.begin(), words.end());
    return ok_data(box.run(arguments));
  }

  std::unique_ptr<Background> server(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"server",     "--state", "state",    "--tls",
                                       "pki/server", "--json",  "--listen", address_};
    const auto words = setting();
    arguments.insert(arguments.end(), words.begin(), words.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::filesystem::remove(box.path("state/address"));
    auto process = std::make_unique<Background>(box, "server", arguments);
    const auto until = Clock::now() + kPatience;
    while (!std::filesystem::exists(box.path("state/address")) && Clock::now() < until)
      std::this_thread::sleep_for(milliseconds(2));
    address_ = box.read("state/address");
    while (address_.ends_with('\n')) address_.pop_back();
    return process;
  }

  std::unique_ptr<Background> node(std::size_t i, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"node",
                                       "--server",
                                       address_,
                                       "--tls",
                                       "pki/" + name(i),
                                       "--data",
                                       "npy:parts/" + name(i),
                                       "--threads",
                                       "1",
                                       "--json",
                                       "--give-up-after",
                                       "60"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Background>(box, name(i), arguments);
  }

  std::vector<std::unique_ptr<Background>> all_nodes() const {
    std::vector<std::unique_ptr<Background>> out;
    for (std::size_t i = 0; i < nodes_; ++i) out.push_back(node(i));
    return out;
  }

  std::string address() const { return address_; }

  Sandbox box;

 private:
  static constexpr const char* kData = "synthetic:300x20";
  std::size_t nodes_;
  std::vector<std::string> experiment_;
  std::string address_ = "127.0.0.1:0";
};

struct Case {
  const char* algorithm;
  const char* precision;
};

class Equality : public ::testing::TestWithParam<Case> {};

TEST_P(Equality, FourNodesOverTheNetworkGiveTheDigestOfTheSimulation) {
  Processes federation(4, {"--algorithm", GetParam().algorithm, "--precision", GetParam().precision,
                           "--steps", "1000", "--tau", "30"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 0) << server->log();
  const auto served = server->data();
  const auto simulated = federation.simulated();
  EXPECT_EQ(served["digest"], simulated["digest"]);
  EXPECT_EQ(served["final"]["train_loss"], simulated["final"]["train_loss"]);
  EXPECT_EQ(served["best"], simulated["best"]);
  EXPECT_EQ(served["bytes_up"], simulated["bytes_up"]);
  EXPECT_EQ(served["rounds"], 34);
  EXPECT_EQ(served["status"], "done");
  for (const auto& node : nodes) {
    EXPECT_EQ(node->wait(), 0) << node->log();
    EXPECT_EQ(node->data()["digest"], simulated["digest"]);
    EXPECT_EQ(node->data()["rounds"], 34);
  }
  // The run is in the store like any other, with the rounds of the simulation.
  const auto rounds = [&](const std::string& store) {
    const Outcome exported =
        federation.box.run({"runs", "export", "latest", "--rounds", "--format", "csv", "--store", store});
    std::string out;
    std::istringstream lines(exported.out);
    for (std::string line; std::getline(lines, line);) out += line.substr(line.find(',')) + '\n';
    return out;
  };
  EXPECT_EQ(rounds("state/runs.db"), rounds("store.db"));
}

INSTANTIATE_TEST_SUITE_P(All, Equality,
                         ::testing::Values(Case{"fl", "f32"}, Case{"fl", "f64"}, Case{"mfl", "f32"},
                                           Case{"mfl", "f64"}),
                         [](const auto& test) {
                           return fmt::format("{}_{}", test.param.algorithm, test.param.precision);
                         });

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// MFL_KILLS=200 is the long form.
TEST(Equality, TwoOfFiveNodesARoundAreThoseOfTheSimulation) {
  Processes federation(5, {"--fraction-train", "0.4", "--steps", "200", "--tau", "10"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 0) << server->log();
  const auto served = server->data();
  const auto simulated = federation.simulated();
  EXPECT_EQ(served["digest"], simulated["digest"]);
  EXPECT_EQ(served["final"]["train_loss"], simulated["final"]["train_loss"]);
  EXPECT_EQ(served["bytes_up"], simulated["bytes_up"]);
}

TEST(RealFaults, AServerKilledAtAnyMomentGoesOnAndEndsWithTheSameDigest) {
  const int kills = from_environment("MFL_KILLS", 20);
  Processes federation(3, {"--algorithm", "mfl", "--tau", "1", "--steps", fmt::to_string(150 * kills)});
  const std::string expected = federation.simulated()["digest"];
  Stream dice(static_cast<std::uint64_t>(::getpid()), Purpose::kSynthetic);
  std::vector<std::string> more{"--linger", "20"};
  auto server = federation.server(more);
  const auto nodes = federation.all_nodes();
  std::uint64_t round = 0;
  milliseconds slowest{0};
  for (int i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(milliseconds(50 + dice.below(400)));
    EXPECT_EQ(server->signal_and_wait(SIGKILL), 128 + SIGKILL) << server->log();
    const auto start = Clock::now();
    server = federation.server(more);
    slowest = std::max(slowest, std::chrono::duration_cast<milliseconds>(Clock::now() - start));
    const auto status = ok_data(
        federation.box.run({"server", "status", federation.address(), "--tls", "pki/node-0000", "--json"}));
    EXPECT_GE(status["round"].get<std::uint64_t>(), round) << "a committed round was lost";
    round = status["round"];
  }
  for (const auto& node : nodes) {
    EXPECT_EQ(node->wait(), 0) << node->log();
    EXPECT_EQ(node->data()["digest"], expected);
  }
  EXPECT_EQ(server->wait(), 0);
  EXPECT_EQ(server->data()["digest"], expected);
  fmt::print("{} kills, the last at round {}; slowest restart {} ms\n", kills, round, slowest.count());
}

TEST(RealFaults, NodesAreKilledAndReplacedWhileAQuorumGoesOn) {
  Processes federation(4, {"--algorithm", "fl", "--tau", "5", "--steps", "1500"});
  const auto server =
      federation.server({"--quorum", "2", "--min-available-nodes", "2", "--round-deadline", "1"});
  auto nodes = federation.all_nodes();
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(milliseconds(60));
    const auto victim = static_cast<std::size_t>(i) % 2;
    nodes[victim]->signal_and_wait(SIGKILL);
    nodes[victim] = federation.node(victim);
  }
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(server->data()["rounds"], 300);
  EXPECT_EQ(server->data()["status"], "done");
}

TEST(RealFaults, SigtermEndsAServerCleanlyAndItGoesOnLater) {
  Processes federation(2, {"--algorithm", "mfl", "--tau", "1", "--steps", "600"});
  auto server = federation.server();
  const auto nodes = federation.all_nodes();
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0) << server->log();
  EXPECT_EQ(server->data()["status"], "interrupted");
  server = federation.server();
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(server->data()["digest"], federation.simulated()["digest"]);
  for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->log();
}

TEST(RealFaults, ANodeThatStandsStillIsNoticedAndComesBack) {
  Processes federation(2, {"--tau", "1", "--steps", "1000000"});
  const auto server = federation.server();
  const auto nodes = federation.all_nodes();
  const auto here = [&] {
    return ok_data(federation.box.run(
        {"server", "status", federation.address(), "--tls", "pki/node-0001", "--json"}))["nodes"]
        .get<int>();
  };
  const auto wait_for = [&](int count) {
    const auto start = Clock::now();
    while (here() != count && Clock::now() < start + kPatience)
      std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(here(), count) << server->log();
    return std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
  };
  wait_for(2);
  nodes[0]->signal(SIGSTOP);
  const auto noticed = wait_for(1);
  nodes[0]->signal(SIGCONT);
  const auto back = wait_for(2);
  fmt::print("a node that stands still is noticed after {} ms, and is back {} ms after it goes on\n", noticed,
             back);
  EXPECT_EQ(server->signal_and_wait(SIGTERM), 0);
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
  expect_error(box.run({"node", "--server", "127.0.0.1:1", "--plaintext"}), 2, {"--name"});
  expect_error(box.run({"node", "--server", "127.0.0.1:1", "--plaintext", "--name", "a", "--data",
                        "synthetic", "--log", "none", "--give-up-after", "0"}),
               4, {"gave up"});
  expect_error(box.run({"server", "status", "127.0.0.1:1", "--plaintext"}), 4, {"127.0.0.1:1"});
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
