// Runs under way: what an engine computes becomes State, rows in the store and, at last, a summary.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/engine/engine.h"
#include "mfl/experiment/journal.h"
#include "mfl/experiment/monitor.h"
#include "mfl/experiment/runner.h"
#include "mfl/experiment/virtual_time.h"

namespace mfl {

// How a run is recorded. Nothing here changes a bit of it.
struct Cadence {
  std::uint64_t record_every = 1;      // steps between records with test metrics
  std::uint64_t checkpoint_every = 0;  // rounds between checkpoints; 0: only when stopped
};

// The cadence of a configuration, with about a hundred records where it leaves the choice open.
Cadence make_cadence(const RunConfig& run);

// Where a run starts: at its beginning, or at a checkpoint of a stopped run.
template <class T>
struct Start {
  std::string id;
  State<T> state;
  bool recorded = false;                       // the state's own row is in the store
  double wall_seconds = 0;                     // spent before
  std::optional<double> virtual_seconds = {};  // that passed before, where there is a virtual time
  std::uint64_t bytes_up = 0, bytes_down = 0;  // that travelled before
};

template <class T>
class Training {
 public:
  // `setting` is the engine's number for it.
  Training(std::size_t setting, const Algorithm& algorithm, std::uint64_t steps, Engine<T>& engine,
           Crowd crowd, bool has_accuracy, Cadence cadence, Ledger& ledger, Start<T> start);

  bool over() const { return over_; }
  const State<T>& state() const { return state_; }
  std::uint64_t step() const { return state_.step + taken_; }
  std::uint64_t steps() const { return steps_; }
  double last_loss() const { return aggregate_.loss_before; }

  // Steps to the end of the round under way.
  std::uint64_t steps_left_in_round() const { return round_steps_ - taken_; }

  // Decides who takes part in the round under way, once. Before each stretch.
  Result<void> prepare();

  // The next `steps` steps, and taking note of them once the engine has run them.
  Stretch<T> stretch(std::uint64_t steps);
  Result<void> took(std::uint64_t steps, const Stretch<T>& stretch);

  // From now on `monitor` looks at every round and every record; it outlives the training.
  void watch(Monitor* monitor) { monitor_ = monitor; }

  // Ends the run where its last round ended, to be resumed.
  Result<void> stop();

 private:
  double seconds() const;
  void start_round();
  Result<double> train_loss();  // of the state's w, over the nodes of the round that starts there
  Result<void> close_round(double train_loss, bool force_record = false);
  Result<void> checkpoint();
  std::optional<Checkpoint> state_as_checkpoint() const;
  Result<void> end(RunStatus status, std::string message, double train_loss);

  std::size_t setting_;
  Algorithm algorithm_;
  std::uint64_t steps_;
  Engine<T>& engine_;
  Crowd crowd_;
  bool has_accuracy_;
  Cadence cadence_;
  Journal journal_;
  State<T> state_;
  bool closed_;                  // the state's own row is written
  std::uint64_t previous_step_;  // of the round before
  double wall_before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Aggregate<T> aggregate_;
  std::uint64_t bytes_up_, bytes_down_;    // so far
  std::optional<double> virtual_seconds_;  // so far
  std::optional<RoundPlan> plan_;          // of the round under way
  std::optional<RoundTime> last_time_;     // of the round that led to the state
  std::uint64_t round_steps_ = 0;          // of the round under way
  std::uint64_t taken_ = 0;                // of those
  bool over_ = false;
  Monitor* monitor_ = nullptr;
};

// Runs all trainings to their ends, each stretch of steps for all of them at once. hooks.stop stops them all.
template <class T>
Result<void> train_together(Engine<T>& engine, std::span<Training<T>> trainings, const RunHooks& hooks);

}  // namespace mfl
