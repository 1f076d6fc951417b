#include "mfl/record/sqlite.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

namespace mfl {
namespace {

std::array<char, 8> ieee_bytes(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::array<char, 8> bytes{};
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<unsigned char>(bits >> (8 * i)));
  return bytes;
}

double from_ieee_bytes(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 8 && i < bytes.size(); ++i)
    bits |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return bytes.size() == 8 ? std::bit_cast<double>(bits) : std::nan("");
}

struct Words {
  std::string_view what;
  std::string_view hint;
};

Words words_for(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {"is locked by another process",
              "wait until the other process has finished, or choose another store with --store"};
    case SQLITE_FULL:
      return {"has no space left",
              "free disk space or delete runs with mfl runs delete; nothing was changed"};
    case SQLITE_IOERR:
      return {"cannot be read or written", "check the disk and its free space; nothing was changed"};
    case SQLITE_CORRUPT:
      return {"is damaged", "restore it from a backup, or move it away and start a new one"};
    case SQLITE_NOTADB:
      return {"is damaged or not a store", "choose another file with --store, or move this one away"};
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {"cannot be opened",
              "check that its folder exists and is writable, or choose another store with --store"};
    default: return {"failed", "the store may be damaged: restore it from a backup"};
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Statement::restart() {
  sqlite3_reset(statement_.get());
  parameter_ = 0;
  bind_code_ = SQLITE_OK;
}

void Statement::note(int code) {
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
}

void Statement::bind(std::int64_t value) { note(sqlite3_bind_int64(statement_.get(), ++parameter_, value)); }

void Statement::bind(double value) {
  if (std::isnan(value)) {
    const auto bytes = ieee_bytes(value);
    // SQLITE_TRANSIENT, as SQLite defines it.  NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto copied = reinterpret_cast<sqlite3_destructor_type>(std::intptr_t{-1});
    note(sqlite3_bind_blob64(statement_.get(), ++parameter_, bytes.data(), bytes.size(), copied));
    return;
  }
  note(sqlite3_bind_double(statement_.get(), ++parameter_, value));
}

void Statement::bind(std::string_view text) {
  note(sqlite3_bind_text64(statement_.get(), ++parameter_, text.empty() ? "" : text.data(), text.size(),
                           nullptr, SQLITE_UTF8));
}

void Statement::bind(Blob blob) {
  note(sqlite3_bind_blob64(statement_.get(), ++parameter_, blob.bytes.empty() ? "" : blob.bytes.data(),
                           blob.bytes.size(), nullptr));
}

void Statement::bind(std::nullopt_t) { note(sqlite3_bind_null(statement_.get(), ++parameter_)); }

Result<bool> Statement::step() {
  column_ = 0;
  if (bind_code_ != SQLITE_OK) return database_->failure();
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->failure();
}

Result<void> Statement::run() {
  for (;;) {
    MFL_TRY(const bool more, step());
    if (!more) return {};
  }
}

bool Statement::null() const { return sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL; }

std::int64_t Statement::integer() { return sqlite3_column_int64(statement_.get(), column_++); }

double Statement::number() {
  if (sqlite3_column_type(statement_.get(), column_) == SQLITE_BLOB) return from_ieee_bytes(bytes());
  return sqlite3_column_double(statement_.get(), column_++);
}

std::optional<double> Statement::maybe_number() {
  if (!null()) return number();
  ++column_;
  return std::nullopt;
}

std::optional<std::uint64_t> Statement::maybe_natural() {
  if (!null()) return natural();
  ++column_;
  return std::nullopt;
}

std::string Statement::bytes() {
  const void* data = sqlite3_column_blob(statement_.get(), column_);
  const int size = sqlite3_column_bytes(statement_.get(), column_++);
  return data == nullptr ? std::string()
                         : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

// SQLite's own handler would leave no place for a warning.
bool Database::keep_waiting(int tries) const {
  using std::chrono::milliseconds;
  constexpr milliseconds kShortest{1}, kLongest{100};
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) wait_start_ = now;
  const auto waited = std::chrono::duration_cast<milliseconds>(now - wait_start_);
  if (!patient_ || waited >= patience_.most || (patience_.waiting && !patience_.waiting(waited)))
    return false;
  std::this_thread::sleep_for(std::clamp(milliseconds(tries), kShortest, kLongest));
  return true;
}

std::optional<Database::FileId> Database::id_of(const std::filesystem::path& path) {
  // Only the number is asked for: this runs once per committed round.
  struct statx info = {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_INO, &info) != 0) return std::nullopt;
  return FileId{(std::uint64_t{info.stx_dev_major} << 32U) | info.stx_dev_minor, info.stx_ino};
}

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& path, bool read_only,
                                                 Patience patience) {
  sqlite3* connection = nullptr;
  const int flags = (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  std::unique_ptr<Database> database(new Database(path, connection));
  std::error_code ignored;
  if (code != SQLITE_OK) return database->failure();
  database->id_ = id_of(path);
  database->patience_ = std::move(patience);
  const auto handler = [](void* self, int tries) {
    return static_cast<const Database*>(self)->keep_waiting(tries) ? 1 : 0;
  };
  sqlite3_busy_handler(connection, handler, database.get());
  database->distrust();
  if (read_only && std::filesystem::exists(path.string() + "-journal", ignored)) {
    const auto writer = open(path, false, database->patience_);
    if (writer) (void)(*writer)->integer("PRAGMA user_version");
  }
  return database;
}

// The file may be anybody's: neither triggers nor views of its schema run, nor can SQL reach below tables. TEMP views are ours and work.
void Database::distrust() const {
  for (const auto& [option, on] :
       {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}})
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    sqlite3_db_config(connection_.get(), option, on, nullptr);
}

