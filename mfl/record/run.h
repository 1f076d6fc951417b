// The data that the store keeps of a run, as plain values.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/algorithm/losses.h"
#include "mfl/algorithm/state.h"

namespace mfl {

enum class RunStatus { kRunning, kDone, kDiverged, kInterrupted, kFailed };

// "running", "done", "diverged", "interrupted", "failed".
std::string_view run_status_name(RunStatus status);
std::optional<RunStatus> parse_run_status(std::string_view name);

// The process that computes a run. A pid alone may be reused; with its start time it names one process.
struct Owner {
  std::string host;
  std::int64_t pid = 0;
  std::uint64_t start = 0;  // field 22 of /proc/PID/stat: clock ticks since boot; 0 where unknown
};

Owner this_process();

// The description of a run before it starts.
struct RunSpec {
  std::string name;           // the user's; may be empty
  std::string config;         // the whole configuration as TOML
  std::string config_digest;  // of what decides the numbers
  std::string data_digest;    // of the data as read and split
  std::string problem;        // equal for runs that minimise the same function: compare groups by it
  std::string mfl_version;

  // Also part of `config`; repeated here for listing and comparing without parsing TOML.
  std::string data;       // the data spec, such as "mnist"
  std::string model;      // "svm", ...
  std::string algorithm;  // canonical name: "fl", not its alias
  std::string precision;  // "f32" or "f64"
  std::uint64_t nodes = 0;
  double eta = 0;
  std::optional<double> gamma;       // absent if the algorithm has none
  std::optional<std::uint64_t> tau;  // absent if the algorithm has none
  bool sampled = false;              // a round's training loss is that of the nodes it counted, not of all

  std::uint64_t planned_steps = 0;
  double load_seconds = 0;  // reading the data
  std::string data_schema;  // what columns and labels mean, as JSON (mfl/data/schema.h); empty: not known yet
};

// The state of a run when it ended or was stopped.
struct RunSummary {
  struct Final {
    std::uint64_t step = 0;
    std::optional<double> train_loss;
    std::optional<double> test_loss;
    std::optional<double> test_accuracy;
  };
  // The State with the lowest F(w) of those whose F(w) was measured; without a loss the last one, of a run that never measures it.
  struct Best {
    std::uint64_t step = 0;
    std::optional<double> train_loss;
  };
  Final final;
  Best best;
  std::uint64_t rounds = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::string digest;                          // of the final weights, hex
  std::optional<double> virtual_seconds = {};  // absent if the run has no virtual time
  // How the final weights do on the test set, as JSON (mfl/model/score_metrics.h); empty: there is no test set.
  std::string test_metrics = {};
};

template <class T>
RunSummary::Best best_of(const State<T>& state) {
  const double loss = state.best.train_loss;
  return {state.best.step, std::isfinite(loss) ? std::optional(loss) : std::nullopt};
}

// The trained model of a run that is done. Its name, its precision, its schema and the digest of its weights are those of the run's row.
struct FinalModel {
  std::string tensors;               // their names and shapes as JSON (mfl/model/tensors.h)
  std::optional<double> scale = {};  // of the features (Dataset::scale); absent: as the source has it
  std::string weights = {};          // little-endian numbers of the run's precision, tensor after tensor

  bool operator==(const FinalModel&) const = default;
};

// A sign that a run went badly, and what to do about it.
struct RunWarning {
  std::string id;  // a word for programs, such as "oscillating"
  std::uint64_t step = 0;
  std::string message;
  std::string hint;

  bool operator==(const RunWarning&) const = default;
};

// A server went back to an earlier State: the rounds that it dropped.
struct RoundDrop {
  std::string created;  // UTC, "2025-01-31T09:30:00Z"
  std::uint64_t first = 0, last = 0;
  std::string reason;  // such as "--from-round 40"

