// The folder in which a server keeps its run, held by one process:
//
//   lock             held while a server runs (FolderLock)
//   progress         the last committed round, outside the store (ProgressFile)
//   runs.db          the run store, with SQLite's runs.db-wal and runs.db-shm
//   runs.db.states/  States of 1 MiB and more
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/federation/store_log.h"
#include "mfl/record/folder_lock.h"
#include "mfl/record/progress.h"
#include "mfl/record/store.h"

namespace mfl {

struct StateFolderOptions {
  std::filesystem::path folder;
  std::size_t keep_states = 5;                                // of the last rounds, >= 1
  std::optional<std::uint64_t> from_round = {};               // go back to this round
  bool drop_all_rounds = false;                               // confirms that it is 0
  std::chrono::milliseconds owner_patience{3000};             // for a server that is stopping
  std::chrono::milliseconds busy_timeout{60'000};             // for another process that has locked the store
  std::function<void(const std::string& text)> waiting = {};  // called once per wait, with whom it is for
  std::function<bool()> stopped = {};                         // true: a wait for the store ends with an error
};

// Move-only. Not thread-safe. note() may be called from another thread than the rest if the calls do not overlap.
class StateFolder {
 public:
  // Creates what is missing, for its owner only (modes 0700 and 0600). Refuses, and changes nothing, where continuing would silently lose
  // rounds: the store is damaged, or does not know the run or the round that was committed last, or States of
  // unknown runs or of later rounds are in the folder. With from_round, later rounds are accepted.
  static Result<StateFolder> open(StateFolderOptions options);

  Store& store() { return store_; }
  // What does not stop the run, one sentence each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The run to continue; see Store::find_or_create() and resume_rounds().
  Result<FoundRun> find_or_create(const RunSpec& spec) { return store_.find_or_create(spec); }
  template <class T>
  Result<std::optional<Resumption<T>>> resume(const std::string& run_id);

  // Before the first note(), for a run that is not resumed as well: from here on a start continues no earlier than
  // the run's last round.
  Result<void> settle(const std::string& run_id);

  // After a round was committed: an error if lock or store were deleted or replaced, so that the round may be lost.
  Result<void> note(std::uint64_t round, std::string_view digest);

 private:
  StateFolder(StateFolderOptions options, FolderLock lock, ProgressFile progress, Store store)
      : options_(std::move(options)),
        lock_(std::move(lock)),
        progress_(std::move(progress)),
        store_(std::move(store)) {}
  Result<void> check();
  Result<void> check_states(const std::vector<RunRow>& runs) const;
  Result<void> check_run(const RunRow& run);

  StateFolderOptions options_;
  FolderLock lock_;  // released last
  ProgressFile progress_;
  Store store_;
  std::string run_id_;
  std::vector<std::string> warnings_;
};

}  // namespace mfl
