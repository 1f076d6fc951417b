#include "mfl/run/members.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <utility>

#include "mfl/data/fleet.h"
#include "mfl/data/npy.h"
#include "mfl/experiment/engines.h"
#include "mfl/experiment/evaluations.h"
#include "mfl/load/problem.h"
#include "mfl/model/tensors.h"
#include "mfl/run/external_run.h"
#include "mfl/run/initial_model.h"
#include "mfl/run/monitor.h"
#include "mfl/run/outcome.h"
#include "mfl/run/step_size.h"
#include "mfl/run/training.h"
#include "mfl/run/weights_file.h"

namespace mfl {
namespace {

// Whether a virtual time decides who is counted: a round that needs every node's answer counts all of them, however long it takes.
bool time_chooses_nodes(const Experiment& experiment) {
  const FederationConfig& federation = experiment.config.federation;
  return experiment.time && (federation.fraction_train < 1 || federation.quorum != 0);
}

template <class T>
Result<Problem<T>> load_members(const Member& first, const Place& place, const RunOptions& options,
                                const std::atomic<bool>* stop) {
  const Experiment& experiment = first.experiment;
  if (experiment.external()) {
    std::optional<TrainerSetup> trainer = options.trainer;
    if (trainer) trainer->stop = stop;
    return start_trainers<T>(experiment, trainer);
  }
  if (!first.initial && experiment.config.model.standardise != Standardise::kNone)
    return tl::unexpected<Error>(first.initial.error());
  const TrainedModel* const initial = first.initial ? first.initial->get() : nullptr;
  if (initial == nullptr) return load_problem<T>(experiment, place.together, options.memory);
  return load_problem<T>(Experiment(prepared_as(experiment.config, *initial)), place.together,
                         options.memory);
}

// Processes that end by their own clocks would part.
Result<void> check_clock(const Experiment& experiment, const Ranks& ranks) {
  if (!experiment.budget.seconds || experiment.time || ranks.size() == 1) return {};
  return fail(ErrorCode::kBadConfig,
              "budget_seconds of several processes needs virtual time: their clocks differ",
              "describe devices or a network, or use budget_bytes");
}

Result<void> check_monitor(const Experiment& experiment) {
  if (experiment.external())
    return fail(ErrorCode::kBadConfig, "--monitor measures models that mfl trains", "leave --monitor out");
  if (experiment.algorithm.method().descent()) return {};
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("--monitor judges the paper's steps, and not those of {}", experiment.algorithm.name),
      "leave --monitor out, or use an algorithm of the paper");
}

// What the data decides of a setting, and what it rules out. The problem must outlive the result.
template <class T>
Result<RoundPlanner> settle(Experiment& experiment, const Problem<T>& problem, const Place& place,
                            const RunOptions& options) {
  const Federation<T>& federation = problem.federation;
  const auto samples_of = [&](std::size_t node) { return federation.samples_of(node); };
  const std::size_t nodes = federation.node_count();
  if (experiment.needs_evaluations())
    settle_evaluations(experiment, samples_read(experiment, nodes, samples_of));
  RoundPlanner planner(experiment, experiment.population(nodes, federation.model->parameters(), samples_of));
  MFL_CHECK(place.together.agree(check_target_accuracy(experiment, problem)));
  MFL_CHECK(place.together.agree(check_clock(experiment, place.together)));
  MFL_CHECK(settle_eta(experiment, problem, place.together));
  if (options.monitor) MFL_CHECK(check_monitor(experiment));
  MFL_CHECK(place.together.agree(planner.require_a_round()));
  return planner;
}

template <class T>
struct Starting {
  Member* member;
  RoundPlanner planner;
  Start<T> start;
};

// Nothing for a setting that is taken from the store.
template <class T>
Result<std::optional<Start<T>>> start_member(Member& member, const Problem<T>& problem, const Reuse& reuse,
                                             Recorder& recorder) {
  const Experiment& experiment = member.experiment;
  RunSpec spec = make_spec(experiment, problem.federation.node_count(), problem.train_digest);
  spec.data_digest = problem.data_digest;
  spec.data_schema = schema_json(problem.schema);
  spec.load_seconds = problem.load_seconds;
  MFL_TRY(const auto found, recorder.find(spec, reuse));
  if (found && found->finished) {
    member.id = found->run.id;
    member.reused = true;
    return std::nullopt;
  }
  if (!member.initial && !(found && found->run.checkpoint))
    return tl::unexpected<Error>(member.initial.error());
  MFL_TRY(Start<T> start, start_run(found, spec, experiment, *problem.federation.model, recorder));
  member.id = start.id;
  return start;
}

// Settings whose rounds can share passes.
template <class T>
Result<void> train(std::vector<Starting<T>> starting, const Problem<T>& problem, const Place& place,
                   Recorder& recorder, const RunOptions& options, const RunHooks& hooks) {
  const TestLabels labels = test_labels(starting.front().member->experiment, problem);
  const FinalModel untrained{.tensors = tensors_json(problem.federation.model->tensors()),
                             .scale = problem.scale};
  std::vector<Setting> settings;
  std::vector<std::optional<Monitor>> monitors(starting.size());
  for (const auto& [member, planner, start] : starting) {
    if (options.monitor) {
      MFL_TRY(const auto beta, monitored_beta(problem.federation, member->experiment.lambda, place.together));
      monitors[settings.size()].emplace(*member->experiment.algorithm.method().descent(), beta, hooks.warn);
    }
    settings.push_back(setting_of(member->experiment));
  }
  const auto engine = make_engine<T>(starting.front().member->experiment, std::move(settings),
                                     problem.federation, place.together, place.neighbours);
  std::vector<Training<T>> trainings;
  trainings.reserve(starting.size());
  for (auto& [member, planner, start] : starting) {
    const std::size_t setting = trainings.size();
    trainings.emplace_back(TrainingParts<T>{.setting = setting,
                                            .experiment = member->experiment,
                                            .engine = *engine,
                                            .planner = std::move(planner),
                                            .labels = labels,
                                            .untrained = untrained,
                                            .recorder = recorder,
                                            .start = std::move(start),
                                            .warnings = data_warnings(problem.constant_features),
                                            .monitor = monitors[setting] ? &*monitors[setting] : nullptr});
  }
  MFL_CHECK(
      catch_external([&] { return train_together(*engine, std::span<Training<T>>(trainings), hooks); }));
  for (std::size_t i = 0; i < starting.size(); ++i)
    if (monitors[i]) starting[i].member->warnings = monitors[i]->warnings();
  if (options.weights_out.empty() || !recorder.keeps()) return {};
  return write_weights(options.weights_out, std::span(trainings.front().state().w()), problem.schema);
}

template <class T>
Result<void> run_members_as(std::vector<Member>& members, const Place& place, const RunOptions& options,
                            SettingsProgress& progress) {
  const RunHooks hooks = progress.hooks();
  const InitialModel& initial = members.front().initial;  // of all: it is part of what members share
  MFL_TRY(Problem<T> problem, load_members<T>(members.front(), place, options, hooks.stop));
  if (initial && *initial) {
    MFL_TRY(problem.federation.model,
            starting_from(**initial, problem.schema, problem.scale, problem.federation.model));
  }
  std::vector<RoundPlanner> planners;
  for (Member& member : members) {
    MFL_TRY(RoundPlanner planner, settle(member.experiment, problem, place, options));
    planners.push_back(std::move(planner));
  }
  MFL_TRY(Recorder* const recorder, place.recorder());
  std::map<std::uint64_t, std::vector<Starting<T>>> by_round;  // those that share passes
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    member.origin = problem.origin;
    MFL_TRY(auto start, start_member(member, problem, place.reuse, *recorder));
    if (start)
      by_round[goes_in_step(member.experiment) ? start->state.round : 0].push_back(
          {&member, std::move(planners[i]), *std::move(start)});
    else
      progress.done(member);
  }
  for (auto& [round, starting] : by_round) {
    std::vector<const Member*> trained;
    for (const Starting<T>& one : starting) trained.push_back(one.member);
    if (const auto done = train(std::move(starting), problem, place, *recorder, options, hooks); !done) {
      for (const Member& member : members)
        if (!member.reused) recorder->give_up(member.id, done.error().text());
      return done;
    }
    for (const Member* member : trained) progress.done(*member);
  }
  return {};
}

}  // namespace

