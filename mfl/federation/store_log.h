// The round log of a real server: rows and states in the run store, each round in one transaction.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/federation/round_log.h"
#include "mfl/record/store.h"

namespace mfl {

struct StoreLogOptions {
  std::uint64_t record_every = 1;  // steps between records, over the rounds
  double wall_before = 0;          // seconds of earlier processes of the run
  // Of the last row in the store: a continued run has the records of one that was never stopped.
  std::optional<std::uint64_t> last_step = {};
  // Tests the weights of a State, with which the string begins, for a record, and in detail those of the last one; empty: there is no
  // test set.
  std::function<TestRow(const std::string& weights, bool in_detail)> test = {};
  // Called when the nodes' data has been measured, with the schema as JSON. May be empty.
  std::function<Result<void>(const std::string& data_schema)> prepared = {};
  // Called after each committed round, before anybody is told of it, with the last 32 bytes of its checkpoint. An error fails
  // the commit. May be empty.
  std::function<Result<void>(std::uint64_t round, std::string_view digest)> committed = {};
};

// The store is open with full_sync and outlives it. wall_seconds count from construction.
class StoreLog final : public RoundLog {
 public:
  StoreLog(Store& store, std::string run_id, StoreLogOptions options);

  Result<void> commit(const CommittedRound& round) override;
  Result<void> finish(const Ending& ending) override;
  Result<void> prepare(const std::string& data_schema, double eta) override;
  std::optional<TestRow> last_test() const override { return last_test_; }

 private:
  double seconds() const;
  std::vector<RecordRow> records_of(const RoundRow& row, const std::shared_ptr<const std::string>& weights,
                                    const std::optional<TestRow>& measured, bool is_last);

  Store& store_;
  std::string run_id_;
  StoreLogOptions options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<TestRow> last_test_;
  std::optional<std::uint64_t> recorded_;  // the step of the last row seen
};

struct ResumeOptions {
  std::optional<std::uint64_t> from_round = {};  // go back to this one, which must be kept
  std::uint64_t committed =
      0;               // the last round that is known to have been committed, from elsewhere; 0: unknown
  bool owned = false;  // as RewindOptions::owned
  bool drop_all_rounds = false;  // confirms a from_round of 0 where there are rounds
};

template <class T>
struct Resumed {
  std::optional<Resumption<T>> from;  // nothing when no round was committed
  std::string warning;                // for people, if rounds were dropped: which, and why; else empty
};

// The last committed round of a run that is to continue, with this process as its owner and later rows forgotten. If its
// State is damaged, the newest one that is not; rounds after it are dropped, as are those after from_round (RunRow::drops). Errors: no
// kept State is whole (kRunFailed), from_round is not kept or damaged (kBadConfig, names the kept ones). From round 0 the run begins
// again: its schema and what was measured are forgotten.
template <class T>
Result<Resumed<T>> resume_rounds(Store& store, const std::string& run_id, const ResumeOptions& options = {});

}  // namespace mfl
