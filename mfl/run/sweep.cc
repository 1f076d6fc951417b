#include "mfl/run/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/base/message.h"
#include "mfl/config/factory.h"
#include "mfl/data/fleet.h"
#include "mfl/engine/assign_nodes.h"
#include "mfl/load/problem.h"
#include "mfl/record/store.h"
#include "mfl/run/held_recorder.h"
#include "mfl/run/outcome.h"
#include "mfl/run/recorder.h"
#include "mfl/run/same_ranks.h"
#include "mfl/run/training.h"

namespace mfl {
namespace {

// Whether rounds differ in the nodes or the batches that they use: settings can then share a pass only while they are in the same
// round.
bool goes_in_step(const Config& config) {
  const bool chooses_nodes = !is_centralised(config.algorithm) &&
                             (config.federation.fraction_train < 1 || is_fleet(config.data.source));
  return chooses_nodes || config.algorithm.batch_size != 0 || counts_epochs(config.algorithm);
}

// Equal for configurations that load the same data, split in the same way, for the same loss and precision: what
// differs otherwise (eta, gamma, tau, lambda, steps) needs no other pass over the data. Where rounds choose their nodes, tau
// and steps must be equal too. Under a virtual time who answers in time is each setting's own, so it is alone.
std::string shared_part(const Config& config) {
  if (make_virtual_time(config)) return to_toml(config);
  Config shared = config;
  const bool centralised = is_centralised(config.algorithm);
  const bool in_step = goes_in_step(config);
  shared.algorithm = {};
  shared.algorithm.name = centralised ? "gd" : "fl";
  shared.algorithm.batch_size = config.algorithm.batch_size;
  shared.algorithm.drop_last = config.algorithm.drop_last;
  shared.algorithm.local_epochs = config.algorithm.local_epochs;
  if (in_step && !counts_epochs(config.algorithm)) shared.algorithm.tau = round_length(config.algorithm);
  if (centralised) {
    shared.federation = {};
    shared.devices = {};
    shared.network = {};
  }
  shared.model.lambda.reset();
  const RunConfig defaults;
  shared.run.name = defaults.name;
  shared.run.rounds = defaults.rounds;
  shared.run.steps = in_step ? run_length(config) : defaults.steps;
  shared.run.record_every = defaults.record_every;
  shared.run.checkpoint_every = defaults.checkpoint_every;
  return to_toml(shared);
}

struct Member {
  std::size_t index;  // in the sweep
  Config config;
  Algorithm algorithm;
  std::string id;  // of its run
  bool reused = false;
};

using Groups = std::map<std::string, std::vector<Member>>;

// The progress of settings that train together as part of the whole sweep.
class SweepProgress {
 public:
  SweepProgress(const Groups& groups, const RunHooks& hooks) : hooks_(hooks) {
    for (const auto& [key, members] : groups)
      for (const Member& member : members) {
        all_.steps += run_length(member.config);
        ++all_.settings;
      }
  }
  RunHooks hooks() {
    if (!hooks_.progress) return {nullptr, hooks_.stop};
    return {[this](Progress progress) {
              progress.step += before_.steps;
              progress.steps = all_.steps;
              progress.settings_done += before_.settings;
              progress.settings = all_.settings;
              hooks_.progress(progress);
            },
            hooks_.stop};
  }
  void done(const Member& member) {
    before_.steps += run_length(member.config);
    ++before_.settings;
  }

