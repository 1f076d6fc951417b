#include "mfl/run/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "mfl/config/factory.h"
#include "mfl/data/fleet.h"
#include "mfl/load/share.h"
#include "mfl/run/initial_model.h"
#include "mfl/run/outcome.h"
#include "mfl/run/recorder.h"
#include "mfl/run/shared_run.h"
#include "mfl/run/step_size.h"
#include "mfl/run/sweep_share.h"
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

// Whether a virtual time decides who is counted: a round that needs every node's answer counts all of them, however long it takes.
bool time_chooses_nodes(const Config& config) {
  return make_virtual_time(config) && (config.federation.fraction_train < 1 || config.federation.quorum != 0);
}

// Equal for configurations that load the same data, split in the same way, for the same loss and precision: what
// differs otherwise (eta, gamma, tau, lambda, steps) needs no other pass over the data. Where rounds choose their nodes, tau
// and steps must be equal too. Where a virtual time decides who is counted, that is each setting's own, so it is alone.
std::string shared_part(const Config& config) {
  if (time_chooses_nodes(config) || has_budget(config.run)) return to_toml(config);
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
  std::shared_ptr<const TrainedModel> initial = nullptr;  // may be null
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
    if (!hooks_.progress) return {.progress = {}, .stop = hooks_.stop};
    return {.progress =
                [this](Progress progress) {
                  progress.step += before_.steps;
                  progress.steps = all_.steps;
                  progress.settings_done += before_.settings;
                  progress.settings = all_.settings;
                  hooks_.progress(progress);
                },
            .stop = hooks_.stop};
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
                           const RunOptions& options, const RunHooks& hooks) {
  std::vector<Setting> settings;
  for (const auto& [member, start] : starting)
    settings.push_back(setting_of(member->config, member->algorithm));
  const Config& shared = starting.front().member->config;
  const auto engine = local_engine<T>(problem.federation, settings, make_workers(shared.run, options.where()),
                                      engine_options(shared));
  std::vector<Training<T>> trainings;
  trainings.reserve(settings.size());
  for (auto& [member, start] : starting) {
    trainings.emplace_back(trainings.size(), member->algorithm, run_length(member->config), *engine,
                           population_of(member->config, problem), test_labels(member->config, problem),
                           untrained_model(problem), make_cadence(member->config),
                           make_loss_rule(member->config), make_stop_rule(member->config),
                           make_budget_rule(member->config, member->algorithm), recorder, std::move(start));
    trainings.back().warn(data_warnings(problem.constant_features));
  }
  return train_together(*engine, std::span(trainings), hooks);
}

template <class T>
Result<void> run_group(std::vector<Member>& members, Recorder& recorder, const RunOptions& options,
                       SweepProgress& progress) {
  const auto& initial_model = members.front().initial;  // of all: it is part of what members share
  MFL_TRY(const Problem<T> problem,
          load_problem<T>(prepared_as(members.front().config,
                                      initial_model ? std::optional(*initial_model) : std::nullopt),
                          options.memory));
  std::map<std::uint64_t, std::vector<Starting<T>>> by_round;  // those that share passes
  for (Member& member : members) {
    member.config = with_evaluations(member.config, problem);
    MFL_CHECK(check_target_accuracy(member.config, problem));
    MFL_TRY(const Config settled, with_measured_eta(member.config, problem));
    member.algorithm = make_algorithm(settled.algorithm);
    const RunSpec spec =
        make_spec(member.config, member.algorithm, effective_eta(settled.algorithm), problem);
    MFL_TRY(const auto found, recorder.find(spec, {.finished = options.reuse, .unfinished = options.reuse}));
    if (found && found->finished) {
      member.id = found->run.id;
      member.reused = true;
      progress.done(member);
      continue;
    }
    auto model = problem.federation.model;
    if (member.initial) {
      MFL_TRY(model, starting_from(*member.initial, problem.schema, problem.scale, model));
    }
    State<T> initial = initial_state<T>(member.algorithm, *model, member.config.run.seed);
    MFL_TRY(Start<T> start, start_run(found, spec, std::move(initial), recorder));
    member.id = start.id;
    by_round[goes_in_step(member.config) ? start.state.round : 0].push_back({&member, std::move(start)});
  }
  for (auto& [round, starting] : by_round) {
    std::vector<const Member*> trained;
    for (const Starting<T>& one : starting) trained.push_back(one.member);
    if (const auto done = train_members(problem, std::move(starting), recorder, options, progress.hooks());
        !done) {
      for (const Member& member : members)
        if (!member.reused) recorder.give_up(member.id, done.error().text());
      return done;
    }
    for (const Member* member : trained) progress.done(*member);
  }
  return {};
}

