#include "mfl/report/gnuplot.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "mfl/base/files.h"

namespace mfl {
namespace {

constexpr const char* kSaid = "gnuplot.said";

class SpawnActions {
 public:
  explicit SpawnActions(const std::filesystem::path& folder) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, kSaid, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string last_line(std::string text) {
  const std::size_t end = text.find_last_not_of(" \t\n");
  if (end == std::string::npos) return "it said nothing";
  text.resize(end + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

Result<void> run_gnuplot(const std::filesystem::path& folder, const std::string& script) {
  std::string program = "gnuplot", defaults = "--default-settings", file = script;
  const std::array<char*, 4> arguments = {program.data(), defaults.data(), file.data(), nullptr};
  const SpawnActions actions(folder);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "gnuplot", actions.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT)
    return fail(ErrorCode::kRunFailed, "gnuplot is not installed",
                "install it (Debian: apt-get install gnuplot-nox) and see that it is on PATH");
  if (error != 0)
    return fail(ErrorCode::kRunFailed, fmt::format("gnuplot cannot be started: {}",
                                                   std::strerror(error)));  // NOLINT(concurrency-mt-unsafe)
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail(ErrorCode::kRunFailed, "gnuplot cannot be waited for");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (!WIFEXITED(status)) return fail(ErrorCode::kRunFailed, "gnuplot was killed");
  return fail(ErrorCode::kRunFailed, fmt::format("gnuplot ended with exit code {}: {}", WEXITSTATUS(status),
                                                 last_line(read_file(folder / kSaid).value_or(""))));
}

Result<void> check_gnuplot() {
  MFL_TRY(const TempFolder folder, TempFolder::make());
  MFL_CHECK(write_file(folder.path() / "nothing.gp", ""));
  return run_gnuplot(folder.path(), "nothing.gp");
}

}  // namespace mfl
