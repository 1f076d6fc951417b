// The life of a server: a configuration becomes a run in the store of a state folder, served until it ends; started again,
// it goes on from the last committed round.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "mfl/base/result.h"
#include "mfl/experiment/config.h"
#include "mfl/experiment/runner.h"
#include "mfl/network/server.h"

namespace mfl {

struct HostOptions {
  ServerOptions server;
  std::filesystem::path state;  // folder; runs.db in it is the store, `address` the address listened on
  std::string test_data;        // spec of a test set for the records; empty: none
  std::uint64_t columns = 0;    // features; 0: as [schema], the test set or the first node has them
  std::uint64_t max_payload = std::uint64_t{1} << 30U;
  std::chrono::milliseconds linger{30'000};  // at most, after the end, for nodes that have not heard of it
  const std::atomic<bool>* stop = nullptr;   // polled
};

struct HostOutcome {
  RunOutcome run;
  std::string measured;  // [devices] and [network] as TOML, where the server measures and nodes have answered
};

// When a round starts and ends (min_available_nodes, quorum, round_deadline) may change from one start of the server to
// the next; all else must stay. Returns when the run has ended (the outcome's status says how) or was stopped
// ("interrupted": start again to go on).
Result<HostOutcome> host_run(const Config& config, const HostOptions& options);

}  // namespace mfl
