#include "mfl/data/fetch_sources.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <memory>
#include <utility>
#include <vector>

#include "mfl/base/program.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

struct Body {
  std::string bytes;
  std::size_t limit = 0;
};

std::size_t append_to_body(char* data, std::size_t size, std::size_t count, void* into) {
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

Result<void> run(const std::vector<std::string>& words, const fs::path& folder) {
  const auto ended = run_program(words, {.folder = folder, .errors = {}});
  if (!ended) return fail(ErrorCode::kNetwork, ended.error().message);
  if (*ended == 0) return {};
  return fail(ErrorCode::kNetwork,
              fmt::format("{} {} {} ended with exit code {}", words[0], words[1], words.back(), *ended));
}

Result<fs::path> only_file(const fs::path& folder, const char* extension) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == extension) return entry->path();
  return fail(ErrorCode::kNetwork, fmt::format("no {} file was downloaded", extension));
}

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
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append_to_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, static_cast<void*>(&body));
  const CURLcode status = curl_easy_perform(curl);
  if (status == CURLE_OK) return std::move(body.bytes);
  return fail(ErrorCode::kNetwork,
              fmt::format("{}: {}", url, reason[0] != '\0' ? reason : curl_easy_strerror(status)));
}

Result<fs::path> npm_pack(const std::string& package, const fs::path& folder) {
  MFL_CHECK(run({"npm", "pack", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=60000",
                 "--pack-destination", folder.string(), package},
                folder));
  return only_file(folder, ".tgz");
}

Result<void> debian_unpack(const std::string& package, const fs::path& folder) {
  MFL_CHECK(run({"apt-get", "-q", "download", package}, folder));
  MFL_TRY(const fs::path archive, only_file(folder, ".deb"));
  return run({"dpkg-deb", "-x", archive.string(), (folder / "files").string()}, folder);
}

}  // namespace mfl
