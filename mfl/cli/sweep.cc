#include "mfl/run/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/progress.h"
#include "mfl/cli/shell_command.h"
#include "mfl/cli/text.h"
#include "mfl/cli/training_flags.h"
#include "mfl/config/sweep_grid.h"
#include "mfl/report/brief_names.h"
#include "mfl/report/table.h"
#include "mfl/run/outcome_json.h"

namespace mfl::cli {
namespace {

struct SweepArguments {
  std::string file, store;
  bool reuse = false, resume = false, quiet = false;
  TrainingFlags training;
  ConfigFlags flags;
};

// One line per setting, with the keys that the sweep varies.
std::string outcomes_text(const Sweep& sweep, const std::vector<RunOutcome>& runs) {
  std::vector<Column> columns = {{"run", Align::kLeft}};
  for (const SweepAxis& axis : sweep.axes) columns.push_back({axis_title(sweep, axis), Align::kRight});
  for (const char* title : {"status", "train loss", "test accuracy", "best at", "digest"})
    columns.push_back({title, Align::kRight});
  Table table(columns);
  std::vector<std::string> algorithms;
  for (const RunOutcome& run : runs) algorithms.push_back(run.config.algorithm.name);
  algorithms = brief_algorithms(algorithms);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunOutcome& run = runs[i];
    std::vector<std::string> cells = {run.run_id};
    for (const SweepAxis& axis : sweep.axes) {
      const bool algorithm = axis.key->table == "algorithm" && axis.key->key == "name";
      cells.push_back(algorithm ? algorithms[i] : axis_value(axis, run.config));
    }
    const std::string digest = run.digest.substr(0, 12);
    for (const std::string& cell :
         {run.status + (run.warnings.empty() ? "" : "!"), loss_text(run.final.train_loss),
          percent_text(run.final.test_accuracy), fmt::format("{}", run.best_step), digest})
      cells.push_back(cell);
    table.add(cells);
  }
  std::string out = table.text();
  for (const RunOutcome& run : runs)
    for (const RunWarning& warning : run.warnings)
      out += fmt::format("{}! {} ({})\n", run.run_id, warning.message, warning.hint);
  return out;
}

std::optional<Error> failure_of(const std::vector<RunOutcome>& runs, std::size_t settings) {
  const auto done = static_cast<std::size_t>(
      std::ranges::count_if(runs, [](const RunOutcome& run) { return run.status == "done"; }));
  if (done == settings) return std::nullopt;
  const bool stopped = runs.size() < settings || std::ranges::any_of(runs, [](const RunOutcome& run) {
                         return run.status == "interrupted";
                       });
  return Error{ErrorCode::kRunFailed,
               fmt::format("{} of {} settings are not done", settings - done, settings),
               stopped ? "the same command with --resume continues" : "mfl runs list shows why", nullptr};
}

struct Grid {
  Sweep sweep;
  std::string group;  // what its runs are called together; empty: they are none
  std::vector<Config> configs;
};

Result<Grid> read_grid(const SweepArguments& args) {
  Sweep sweep;
  if (!args.file.empty()) {
    MFL_TRY(sweep, read_sweep(args.file));
  }
  MFL_CHECK(args.flags.apply(sweep));
  const bool model_given = std::ranges::count(args.flags.given(), "--model") > 0;
  MFL_CHECK(args.training.trainer.take_model(sweep.base, model_given));
  MFL_TRY(std::vector<Config> configs, expand(sweep));
  std::string group = name_group(sweep, configs);
  return Grid{std::move(sweep), std::move(group), std::move(configs)};
}

Result<Reply> sweep_command(const SweepArguments& args, Commands& commands) {
  const bool json = commands.json;
  MFL_TRY(const Grid grid, commands.processes.read([&] { return read_grid(args); }));
  const auto& [sweep, group, configs] = grid;
  const auto natural = ProgressMeter::natural_style();
  const bool silent = args.quiet || (json && natural == ProgressMeter::Style::kLines);
  const std::atomic<bool>& stop = watch_interrupts(kStopsAfterRound);
  const auto start = std::chrono::steady_clock::now();
  Result<std::vector<RunOutcome>> runs = fail(ErrorCode::kInternal, "");
  {
    ProgressMeter meter(silent ? ProgressMeter::Style::kNone : natural);
    MFL_TRY(const auto where, commands.processes.place());
    RunOptions options{.store = args.store, .reuse = args.reuse || args.resume, .ranks = where};
    args.training.fill(options, silent);
    runs = run_sweep(configs, options,
                     {.progress = [&](const Progress& progress) { meter.show(progress); }, .stop = &stop});
  }
  if (!runs) return tl::unexpected<Error>(std::move(runs).error());
  Reply reply;
  reply.data["settings"] = configs.size();
  reply.data["group"] = group;
  reply.data["wall_seconds"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  reply.data["runs"] = Json::array();
  for (const RunOutcome& run : *runs) reply.data["runs"].push_back(outcome_json(run));
  reply.text = outcomes_text(sweep, *runs);
  if (!group.empty()) reply.text += fmt::format("compare them: mfl report {}\n", shell_word(group));
  reply.failure = failure_of(*runs, configs.size());
  return reply;
}

}  // namespace

void setup_sweep(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<SweepArguments>();
  Command& command = commands.add(
      mfl, "sweep", "Train every combination of the arrays in an experiment, sharing each pass over the data",
      "  mfl sweep experiments/sweep.toml\n"
      "where the file has arrays, such as: gamma = [0, 0.5, 0.9]\n"
      "  mfl sweep --data synthetic --set 'algorithm.eta=[0.001, 0.002]' --set 'algorithm.name=[fl, mfl]'\n"
      "Each setting is a run in the store, called NAME/1, NAME/2 and so on, with the digest that mfl run "
      "gives it. NAME is --name, or made up; mfl report NAME, runs show NAME, compare, export and delete "
      "take all of them. The last array varies fastest.\n"
      "A flag sets a single value for all settings, or replaces an array with another.\n"
      "Ctrl-C stops at the end of a round; the same command with --resume continues every setting.",
      [args, &commands] { return sweep_command(*args, commands); });
  commands.processes.share(command);
  command.add_option("FILE", args->file, "Experiment file (TOML) in which any key may be an array");
  args->flags.add(command, [](const Key&) { return true; });
  args->flags.add_set(command);
  command.add_flag("--resume", args->resume,
                   "Continue a stopped sweep: take finished settings from the store, continue the others");
  command.add_flag("--reuse", args->reuse, "The same as --resume");
  add_store_flag(command, args->store);
  args->training.add(command);
  command.add_flag("--quiet", args->quiet, "No progress on stderr");
}

}  // namespace mfl::cli
