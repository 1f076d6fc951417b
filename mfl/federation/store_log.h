// The round log of a real server: rows and states in the run store, each round in one transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mfl/federation/round_log.h"
#include "mfl/record/store.h"

namespace mfl {

// The store is open with full_sync and outlives it. wall_seconds are counted from the construction on.
class StoreLog final : public RoundLog {
 public:
  // A record is written at every `record_every` steps, over the rounds.
  StoreLog(Store& store, std::string run_id, std::uint64_t record_every, double wall_before = 0);

  Result<void> commit(const CommittedRound& round) override;
  Result<void> finish(const Ending& ending) override;

 private:
  double seconds() const;
  std::vector<RecordRow> records_of(const RoundRow& row, bool always);

  Store& store_;
  std::string run_id_;
  std::uint64_t record_every_;
  double wall_before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<std::uint64_t> recorded_;  // the step of the last row seen
};

// The last committed round of a run that is to go on, with this process as its owner and later rows forgotten; nothing
// when no round was committed.
template <class T>
Result<std::optional<Resumption<T>>> resume_rounds(Store& store, const std::string& run_id);

}  // namespace mfl
