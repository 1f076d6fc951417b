// Servers and nodes as processes of the mfl binary, on free ports of loopback.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loopback.h"
#include "process.h"

namespace mfl::test {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

inline constexpr std::chrono::seconds kPatience{120};

// A sanitizer adds memory, so a figure of it says nothing about mfl then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kFiguresCount = false;
#else
inline constexpr bool kFiguresCount = true;
#endif

// `mfl arguments...` in the background, with NAME.out and NAME.log. Killed with the object.
class Background {
 public:
  // most_files: the limit on open files; 0: this process's own.
  Background(const Sandbox& box, std::string name, std::vector<std::string> arguments,
             std::uint64_t most_files = 0);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();

  // Exit code, or 128 + signal; a test failure when it takes too long.
  int wait(milliseconds patience = kPatience);
  int signal_and_wait(int signal);
  void signal(int signal) const;
  bool running();
  std::string log() const;
  // Of a server with --log text: the last round that it has committed, as its log says.
  std::uint64_t committed() const;
  JsonValue data() const;
  // Of the process, in MB: resident now, and at its peak. 0 when it has ended.
  double resident_mb() const { return memory_mb("VmRSS:"); }
  double peak_mb() const { return memory_mb("VmHWM:"); }

 private:
  double memory_mb(const std::string& key) const;

  const Sandbox& box_;
  std::string name_;
  pid_t pid_ = -1;
  int status_ = -1;  // of waitpid, once it has ended
};

struct Data {
  std::string spec = "synthetic:300x20";
  std::size_t samples = 300;
};

// A federation of processes: certificates, data in parts, a server and nodes.
class Processes {
 public:
  Processes(std::size_t nodes, std::vector<std::string> experiment, Data data = {});

  static std::string name(std::size_t i);

  std::vector<std::string> setting() const;
  // The result of mfl run.
  JsonValue simulated() const;
  // The rows of all rounds of the latest run of a store, without the run's id.
  std::string rounds(const std::string& store) const;

  // Waits until it listens. Every server of this federation has the same address.
  std::unique_ptr<Background> server(const std::vector<std::string>& more = {}, std::uint64_t most_files = 0);
  // `address` is where the node looks for the server, if not at its own.
  std::unique_ptr<Background> node(std::size_t i, const std::vector<std::string>& more = {},
                                   const std::string& address = {}) const;
  std::vector<std::unique_ptr<Background>> all_nodes(const std::string& address = {}) const;

  // mfl server status --json.
  JsonValue status() const;

  std::string address() const { return port_.address(); }
  std::uint16_t port() const { return port_.number(); }

  Sandbox box;

 private:
  std::size_t nodes_;
  std::vector<std::string> experiment_;
  Data data_;
  HeldPort port_;  // a server that is killed comes back to it
};

// A number from the environment: long forms of tests set it.
int from_environment(const char* name, int otherwise);

// The seed of what a test draws: that of the environment variable, else one at random. Prints it, so that a test
// whose moments are drawn can be run again with the same draws; what a moment falls into depends on the machine as
// well.
std::uint64_t drawn_seed(const char* name);

// True as soon as `what` is; false after the time.
bool eventually(const std::function<bool()>& what, milliseconds patience = kPatience);

std::int64_t ms_since(Clock::time_point start);

}  // namespace mfl::test
