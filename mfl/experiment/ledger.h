// Where the rows of runs go: into the store, or nowhere where another process records the same run.
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
  virtual Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                              std::span<const RecordRow> records,
                              const std::optional<Checkpoint>& checkpoint) = 0;
  virtual Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                              const RunSummary& summary, double wall_seconds) = 0;
};

// The store outlives it.
std::unique_ptr<Ledger> ledger_of(Store& store);
std::unique_ptr<Ledger> no_ledger();

}  // namespace mfl
