// Runs recorded in memory by a process that has no store, and how one that has it takes them over.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/experiment/ledger.h"

namespace mfl {

// A finished run, as find_done looks for it.
struct DoneRun {
  std::string config_digest, data_digest, id;
};

// The store's finished runs of this version of mfl, newest first.
Result<std::string> done_runs(const Store& store);

class HeldLedger final : public Ledger {
 public:
  // `done` is what done_runs() gave on the process that has the store; empty: find_done finds nothing.
  explicit HeldLedger(std::string_view done);

  bool keeps() const override { return true; }
  Result<std::optional<std::string>> find_done(const RunSpec& spec) override;
  Result<std::string> create_run(const RunSpec& spec) override;
  Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                      std::span<const RecordRow> records,
                      const std::optional<Checkpoint>& checkpoint) override;
  Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                      const RunSummary& summary, double wall_seconds) override;
  void give_up(std::string_view id, std::string_view message) override;

  // Everything, for another process.
  std::string bytes() const;

 private:
  struct Run {
    RunSpec spec;
    std::vector<RoundRow> rounds;
    std::vector<RecordRow> records;
    Checkpoint checkpoint;  // the last; its blob is empty where there is none
    RunStatus status = RunStatus::kFailed;
    std::string message;
    bool finished = false;
    RunSummary summary;
    double wall_seconds = 0;
  };
  template <class Io>
  static void pass(Io& io, Run& run);
  friend Result<std::map<std::string, std::string>> take_over(Store& store, std::string_view bytes);

  std::vector<DoneRun> done_;
  std::map<std::string, Run, std::less<>> runs_;
};

// Writes the bytes() of a held ledger into the store. Gives the ids that its runs have there by those that they had.
Result<std::map<std::string, std::string>> take_over(Store& store, std::string_view bytes);

}  // namespace mfl
