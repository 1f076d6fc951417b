#include "mfl/advise/pilot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "mfl/algorithm/algorithms.h"
#include "mfl/experiment/engines.h"
#include "mfl/run/rounds.h"

namespace mfl {
namespace {

Algorithm algorithm_of(const PilotSetting& setting) {
  return setting.gamma == 0 ? make_fl(setting.eta, setting.tau)
                            : make_mfl(setting.eta, setting.gamma, setting.tau);
}

// A trial, for train_rounds: no records, and over as soon as it diverges.
template <class T>
class Pilot {
 public:
  Pilot(PilotRun& run, std::size_t setting, const Algorithm& algorithm, const Model<T>& model,
        std::uint64_t seed, Engine<T>& engine)
      : run_(run),
        setting_(setting),
        algorithm_(algorithm),
        state_(initial_state<T>(algorithm, model, seed)),
        engine_(engine) {
    run.losses.clear();
  }

  bool over() const { return over_; }
  std::uint64_t steps_left_in_round() const { return run_.setting.tau; }
  Result<StepRange<T>> range(std::uint64_t /*steps*/) {
    return StepRange<T>{.setting = setting_, .state = &state_, .out = &aggregate_};
  }
  Result<void> took(std::uint64_t steps, const StepRange<T>& range) {
    over_ = range.failure || !note(aggregate_.loss_before);
    if (over_) return {};
    apply(algorithm_, state_, aggregate_, {.steps = steps});
    if (run_.losses.size() + 1 == run_.rounds) over_ = !note(engine_.train_loss(setting_, state_.w()));
    return {};
  }
  Result<void> stop() { return {}; }

 private:
  // Takes note of F at the state's own w; false when the pilot is over.
  bool note(double loss) {
    if (!std::isfinite(loss)) return false;
    if (state_.round > 0) run_.losses.push_back(loss);
    return run_.losses.size() < run_.rounds;
  }

  PilotRun& run_;
  std::size_t setting_;  // in the engine
  Algorithm algorithm_;
  State<T> state_;
  Engine<T>& engine_;
  Aggregate<T> aggregate_;
  bool over_ = false;
};

// Settings that all have the same tau.
template <class T>
bool run_together(const Federation<T>& federation, double lambda, const RunConfig& where,
                  const std::vector<PilotRun*>& runs, const std::atomic<bool>* stop) {
  std::vector<Setting> settings;
  for (const PilotRun* run : runs) settings.push_back({algorithm_of(run->setting), lambda});
  const auto engine = local_engine<T>(federation, settings, make_workers(where));
  std::vector<Pilot<T>> pilots;
  for (PilotRun* run : runs) {
    const std::size_t setting = pilots.size();
    pilots.emplace_back(*run, setting, settings[setting].algorithm, *federation.model, where.seed, *engine);
  }
  const auto trained = train_rounds(*engine, std::span(pilots), stop, [](const Pilot<T>&) {});
  return trained && std::ranges::all_of(pilots, &Pilot<T>::over);
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
  return std::ranges::all_of(groups, [&](const auto& group) {
    return run_together<T>(federation, lambda, where, group.second, stop);
  });
}

template bool run_pilots(const Federation<float>&, double, const RunConfig&, std::span<PilotRun>,
                         const std::atomic<bool>*);
template bool run_pilots(const Federation<double>&, double, const RunConfig&, std::span<PilotRun>,
                         const std::atomic<bool>*);

}  // namespace mfl
