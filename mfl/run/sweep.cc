#include "mfl/run/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "mfl/load/share.h"
#include "mfl/run/initial_model.h"
#include "mfl/run/members.h"
#include "mfl/run/shared_run.h"
#include "mfl/run/sweep_share.h"
#include "mfl/run/weights_file.h"

namespace mfl {
namespace {

using Groups = std::map<std::string, std::vector<Member>>;

// One member per setting; each initial model is read once. The configurations then have its digest. Trainers train one setting at a time.
Result<Groups> groups_of(const std::vector<Config>& configs, const RunOptions& options) {
  std::map<std::string, std::shared_ptr<const TrainedModel>> known;
  Groups groups;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    Config config = configs[i];
    auto& initial = known[config.run.init];
    if (initial) {
      config.run.init = initial->digest;
    } else {
      MFL_TRY(initial, take_initial_model(config, store_of(options), options.where()));
    }
    Member member{.index = i, .experiment = Experiment(std::move(config)), .initial = initial};
    std::string key = shared_part(member.experiment);
    if (member.experiment.external()) key += fmt::format("# {}", i);
    groups[std::move(key)].push_back(std::move(member));
  }
  return groups;
}

// What this process trains: neighbours in the order of groups, so that few groups are in two processes.
Groups own_groups(const Groups& groups, const SweepShare& share) {
  std::vector<std::size_t> steps;
  for (const auto& [key, members] : groups)
    for (const Member& member : members) steps.push_back(member.experiment.steps);
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

// A flag that is about one setting, or about this process.
Result<void> check_options(std::size_t settings, const RunOptions& options) {
  if (!options.weights_out.empty() && settings != 1)
    return fail(ErrorCode::kBadConfig,
                fmt::format("--weights-out names one file, and there are {} settings", settings),
                "leave it out: mfl model export writes the model of each run");
  if (options.monitor && options.where().size() > 1)
    return fail(ErrorCode::kBadConfig, "--monitor watches the settings of one process",
                "leave mpirun out, or --monitor");
  return options.where().on_first([&] { return check_weights_out(options.weights_out); });
}

Result<std::vector<RecordedSetting>> train_groups(Groups& groups, const SweepShare& share,
                                                  const RunOptions& options, const RunHooks& hooks) {
  const Place place{.together = alone(),
                    .neighbours = options.where(),
                    .recorder = [&]() -> Result<Recorder*> { return &share.recorder(); },
                    .reuse = {.finished = options.reuse, .unfinished = options.reuse}};
  SettingsProgress progress(hooks);
  for (const auto& [key, members] : groups)
    for (const Member& member : members) progress.expect(member);
  std::vector<RecordedSetting> recorded;
  for (auto& [key, members] : groups) {
    if (hooks.stop != nullptr && hooks.stop->load(std::memory_order_relaxed)) break;
    MFL_CHECK(run_members(members, place, options, progress));
    for (const Member& member : members) recorded.push_back({member.index, member.id, member.reused});
  }
  return recorded;
}

}  // namespace

Result<std::vector<RunOutcome>> run_sweep(const std::vector<Config>& configs, const RunOptions& options,
                                          const RunHooks& hooks) {
  MFL_CHECK(require_same_command("sweep", configs, options, options.where()));
  MFL_CHECK(check_options(configs.size(), options));
  MFL_TRY(Groups groups, groups_of(configs, options));
  MFL_CHECK(require_same_sources(configs, options.where()));
  std::set<std::string> known;
  if (options.reuse)
    for (const auto& [key, members] : groups)
      for (const Member& member : members) known.insert(config_digest(member.experiment.config));
  MFL_TRY(SweepShare share, SweepShare::open(store_of(options), known, options.where()));
  Groups own = own_groups(groups, share);
  MFL_TRY(const auto mine, train_groups(own, share, options, own_hooks(hooks, options.where())));
  MFL_TRY(auto recorded, share.collect(mine));
  std::vector<Member*> members(configs.size());
  for (Groups* const some : {&groups, &own})
    for (auto& [key, group] : *some)
      for (Member& member : group) members[member.index] = &member;
  std::ranges::sort(recorded, {}, &RecordedSetting::index);
  std::vector<RunOutcome> outcomes;
  for (const RecordedSetting& setting : recorded) {
    Member& member = *members[setting.index];
    member.id = setting.id;
    member.reused = setting.reused;
    MFL_TRY(RunOutcome outcome, outcome_of(member, share.recorder()));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace mfl
