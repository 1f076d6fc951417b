// From a configuration to a recorded run: loads the data, trains with the engine that the configuration names, and records every round in
// the run store.
//
//   Config config;                                         // or read_config(path)
//   config.data.source = "synthetic:600x60";
//   config.algorithm = {.name = "mfl", .eta = 0.01, .gamma = 0.5, .tau = 4};
//   const Result<RunOutcome> run = run_experiment(config, {.store = "runs.db"}, {});
//   if (!run) return report(run.error());                  // it could not run, or not be recorded
//   use(run->status, *run->final.train_loss, run->digest);  // "done", "interrupted" or "diverged"
//
// Two runs of one configuration on the same data have the same digest, whatever the engine and the number of threads or processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/data/source.h"
#include "mfl/engine/ranks.h"
#include "mfl/external/trainers.h"
#include "mfl/record/run.h"

namespace mfl {

struct Progress {
  std::uint64_t step, steps;  // of all settings together
  std::uint64_t round;        // of the first setting that is still training
  Losses losses;              // of that setting, each as it was measured last
  double wall_seconds;
  std::uint64_t settings = 1, settings_done = 0;
};

struct RunHooks {
  std::function<void(const Progress&)> progress;     // after every round; may be empty
  const std::atomic<bool>* stop = nullptr;           // polled at the end of every round
  std::function<void(const RunWarning&)> warn = {};  // of the monitor, as it comes; may be empty
};

struct RunOptions {
  std::filesystem::path store = {};  // empty: default_store_path()
  std::string resume_id = {};        // continue this run (as Store::get names it) instead of starting one
  // Take an equal finished run of the store instead of training; in a sweep also continue an equal unfinished one.
  bool reuse = false;
  // File for the final w as NPY, with the schema beside it (FILE.schema.json for FILE.npy); empty: none.
  std::filesystem::path weights_out = {};
  bool monitor = false;                      // watch for signs of a bad setting (monitor.h)
  std::optional<TrainerSetup> trainer = {};  // of a model that is external
  // The data of configurations whose source is "memory"; outlives the call. Borrowed rows are not copied.
  const TrainTest* memory = nullptr;
  // The processes that share the work, all of which make the same call; null: this process only. The first one has the store,
  // calls hooks.progress and hooks.warn, and knows the outcome; hooks.stop may be set on any of them. After an error of which the others
  // do not know (Ranks::failed_together) they wait for this process: Ranks::abort() ends them.
  Ranks* ranks = nullptr;

  Ranks& where() const { return ranks != nullptr ? *ranks : alone(); }
};

std::filesystem::path store_of(const RunOptions& options);

struct FinalMetrics {
  std::uint64_t step = 0;
  std::optional<double> train_loss;  // absent where it was not measured; not finite when the run diverged
  std::optional<double> test_loss, test_accuracy;
};

struct RunOutcome {
  std::string run_id;
  std::string status;   // "done", "interrupted" or "diverged"
  std::string message;  // why it did not finish
  bool reused = false;
  Config config;
  Schema schema;                 // of the data; open where the run does not know it yet
  std::size_t label_column = 0;  // in the file, counted from 1; 0: not known, or not a column
  bool header_guessed = false;   // the first line of the CSV file was taken for column names (header = auto)
  FinalMetrics final;
  std::uint64_t best_step = 0;
  std::optional<double> best_train_loss;  // RunSummary::Best
  std::uint64_t rounds = 0, bytes_up = 0, bytes_down = 0;
  double load_seconds = 0, wall_seconds = 0;
  std::optional<double> virtual_seconds;  // present when [devices] or [network] define a virtual time
  std::string digest;
  std::string test_metrics;          // RunSummary::test_metrics
  std::vector<RunWarning> warnings;  // of its monitor, then how it ended (convergence.h)
};

// Blocks until the run has ended or stopped; calls the hooks on this thread. Memory: the data, and what the engine needs (engine.h). A
// resumed run takes its configuration from the store, except for engine and threads of `config`. A run that diverged or was
// stopped is an outcome; after an error the store has what was recorded before it, and the run can be resumed.
Result<RunOutcome> run_experiment(const Config& config, const RunOptions& options, const RunHooks& hooks);

}  // namespace mfl
