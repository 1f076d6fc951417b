#include "process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace mfl::test {
namespace {

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  }
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  void close_writer() { ::close(std::exchange(ends[1], -1)); }
};

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* argv, char* const* env, const char* folder, int out, int err,
                         const Limits& limits) {
  if (limits.file_bytes) {
    const rlimit limit{*limits.file_bytes, *limits.file_bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (::chdir(folder) == 0 && ::dup2(nothing, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2)
    ::execve(argv[0], argv, env);
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

void collect(pid_t child, Pipe& out, Pipe& err, const Limits& limits, Outcome& outcome) {
  bool interrupted = false;
  std::array<pollfd, 2> waits{pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
  const std::array<std::string*, 2> texts{&outcome.out, &outcome.err};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      std::array<char, 4096> chunk;
      const ssize_t n = ::read(waits[i].fd, chunk.data(), chunk.size());
      if (n <= 0) waits[i].fd = -1;
      if (n > 0) texts[i]->append(chunk.data(), static_cast<std::size_t>(n));
    }
    if (limits.interrupt_after && !interrupted &&
        outcome.err.find(*limits.interrupt_after) != std::string::npos) {
      interrupted = true;
      if (limits.instead)
        limits.instead();
      else
        ::kill(child, SIGINT);
    }
  }
}

}  // namespace

JsonValue Outcome::json() const {
  EXPECT_EQ(std::ranges::count(out, '\n'), 1) << out;
  JsonValue parsed = JsonValue::parse(out);
  EXPECT_TRUE(parsed.is_object()) << out;
  return parsed.is_object() ? parsed : JsonValue(Json::object());
}

Sandbox::Sandbox() : folder_(TempFolder::make().value()) {}

Outcome Sandbox::run(const std::vector<std::string>& args, const Limits& limits) const {
  std::vector<std::string> words = limits.launcher;
  words.emplace_back(MFL_BINARY);
  words.insert(words.end(), args.begin(), args.end());
  std::vector<std::string> variables{"MFL_STORE=" + store().string(), "MFL_CACHE=" + path("cache").string(),
                                     "HOME=" + path("home").string(), "PATH=" + limits.path,
                                     "LC_ALL=C.UTF-8"};
  // Signals meant for the child must reach it.
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "MFL_KERNEL"})
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + '=' + value);
  if (!limits.launcher.empty())
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (std::string_view(*variable).starts_with("OMPI_")) variables.emplace_back(*variable);
  const std::vector<char*> argv = pointers(words), env = pointers(variables);
  Pipe out, err;
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), env.data(), folder_.path().c_str(), out.ends[1], err.ends[1], limits);
  out.close_writer();
  err.close_writer();
  Outcome outcome;
  collect(child, out, err, limits, outcome);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

void Sandbox::write(const std::string& name, std::string_view bytes) const {
  std::filesystem::create_directories(path(name).parent_path());
  ASSERT_TRUE(write_file(path(name), bytes));
}

std::string Sandbox::read(const std::string& name) const {
  return read_file(path(name)).value_or("(unreadable)");
}

std::map<std::string, std::string> Sandbox::files() const {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    const std::string name = std::filesystem::relative(entry.path(), folder_.path()).string();
    if (name.ends_with("-wal") || name.ends_with("-shm")) continue;
    out[name] = entry.is_regular_file() ? read(name) : "(folder)";
  }
  return out;
}

JsonValue ok_data(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const JsonValue reply = outcome.json();
  EXPECT_EQ(reply["schema_version"], 1);
  EXPECT_EQ(reply["status"], "ok");
  return reply.contains("data") ? reply["data"] : JsonValue(Json::object());
}

void expect_error(const Outcome& outcome, int code, const std::vector<std::string>& fragments) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, ::testing::StartsWith("mfl: "));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  for (const std::string& fragment : fragments) EXPECT_THAT(outcome.err, ::testing::HasSubstr(fragment));
}

}  // namespace mfl::test