 private:
  const RunHooks& hooks_;
  struct Count {
    std::uint64_t steps = 0, settings = 0;
  };
  Count all_, before_;
};

template <class T>
struct Starting {
  const Member* member;
  Start<T> start;
};

template <class T>
Result<void> train_members(const Problem<T>& problem, std::vector<Starting<T>> starting, Recorder& recorder,
                           const Ranks& ranks, const RunHooks& hooks) {
  std::vector<Setting> settings;
  for (const auto& [member, start] : starting)
    settings.push_back(setting_of(member->config, member->algorithm));
  const Config& shared = starting.front().member->config;
  const auto engine =
      local_engine<T>(problem.federation, settings, make_workers(shared.run, ranks), engine_options(shared));
  std::vector<Training<T>> trainings;
  trainings.reserve(settings.size());
  for (auto& [member, start] : starting)
    trainings.emplace_back(trainings.size(), member->algorithm, run_length(member->config), *engine,
                           population_of(member->config, problem), test_labels(member->config, problem),
                           make_cadence(member->config), make_loss_rule(member->config), recorder,
                           std::move(start));
  return train_together(*engine, std::span(trainings), hooks);
}

// A run for the member: one that continues or a new one.
template <class T>
Result<Start<T>> open_member(const RunSpec& spec, State<T> initial, Recorder& recorder, bool reuse) {
  if (reuse) {
    MFL_TRY(const auto unfinished, recorder.find_unfinished(spec));
    if (unfinished) {
      MFL_TRY(Start<T> start, resumed_start(*unfinished, std::move(initial)));
      MFL_CHECK(recorder.continue_run(*unfinished));
      return start;
    }
  }
  MFL_TRY(std::string id, recorder.create_run(spec));
  return Start<T>{std::move(id), std::move(initial)};
}

template <class T>
Result<void> run_group(std::vector<Member>& members, Recorder& recorder, bool reuse, const Ranks& ranks,
                       SweepProgress& progress) {
  MFL_TRY(const Problem<T> problem, load_problem<T>(members.front().config));
  std::map<std::uint64_t, std::vector<Starting<T>>> by_round;  // those that share passes
  for (Member& member : members) {
    const RunSpec spec = make_spec(member.config, member.algorithm, problem);
    if (reuse) {
      MFL_TRY(const auto done, recorder.find_done(spec));
      if (done) {
        member.id = *done;
        member.reused = true;
        progress.done(member);
        continue;
      }
    }
    State<T> initial = initial_state<T>(member.algorithm, *problem.federation.model, member.config.run.seed);
    MFL_TRY(Start<T> start, open_member(spec, std::move(initial), recorder, reuse));
    member.id = start.id;
    by_round[goes_in_step(member.config) ? start.state.round : 0].push_back({&member, std::move(start)});
  }
  for (auto& [round, starting] : by_round) {
    std::vector<const Member*> trained;
    for (const Starting<T>& one : starting) trained.push_back(one.member);
    if (const auto done = train_members(problem, std::move(starting), recorder, ranks, progress.hooks());
        !done) {
      for (const Member& member : members)
        if (!member.reused) recorder.give_up(member.id, done.error().text());
      return done;
    }
    for (const Member* member : trained) progress.done(*member);
  }
  return {};
}

Result<void> run_groups(Groups& groups, Recorder& recorder, bool reuse, const Ranks& ranks,
                        const RunHooks& hooks) {
  SweepProgress progress(groups, hooks);
  for (auto& [key, members] : groups) {
    if (hooks.stop != nullptr && hooks.stop->load(std::memory_order_relaxed)) break;
    const bool single = members.front().config.run.precision == Precision::kF32;
    MFL_CHECK(single ? run_group<float>(members, recorder, reuse, ranks, progress)
                     : run_group<double>(members, recorder, reuse, ranks, progress));
  }
  return {};
}

// The settings of this rank: neighbours in the order of groups, so that few groups are on two ranks, and as many steps
// for each rank as for the others.
Groups own_share(const Groups& groups, const Ranks& ranks) {
  std::vector<std::size_t> steps;
  for (const auto& [key, members] : groups)
    for (const Member& member : members) steps.push_back(run_length(member.config));
  const std::vector<std::size_t> starts = assign_nodes(steps, ranks.size());
  Groups own;
  std::size_t at = 0;
  for (const auto& [key, members] : groups)
    for (const Member& member : members) {
      if (at >= starts[ranks.rank()] && at < starts[ranks.rank() + 1]) own[key].push_back(member);
      ++at;
    }
  return own;
}

// A member's run in the store.
struct Recorded {
  std::size_t index = 0;
  std::string id;
  bool reused = false;
};

std::vector<Recorded> recorded_in(const Groups& groups) {
  std::vector<Recorded> out;
  for (const auto& [key, members] : groups)
    for (const Member& member : members)
      if (!member.id.empty()) out.push_back({member.index, member.id, member.reused});
  return out;
}

std::string report_bytes(const std::vector<Recorded>& recorded, const HeldRecorder& recorder) {
  MessageWriter out;
  out.put(recorded.size());
  for (const Recorded& run : recorded) {
    out.put(run.index);
    out.put_text(run.id);
    out.put(run.reused);
  }
  out.put_text(recorder.bytes());
  return out.bytes();
}

// Records what another rank has trained.
Result<void> take_report(Store& store, std::string_view bytes, std::vector<Recorded>& recorded) {
  MessageReader in(bytes);
  const std::size_t first = recorded.size();
  const auto count = in.take<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = in.take<std::size_t>();
    std::string id = in.take_text();
    recorded.push_back({index, std::move(id), in.take<bool>()});
  }
  MFL_TRY(auto ids, take_over(store, in.take_text()));
  for (Recorded& run : std::span(recorded).subspan(first))
    if (!run.reused) run.id = ids[run.id];
  return {};
}

// Each rank trains its share; the first has the store and takes over what the others recorded. Gives the runs there.
Result<std::vector<Recorded>> run_shares(const Groups& groups, std::optional<Store>& store, bool reuse,
                                         Ranks& ranks, const RunHooks& hooks, const std::string& known) {
  Groups own = own_share(groups, ranks);
  if (!ranks.first()) {
    HeldRecorder recorder(known);
    MFL_CHECK(run_groups(own, recorder, reuse, ranks, hooks));
    ranks.gather_at_first(report_bytes(recorded_in(own), recorder));
    return std::vector<Recorded>{};
  }
  MFL_CHECK(run_groups(own, *ledger_of(*store), reuse, ranks, hooks));
  std::vector<Recorded> recorded = recorded_in(own);
  const std::vector<std::string> reports = ranks.gather_at_first({});
  for (const std::string& report : std::span(reports).subspan(1))
    MFL_CHECK(take_report(*store, report, recorded));
  return recorded;
}

}  // namespace

