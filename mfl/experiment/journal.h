// A run's rows on their way into the store: gathered, and written in few transactions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/record/store.h"

namespace mfl {

// Not thread-safe. The store outlives it. Rows not flushed are lost with it.
class Journal {
 public:
  Journal(Store& store, std::string id) : store_(store), id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  Store& store() { return store_; }

  void add(RoundRow row) { rounds_.push_back(std::move(row)); }
  void add(RecordRow row) { records_.push_back(std::move(row)); }

  // Writes what is there, with the checkpoint in the same transaction.
  Result<void> flush(const std::optional<Checkpoint>& checkpoint = std::nullopt);

  // Writes when the last writing is a while ago, so that others can follow the run.
  Result<void> flush_if_due();

 private:
  using Clock = std::chrono::steady_clock;

  Store& store_;
  std::string id_;
  std::vector<RoundRow> rounds_;
  std::vector<RecordRow> records_;
  Clock::time_point flushed_ = Clock::now();
};

}  // namespace mfl
