// A sweep over several processes. Each trains some of the settings on its own and records them in a store of its own: the first in
// the store of the sweep, every other in STORE.rank-PROCESS/runs.db beside the path of that store, on its own machine. At the end the
// first takes over the runs of the others, whose folders are then removed.
//
// A process that is killed leaves its folder behind, with the settings that it finished and the checkpoints of the others. The next
// sweep with this store takes over every such folder that it sees, on any number of processes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/engine/ranks.h"
#include "mfl/record/folder_lock.h"
#include "mfl/run/recorder.h"

namespace mfl {

// The run of a setting.
struct RecordedSetting {
  std::size_t index = 0;  // in the sweep
  std::string id;
  bool reused = false;
};

// Not thread-safe. The functions that return a Result are collective.
class SweepShare {
 public:
  // Takes over what killed processes left. With `known`, the runs of the store whose configurations have these digests can be found
  // in every process's recorder.
  static Result<SweepShare> open(const std::filesystem::path& store, const std::set<std::string>& known,
                                 Ranks& where);

  Recorder& recorder() const { return *recorder_; }
  // The settings of this process: from the first number up to the second, as many steps for each process as for the others.
  std::pair<std::size_t, std::size_t> range(std::span<const std::size_t> steps) const;

  // Moves the runs of all processes to the store. Returns `mine` and those of the others on the first process, nothing elsewhere.
  Result<std::vector<RecordedSetting>> collect(std::vector<RecordedSetting> mine);

 private:
  SweepShare(std::filesystem::path store, Ranks& ranks) : store_(std::move(store)), ranks_(&ranks) {}
  Result<void> open_own(const std::string& known);
  Result<void> take_reports(std::span<const std::string> reports,
                            std::vector<RecordedSetting>& settings) const;

  std::filesystem::path store_;
  Ranks* ranks_;
  std::filesystem::path folder_;    // of a process that is not the first
  std::optional<FolderLock> lock_;  // held as long as the folder's process lives
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace mfl