void Database::keep_log_on_close(bool keep) const {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

Result<void> Database::check_in_place() const {
  const auto log = id_of(log_path_);
  if (!log_id_) log_id_ = log;
  if (id_of(path_) == id_ && log == log_id_) return {};
  return fail(ErrorCode::kRunFailed,
              fmt::format("store {} was deleted or replaced while it was open",
                          (id_of(path_) == id_ ? log_path_ : path_).string()),
              "what was written since is lost; restore the store from a backup");
}

Result<void> Database::run(const std::string& sql) const {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) !=
      SQLITE_OK)
    return failure();
  return Statement(*this, statement);
}

Result<std::int64_t> Database::integer(std::string_view sql) const {
  MFL_TRY(Statement statement, prepare(sql));
  MFL_TRY(const bool found, statement.step());
  return found ? statement.integer() : 0;
}

Result<std::string> Database::text(std::string_view sql) const {
  MFL_TRY(Statement statement, prepare(sql));
  MFL_TRY(const bool found, statement.step());
  return found ? statement.bytes() : std::string();
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_.get()); }
bool Database::read_only() const { return sqlite3_db_readonly(connection_.get(), "main") == 1; }
bool Database::last_was_busy() const { return (sqlite3_errcode(connection_.get()) & 0xff) == SQLITE_BUSY; }
bool Database::last_was_corrupt() const {
  return (sqlite3_errcode(connection_.get()) & 0xff) == SQLITE_CORRUPT;
}
bool Database::last_was_constraint() const {
  return (sqlite3_errcode(connection_.get()) & 0xff) == SQLITE_CONSTRAINT;
}

tl::unexpected<Error> Database::failure() const {
  const int code = sqlite3_extended_errcode(connection_.get());
  const Words words = words_for(code);
  std::string reason = sqlite3_errmsg(connection_.get());
  std::ranges::replace(reason, '\n', ' ');  // of a damaged schema it has whole statements
  const int system = connection_ ? sqlite3_system_errno(connection_.get()) : 0;
  if (((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN) && system != 0)
    reason += fmt::format(" ({})", std::strerror(system));  // NOLINT(concurrency-mt-unsafe)
  return fail(ErrorCode::kRunFailed, fmt::format("store {} {}: {}", path_.string(), words.what, reason),
              std::string(words.hint));
}

Result<Transaction> Transaction::begin(const Database& database) {
  MFL_CHECK(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Result<void> Transaction::commit() {
  MFL_CHECK(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

// After a full disk SQLite may already have rolled back the transaction.
Transaction::~Transaction() {
  if (database_ != nullptr && sqlite3_get_autocommit(database_->connection_.get()) == 0)
    sqlite3_exec(database_->connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace mfl
