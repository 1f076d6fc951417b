#include "processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "mfl/network/certs.h"

namespace mfl::test {

Background::Background(const Sandbox& box, std::string name, std::vector<std::string> arguments,
                       std::uint64_t most_files)
    : box_(box), name_(std::move(name)) {
  arguments.insert(arguments.begin(), MFL_BINARY);
  std::vector<char*> argv;
  for (std::string& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string folder = box.path().string(), out = name_ + ".out", log = name_ + ".log";
  pid_ = ::fork();
  if (pid_ != 0) return;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND;
  const rlimit limit{most_files, most_files};
  if (most_files != 0) ::setrlimit(RLIMIT_NOFILE, &limit);
  if (::chdir(folder.c_str()) == 0 && ::dup2(::open(out.c_str(), kFlags | O_TRUNC, 0644), 1) == 1 &&
      ::dup2(::open(log.c_str(), kFlags, 0644), 2) == 2)
    ::execv(argv[0], argv.data());
  ::_exit(127);
}

Background::~Background() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, &status_, 0);
}

bool Background::running() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) != 0) pid_ = -1;
  return pid_ > 0;
}

int Background::wait(milliseconds patience) {
  if (!eventually([this] { return !running(); }, patience)) {
    ADD_FAILURE() << name_ << " does not end:\n" << log();
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    pid_ = -1;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

int Background::signal_and_wait(int signal) {
  this->signal(signal);
  return wait();
}

void Background::signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

std::string Background::log() const { return box_.read(name_ + ".log"); }

std::uint64_t Background::committed() const {
  constexpr std::string_view kEvent = " round round=";
  const std::string text = log();
  const std::size_t at = text.rfind(kEvent);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + kEvent.size()));
}

JsonValue Background::data() const { return JsonValue::parse(box_.read(name_ + ".out"))["data"]; }

double Background::memory_mb(const std::string& key) const {
  std::ifstream file(fmt::format("/proc/{}/status", pid_));
  for (std::string word; file >> word;) {
    if (word != key) continue;
    double kilobytes = 0;
    file >> kilobytes;
    return kilobytes / 1024;
  }
  return 0;
}

Processes::Processes(std::size_t nodes, std::vector<std::string> experiment, Data data)
    : nodes_(nodes), experiment_(std::move(experiment)), data_(std::move(data)) {
  EXPECT_TRUE(make_authority(box.path("pki")));
  EXPECT_TRUE(make_server_certificate(box.path("pki"), {"127.0.0.1"}));
  for (std::size_t i = 0; i < nodes; ++i) EXPECT_TRUE(make_node_certificate(box.path("pki"), name(i)));
  ok_data(
      box.run({"data", "split", data_.spec, "--train", fmt::to_string(data_.samples), "--test", "0",
               "--nodes", fmt::to_string(nodes), "--partition", "contiguous", "--out", "parts", "--json"}));
}

std::string Processes::name(std::size_t i) { return fmt::format("node-{:04}", i); }

std::vector<std::string> Processes::setting() const {
  std::vector<std::string> out{"--set",   "data.source=" + data_.spec,
                               "--set",   fmt::format("data.train={}", data_.samples),
                               "--set",   "data.test=0",
                               "--set",   "federation.partition=contiguous",
                               "--nodes", fmt::to_string(nodes_)};
  // The parts do not tell a server that they come from ten digits.
  if (data_.spec.starts_with("synthetic")) out.insert(out.end(), {"--set", "data.task=even-odd"});
  out.insert(out.end(), experiment_.begin(), experiment_.end());
  return out;
}

std::string Processes::rounds(const std::string& store) const {
  const Outcome exported =
      box.run({"runs", "export", "latest", "--rounds", "--format", "csv", "--store", store});
  std::string out;
  std::istringstream lines(exported.out);
  for (std::string line; std::getline(lines, line);) out += line.substr(line.find(',')) + '\n';
  return out;
}

JsonValue Processes::simulated() const {
  std::vector<std::string> arguments{"run", "--json", "--quiet"};
  const auto words = setting();
  arguments.insert(arguments.end(), words.begin(), words.end());
  return ok_data(box.run(arguments));
}

std::unique_ptr<Background> Processes::server(const std::vector<std::string>& more,
                                              std::uint64_t most_files) {
  std::vector<std::string> arguments{"server",     "--state", "state",    "--tls",
                                     "pki/server", "--json",  "--listen", address()};
  const auto words = setting();
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::filesystem::remove(box.path("state/address"));
  auto process = std::make_unique<Background>(box, "server", arguments, most_files);
  EXPECT_TRUE(
      eventually([&] { return std::filesystem::exists(box.path("state/address")) || !process->running(); }));
  return process;
}

std::unique_ptr<Background> Processes::node(std::size_t i, const std::vector<std::string>& more,
                                            const std::string& address) const {
  std::vector<std::string> arguments{"node",
                                     "--server",
                                     address.empty() ? port_.address() : address,
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

std::vector<std::unique_ptr<Background>> Processes::all_nodes(const std::string& address) const {
  std::vector<std::unique_ptr<Background>> out;
  for (std::size_t i = 0; i < nodes_; ++i) out.push_back(node(i, {}, address));
  return out;
}

JsonValue Processes::status() const {
  return ok_data(box.run({"server", "status", address(), "--tls", "pki/" + name(nodes_ - 1), "--json"}));
}

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::uint64_t drawn_seed(const char* name) {
  const char* text = std::getenv(name);
  const std::uint64_t seed = text == nullptr ? std::random_device()() : std::strtoull(text, nullptr, 10);
  fmt::print("{}={}\n", name, seed);
  std::fflush(stdout);
  return seed;
}

bool eventually(const std::function<bool()>& what, milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (!what()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::int64_t ms_since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
}

}  // namespace mfl::test
