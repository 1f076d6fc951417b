#include "mfl/record/schema.h"

#include <fmt/core.h>

#include "mfl/record/older_losses.h"

namespace mfl {
namespace {

// Doubles are in columns without a type, where SQLite keeps values as they are; a REAL column would turn
// negative zero into zero.
constexpr const char* kTables = R"sql(
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,          -- in the order of creation
  id TEXT NOT NULL UNIQUE,
  created TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'done', 'diverged', 'interrupted', 'failed')),
  message TEXT NOT NULL,
  name TEXT NOT NULL,
  config TEXT NOT NULL,
  config_digest TEXT NOT NULL,
  data_digest TEXT NOT NULL,
  problem TEXT NOT NULL,
  mfl_version TEXT NOT NULL,
  data TEXT NOT NULL,
  model TEXT NOT NULL,
  algorithm TEXT NOT NULL,
  precision TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  eta NOT NULL,
  gamma,
  tau INTEGER,
  planned_steps INTEGER NOT NULL,
  load_seconds NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_start INTEGER NOT NULL,
  wall_seconds NOT NULL,
  final_step INTEGER,                  -- NULL, and all that follows: no summary yet
  final_train_loss,
  final_test_loss,
  final_test_accuracy,
  best_step INTEGER,
  best_train_loss,
  rounds INTEGER,
  bytes_up INTEGER,
  bytes_down INTEGER,
  digest TEXT,
  virtual_seconds,
  warnings TEXT,                       -- a JSON array; NULL: not judged
  sampled INTEGER NOT NULL DEFAULT 0,  -- 1: training losses are those of the nodes that a round counted
  data_schema TEXT,                    -- JSON; NULL: unknown
  test_metrics TEXT                    -- JSON, part of the summary; NULL: none
);
CREATE INDEX runs_by_work ON runs (config_digest, data_digest, mfl_version);
CREATE TABLE checkpoints (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  round INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  blob BLOB NOT NULL,
  UNIQUE (run, round)
);
)sql";

// The tables with training losses, since version 10; of dropped_rounds the rows are those of the rounds that a drop dropped.
constexpr std::string_view kLossTables = R"sql(
CREATE TABLE {0}rounds (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  round INTEGER NOT NULL,
  step INTEGER NOT NULL,
  train_loss,                          -- NULL, and the next two: not measured
  batch_loss,
  start_loss,
  bytes_up INTEGER NOT NULL,
  bytes_down INTEGER NOT NULL,
  digest BLOB,
  virtual_seconds,                     -- NULL, and all that follows: no virtual time
  round_seconds,
  slowest_seconds,
  idle_share,
  chosen INTEGER,
  missed INTEGER,
  abandoned INTEGER,
  PRIMARY KEY (run, round)
) WITHOUT ROWID;
CREATE TABLE {0}records (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  round INTEGER NOT NULL,
  train_loss,
  batch_loss,
  start_loss,
  test_loss,
  test_accuracy,
  bytes_up INTEGER NOT NULL,
  bytes_down INTEGER NOT NULL,
  wall_seconds NOT NULL,
  digest BLOB,
  virtual_seconds,
  PRIMARY KEY (run, step)
) WITHOUT ROWID;
CREATE TABLE {0}dropped_rounds (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  number INTEGER NOT NULL,             -- of the drop
  round INTEGER NOT NULL,
  step INTEGER NOT NULL,
  train_loss,
  batch_loss,
  start_loss,
  bytes_up INTEGER NOT NULL,
  bytes_down INTEGER NOT NULL,
  digest BLOB,
  PRIMARY KEY (run, number, round)
) WITHOUT ROWID;
CREATE TABLE {0}nodes (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  round INTEGER NOT NULL,
  node TEXT NOT NULL,
  weight INTEGER NOT NULL,
  train_loss,
  batch_loss,
  start_loss,
  seconds,                             -- NULL: not known
  digest BLOB,                         -- SHA-256 of the update; NULL: not known
  metrics TEXT,                        -- JSON: what a trainer measured; NULL: nothing
  committed INTEGER,                   -- Unix time in seconds; NULL: of a simulation, or not known
  PRIMARY KEY (run, round, node)
) WITHOUT ROWID;
)sql";

