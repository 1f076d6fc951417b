// The loop over rounds: what the engine computes becomes State, rows and, at last, a summary.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "mfl/base/result.h"
#include "mfl/engine/engine.h"
#include "mfl/experiment/journal.h"
#include "mfl/experiment/runner.h"

namespace mfl {

// How a run is recorded. Nothing here changes a bit of it.
struct Cadence {
  std::uint64_t record_every = 1;      // steps between records with test metrics
  std::uint64_t checkpoint_every = 0;  // rounds between checkpoints; 0: only when stopped
};

// The cadence of a configuration, with about a hundred records where it leaves the choice open.
Cadence make_cadence(const RunConfig& run);

struct Ending {
  RunStatus status = RunStatus::kDone;
  std::string message;
  RunSummary summary;
  double wall_seconds = 0;
};

template <class T>
class Training {
 public:
  // From `state`, which has been recorded if `recorded` (a resumed run), with `wall_seconds` spent before.
  Training(const Algorithm& algorithm, Engine<T>& engine, std::size_t nodes, bool has_accuracy, Cadence cadence,
           Journal& journal, State<T> state, bool recorded, double wall_seconds);

  // To step `steps`, or until it diverges or hooks.stop says so. All rows are in the store when it returns.
  Result<Ending> run(std::uint64_t steps, const RunHooks& hooks);

  const State<T>& state() const { return state_; }

 private:
  double seconds() const;
  std::uint64_t bytes() const;  // in one direction so far
  Result<void> close_round(double train_loss, bool force_record = false);
  Result<void> checkpoint();
  Result<Ending> end(RunStatus status, std::string message, double train_loss);

  Algorithm algorithm_;
  Engine<T>& engine_;
  std::size_t nodes_;
  bool has_accuracy_;
  Cadence cadence_;
  Journal& journal_;
  State<T> state_;
  bool closed_;               // the state's own row is written
  std::uint64_t previous_step_ = 0;  // of the round before
  double wall_before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace mfl
