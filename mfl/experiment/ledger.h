// Where runs are recorded: in the store; nowhere, where another process records the same run; or in memory, until a process
// that has the store takes them over.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/record/store.h"

namespace mfl {

// As the functions of Store with these names. Not thread-safe.
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual bool keeps() const = 0;  // false: what it is told is lost, and need not be worked out
  // The id of the newest finished run that did this work.
  virtual Result<std::optional<std::string>> find_done(const RunSpec& spec) = 0;
  virtual Result<std::string> create_run(const RunSpec& spec) = 0;
  virtual Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                              std::span<const RecordRow> records,
                              const std::optional<Checkpoint>& checkpoint) = 0;
  virtual Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                              const RunSummary& summary, double wall_seconds) = 0;
  // For a run that cannot go on. What stands in the way may be the store itself, so nothing comes back.
  virtual void give_up(std::string_view id, std::string_view message) = 0;
};

// The store outlives it.
std::unique_ptr<Ledger> ledger_of(Store& store);
std::unique_ptr<Ledger> no_ledger();

}  // namespace mfl
