#include "mfl/run/runner.h"

#include <span>
#include <utility>

#include "mfl/config/entries.h"
#include "mfl/run/initial_model.h"
#include "mfl/run/members.h"
#include "mfl/run/shared_run.h"
#include "mfl/run/weights_file.h"

namespace mfl {
namespace {

Result<RunOutcome> run_member(Config config, const RunOptions& options, const RunHooks& hooks) {
  Ranks& ranks = options.where();
  if (entry_of(config.model).external && ranks.size() > 1)
    return fail(ErrorCode::kBadConfig, "trainers run on this machine, not under MPI",
                "leave mpirun out and use --trainer-processes");
  InitialModel initial = take_initial_model(config, store_of(options), ranks);
  if (!initial && options.resume_id.empty()) return tl::unexpected<Error>(initial.error());
  std::vector<Member> member;
  member.push_back({.experiment = Experiment(std::move(config)), .initial = std::move(initial)});
  std::unique_ptr<Recorder> recorder;
  const Place place{.together = ranks,
                    .neighbours = ranks,
                    .recorder = [&]() -> Result<Recorder*> {
                      MFL_TRY(recorder, open_recorder(store_of(options), ranks));
                      return recorder.get();
                    },
                    .reuse = {.run = options.resume_id, .finished = options.reuse}};
  SettingsProgress progress(hooks);
  progress.expect(member.front());
  MFL_CHECK(run_members(member, place, options, progress));
  return outcome_of(member.front(), *recorder);
}

}  // namespace

std::filesystem::path store_of(const RunOptions& options) {
  return options.store.empty() ? default_store_path() : options.store;
}

Result<RunOutcome> run_experiment(const Config& config, const RunOptions& options, const RunHooks& hooks) {
  Ranks& ranks = options.where();
  MFL_CHECK(require_same_command("run", std::span(&config, 1), options, ranks));
  const RunHooks own = own_hooks(hooks, ranks);
  MFL_CHECK(ranks.on_first([&] { return check_weights_out(options.weights_out); }));
  if (options.resume_id.empty()) return run_member(config, options, own);
  MFL_TRY(StoppedRun stopped, read_stopped(store_of(options), options.resume_id, ranks));
  stopped.config.run.engine = config.run.engine;
  stopped.config.run.threads = config.run.threads;
  RunOptions exactly = options;
  exactly.resume_id = stopped.id;
  return run_member(stopped.config, exactly, own);
}

}  // namespace mfl
