// From a configuration to a recorded run.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/engine/ranks.h"
#include "mfl/experiment/config.h"

namespace mfl {

struct Progress {
  std::uint64_t step, steps, round;
  double train_loss;  // of the last round whose loss is known
  double wall_seconds;
};

// What a monitored run shows signs of, at the record of `step`.
struct Warning {
  std::string id;  // "eta_beta", "unstable", "drift" or "momentum_angle"
  std::uint64_t step = 0;
  std::string message;
};

struct RunHooks {
  std::function<void(const Progress&)> progress;  // after every round; may be empty
  const std::atomic<bool>* stop = nullptr;        // polled at the end of every round
  std::function<void(const Warning&)> warn = {};  // as it comes; may be empty
};

struct RunOptions {
  std::filesystem::path store;        // empty: default_store_path()
  std::string resume_id;              // go on with this run instead of starting one
  bool reuse = false;                 // show an equal finished run of the store instead of training
  std::filesystem::path weights_out;  // where the final w goes as NPY; empty: nowhere
  bool monitor = false;               // look for signs that the setting is a bad one (monitor.h)
  // The processes that share the work, all of which make the same call; null: this one alone. The first one has the store,
  // shows progress and knows the outcome; hooks.stop may be set on any.
  Ranks* ranks = nullptr;
};

struct FinalMetrics {
  std::uint64_t step = 0;
  double train_loss = 0;  // not finite when the run diverged
  std::optional<double> test_loss, test_accuracy;
};

struct RunOutcome {
  std::string run_id;
  std::string status;   // "done", "interrupted" or "diverged"
  std::string message;  // why it is not done
  bool reused = false;
  Config config;
  FinalMetrics final;
  std::uint64_t best_step = 0;
  double best_train_loss = 0;
  std::uint64_t rounds = 0, bytes_up = 0, bytes_down = 0;
  double load_seconds = 0, wall_seconds = 0;
  std::optional<double> virtual_seconds;  // where [devices] or [network] give the run a clock
  std::string digest;
  std::vector<Warning> warnings;  // of a monitored run
};

// Loads, trains, records. A resumed run takes its configuration from the store; of `config` only engine and threads
// count then. Errors are for what could not run at all; a run that diverged or was stopped is an outcome.
Result<RunOutcome> run_experiment(const Config& config, const RunOptions& options, const RunHooks& hooks);

}  // namespace mfl
