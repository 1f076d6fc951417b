#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "mfl/record/older_losses.h"
#include "mfl/record/rows.h"
#include "mfl/record/schema.h"
#include "mfl/record/state_files.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

// Another store as the schema "source" of a connection. The tables of an older one that this version has otherwise are views.
class Attached {
 public:
  static Result<Attached> open(const Database& database, const std::filesystem::path& path) {
    MFL_TRY(Statement attach, database.prepare("ATTACH ? AS source"));
    const std::string name = path.string();
    MFL_CHECK(attach.with(std::string_view(name)).run());
    Attached attached(database);
    MFL_TRY(const std::int64_t version, database.integer("PRAGMA source.user_version"));
    if (version < kSchemaVersion)
      MFL_CHECK(database.run(views_of_older_losses(version, "source", "source_")));
    return attached;
  }
  Attached(Attached&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Attached& operator=(Attached&&) = delete;
  ~Attached() {
    if (database_ == nullptr) return;
    for (const std::string_view table : tables_with_losses())
      (void)database_->run(fmt::format("DROP VIEW IF EXISTS temp.source_{}", table));
    (void)database_->run("DETACH source");
  }

 private:
  explicit Attached(const Database& database) : database_(&database) {}
  const Database* database_;
};

// Where the rows of the other store's table are.
Result<std::string> source_table(const Database& database, std::string_view table) {
  MFL_TRY(const std::int64_t views,
          database.integer(
              fmt::format("SELECT count(*) FROM temp.sqlite_master WHERE name = 'source_{}'", table)));
  return fmt::format("{}{}", views > 0 ? "temp.source_" : "source.", table);
}

// The columns that both stores have, separated by commas: an older store lacks some, which stay NULL. Not those that
// number runs, which are each store's own.
Result<std::string> shared_columns(const Database& database, std::string_view table) {
  MFL_TRY(const std::string from, source_table(database, table));
  const std::size_t dot = from.find('.');
  MFL_TRY(Statement list,
          database.prepare(
              "SELECT name FROM pragma_table_info(?1, 'main') WHERE name <> 'run' AND (name <> 'number' OR "
              "?1 <> 'runs') AND name IN (SELECT name FROM pragma_table_info(?2, ?3))"));
  list.with(table, std::string_view(from).substr(dot + 1), std::string_view(from).substr(0, dot));
  std::vector<std::string> names;
  for (;;) {
    MFL_TRY(const bool more, list.step());
    if (!more) return fmt::format("{}", fmt::join(names, ", "));
    names.push_back(list.bytes());
  }
}

Result<std::string> copy_rows_sql(const Database& database, std::string_view table) {
  MFL_TRY(const std::string columns, shared_columns(database, table));
  MFL_TRY(const std::string from, source_table(database, table));
  return fmt::format(
      "INSERT INTO main.{0} (run, {1}) SELECT (SELECT number FROM main.runs WHERE id = ?1), {1} FROM "
      "{2} WHERE run = (SELECT number FROM source.runs WHERE id = ?1)",
      table, columns, from);
}

// Those of a run that are in files. A damaged one stays behind, and its row is then damaged as it was.
Result<void> copy_files(Statement& rounds, Statement* models, const StateFiles& from, const StateFiles& to,
                        const std::string& id) {
  rounds.with(std::string_view(id));
  for (;;) {
    MFL_TRY(const bool more, rounds.step());
    if (!more) break;
    const std::uint64_t round = rounds.natural();
    if (const auto bytes = from.read(id, round)) MFL_CHECK(to.write(id, round, *bytes));
  }
  if (models == nullptr) return {};
  MFL_TRY(const bool has_model, models->with(std::string_view(id)).step());
  if (!has_model) return {};
  if (const auto bytes = from.read_model(id)) MFL_CHECK(to.write_model(id, *bytes));
  return {};
}

// In the transaction that is open, after the files that the rows refer to. A run that `database` has is replaced and keeps its place
// in the order of runs.
Result<void> copy_runs(const Database& database, const StateFiles& from, const StateFiles& to,
                       std::span<const std::string> ids) {
  MFL_TRY(const std::string columns, shared_columns(database, "runs"));
  MFL_TRY(const std::string from_runs, source_table(database, "runs"));
  MFL_TRY(Statement place, database.prepare("SELECT (SELECT number FROM main.runs WHERE id = ?1)"));
  MFL_TRY(Statement forget, database.prepare("DELETE FROM main.runs WHERE id = ?1"));
  MFL_TRY(Statement copy_run, database.prepare(fmt::format(
                                  "INSERT INTO main.runs (number, {0}) SELECT ?2, {0} FROM {1} WHERE id = ?1",
                                  columns, from_runs)));
  std::vector<Statement> copies;
  for (const std::string_view table :
       {"rounds", "records", "checkpoints", "drops", "dropped_rounds", "nodes", "models", "choices"}) {
    MFL_TRY(const std::string shared, shared_columns(database, table));
    if (shared.empty()) continue;  // an older store does not have the table
    MFL_TRY(const std::string sql, copy_rows_sql(database, table));
    MFL_TRY(Statement copy_rows, database.prepare(sql));
    copies.push_back(std::move(copy_rows));
  }
  MFL_TRY(Statement files,
          database.prepare("SELECT round FROM source.checkpoints WHERE length(blob) = 0 AND run = (SELECT "
                           "number FROM source.runs WHERE id = ?1)"));
  std::optional<Statement> models;
  MFL_TRY(const std::string model_columns, shared_columns(database, "models"));
  if (!model_columns.empty()) {
    MFL_TRY(Statement large, database.prepare("SELECT 1 FROM source.models WHERE length(weights) = 0 AND "
                                              "run = (SELECT number FROM source.runs WHERE id = ?1)"));
    models.emplace(std::move(large));
  }
  for (const std::string& id : ids) {
    MFL_CHECK(copy_files(files, models ? &*models : nullptr, from, to, id));
    MFL_CHECK(place.with(std::string_view(id)).step());
    const std::optional<std::uint64_t> number = place.maybe_natural();
    MFL_CHECK(forget.with(std::string_view(id)).run());
    MFL_CHECK(copy_run.with(std::string_view(id), number).run());
    for (Statement& copy : copies) MFL_CHECK(copy.with(std::string_view(id)).run());
  }
  return {};
}

// Perhaps at different times.
bool is_one_run(const RunRow& a, const RunRow& b) {
  return a.created == b.created && a.config_digest == b.config_digest && a.data_digest == b.data_digest;
}

bool same_run(const RunRow& a, const RunRow& b) {
  if (!is_one_run(a, b) || a.status != b.status || a.summary.has_value() != b.summary.has_value())
    return false;
  return !a.summary ||
         (a.summary->final.step == b.summary->final.step && a.summary->digest == b.summary->digest);
}

}  // namespace

