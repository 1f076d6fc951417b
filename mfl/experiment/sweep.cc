#include "mfl/experiment/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/data/fleet.h"
#include "mfl/experiment/factory.h"
#include "mfl/experiment/outcome.h"
#include "mfl/experiment/problem.h"
#include "mfl/experiment/training.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

constexpr std::size_t kLargestGrid = 1'000'000;

// Equal for configurations that load the same data, split in the same way, for the same loss and precision: what
// differs otherwise (eta, gamma, tau, lambda, steps) needs no other pass over the data. Where not all nodes take part, tau
// and steps must be equal too: the settings' rounds, and with them the nodes, are then the same. Under a virtual time who
// answers in time is each setting's own, so it is alone.
std::string shared_part(const Config& config) {
  if (make_virtual_time(config)) return to_toml(config);
  Config shared = config;
  const bool centralised = make_algorithm(config.algorithm).centralised;
  const bool in_step = !centralised && (config.federation.fraction_train < 1 || is_fleet(config.data.source));
  shared.algorithm = {};
  shared.algorithm.name = centralised ? "gd" : "fl";
  if (in_step) shared.algorithm.tau = config.algorithm.tau;
  if (centralised) {
    shared.federation = {};
    shared.devices = {};
    shared.network = {};
  }
  shared.model.lambda.reset();
  const RunConfig defaults;
  shared.run.name = defaults.name;
  if (!in_step) shared.run.steps = defaults.steps;
  shared.run.record_every = defaults.record_every;
  shared.run.checkpoint_every = defaults.checkpoint_every;
  return to_toml(shared);
}

// The progress of one group as part of the whole sweep.
class SweepProgress {
 public:
  SweepProgress(const std::vector<Config>& configs, const RunHooks& hooks) : hooks_(hooks) {
    for (const Config& config : configs) all_ += config.run.steps;
  }
  RunHooks group_hooks() {
    if (!hooks_.progress) return {nullptr, hooks_.stop};
    return {[this](Progress progress) {
              progress.step += before_;
              progress.steps = all_;
              hooks_.progress(progress);
            },
            hooks_.stop};
  }
  void group_done(std::uint64_t steps) { before_ += steps; }

 private:
  const RunHooks& hooks_;
  std::uint64_t all_ = 0, before_ = 0;
};

struct Member {
  std::size_t index;  // in the sweep
  Config config;
  Algorithm algorithm;
  std::string id;  // of its run
  bool reused = false;
};

template <class T>
Result<void> train_members(const Problem<T>& problem, std::vector<Member>& members, Store& store,
                           const RunHooks& hooks) {
  std::vector<Setting> settings;
  for (const Member& member : members)
    if (!member.reused) settings.push_back(setting_of(member.config, member.algorithm));
  if (settings.empty()) return {};
  const auto engine = local_engine<T>(problem.federation, settings, make_workers(members.front().config.run));
  std::vector<Training<T>> trainings;
  trainings.reserve(settings.size());
  for (const Member& member : members) {
    if (member.reused) continue;
    Start<T> start{member.id, initial_state<T>(member.algorithm, problem.federation.train.columns())};
    trainings.emplace_back(trainings.size(), member.algorithm, member.config.run.steps, *engine,
                           crowd_of(member.config, problem), problem.has_accuracy,
                           make_cadence(member.config.run), store, std::move(start));
  }
  return train_together(*engine, std::span(trainings), hooks);
}

template <class T>
Result<void> run_group(std::vector<Member>& members, Store& store, bool reuse, const RunHooks& hooks) {
  MFL_TRY(const Problem<T> problem, load_problem<T>(members.front().config));
  for (Member& member : members) {
    const RunSpec spec = make_spec(member.config, member.algorithm, problem);
    if (reuse) {
      MFL_TRY(const auto done, store.find_done(spec.config_digest, spec.data_digest, spec.mfl_version));
      if (done) {
        member.id = done->id;
        member.reused = true;
        continue;
      }
    }
    MFL_TRY(member.id, store.create_run(spec));
  }
  const auto trained = train_members(problem, members, store, hooks);
  if (trained) return {};
  for (const Member& member : members)
    if (!member.reused) (void)store.set_status(member.id, RunStatus::kFailed, trained.error().text());
  return trained;
}

}  // namespace

Result<std::vector<Config>> expand(const Sweep& sweep) {
  std::vector<Config> grid = {sweep.base};
  for (const SweepAxis& axis : sweep.axes) {
    if (grid.size() > kLargestGrid / axis.values.size())
      return fail(ErrorCode::kBadConfig, fmt::format("the grid has more than {} settings", kLargestGrid),
                  "sweep over fewer values");
    std::vector<Config> next;
    for (const Config& config : grid)
      for (const std::string& value : axis.values) {
        next.push_back(config);
        MFL_CHECK(axis.key->set(next.back(), value));
      }
    grid = std::move(next);
  }
  for (const Config& config : grid) MFL_CHECK(validate(config));
  return grid;
}

Result<std::vector<RunOutcome>> run_sweep(const std::vector<Config>& configs, const RunOptions& options,
                                          const RunHooks& hooks) {
  std::map<std::string, std::vector<Member>> groups;
  for (std::size_t i = 0; i < configs.size(); ++i)
    groups[shared_part(configs[i])].push_back({i, configs[i], make_algorithm(configs[i].algorithm), {}});
  MFL_TRY(Store store, Store::open(options.store.empty() ? default_store_path() : options.store));
  SweepProgress progress(configs, hooks);
  std::vector<RunOutcome> outcomes(configs.size());
  for (auto& [key, members] : groups) {
    if (hooks.stop != nullptr && hooks.stop->load(std::memory_order_relaxed)) break;
    const RunHooks group_hooks = progress.group_hooks();
    const bool single = members.front().config.run.precision == Precision::kF32;
    MFL_CHECK(single ? run_group<float>(members, store, options.reuse, group_hooks)
                     : run_group<double>(members, store, options.reuse, group_hooks));
    for (const Member& member : members) {
      MFL_TRY(const RunRow run, store.get(member.id));
      outcomes[member.index] = make_outcome(run, member.config);
      outcomes[member.index].reused = member.reused;
      progress.group_done(member.config.run.steps);
    }
  }
  std::erase_if(outcomes, [](const RunOutcome& outcome) { return outcome.run_id.empty(); });  // never started
  return outcomes;
}

}  // namespace mfl
