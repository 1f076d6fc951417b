// The run that a server's state folder holds, ready to be served.
#pragma once

#include <optional>
#include <vector>

#include "mfl/experiment/experiment.h"
#include "mfl/federation/state_folder.h"
#include "mfl/network/host.h"

namespace mfl {

inline bool has_ended(const RunRow& run) {
  return run.status == RunStatus::kDone || run.status == RunStatus::kDiverged;
}

// That must be connected for a round to start.
inline std::size_t nodes_to_start(const FederationConfig& federation) {
  return federation.min_available_nodes != 0 ? federation.min_available_nodes : federation.nodes;
}

template <class T>
struct ServedRun {
  StateFolder folder;  // held as long as this object lives
  RunRow run;
  std::vector<RoundRow> rounds;       // that are committed
  std::optional<Resumption<T>> from;  // nothing: the run is at its beginning, or has ended
  std::optional<double>
      batch_loss;  // of the round that led to `from`, whose row is written with the next round
};

// Finds or creates the run of the experiment, and goes back to an earlier round if the options say so. Waits
// a few seconds for a server that is stopping; kBadConfig where the folder is served or holds another run
// that has not ended.
template <class T>
Result<ServedRun<T>> open_served_run(const Experiment& experiment, const HostOptions& options);

}  // namespace mfl
