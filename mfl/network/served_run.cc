#include "mfl/network/served_run.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/run/outcome.h"

namespace mfl {
namespace {

// Leaves out what may change when the server is restarted.
std::string lasting_digest(Config config) {
  const FederationConfig defaults;
  config.federation.min_available_nodes = defaults.min_available_nodes;
  config.federation.quorum = defaults.quorum;
  config.federation.round_deadline = defaults.round_deadline;
  return config_digest(config);
}

// A server of an earlier version, which holds no lock: one that was told to stop is given the time to write
// its last status.
Result<RunRow> wait_for_owner(const Store& store, RunRow run, const HostOptions& options) {
  constexpr std::chrono::seconds kPatience{3};
  constexpr std::chrono::milliseconds kBeat{20};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const auto owned = [&] {
    return run.status == RunStatus::kRunning && owner_alive(run) && run.owner.pid != this_process().pid;
  };
  if (owned())
    say(options.server.log, LogLine::Level::kInfo, "waiting",
        {{"text", fmt::format("process {} still serves run {}", run.owner.pid, run.id)}});
  while (owned() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kBeat);
    MFL_TRY(run, store.get(run.id));
  }
  return run;
}

// The folder and the store in it hold the model. What existed already keeps its permissions.
void warn_of_readers(const HostOptions& options) {
  constexpr mode_t kOthers = 077;
  for (const auto& path : {options.state, options.state / "runs.db"}) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 || (info.st_mode & kOthers) == 0) continue;
    say(options.server.log, LogLine::Level::kWarning, "permissions",
        {{"text", fmt::format("other users may read {0}: chmod go= {0}", path.string())}});
  }
}

Result<StateFolder> open_state(std::size_t keep_states, const HostOptions& options) {
  StateFolderOptions out;
  out.folder = options.state;
  out.keep_states = keep_states;
  out.from_round = options.from_round;
  out.drop_all_rounds = options.drop_all_rounds;
  out.waiting = [&options](const std::string& text) {
    say(options.server.log, LogLine::Level::kInfo, "waiting", {{"text", text}});
  };
  out.stopped = [stop = options.stop] { return stop != nullptr && stop->load(); };
  MFL_TRY(StateFolder folder, StateFolder::open(std::move(out)));
  warn_of_readers(options);
  return folder;
}

Result<std::optional<double>> batch_loss_of(const Store& store, const std::string& run, std::uint64_t round) {
  MFL_TRY(const auto nodes, store.nodes(run, round));
  ExactMean mean(1);
  for (const NodeRow& node : nodes)
    if (node.batch_loss) (void)mean.add(std::span(&*node.batch_loss, 1), node.weight);
  double loss = 0;
  if (mean.total_weight() == 0) return std::nullopt;
  mean.mean(std::span(&loss, 1));
  return loss;
}

}  // namespace

template <class T>
Result<ServedRun<T>> open_served_run(const Experiment& experiment, const HostOptions& options) {
  MFL_TRY(StateFolder folder, open_state(experiment.config.run.keep_states, options));
  // The data is the nodes' own: runs over a network are comparable with each other, not with a simulation.
  RunSpec spec = make_spec(experiment, nodes_to_start(experiment.config.federation), kFederationSource);
  spec.config_digest = lasting_digest(experiment.config);
  MFL_TRY(FoundRun found, folder.find_or_create(spec));
  MFL_TRY(RunRow run, wait_for_owner(folder.store(), std::move(found.run), options));
  std::optional<Resumption<T>> from;
  if (options.from_round || (!found.created && !has_ended(run))) {
    MFL_TRY(from, folder.resume<T>(run.id));
  }
  MFL_CHECK(folder.settle(run.id));
  for (const std::string& warning : folder.warnings())
    say(options.server.log, LogLine::Level::kWarning, "resumed", {{"text", warning}});
  MFL_TRY(run, folder.store().get(run.id));
  MFL_TRY(std::vector<RoundRow> rounds, folder.store().rounds(run.id));
  std::optional<double> batch_loss;
  if (from) {
    MFL_TRY(batch_loss, batch_loss_of(folder.store(), run.id, from->state.round));
  }
  return ServedRun<T>{std::move(folder), std::move(run), std::move(rounds), std::move(from), batch_loss};
}

template Result<ServedRun<float>> open_served_run(const Experiment&, const HostOptions&);
template Result<ServedRun<double>> open_served_run(const Experiment&, const HostOptions&);

}  // namespace mfl
