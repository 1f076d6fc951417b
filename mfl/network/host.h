// A server from start to end: a configuration becomes a run in the store of a state folder and is served until it ends. A server
// that is restarted continues from the last committed round.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/federation/claims.h"
#include "mfl/network/server.h"
#include "mfl/run/runner.h"

namespace mfl {

struct HostOptions {
  ServerOptions server;
  std::filesystem::path state;  // folder (StateFolder); `address` in it is the address listened on
  std::optional<std::uint64_t> from_round = {};  // go back to this round, one of the last keep_states, or 0
  bool drop_all_rounds = false;                  // confirms that it is 0
  std::string test_data;                         // spec of a test set, for the records; empty: none
  OnOutlier on_outlier = OnOutlier::kRefuse;     // before the first round
  std::uint64_t columns = 0;  // features; 0: as [schema], the test set or the first node has them
  std::uint64_t max_payload = std::uint64_t{1} << 30U;
  std::chrono::milliseconds linger{30'000};  // at most, after the end, for nodes that do not know of it yet
  const std::atomic<bool>* stop = nullptr;   // polled
};

struct HostOutcome {
  RunOutcome run;
  std::string measured;  // [devices] and [network] as TOML, if the server measures and nodes have answered
};

// min_available_nodes, quorum, round_deadline, max_samples, max_update_norm and keep_states may change when the server is restarted;
// everything else must stay the same. One process at a time serves a state folder; a second one is refused (kBadConfig). Returns
// when the run has ended (the outcome's status says how) or was stopped ("interrupted": a restart continues it).
Result<HostOutcome> host_run(const Config& config, const HostOptions& options);

}  // namespace mfl