// Of version 4. A drop is a return of a server to an earlier State.
constexpr const char* kDropTable = R"sql(
CREATE TABLE drops (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  number INTEGER NOT NULL,             -- 1, 2, ... for each run
  created TEXT NOT NULL,
  first_round INTEGER NOT NULL,
  last_round INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;
)sql";

// Of version 7. Weights of 1 MiB and more are in a file (state_files.h); their column is then empty.
constexpr const char* kModelTable = R"sql(
CREATE TABLE models (
  run INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
  tensors TEXT NOT NULL,               -- JSON: names and shapes
  scale,                               -- of the features; NULL: as the source has it
  sha256 BLOB NOT NULL,                -- of the weights
  weights BLOB NOT NULL                -- little-endian numbers of the run's precision
);
)sql";

// Of version 8.
constexpr const char* kChoiceTable = R"sql(
CREATE TABLE choices (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  round INTEGER NOT NULL,
  tau INTEGER NOT NULL,
  rho NOT NULL,
  beta NOT NULL,
  delta NOT NULL,
  bound NOT NULL,
  step_seconds NOT NULL,
  round_seconds NOT NULL,
  PRIMARY KEY (run, round)
) WITHOUT ROWID;
)sql";

// The additions of versions 2, 3 and 5 to the table of runs.
constexpr const char* kFromOne = "ALTER TABLE runs ADD COLUMN virtual_seconds;";
constexpr const char* kFromTwo = R"sql(
ALTER TABLE runs ADD COLUMN warnings TEXT;
ALTER TABLE runs ADD COLUMN sampled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN data_schema TEXT;
)sql";
constexpr const char* kFromFour = "ALTER TABLE runs ADD COLUMN test_metrics TEXT;";

// A temporary view hides the table of its name.
constexpr const char* kViewOfModels =
    "CREATE TEMP VIEW models AS SELECT 0 AS run, '' AS tensors, NULL AS scale, NULL AS sha256, NULL AS "
    "weights WHERE 0;";
constexpr const char* kViewOfDrops = R"sql(
CREATE TEMP VIEW drops AS SELECT 0 AS run, 0 AS number, '' AS created, 0 AS first_round, 0 AS last_round,
  '' AS reason WHERE 0;
)sql";
constexpr const char* kViewOfChoices = R"sql(
CREATE TEMP VIEW choices AS SELECT 0 AS run, 0 AS round, 0 AS tau, 0 AS rho, 0 AS beta, 0 AS delta, 0 AS bound,
  0 AS step_seconds, 0 AS round_seconds WHERE 0;
)sql";

// To version 10, of a store whose table of runs is still as it was.
Result<void> sort_losses(const Database& database, std::int64_t version) {
  MFL_CHECK(database.run(views_of_older_losses(version, "main", "older_")));
  MFL_CHECK(database.run(fmt::format(kLossTables, "new_")));
  std::string sql =
      "CREATE TEMP TABLE sorted AS SELECT number, final_train_loss, best_step, best_train_loss FROM "
      "older_runs;UPDATE runs SET final_train_loss = sorted.final_train_loss, best_step = sorted.best_step, "
      "best_train_loss = sorted.best_train_loss FROM sorted WHERE sorted.number = runs.number;";
  for (const std::string_view table : tables_with_losses())
    if (table != "runs") sql += fmt::format("INSERT INTO new_{0} SELECT * FROM older_{0};", table);
  for (const std::string_view table : tables_with_losses()) sql += fmt::format("DROP VIEW older_{};", table);
  for (const std::string_view table : tables_with_losses())
    if (table != "runs")
      sql += fmt::format("DROP TABLE IF EXISTS {0}; ALTER TABLE new_{0} RENAME TO {0};", table);
  return database.run(sql + "DROP TABLE temp.sorted;");
}

struct Header {
  std::int64_t application = 0, version = 0, objects = 0, tables = 0;
};

