// The run store: one SQLite file (write-ahead log) that holds runs, their rounds, records, nodes, checkpoints and trained models. Checkpoints and
// weights of 1 MiB and more are files in the folder STORE.states beside it: SQLite writes such bytes several times over.
//
//   MFL_TRY(Store store, Store::open("runs.db"));
//   MFL_TRY(const std::string id, store.create_run(spec));                        // status running, owned by this process
//   MFL_CHECK(store.append(id, rounds, records, Checkpoint{round, encode_state(state)}));  // as often as is useful
//   MFL_CHECK(store.finish(id, RunStatus::kDone, "", summary, wall_seconds));
//
// and for a process that reads, perhaps while another one writes:
//
//   MFL_TRY(const Store store, Store::open("runs.db", {.read_only = true}));
//   MFL_TRY(const RunRow run, store.get("latest"));
//   MFL_TRY(const std::vector<RoundRow> rounds, store.rounds(run.id));
//
// After a crash read latest_checkpoint(id), rewind(id, its round) and append from there.
//
// Every change is one transaction: after an error, a full disk or a killed process the store is unchanged
// since before the call. Failures are kRunFailed with a hint; an unknown run is kBadConfig.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/record/run.h"

namespace mfl {

class Database;

struct StoreOptions {
  // Read-only never creates or changes a store, and a missing one is an error.
  bool read_only = false;
  // False: a killed process loses nothing; a power failure may lose the last transactions (a run then resumes
  // from an earlier checkpoint and gets the same bits). True, for a server that has answered its peers:
  // a committed transaction also survives a power failure.
  bool full_sync = false;
  // How long to wait for another process before reporting the store as locked.
  std::chrono::milliseconds busy_timeout{2000};
  // Called several times per second while a call waits, with its time so far; false ends the wait. May be empty.
  std::function<bool(std::chrono::milliseconds waited)> waiting = {};
  // Of each run, the checkpoints of its last rounds that append() keeps: one remains if the newest is damaged, and a
  // server can go back to one of them. At least 1.
  std::size_t keep_checkpoints = 2;
  // Closing the store changes nothing: SQLite would copy the write-ahead log into the file and delete it. Until keep_log(false).
  bool keep_log = false;
  // Limit on the size of the store in pages of 4096 bytes; 0 is SQLite's own limit. Beyond it, writing
  // fails as on a full disk.
  std::uint32_t max_pages = 0;
};

// Empty fields match every run.
struct RunFilter {
  std::optional<RunStatus> status = {};
  std::string name = {};  // or of a group (Store::find)
  std::string model = {};
  std::string algorithm = {};
  std::size_t limit = 0;  // 0: all
};

// An encoded State (checkpoint.h). The store accepts any bytes and keeps their SHA-256.
struct Checkpoint {
  std::uint64_t round = 0;
  std::string blob;
  std::uint64_t damaged = 0;  // on reading: how many newer checkpoints were damaged and skipped
};

// The run of a server's store, and whether it is new.
struct FoundRun {
  RunRow run;
  bool created = false;
};

struct RewindOptions {
  bool owned = false;  // the caller holds the run's folder (FolderLock): also if this process is the owner
  // Why rounds are dropped: they are then marked (RunRow::drops) and their rows stay in the table dropped_rounds. Empty: they are deleted.
  std::string reason = {};
  std::uint64_t last_round = 0;  // with a reason: the last round that was committed
};

// The runs of a store that was merged into another, by id.
struct MergeReport {
  std::vector<std::string> merged;
  std::vector<std::string> present;  // this store already had the same run
  std::vector<std::string>
      conflicting;  // this store has another run of this id, or one that ended differently; skipped
  std::vector<std::string> running;  // being computed by a process of this host; skipped
};

// One connection. Move-only. Not thread-safe: open one per thread; do not use it across fork(). Any number of
// processes may have the same store open; readers never wait for the writer.
class Store {
 public:
  // Read-write creates the file and its folder, and upgrades a store of an older mfl. A file that is not a
  // store, is damaged, or was written by a newer mfl is refused and not changed.
  static Result<Store> open(const std::filesystem::path& path, const StoreOptions& options = {});
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::filesystem::path& path() const;

  // Creates a run with status running, owned by this process, and returns its id.
  Result<std::string> create_run(const RunSpec& spec);

  // The newest run, if it has the configuration of the spec; else a new one. kBadConfig if the newest has another configuration
  // and has not ended. One transaction: of two processes at once, one creates the run and the other finds it.
  Result<FoundRun> find_or_create(const RunSpec& spec);

  // All or nothing. Rounds and steps already recorded are an error. Of the run's checkpoints the last
  // keep_checkpoints are kept, in the same transaction.
  Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                      std::span<const RecordRow> records,
                      const std::optional<Checkpoint>& checkpoint = std::nullopt,
                      std::span<const NodeRow> nodes = {});

