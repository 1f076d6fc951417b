// Buffers the rows of a run and writes them to its recorder in few transactions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/run/recorder.h"

namespace mfl {

// Not thread-safe. The recorder must outlive it. Rows that were not flushed are lost on destruction.
class Journal {
 public:
  Journal(Recorder& recorder, std::string id) : recorder_(recorder), id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  Recorder& recorder() const { return recorder_; }

  void add(RoundRow row) { rounds_.push_back(std::move(row)); }
  void add(RecordRow row) { records_.push_back(std::move(row)); }
  void add(NodeRow row) { nodes_.push_back(std::move(row)); }

  // Writes the buffered rows and the checkpoint in one transaction.
  Result<void> flush(const std::optional<Checkpoint>& checkpoint = std::nullopt);

  // Writes if the last write was half a second ago or more, so that other processes can follow the run.
  Result<void> flush_if_due();

 private:
  using Clock = std::chrono::steady_clock;

  Recorder& recorder_;
  std::string id_;
  std::vector<RoundRow> rounds_;
  std::vector<RecordRow> records_;
  std::vector<NodeRow> nodes_;
  Clock::time_point flushed_ = Clock::now();
};

}  // namespace mfl