Result<std::vector<RunOutcome>> run_sweep(const std::vector<Config>& configs, const RunOptions& options,
                                          const RunHooks& hooks) {
  Ranks& ranks = options.ranks != nullptr ? *options.ranks : alone();
  MFL_CHECK(require_same_command("sweep", configs, options, ranks));
  MFL_CHECK(require_same_sources(configs, ranks));
  Groups groups;
  for (std::size_t i = 0; i < configs.size(); ++i)
    groups[shared_part(configs[i])].push_back({i, configs[i], make_algorithm(configs[i].algorithm), {}});
  std::optional<Store> store;  // of the first rank
  MFL_TRY(const std::string known, ranks.from_first([&]() -> Result<std::string> {
    MFL_TRY(store, Store::open(options.store.empty() ? default_store_path() : options.store));
    if (!options.reuse || ranks.size() == 1) return std::string();
    std::set<std::string> digests;
    for (const Config& config : configs) digests.insert(config_digest(config));
    return known_runs(*store, digests);
  }));
  MFL_TRY(const auto recorded, run_shares(groups, store, options.reuse, ranks, hooks, known));
  std::vector<RunOutcome> outcomes(configs.size());
  for (const Recorded& member : recorded) {
    MFL_TRY(const RunRow run, store->get(member.id));
    outcomes[member.index] = make_outcome(run, configs[member.index]);
    outcomes[member.index].reused = member.reused;
  }
  std::erase_if(outcomes, [](const RunOutcome& outcome) { return outcome.run_id.empty(); });  // never started
  return outcomes;
}

}  // namespace mfl
