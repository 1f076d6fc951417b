// Internal to mfl/record: the SQLite C API with ownership and Results.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mfl/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mfl {

class Database;

// Binary data.
struct Blob {
  std::string_view bytes;
};

// A prepared statement. Not thread-safe. Doubles keep their bits: SQLite turns NaN into NULL, so a NaN
// is stored as a blob of 8 bytes, its IEEE bits in little-endian order, and NULL means absent.
class Statement {
 public:
  // Binds all parameters in order, ready for the next step. Text and blobs must outlive the steps.
  template <class... Values>
  Statement& with(const Values&... values) {
    restart();
    (bind(values), ...);
    return *this;
  }
  // True: there is a row. False: no more rows.
  Result<bool> step();
  Result<void> run();

  // Columns of the row; each call takes the next column.
  std::int64_t integer();
  std::uint64_t natural() { return static_cast<std::uint64_t>(integer()); }
  double number();
  std::optional<double> maybe_number();
  std::optional<std::uint64_t> maybe_natural();
  std::string bytes();  // text or blob

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const Database& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}
  void restart();
  void bind(std::int64_t value);
  void bind(std::uint64_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(double value);
  void bind(std::string_view text);
  void bind(Blob blob);
  void bind(std::nullopt_t);
  template <class T>
  void bind(const std::optional<T>& value) {
    if (value)
      bind(*value);
    else
      bind(std::nullopt);
  }
  bool null() const;
  void note(int code);

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int parameter_ = 0;
  int column_ = 0;
  int bind_code_ = 0;
};

// How long a connection waits for the locks of others.
struct Patience {
  std::chrono::milliseconds most{2000};
  // Called several times per second with the time that a call has waited so far; false ends the wait. May be empty.
  std::function<bool(std::chrono::milliseconds waited)> waiting = {};
};

// A connection. Not thread-safe. Must not move in memory: statements refer to it.
class Database {
 public:
  // A rollback journal that a killed process left is rolled back first, also for a reader who may write.
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& path, bool read_only,
                                                Patience patience);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::filesystem::path& path() const { return path_; }
  Result<void> run(const std::string& sql) const;
  Result<Statement> prepare(std::string_view sql) const;
  // The single value of the first row, as an integer or as text.
  Result<std::int64_t> integer(std::string_view sql) const;
  Result<std::string> text(std::string_view sql) const;
  std::int64_t changes() const;
  bool read_only() const;

  // False: calls do not wait for the locks of others.
  void be_patient(bool patient) const { patient_ = patient; }
  // Whether the last connection that closes leaves the write-ahead log alone: SQLite would copy it into the file and
  // delete it.
  void keep_log_on_close(bool keep) const;
  // An error if the file or its write-ahead log was deleted or replaced since they were opened. Costs two system calls.
  Result<void> check_in_place() const;

  // The last failure of this connection as an Error.
  tl::unexpected<Error> failure() const;
  bool last_was_busy() const;
  bool last_was_corrupt() const;
  bool last_was_constraint() const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  friend class Transaction;
  Database(std::filesystem::path path, sqlite3* connection)
      : path_(std::move(path)), connection_(connection) {}
  bool keep_waiting(int tries) const;
  void distrust() const;

  struct FileId {
    std::uint64_t device = 0, number = 0;
    bool operator==(const FileId&) const = default;
  };
  static std::optional<FileId> id_of(const std::filesystem::path& path);

  std::filesystem::path path_;
  std::filesystem::path log_path_ = path_.string() + "-wal";
  std::optional<FileId> id_;
  mutable std::optional<FileId> log_id_;  // since it was first seen: the first change creates it
  Patience patience_;
  mutable bool patient_ = true;
  mutable std::chrono::steady_clock::time_point wait_start_;
  std::unique_ptr<sqlite3, Close> connection_;
};

// A write transaction; rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;
};

}  // namespace mfl