Result<Header> read_header(const Database& database) {
  Header header;
  // The schema first: a locked or damaged file shows here, before the two header fields are trusted.
  MFL_TRY(header.objects, database.integer("SELECT count(*) FROM sqlite_master"));
  MFL_TRY(header.tables,
          database.integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                           "('runs', 'rounds', 'records', 'checkpoints', 'drops', 'dropped_rounds', "
                           "'nodes', 'models', 'choices')"));
  MFL_TRY(header.application, database.integer("PRAGMA application_id"));
  MFL_TRY(header.version, database.integer("PRAGMA user_version"));
  return header;
}

}  // namespace

Result<StoreKind> identify(const Database& database) {
  // One transaction, so that a store being made is seen whole or not at all.
  MFL_CHECK(database.run("BEGIN"));
  const auto read = read_header(database);
  if (const auto ended = database.run("ROLLBACK"); read && !ended)
    return tl::unexpected<Error>(ended.error());
  MFL_TRY(const Header header, read);
  const std::string path = database.path().string();
  if (header.application == 0 && header.version == 0 && header.objects == 0) return StoreKind::kEmpty;
  if (header.application != kApplicationId)
    return fail(ErrorCode::kRunFailed, fmt::format("{} is an SQLite file but not an mfl store", path),
                "choose another file with --store");
  if (header.version > kSchemaVersion)
    return fail(ErrorCode::kRunFailed,
                fmt::format("store {} has schema version {}, this mfl supports versions up to {}", path,
                            header.version, kSchemaVersion),
                "use the newer mfl that wrote it, or choose another store with --store");
  const std::int64_t tables = header.version < 4   ? 4
                              : header.version < 6 ? 6
                              : header.version < 7 ? 7
                              : header.version < 8 ? 8
                                                   : 9;
  if (header.version < 1 || header.tables < tables)
    return fail(ErrorCode::kRunFailed,
                fmt::format("store {} is damaged: {} of {} tables, schema version {}", path, header.tables,
                            tables, header.version),
                "restore it from a backup, or move it away and start a new one");
  return header.version < kSchemaVersion ? StoreKind::kOlder : StoreKind::kStore;
}

Result<void> create_schema(const Database& database) {
  MFL_TRY(Transaction transaction, Transaction::begin(database));
  MFL_TRY(const std::int64_t objects, database.integer("SELECT count(*) FROM sqlite_master"));
  if (objects != 0) return {};
  MFL_CHECK(database.run(kTables));
  MFL_CHECK(database.run(fmt::format(kLossTables, "")));
  MFL_CHECK(database.run(kDropTable));
  MFL_CHECK(database.run(kModelTable));
  MFL_CHECK(database.run(kChoiceTable));
  MFL_CHECK(database.run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion)));
  return transaction.commit();
}

Result<void> migrate_schema(const Database& database) {
  MFL_TRY(Transaction transaction, Transaction::begin(database));
  MFL_TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
  if (version >= kSchemaVersion) return {};
  MFL_CHECK(sort_losses(database, version));
  if (version < 2) MFL_CHECK(database.run(kFromOne));
  if (version < 3) MFL_CHECK(database.run(kFromTwo));
  if (version < 4) MFL_CHECK(database.run(kDropTable));
  if (version < 5) MFL_CHECK(database.run(kFromFour));
  if (version < 7) MFL_CHECK(database.run(kModelTable));
  if (version < 8) MFL_CHECK(database.run(kChoiceTable));
  MFL_CHECK(database.run(fmt::format("PRAGMA user_version = {}", kSchemaVersion)));
  return transaction.commit();
}

Result<void> view_as_current(const Database& database) {
  MFL_TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
  MFL_CHECK(database.run(views_of_older_losses(version, "main", "")));
  if (version < 4) MFL_CHECK(database.run(kViewOfDrops));
  if (version < 7) MFL_CHECK(database.run(kViewOfModels));
  return version < 8 ? database.run(kViewOfChoices) : Result<void>{};
}

}  // namespace mfl
