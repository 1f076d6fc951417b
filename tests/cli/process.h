// Runs the mfl binary in a sandbox folder with its own store, cache and home.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/files.h"
#include "tests/base/json_value.h"

namespace mfl::test {

struct Outcome {
  int code = -1;  // exit code, or 128 + signal
  std::string out, err;

  // Standard output as one JSON object on one line; a test failure when it is not.
  JsonValue json() const;
};

struct Limits {
  std::optional<std::uint64_t> file_bytes;     // as on a full disk: larger files cannot be written
  std::optional<std::string> interrupt_after;  // send SIGINT once this appears on stderr
  std::string path = "/usr/bin:/bin";          // PATH
  std::vector<std::string> launcher = {};      // a program and its arguments that start mfl
  std::function<void()> instead = {};          // called instead of sending SIGINT
};

class Sandbox {
 public:
  Sandbox();

  // Working directory, store (store.db), cache and home are inside the sandbox.
  Outcome run(const std::vector<std::string>& args, const Limits& limits = {}) const;

  void write(const std::string& name, std::string_view bytes) const;  // makes folders
  std::string read(const std::string& name) const;
  std::filesystem::path path(const std::string& name = {}) const { return folder_.path() / name; }
  std::filesystem::path store() const { return path("store.db"); }

  // Every file with its bytes, except SQLite's -wal and -shm files.
  std::map<std::string, std::string> files() const;

 private:
  TempFolder folder_;
};

// {"schema_version":1,"status":"ok","data":...}: gives data.
JsonValue ok_data(const Outcome& outcome);

// Exit code, one line on stderr that starts with "mfl: ", nothing on stdout, and all fragments in the line.
void expect_error(const Outcome& outcome, int code, const std::vector<std::string>& fragments);

}  // namespace mfl::test
