// Where runs are recorded: in the store, or nowhere, when another process records the same run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/record/store.h"
#include "mfl/run/unfinished.h"

namespace mfl {

// Which recorded run to take instead of starting one.
struct Reuse {
  std::string run = {};     // the id of a stopped run; empty: the newest run with the same specification
  bool finished = false;    // without an id: whether a finished run may be taken
  bool unfinished = false;  // without an id: whether a stopped run may be taken
};

// A run that is recorded already. A finished one has nothing but its id.
struct RecordedRun {
  bool finished = false;
  Unfinished run;
};

// append() and finish() are those of Store. Not thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual bool keeps() const = 0;  // false: everything is discarded, so callers need not compute it

  // Changes nothing. Nothing if there is no such run; kBadData if the named run has other data than the spec.
  virtual Result<std::optional<RecordedRun>> find(const RunSpec& spec, const Reuse& reuse) = 0;
  // Makes this process the owner of an unfinished run, which is then no longer found, and forgets what came after its checkpoint.
  virtual Result<void> continue_run(const Unfinished& run) = 0;
  virtual Result<std::string> create_run(const RunSpec& spec) = 0;
  virtual Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                              std::span<const RecordRow> records, const std::optional<Checkpoint>& checkpoint,
                              std::span<const NodeRow> nodes) = 0;
  virtual Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                              const RunSummary& summary, double wall_seconds,
                              const std::vector<RunWarning>& further,
                              const std::optional<FinalModel>& model) = 0;
  // Marks a run that cannot continue as failed, unless it has ended already. The cause may be the store itself, so errors are
  // not reported.
  virtual void give_up(std::string_view id, std::string_view message) = 0;

  // The run as it is recorded now; an empty row where nothing is kept.
  virtual Result<RunRow> get(std::string_view id) const = 0;
};

Result<std::unique_ptr<Recorder>> store_recorder(const std::filesystem::path& store);
std::unique_ptr<Recorder> no_recorder();

// A run of a store that can be continued: kBadConfig if there is none, or it has ended.
Result<RunRow> find_stopped(const std::filesystem::path& store, std::string_view run);

}  // namespace mfl
