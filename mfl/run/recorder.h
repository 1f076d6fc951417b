// Where runs are recorded: in the store; nowhere, when another process records the same run; or in memory, until the process
// that has the store takes them over.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/record/store.h"
#include "mfl/run/unfinished.h"

namespace mfl {

// As the functions of Store with these names. Not thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual bool keeps() const = 0;  // false: everything is discarded, so callers need not compute it
  // The id of the newest finished run of this work.
  virtual Result<std::optional<std::string>> find_done(const RunSpec& spec) = 0;
  // The newest unfinished run of this work. continue_run() makes this process its owner; it is then no longer found.
  virtual Result<std::optional<Unfinished>> find_unfinished(const RunSpec& spec) = 0;
  virtual Result<void> continue_run(const Unfinished& run) = 0;
  virtual Result<std::string> create_run(const RunSpec& spec) = 0;
  virtual Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                              std::span<const RecordRow> records,
                              const std::optional<Checkpoint>& checkpoint) = 0;
  virtual Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                              const RunSummary& summary, double wall_seconds) = 0;
  // Marks a run that cannot continue as failed, unless it has ended already. The cause may be the store itself, so errors are
  // not reported.
  virtual void give_up(std::string_view id, std::string_view message) = 0;
};

// The store must outlive it.
std::unique_ptr<Recorder> ledger_of(Store& store);
std::unique_ptr<Recorder> no_recorder();

}  // namespace mfl
