// A coordinator without a disk: its options, and a log that keeps what it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mfl/federation/coordinator.h"

namespace mfl::test {

class KeepingLog final : public RoundLog {
 public:
  Result<void> commit(const CommittedRound& round) override {
    if (broken) return fail(ErrorCode::kRunFailed, "disk full");
    rounds.push_back(round);
    return {};
  }
  Result<void> finish(const Ending& e) override {
    ending = e;
    return {};
  }
  bool broken = false;
  std::vector<CommittedRound> rounds;
  std::optional<Ending> ending;
};

inline CoordinatorOptions coordinator_options(std::uint64_t steps, std::size_t nodes,
                                              std::size_t quorum = 0) {
  CoordinatorOptions out;
  out.run_id = "run";
  out.config_digest = "config";
  out.epoch = 7;
  out.steps = steps;
  out.min_available_nodes = nodes;
  out.quorum = quorum;
  out.round_deadline = Time(1000);
  out.retry_pause = Time(100);
  return out;
}

}  // namespace mfl::test
