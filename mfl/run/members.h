// Settings that train together over the same data: those of a sweep that can share each pass, or a run alone, which is a sweep of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/engine/ranks.h"
#include "mfl/experiment/experiment.h"
#include "mfl/run/recorder.h"
#include "mfl/run/runner.h"
#include "mfl/trained/trained_model.h"

namespace mfl {

// The model that a setting starts from; null: its own. An error matters only to a run that starts at the beginning.
using InitialModel = Result<std::shared_ptr<const TrainedModel>>;

struct Member {
  std::size_t index = 0;  // in the sweep
  Experiment experiment;
  InitialModel initial = std::shared_ptr<const TrainedModel>();
  // Written when it is trained.
  std::string id = {};  // of its run; empty: it has not started
  bool reused = false;
  std::vector<RunWarning> warnings = {};  // of its monitor
  std::shared_ptr<const Origin> origin = nullptr;
};

// Whether rounds of these settings differ in the nodes or the batches that they use: they can then share a pass only while they are in the
// same round.
bool goes_in_step(const Experiment& experiment);
// Equal for settings that can be members of one group: configurations that load the same data, split in the same way, for the same loss and
// precision. What differs otherwise (eta, gamma, tau, lambda, steps) needs no other pass over the data.
std::string shared_part(const Experiment& experiment);

// Where members train and are recorded.
struct Place {
  Ranks& together;                              // the processes that train each round together
  const Ranks& neighbours;                      // those that may be on this machine
  std::function<Result<Recorder*>()> recorder;  // asked once all checks have passed that need none
  Reuse reuse;
};

// The progress of settings, some of which train together, as that of all of them. Not thread-safe.
class SettingsProgress {
 public:
  explicit SettingsProgress(const RunHooks& hooks) : hooks_(hooks) {}
  void expect(const Member& member);
  void done(const Member& member);
  // For settings that train now. This object must outlive them.
  RunHooks hooks();

 private:
  struct Count {
    std::uint64_t steps = 0, settings = 0;
  };
  const RunHooks& hooks_;
  Count all_, before_;
};

// Trains the members, which have equal shared_part()s. A setting that diverges or is stopped is no error. After an error the store has what
// was recorded before it.
Result<void> run_members(std::vector<Member>& members, const Place& place, const RunOptions& options,
                         SettingsProgress& progress);

// What a caller is told of a member that has started.
Result<RunOutcome> outcome_of(const Member& member, const Recorder& recorder);

}  // namespace mfl