bool goes_in_step(const Experiment& experiment) {
  const Config& config = experiment.config;
  const bool chooses_nodes =
      !experiment.centralised() && (config.federation.fraction_train < 1 || is_fleet(config.data.source));
  return chooses_nodes || experiment.batching.batch_size != 0 || experiment.batching.by_epochs;
}

std::string shared_part(const Experiment& experiment) {
  const Config& config = experiment.config;
  // A budget or a virtual time that decides who is counted is each setting's own.
  if (time_chooses_nodes(experiment) || experiment.budget.limits()) return to_toml(config);
  Config shared = config;
  const bool in_step = goes_in_step(experiment);
  shared.algorithm = {};
  shared.algorithm.name = experiment.centralised() ? "gd" : "fl";
  shared.algorithm.batch_size = config.algorithm.batch_size;
  shared.algorithm.drop_last = config.algorithm.drop_last;
  shared.algorithm.local_epochs = config.algorithm.local_epochs;
  if (in_step && !counts_epochs(config.algorithm)) shared.algorithm.tau = round_length(config.algorithm);
  if (experiment.centralised()) {
    shared.federation = {};
    shared.devices = {};
    shared.network = {};
  }
  shared.model.lambda.reset();
  const RunConfig defaults;
  shared.run.name = defaults.name;
  shared.run.rounds = defaults.rounds;
  shared.run.steps = in_step ? experiment.steps : defaults.steps;
  shared.run.record_every = defaults.record_every;
  shared.run.checkpoint_every = defaults.checkpoint_every;
  return to_toml(shared);
}

void SettingsProgress::expect(const Member& member) {
  all_.steps += member.experiment.steps;
  ++all_.settings;
}

void SettingsProgress::done(const Member& member) {
  before_.steps += member.experiment.steps;
  ++before_.settings;
}

RunHooks SettingsProgress::hooks() {
  RunHooks out = hooks_;
  if (hooks_.progress)
    out.progress = [this](Progress progress) {
      progress.step += before_.steps;
      progress.steps = all_.steps;
      progress.settings_done += before_.settings;
      progress.settings = all_.settings;
      hooks_.progress(progress);
    };
  return out;
}

Result<void> run_members(std::vector<Member>& members, const Place& place, const RunOptions& options,
                         SettingsProgress& progress) {
  return members.front().experiment.config.run.precision == Precision::kF32
             ? run_members_as<float>(members, place, options, progress)
             : run_members_as<double>(members, place, options, progress);
}

Result<RunOutcome> outcome_of(const Member& member, const Recorder& recorder) {
  MFL_TRY(const RunRow run, recorder.get(member.id));
  RunOutcome out = make_outcome(run, member.experiment);
  out.reused = member.reused;
  if (member.origin) {
    out.label_column = member.origin->label_column;
    out.header_guessed = member.origin->header_guessed;
  }
  out.warnings.insert(out.warnings.begin(), member.warnings.begin(), member.warnings.end());
  return out;
}

}  // namespace mfl