Result<MergeReport> Store::merge(const std::filesystem::path& other) {
  MFL_TRY(const Store source, Store::open(other, {.read_only = true}));
  std::error_code ignored;
  if (std::filesystem::equivalent(source.path(), path(), ignored))
    return fail(ErrorCode::kBadConfig, fmt::format("cannot merge store {} into itself", path().string()),
                "name another store");
  MFL_TRY(auto runs, source.list());
  std::ranges::reverse(runs);  // oldest first
  MFL_TRY(const Attached attached, Attached::open(*database_, source.path()));
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  MergeReport report;
  for (const RunRow& run : runs) {
    const auto here = exact(run.id);
    if (!here && here.error().code != ErrorCode::kBadConfig) return tl::unexpected<Error>(here.error());
    const bool going = run.status == RunStatus::kRunning && owner_alive(run);
    auto& list = here    ? (same_run(*here, run) ? report.present : report.conflicting)
                 : going ? report.running
                         : report.merged;
    list.push_back(run.id);
  }
  MFL_CHECK(copy_runs(*database_, StateFiles(source.path()), StateFiles(path()), report.merged));
  MFL_CHECK(transaction.commit());
  return report;
}

Result<void> Store::take_over(const std::filesystem::path& other, std::span<const std::string> ids) {
  MFL_TRY(const Store source, Store::open(other, {.read_only = true}));
  MFL_TRY(const Attached attached, Attached::open(*database_, source.path()));
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  for (const std::string& id : ids) {
    MFL_TRY(const RunRow there, source.exact(id));
    if (const auto here = exact(id); here && !is_one_run(*here, there))
      return fail(ErrorCode::kRunFailed,
                  fmt::format("run {} of store {} has the id of another run in {}", id,
                              source.path().string(), path().string()),
                  "delete one of them with mfl runs delete");
  }
  MFL_CHECK(copy_runs(*database_, StateFiles(source.path()), StateFiles(path()), ids));
  MFL_CHECK(transaction.commit());
  for (const std::string& id : ids) {
    MFL_TRY(const std::int64_t number, number_of(id));
    MFL_CHECK(drop_old_files(id, number));
  }
  return {};
}

}  // namespace mfl