Result<void> run_groups(Groups& groups, Recorder& recorder, const RunOptions& options,
                        const RunHooks& hooks) {
  SweepProgress progress(groups, hooks);
  for (auto& [key, members] : groups) {
    if (hooks.stop != nullptr && hooks.stop->load(std::memory_order_relaxed)) break;
    const bool single = members.front().config.run.precision == Precision::kF32;
    MFL_CHECK(single ? run_group<float>(members, recorder, options, progress)
                     : run_group<double>(members, recorder, options, progress));
  }
  return {};
}

using InitialModels = std::vector<std::shared_ptr<const TrainedModel>>;

// One per setting, null where there is none; each is read once. The configurations then have their digests.
Result<InitialModels> take_initial_models(std::vector<Config>& configs, const RunOptions& options) {
  std::map<std::string, std::shared_ptr<const TrainedModel>> known;
  InitialModels out;
  for (Config& config : configs) {
    const std::string named = config.run.init;
    if (!named.empty() && !known.contains(named)) {
      MFL_TRY(auto model, take_initial_model(config, store_of(options), options.where()));
      known[named] = std::make_shared<const TrainedModel>(*std::move(model));
    }
    out.push_back(named.empty() ? nullptr : known[named]);
    if (out.back()) config.run.init = out.back()->digest;
  }
  return out;
}

Groups groups_of(const std::vector<Config>& configs, const InitialModels& initial) {
  Groups groups;
  for (std::size_t i = 0; i < configs.size(); ++i)
    groups[shared_part(configs[i])].push_back({.index = i,
                                               .config = configs[i],
                                               .algorithm = make_algorithm(configs[i].algorithm),
                                               .id = {},
                                               .initial = initial[i]});
  return groups;
}

// What this process trains: neighbours in the order of groups, so that few groups are in two processes.
Groups own_groups(const Groups& groups, const SweepShare& share) {
  std::vector<std::size_t> steps;
  for (const auto& [key, members] : groups)
    for (const Member& member : members) steps.push_back(run_length(member.config));
  const auto [first, end] = share.range(steps);
  Groups own;
  std::size_t at = 0;
  for (const auto& [key, members] : groups)
    for (const Member& member : members) {
      if (at >= first && at < end) own[key].push_back(member);
      ++at;
    }
  return own;
}

std::vector<RecordedSetting> recorded_in(const Groups& groups) {
  std::vector<RecordedSetting> out;
  for (const auto& [key, members] : groups)
    for (const Member& member : members)
      if (!member.id.empty()) out.push_back({member.index, member.id, member.reused});
  return out;
}

}  // namespace

Result<std::vector<RunOutcome>> run_sweep(const std::vector<Config>& given, const RunOptions& options,
                                          const RunHooks& hooks) {
  MFL_CHECK(require_same_command("sweep", given, options, options.where()));
  std::vector<Config> configs = given;
  MFL_TRY(const InitialModels initial, take_initial_models(configs, options));
  MFL_CHECK(require_same_sources(configs, options.where()));
  std::set<std::string> known;
  for (const Config& config : configs)
    if (options.reuse) known.insert(config_digest(config));
  MFL_TRY(SweepShare share, SweepShare::open(store_of(options), known, options.where()));
  Groups own = own_groups(groups_of(configs, initial), share);
  MFL_CHECK(run_groups(own, share.recorder(), options, own_hooks(hooks, options.where())));
  MFL_TRY(const auto recorded, share.collect(recorded_in(own)));
  std::vector<RunOutcome> outcomes(configs.size());
  for (const RecordedSetting& setting : recorded) {
    MFL_TRY(const RunRow run, share.recorder().get(setting.id));
    outcomes[setting.index] = make_outcome(run, configs[setting.index]);
    outcomes[setting.index].reused = setting.reused;
  }
  std::erase_if(outcomes, [](const RunOutcome& outcome) { return outcome.run_id.empty(); });  // never started
  return outcomes;
}

}  // namespace mfl
