#include "mfl/record/store.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "mfl/base/files.h"
#include "mfl/record/schema.h"
#include "mfl/record/sqlite.h"
#include "mfl/record/state_files.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> nothing_recorded(const fs::path& path) {
  return fail(ErrorCode::kRunFailed, fmt::format("there is no store at {}", path.string()),
              "nothing has been recorded yet; run: mfl run");
}

tl::unexpected<Error> cannot_open(const fs::path& path, std::string_view why) {
  return fail(ErrorCode::kRunFailed, fmt::format("cannot open store {}: {}", path.string(), why),
              "choose another file with --store");
}

// SQLite answers a lack of permission with "No such file or directory".
Result<void> check_access(const fs::path& path, bool exists) {
  if (exists ? ::access(path.c_str(), R_OK) == 0 : ::access(path.parent_path().c_str(), W_OK | X_OK) == 0)
    return {};
  const std::string reason = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe)
  return fail(ErrorCode::kRunFailed,
              exists ? fmt::format("cannot open store {}: {}", path.string(), reason)
                     : fmt::format("cannot create store {}: folder {}: {}", path.string(),
                                   path.parent_path().string(), reason),
              "check the permissions, or choose another store with --store");
}

// Changing the journal needs the file alone for a moment, and SQLite does not always wait for that.
Result<void> use_write_ahead_log(const Database& database, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto mode = database.text("PRAGMA journal_mode = WAL");
    if (mode && *mode == "wal") return {};
    if (mode)
      return fail(ErrorCode::kRunFailed,
                  fmt::format("the file system of store {} does not support a write-ahead log",
                              database.path().string()),
                  "put the store on a local disk with --store");
    if (!database.last_was_busy() || std::chrono::steady_clock::now() >= deadline)
      return tl::unexpected<Error>(mode.error());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Result<void> open_for_reading(const Database& database) {
  MFL_TRY(const StoreKind kind, identify(database));
  if (kind == StoreKind::kEmpty) return nothing_recorded(database.path());
  return kind == StoreKind::kOlder ? view_as_current(database) : Result<void>{};
}

Result<void> open_for_writing(const Database& database, const StoreOptions& options) {
  if (database.read_only())
    return fail(ErrorCode::kRunFailed, fmt::format("store {} is not writable", database.path().string()),
                "check the permissions of the file, or choose another store with --store");
  MFL_TRY(StoreKind kind, identify(database));
  if (options.max_pages > 0)
    MFL_CHECK(database.run(fmt::format("PRAGMA max_page_count = {}", options.max_pages)));
  if (kind == StoreKind::kEmpty) {
    MFL_CHECK(create_schema(database));
    MFL_TRY(kind, identify(database));
  }
  if (kind == StoreKind::kOlder) MFL_CHECK(migrate_schema(database));
  MFL_CHECK(use_write_ahead_log(database, options.busy_timeout));
  MFL_CHECK(database.run("PRAGMA foreign_keys = ON"));
  return database.run(options.full_sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

}  // namespace

Store::Store(std::unique_ptr<Database> database, std::size_t keep_checkpoints)
    : database_(std::move(database)), keep_checkpoints_(std::max<std::size_t>(1, keep_checkpoints)) {
  std::error_code unseen;
  has_files_ = fs::exists(StateFiles(database_->path()).folder(), unseen) || unseen;
}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const fs::path& Store::path() const { return database_->path(); }

Result<Store> Store::open(const fs::path& path, const StoreOptions& options) {
  // An absolute path is never one of the names that are special to SQLite (":memory:", "", "file:").
  std::error_code ignored;
  fs::path absolute = fs::absolute(path, ignored);
  if (absolute.empty()) absolute = path;
  std::error_code unseen;
  const fs::file_status found = fs::status(absolute, unseen);
  if (found.type() == fs::file_type::none) return cannot_open(absolute, unseen.message());
  if (fs::is_directory(found)) return cannot_open(absolute, "it is a folder");
  if (fs::exists(found) && !fs::is_regular_file(found))
    return cannot_open(absolute, "it is not a regular file");
  if (options.read_only) {
    if (!fs::exists(found)) return nothing_recorded(absolute);
  } else if (auto made = make_folder(absolute.parent_path()); !made) {
    Error error = std::move(made).error();
    if (error.hint.empty()) error.hint = "choose another store with --store";
    return fail_because(std::move(error), fmt::format("cannot create store {}", absolute.string()));
  }
  MFL_CHECK(check_access(absolute, fs::exists(found)));
  MFL_TRY(auto database,
          Database::open(absolute, options.read_only, {options.busy_timeout, options.waiting}));
  if (options.keep_log) database->keep_log_on_close(true);
  MFL_CHECK(database->run("PRAGMA cell_size_check = ON"));
  MFL_CHECK(options.read_only ? open_for_reading(*database) : open_for_writing(*database, options));
  return Store(std::move(database), options.keep_checkpoints);
}

}  // namespace mfl
