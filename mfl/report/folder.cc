#include "mfl/report/folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): renameat2

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "mfl/report/page_style.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kNames = {"report.html", "claims.json", "study.json",
                                                    "figures",     "data",        "tables"};

// Whether the folder holds a page of ours and nothing that a report does not have.
bool is_report(const fs::path& folder) {
  const auto page = read_file(folder / "report.html");
  if (!page ||
      page->find(fmt::format("<meta name=\"generator\" content=\"{} ", kPageGenerator)) == std::string::npos)
    return false;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::ranges::find(kNames, entry->path().filename().string()) == kNames.end()) return false;
  return !error;
}

Result<void> check_target(const fs::path& target) {
  std::error_code error;
  const auto status = fs::symlink_status(target, error);
  if (!fs::exists(status)) return {};
  if (fs::is_directory(status) && (fs::is_empty(target, error) || is_report(target))) return {};
  return fail(ErrorCode::kBadConfig, fmt::format("{} exists and is not an mfl report", target.string()),
              "name another folder, or empty this one");
}

int exchange(const fs::path& one, const fs::path& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
}

// For file systems that cannot exchange two folders: for a moment neither exists.
int replace(const fs::path& from, const fs::path& target, const fs::path& aside) {
  if (::rename(target.c_str(), aside.c_str()) != 0) return -1;
  if (::rename(from.c_str(), target.c_str()) == 0) return 0;
  const int reason = errno;
  (void)::rename(aside.c_str(), target.c_str());
  errno = reason;
  return -1;
}

}  // namespace

ReportFolder::ReportFolder(fs::path target, TempFolder beside)
    : target_(std::move(target)), beside_(std::move(beside)), gathered_(beside_.path() / "report") {}

Result<ReportFolder> ReportFolder::make(const fs::path& target) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(fs::absolute(target, error), error);
  if (error || target.empty())
    return fail(ErrorCode::kBadConfig, fmt::format("'{}' cannot be a folder", target.string()),
                "name another");
  if (!whole.has_filename()) whole = whole.parent_path();
  MFL_CHECK(make_folder(whole.parent_path()));
  MFL_CHECK(check_target(whole));
  MFL_TRY(TempFolder beside, TempFolder::make(whole.parent_path()));
  ReportFolder folder(std::move(whole), std::move(beside));
  MFL_CHECK(make_folder(folder.gathered_));
  return folder;
}

Result<void> ReportFolder::write(const fs::path& name, std::string_view bytes) {
  const fs::path path = gathered_ / name;
  MFL_CHECK(make_folder(path.parent_path()));
  return write_file(path, bytes);
}

Result<void> ReportFolder::publish() {
  MFL_CHECK(check_target(target_));
  if (::rename(gathered_.c_str(), target_.c_str()) == 0) return {};
  if ((errno == ENOTEMPTY || errno == EEXIST) &&
      (exchange(gathered_, target_) == 0 || replace(gathered_, target_, beside_.path() / "before") == 0))
    return {};
  return fail(ErrorCode::kRunFailed,
              fmt::format("cannot put the report at {}: {}", target_.string(),
                          std::strerror(errno)),  // NOLINT(concurrency-mt-unsafe)
              "check the permissions of its parent");
}

}  // namespace mfl
