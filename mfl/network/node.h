// A node from start to end: connects, gets the plan, loads its data, trains what it is asked for, and reconnects as often as needed.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/external/trainers.h"
#include "mfl/network/client.h"
#include "mfl/network/server.h"

namespace mfl {

struct NodeOptions {
  ClientOptions client;
  DataConfig data;            // what this node holds; a task or positive class must be that of the run
  std::uint64_t seed = 1;     // of what the data options draw
  std::uint64_t threads = 0;  // 0: one per core
  std::string config_digest;  // refuse any other; empty: accept the server's
  std::optional<TrainerSetup> trainer = {};  // of a run whose model is external; data then counts for nothing
  std::filesystem::path
      state;  // file of what this node keeps across rounds; needed by algorithms that keep something
  bool allow_measure = true;                            // the sums of its columns, in a run that needs them
  std::uint64_t max_payload = std::uint64_t{1} << 30U;  // bytes of vectors that the server may send
  std::optional<std::chrono::milliseconds> give_up_after;  // without a connection; nothing: never
  Log log;
  const std::atomic<bool>* stop = nullptr;  // polled
};

struct NodeOutcome {
  std::string run_id;
  std::string status;  // of the run: "done" or "diverged"; "stopped" when this node was
  std::string digest;  // of the final weights
  std::uint64_t samples = 0, columns = 0;
  std::uint64_t rounds = 0;       // in which an update of this node was counted
  std::uint64_t connections = 0;  // that were made
};

// Returns when the run has ended, when it is stopped, or when it is refused for good or gives up (kNetwork).
Result<NodeOutcome> run_node(const NodeOptions& options);

}  // namespace mfl
