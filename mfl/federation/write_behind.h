// A round log that writes one round while the next is computed.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "mfl/federation/round_log.h"

namespace mfl {

// commit() returns once the round before it is durable and leaves its own to a thread: nodes train from a State while it is
// written. A crash then loses that round, which is computed again: nothing was reported of it (durable()), and tickets
// of the next process differ. An error of the thread is returned by the next call. Not thread-safe; `inner` is used by the thread while
// a round is pending, and by nobody else before flush().
class WriteBehind final : public RoundLog {
 public:
  // `inner` outlives it.
  explicit WriteBehind(RoundLog& inner);
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;
  ~WriteBehind() override;  // waits for the pending round

  Result<void> commit(const CommittedRound& round) override;
  Result<void> take(CommittedRound& round) override;
  Result<void> finish(const Ending& ending) override;
  Result<void> prepare(const std::string& data_schema, double eta) override;
  Result<void> flush() override;
  std::optional<std::uint64_t> durable() const override;
  std::optional<TestRow> last_test() const override;

 private:
  void run();
  Result<void> wait(std::unique_lock<std::mutex>& lock);

  RoundLog& inner_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<CommittedRound> pending_;
  std::optional<std::uint64_t> durable_;
  std::optional<Error> failure_;
  std::optional<TestRow> last_test_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mfl
