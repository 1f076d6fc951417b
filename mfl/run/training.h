// Runs in progress: turns what an engine computes into State, rows in the store and, at the end, a summary.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/algorithm/early_stop.h"
#include "mfl/base/result.h"
#include "mfl/devices/virtual_time.h"
#include "mfl/engine/engine.h"
#include "mfl/experiment/experiment.h"
#include "mfl/run/journal.h"
#include "mfl/run/monitor.h"
#include "mfl/run/outcome.h"
#include "mfl/run/round_planner.h"
#include "mfl/run/runner.h"

namespace mfl {

// Where a run starts: at the beginning, or at a checkpoint of a stopped run.
template <class T>
struct Start {
  std::string id;
  State<T> state;
  std::vector<KeptVectors<T>> kept = {};       // by the nodes
  bool recorded = false;                       // the row of this state is in the store
  double wall_seconds = 0;                     // spent earlier
  std::optional<double> virtual_seconds = {};  // elapsed earlier; absent without virtual time
  std::uint64_t bytes_up = 0, bytes_down = 0;  // transferred earlier
  std::vector<RoundLoss> losses = {};          // of the rounds so far
};

// Starts a run of the spec at its initial State, or continues a run that was found: at its checkpoint, or at that State when it has none.
template <class T>
Result<Start<T>> start_run(const std::optional<RecordedRun>& found, const RunSpec& spec,
                           const Experiment& experiment, const Model<T>& model, Recorder& recorder);

// What a training is made of. Everything that is referred to must outlive it.
template <class T>
struct TrainingParts {
  std::size_t setting;  // its index in the engine
  const Experiment& experiment;
  Engine<T>& engine;
  RoundPlanner planner;
  TestLabels labels;
  FinalModel untrained;  // what the store keeps of the model, to which the run adds the weights
  Recorder& recorder;
  Start<T> start;
  std::vector<RunWarning> warnings = {};  // to be kept with the run's end, beside those about how it ended
  Monitor* monitor = nullptr;             // sees every round and every record; may be null
};

template <class T>
class Training {
 public:
  explicit Training(TrainingParts<T> parts);

  bool over() const { return over_; }
  const State<T>& state() const { return state_; }
  std::uint64_t step() const { return state_.step + taken_; }
  std::uint64_t steps() const { return experiment_.steps; }
  // Each as it was measured last.
  const Losses& last_losses() const { return last_losses_; }

  // Steps to the end of the current round.
  std::uint64_t steps_left_in_round() const { return round_steps_ - taken_; }

  // The next `steps` steps for the engine to run, and the bookkeeping after it has run them.
  Result<StepRange<T>> range(std::uint64_t steps);
  Result<void> took(std::uint64_t steps, const StepRange<T>& range);

  // Ends the run at the end of its last round, with a checkpoint to resume from.
  Result<void> stop();

 private:
  double seconds() const;
  void start_round();
  Spent spent() const;
  Result<double> train_loss();  // of the state's w, over the nodes of the round that starts from it
  // The state's, given what the round that starts from it measured.
  Result<Losses> losses_of_state(const Aggregate<T>& next);
  Result<Losses> losses_when_stopped();
  Result<Losses> losses_of_end();
  enum class Row { kOfRound, kLast, kWhenStopped };
  Result<void> close_round(const Losses& losses, Row row = Row::kOfRound);
  // Why the run ends with the State that has these; nothing if it continues.
  std::optional<std::string> judge(const Losses& losses, std::optional<TestMetrics>& test);
  void set_test(const std::optional<TestMetrics>& test, auto& to) const;
  Result<void> checkpoint_if_due();
  std::optional<Checkpoint> state_as_checkpoint();
  std::optional<FinalModel> trained_model();
  Result<void> end(RunStatus status, std::string message, const Losses& losses);

  std::size_t setting_;
  const Experiment& experiment_;
  Engine<T>& engine_;
  TestLabels labels_;
  FinalModel model_;
  EarlyStop stop_;
  RoundPlanner planner_;
  std::optional<std::string> stopped_;  // why the run ends early
  Journal journal_;
  State<T> state_;
  bool closed_;                  // the row of the state is written
  std::uint64_t previous_step_;  // of the previous round
  double wall_before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Aggregate<T> aggregate_;
  std::optional<double> batch_loss_;  // of the round that led to the state
  Losses last_losses_;
  std::uint64_t bytes_up_, bytes_down_;     // so far
  std::optional<double> virtual_seconds_;   // so far
  std::optional<RoundTime> last_time_;      // of the round that led to the state
  std::optional<RoundChoice> last_choice_;  // of the round that led to the state
  // By a clock, since the start of this process: within the engine, and the steps and rounds that took it.
  double engine_seconds_ = 0;
  std::uint64_t engine_steps_ = 0, engine_rounds_ = 0;
  std::chrono::steady_clock::time_point entered_;
  std::uint64_t round_steps_ = 0;  // of the current round
  std::uint64_t taken_ = 0;        // of round_steps_
  bool over_ = false;
  Monitor* monitor_;
  std::vector<RunWarning> warnings_;
};

// Runs all trainings to completion (train_rounds). hooks.stop stops all of them.
template <class T>
Result<void> train_together(Engine<T>& engine, std::span<Training<T>> trainings, const RunHooks& hooks);

}  // namespace mfl