  bool operator==(const RoundDrop&) const = default;
};

// "rounds 41 to 57 dropped on 2025-01-31T09:30:00Z: --from-round 40"
std::string drop_text(const RoundDrop& drop);

struct RunRow : RunSpec {
  std::string id;       // 8 hexadecimal digits
  std::string created;  // UTC, "2025-01-31T09:30:00Z"
  RunStatus status = RunStatus::kRunning;
  std::string message;  // why it stopped; empty if it is done
  Owner owner;
  double wall_seconds = 0;            // training and recorded evaluations, over all resumptions
  std::optional<RunSummary> summary;  // absent until the run stops
  std::vector<RunWarning> warnings;   // of how it ended (convergence.h)
  std::vector<RoundDrop> drops;       // oldest first
};

// "2025-01-31T09:30:00Z"
std::string utc_text(std::int64_t unix_seconds);

// True if the run's process is on this host and still alive.
bool owner_alive(const RunRow& run);

// True if the status is "running", the run was started on this host, and its process no longer exists.
bool owner_lost(const RunRow& run);

// True when the run stopped before its end and can be continued: interrupted, failed, or its process on this host is gone.
bool is_unfinished(const RunRow& run);

// A round under a model of devices and their network.
struct RoundTime {
  double total_seconds = 0;    // from the start of the run to the end of the round
  double seconds = 0;          // of the round, including abandoned attempts
  double slowest_seconds = 0;  // of the nodes that were counted
  double idle_share = 0;  // of those nodes' time in the attempt that counted: the share spent waiting, 0..1
  std::uint64_t chosen = 0;     // nodes, in the attempt that counted
  std::uint64_t missed = 0;     // answers that did not arrive in time, over all attempts
  std::uint64_t abandoned = 0;  // attempts

  bool operator==(const RoundTime&) const = default;
};

// What an adaptive tau was chosen by for a round. All but tau is 0 for the first round.
struct RoundChoice {
  std::uint64_t tau = 0;                       // steps of the round
  double rho = 0, beta = 0, delta = 0;         // estimated in the round before (mfl/theory/adaptive_tau.h)
  double bound = 0;                            // G(tau)
  double step_seconds = 0, round_seconds = 0;  // measured: of a step, of a round beside its steps

  bool operator==(const RoundChoice&) const = default;
};

// One per round; round 0 is the initial state. Bytes are cumulative.
struct RoundRow {
  std::uint64_t round = 0;
  std::uint64_t step = 0;
  std::optional<double> train_loss = {};  // these are Losses; may be infinite or NaN if the run diverges
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::string digest = {};                 // of the state: 64 hexadecimal digits, or empty
  std::optional<RoundTime> time = {};      // absent if the run has no virtual time
  std::optional<RoundChoice> choice = {};  // absent unless tau is adaptive
  std::optional<double> batch_loss = {}, start_loss = {};

  Losses losses() const { return {train_loss, batch_loss, start_loss}; }
};

// One per node whose update a committed round of a federation counted, or, in a simulation, a round with external trainers. Other simulations
// have none.
struct NodeRow {
  std::uint64_t round = 0;  // that the update led to: the first one is 1
  std::string node;
  std::uint64_t weight = 0;               // its samples
  std::optional<double> train_loss = {};  // F_i at the w that the round started from
  std::optional<double> seconds =
      {};                    // that its local steps took, as the node says; absent if it says nonsense
  std::string digest = {};   // SHA-256 of the update as it is sent: 64 hexadecimal digits, or empty
  std::string metrics = {};  // that its trainer measured at that w, as a JSON object; empty: none
  std::optional<double> batch_loss = {},
                        start_loss = {};  // over the batches of the round, and where it started if not at w
  std::optional<std::int64_t> committed =
      {};  // when the server did so, Unix time in seconds; absent in a simulation

  Losses losses() const { return {train_loss, batch_loss, start_loss}; }

  bool operator==(const NodeRow&) const = default;
};

// One per evaluation (record_every). Bytes and seconds are cumulative.
struct RecordRow {
  std::uint64_t step = 0;
  std::uint64_t round = 0;
  std::optional<double> train_loss = {};  // these are Losses
  std::optional<double> test_loss = {};
  std::optional<double> test_accuracy = {};
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  double wall_seconds = 0;
  std::string digest = {};  // 64 hexadecimal digits, or empty
  std::optional<double> virtual_seconds = {};
  std::optional<double> batch_loss = {}, start_loss = {};

  Losses losses() const { return {train_loss, batch_loss, start_loss}; }
};

}  // namespace mfl
