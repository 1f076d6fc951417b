// What a server tells of its run: how far it is, what it has cost, what went wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mfl/algorithm/losses.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/run_warnings.h"

namespace mfl {

// A round that was committed, or where a run begins or continues.
struct RoundReport {
  std::uint64_t round = 0, step = 0;           // of the State that it led to
  std::uint64_t bytes_up = 0, bytes_down = 0;  // of all rounds so far
  std::uint64_t nodes = 0;                     // whose updates it counted
  Time took{0};
  Losses losses = {};  // of the State before it, with the batch loss of the round itself
};

// A committed round is reported once it is durable. Not thread-safe.
class RunReport {
 public:
  explicit RunReport(std::vector<std::string> warnings) : warnings_(std::move(warnings)) {}

  RunWarnings& warnings() { return warnings_; }
  const RunWarnings& warnings() const { return warnings_; }

  void start(const RoundReport& from);
  void commit(const RoundReport& round);
  // Every round up to this one is durable; nothing: all that were committed.
  void durable(std::optional<std::uint64_t> round);
  // All that was committed is durable, and the final State has this loss.
  void end(std::optional<double> train_loss, std::string trouble);

  // Something that a node sent was not counted.
  void refuse(Reason reason) { ++refused_[static_cast<std::size_t>(reason)]; }
  void abandon(std::string why);
  void set_trouble(std::string why) { trouble_ = std::move(why); }  // empty: none

  // With the round that is being written.
  const FederationStatus& written() const { return written_; }
  // What a report knows of the status.
  FederationStatus status() const;

 private:
  void place(const RoundReport& at);

  RunWarnings warnings_;
  FederationStatus reported_, written_;
  std::array<std::uint64_t, kReasons> refused_ = {};
  std::uint64_t abandoned_ = 0;
  std::string trouble_;
};

}  // namespace mfl