  // Ends a run and, given a summary, judges its rounds (RunRow::warnings). The summary replaces an earlier one, even if
  // absent. Further warnings are kept beside those of the judgement. The model, of a run that is done, is kept in the same transaction.
  Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                      const std::optional<RunSummary>& summary, double wall_seconds,
                      const std::vector<RunWarning>& further = {},
                      const std::optional<FinalModel>& model = std::nullopt);
  Result<void> set_status(std::string_view id, RunStatus status, std::string_view message);

  // For a run whose schema is known only when nodes have joined, and whose step size may be measured then; 0: it is known already.
  Result<void> set_data_schema(std::string_view id, std::string_view schema, double eta = 0);

  // For resuming: deletes everything after `round` (everything if absent), the summary and the model, sets the status to running
  // and makes this process the owner. An error if the run is running and its owner is alive,
  // even if that owner is this process, unless the options say otherwise.
  Result<void> rewind(std::string_view id, std::optional<std::uint64_t> round,
                      const RewindOptions& options = {});

  // Deletes the row and the records of one round, but not its checkpoint.
  Result<void> forget_row(std::string_view id, std::uint64_t round);

  // Takes over the runs of another store that this one does not have, with rounds, records, nodes, checkpoints and models, in one
  // transaction. They come after the runs of this store, in their own order. The other store is left as it is.
  Result<MergeReport> merge(const std::filesystem::path& other);

  // Takes over these runs of another store as merge() does, in place of this store's earlier copies of them. An error if one has
  // the id of a run that is not the same, or is unknown there.
  Result<void> take_over(const std::filesystem::path& other, std::span<const std::string> ids);

  // Deletes all of the runs or none. Unknown ids and runs that are still running are errors.
  Result<void> remove(std::span<const std::string> ids);

  // Newest first, without RunSummary::test_metrics, which may be large.
  Result<std::vector<RunRow>> list(const RunFilter& filter = {}) const;
  // One run, as a user names it: its id, the beginning of exactly one id, its name (the newest run of that name),
  // "latest", or either of the last two followed by ~N for the Nth before it. A whole id always means that run; a text
  // that is both a name and the beginning of another run's id is an error. The other functions take whole ids only.
  Result<RunRow> get(std::string_view run) const;
  // The ids of what a user names, each once: all runs of a group, oldest first, or the run that get() gives. A group is what a sweep
  // makes: "grp" names the runs called "grp/1", "grp/2" and so on.
  Result<std::vector<std::string>> find(std::span<const std::string> names) const;
  Result<std::vector<RoundRow>> rounds(std::string_view id) const;    // by round
  Result<std::vector<RecordRow>> records(std::string_view id) const;  // by step
  // By round and name; of one round, where it is given.
  Result<std::vector<NodeRow>> nodes(std::string_view id, std::optional<std::uint64_t> round = {}) const;
  // The first round whose training loss is at or below the target. NaN is below nothing.
  Result<std::optional<RoundRow>> first_round_at(std::string_view id, double target_loss) const;
  // The newest checkpoint whose bytes match their checksum; absent if none was written, an error if every
  // one is damaged.
  Result<std::optional<Checkpoint>> latest_checkpoint(std::string_view id) const;
  // The rounds whose checkpoints are in the store, newest first, damaged ones included.
  Result<std::vector<std::uint64_t>> kept_rounds(std::string_view id) const;
  // Absent if there is none for this round, or it is damaged.
  Result<std::optional<Checkpoint>> checkpoint(std::string_view id, std::uint64_t round) const;
  // The trained model; absent if the run has none, an error if its bytes do not match their checksum.
  Result<std::optional<FinalModel>> model(std::string_view id) const;
  // The newest finished run that did exactly this work.
  Result<std::optional<RunRow>> find_done(std::string_view config_digest, std::string_view data_digest,
                                          std::string_view mfl_version) const;
  // The newest run that did part of exactly this work and stopped (is_unfinished).
  Result<std::optional<RunRow>> find_unfinished(std::string_view config_digest, std::string_view data_digest,
                                                std::string_view mfl_version) const;

  // For a server, whose rounds must not be lost unnoticed.
  //
  // An error if the file is damaged in its structure. Reads the whole file.
  Result<void> check_structure() const;
  // An error if the store was deleted or replaced since it was opened. Cheap enough for every round.
  Result<void> check_in_place() const;
  // Copies the write-ahead log into the file and empties it, as far as other processes allow: it does not wait for them.
  Result<void> fold_log() const;
  void keep_log(bool keep) const;  // as StoreOptions::keep_log

 private:
  Store(std::unique_ptr<Database> database, std::size_t keep_checkpoints);
  Result<std::int64_t> number_of(std::string_view id) const;
  Result<RunRow> exact(std::string_view id) const;
  Result<RunRow> latest(std::uint64_t back) const;
  Result<std::vector<std::uint64_t>> checkpoint_rounds(std::int64_t number) const;  // newest first
  Result<std::optional<Checkpoint>> read_checkpoint(std::string_view id, std::int64_t number,
                                                    std::uint64_t round) const;
  Result<void> mark_drop(std::int64_t number, std::int64_t kept, const RewindOptions& options) const;
  Result<bool> has_model(std::int64_t number) const;
  Result<void> drop_old_files(std::string_view id, std::int64_t number);
  Result<std::vector<RunWarning>> judge(std::string_view id, RunStatus status) const;
  Result<void> refuse_if_going(std::string_view id, std::string_view doing, bool unless_own = false) const;
  tl::unexpected<Error> unknown(std::string_view id) const;
  std::unique_ptr<Database> database_;
  std::size_t keep_checkpoints_;
  bool has_files_;  // there may be checkpoints beside the store
};

}  // namespace mfl
