#include "mfl/advise/pilot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "mfl/algorithm/algorithms.h"
#include "mfl/config/factory.h"

namespace mfl {
namespace {

template <class T>
struct Pilot {
  PilotRun* run;
  std::size_t index;  // in the engine
  State<T> state;
  Aggregate<T> aggregate;

  // Takes note of F at the state's own w; false when the pilot is over.
  bool note(double loss) {
    if (!std::isfinite(loss)) return false;
    if (state.round > 0) run->losses.push_back(loss);
    return run->losses.size() < run->rounds;
  }
};

Algorithm algorithm_of(const PilotSetting& setting) {
  return setting.gamma == 0 ? make_fl(setting.eta, setting.tau)
                            : make_mfl(setting.eta, setting.gamma, setting.tau);
}

// Settings that all have the same tau.
template <class T>
bool run_group(const Federation<T>& federation, double lambda, const RunConfig& where,
               const std::vector<PilotRun*>& runs, const std::atomic<bool>* stop) {
  std::vector<Setting> settings;
  std::vector<Pilot<T>> pilots;
  for (PilotRun* run : runs) {
    const Algorithm algorithm = algorithm_of(run->setting);
    pilots.push_back({run, settings.size(), initial_state<T>(algorithm, *federation.model, where.seed), {}});
    settings.push_back({algorithm, lambda});
    run->losses.clear();
  }
  const std::uint64_t tau = runs.front()->setting.tau;
  const auto engine = local_engine<T>(federation, settings, make_workers(where));
  while (!pilots.empty()) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return false;
    std::vector<StepRange<T>> ranges;
    ranges.reserve(pilots.size());
    for (Pilot<T>& pilot : pilots)
      ranges.push_back({.setting = pilot.index, .state = &pilot.state, .out = &pilot.aggregate});
    engine->run(ranges, tau);
    std::vector<Pilot<T>> going;
    for (std::size_t i = 0; i < pilots.size(); ++i) {
      Pilot<T>& pilot = pilots[i];
      if (ranges[i].failure || !pilot.note(pilot.aggregate.loss_before)) continue;
      apply(settings[pilot.index].algorithm, pilot.state, pilot.aggregate,
            {.steps = tau, .counted = federation.node_count(), .nodes = federation.node_count()});
      const bool last = pilot.run->losses.size() + 1 == pilot.run->rounds;
      if (last && !pilot.note(engine->train_loss(pilot.index, pilot.state.w()))) continue;
      going.push_back(std::move(pilot));
    }
    pilots = std::move(going);
  }
  return true;
}

}  // namespace

double PilotRun::best(std::size_t count) const {
  if (losses.size() < count || count == 0) return std::numeric_limits<double>::infinity();
  return *std::min_element(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(count));
}

template <class T>
bool run_pilots(const Federation<T>& federation, double lambda, const RunConfig& where,
                std::span<PilotRun> runs, const std::atomic<bool>* stop) {
  std::map<std::uint64_t, std::vector<PilotRun*>> groups;
  for (PilotRun& run : runs)
    if (run.rounds > 0) groups[run.setting.tau].push_back(&run);
  return std::ranges::all_of(
      groups, [&](const auto& group) { return run_group<T>(federation, lambda, where, group.second, stop); });
}

template bool run_pilots(const Federation<float>&, double, const RunConfig&, std::span<PilotRun>,
                         const std::atomic<bool>*);
template bool run_pilots(const Federation<double>&, double, const RunConfig&, std::span<PilotRun>,
                         const std::atomic<bool>*);

}  // namespace mfl
