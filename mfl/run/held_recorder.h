// Runs recorded in memory by a process without the store, and how the process that has it takes them over.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/run/recorder.h"

namespace mfl {

// Runs of a store that a process without it may take or continue, newest first.
struct KnownRuns {
  struct Done {
    std::string config_digest, data_digest, id;
  };
  struct Stopped {
    std::string config_digest, data_digest;
    Unfinished run;
  };
  std::vector<Done> done;
  std::vector<Stopped> stopped;
};

// Those of this version of mfl whose configuration has one of these digests, as bytes for other processes.
Result<std::string> known_runs(const Store& store, const std::set<std::string>& config_digests);

class HeldRecorder final : public Recorder {
 public:
  // `known` is what known_runs() gave on the process that has the store; empty: nothing is found.
  explicit HeldRecorder(std::string_view known);

  bool keeps() const override { return true; }
  Result<std::optional<std::string>> find_done(const RunSpec& spec) override;
  Result<std::optional<Unfinished>> find_unfinished(const RunSpec& spec) override;
  Result<void> continue_run(const Unfinished& run) override;
  Result<std::string> create_run(const RunSpec& spec) override;
  Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                      std::span<const RecordRow> records,
                      const std::optional<Checkpoint>& checkpoint) override;
  Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                      const RunSummary& summary, double wall_seconds) override;
  void give_up(std::string_view id, std::string_view message) override;

  // All runs, for another process.
  std::string bytes() const;

 private:
  struct Run {
    RunSpec spec;
    bool continued = false;  // the store has it already: it is rewound to `rewound_to` first
    std::optional<std::uint64_t> rewound_to;
    std::vector<RoundRow> rounds;
    std::vector<RecordRow> records;
    Checkpoint checkpoint;  // the last one; an empty blob means none
    RunStatus status = RunStatus::kFailed;
    std::string message;
    bool finished = false;
    RunSummary summary;
    double wall_seconds = 0;
  };
  template <class Io>
  static void pass(Io& io, Run& run);
  friend Result<std::map<std::string, std::string>> take_over(Store& store, std::string_view bytes);

  KnownRuns known_;
  std::map<std::string, Run, std::less<>> runs_;
};

// Writes the bytes() of a held recorder into the store. Returns a map from the ids in the recorder to those in the store.
Result<std::map<std::string, std::string>> take_over(Store& store, std::string_view bytes);

}  // namespace mfl
