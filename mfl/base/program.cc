#include "mfl/base/program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mfl {
namespace {

class SpawnActions {
 public:
  explicit SpawnActions(const ProgramOptions& options) {
    const char* const errors = options.errors.empty() ? "/dev/null" : options.errors.c_str();
    posix_spawn_file_actions_init(&actions_);
    if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions_, options.folder.c_str());
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

Result<int> run_program(std::vector<std::string> words, const ProgramOptions& options) {
  const std::string name = words.front();
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const SpawnActions actions(options);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, name.c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT) return fail(ErrorCode::kRunFailed, fmt::format("{} is not installed", name));
  if (error != 0)
    return fail(ErrorCode::kRunFailed, fmt::format("{} cannot be started: {}", name,
                                                   std::strerror(error)));  // NOLINT(concurrency-mt-unsafe)
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail(ErrorCode::kRunFailed, fmt::format("{} cannot be waited for", name));
  if (!WIFEXITED(status)) return fail(ErrorCode::kRunFailed, fmt::format("{} was killed", name));
  return WEXITSTATUS(status);
}

}  // namespace mfl
