#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "mfl/cli/commands.h"
#include "mfl/cli/cross_validation.h"
#include "mfl/cli/experiment_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/progress.h"
#include "mfl/cli/shell_command.h"
#include "mfl/cli/text.h"
#include "mfl/cli/training_flags.h"
#include "mfl/config/config.h"
#include "mfl/report/table.h"
#include "mfl/report/test_metrics.h"
#include "mfl/run/outcome_json.h"
#include "mfl/run/runner.h"
#include "mfl/run/sweep.h"

namespace mfl::cli {
namespace {

struct RunArguments {
  std::string resume, store;
  bool reuse = false, quiet = false;
  TrainingFlags training;
  ExperimentFlags experiment;
};

std::string outcome_labels(const RunOutcome& run) {
  if (run.schema.task == LabelTask::kUnknown) return {};
  std::string text = labels_text(run.schema);
  if (run.schema.label.empty() && run.label_column != 0)
    text = fmt::format("column {}: {}", run.label_column, text);
  return run.header_guessed ? text + "; the first line has column names" : text;
}

// " --store PATH" for a store that is not the default.
std::string store_flag(const RunArguments& args) {
  return args.store == default_store_path() ? "" : " --store " + shell_word(args.store);
}

std::string train_loss_text(const RunOutcome& run) {
  if (run.final.train_loss) return loss_text(run.final.train_loss);
  return run.status == "done" ? "not measured: evaluate_every is 0" : "";
}

std::string run_outcome_text(const RunOutcome& run, const std::string& store) {
  const auto tested = read_test_metrics(run.test_metrics);
  Facts facts = {
      {"run", fmt::format("{} ({}{})", run.run_id, run.status, run.reused ? ", recorded before" : "")},
      {"end", run.status == "done" ? run.message : ""},
      {"setting", setting_text(run.config)},
      {"labels", outcome_labels(run)},
      {"step", fmt::format("{} of {}{}, {} rounds", run.final.step,
                           has_budget(run.config.run) ? "at most " + std::to_string(run_length(run.config))
                                                      : std::to_string(run_length(run.config)),
                           counts_epochs(run.config.algorithm) ? " epochs" : "", run.rounds)},
      {"train loss", train_loss_text(run)},
      {"test loss", loss_text(run.final.test_loss)},
      {"test accuracy", percent_text(run.final.test_accuracy) + (tested ? top_text(*tested) : "")},
      {"best", run.best_step == 0 ? ""
               : run.best_train_loss
                   ? fmt::format("train loss {} at step {}", loss_text(run.best_train_loss), run.best_step)
                   : fmt::format("the last State, at step {}: no train loss to choose by", run.best_step)},
      {"traffic", fmt::format("{} up, {} down", bytes_text(run.bytes_up), bytes_text(run.bytes_down))},
      {"time", fmt::format("{:.2f} s loading, {:.2f} s training", run.load_seconds, run.wall_seconds)},
      {"virtual time", run.virtual_seconds ? seconds_text(run.virtual_seconds) : ""},
      {"digest", run.digest},
  };
  add_metrics(facts, run.test_metrics);
  add_warnings(facts, run.warnings);
  facts.emplace_back("try", advise_line(run));
  if (tested) facts.emplace_back("classes", fmt::format("one by one: mfl runs show {}{}", run.run_id, store));
  return facts_text(facts);
}

// The command that continues a run, with what is not in its configuration.
std::string resume_line(const RunOutcome& run, const RunArguments& args) {
  std::string line = "mfl run --resume " + run.run_id;
  if (!args.training.trainer.spec.empty()) line += " --trainer " + shell_word(args.training.trainer.spec);
  return line + store_flag(args);
}

Reply outcome_reply(const RunOutcome& run, const RunArguments& args) {
  Reply reply{outcome_json(run), run_outcome_text(run, store_flag(args)), std::nullopt};
  if (run.status == "interrupted")
    reply.failure =
        Error{ErrorCode::kRunFailed, fmt::format("run {} stopped at step {}", run.run_id, run.final.step),
              "continue: " + resume_line(run, args), nullptr};
  else if (run.status != "done")
    reply.failure = Error{ErrorCode::kRunFailed,
                          fmt::format("run {} {}{}", run.run_id, run.status,
                                      run.message.empty() ? "" : fmt::format(": {}", run.message)),
                          run.status == "diverged" ? "lower eta or gamma" : "", nullptr};
  return reply;
}

// A resumed run has its own configuration; only engine and threads may change.
Result<void> check_resume(const RunArguments& args) {
  if (args.resume.empty()) return {};
  std::vector<std::string> extra;
  if (args.reuse) extra.emplace_back("--reuse");
  for (const std::string& word : args.experiment.given())
    if (word != "--engine" && word != "--threads") extra.push_back(word);
  if (extra.empty()) return {};
  return fail(ErrorCode::kBadConfig, "--resume continues with the run's own configuration",
              fmt::format("remove {}", extra.front()));
}

std::string warning_text(const RunWarning& warning) {
  return fmt::format("warning at step {}: {}", warning.step, warning.message);
}

Result<void> check_cross_validation(const RunArguments& args) {
  if (args.training.weights_out.empty() && !args.training.monitor) return {};
  return fail(ErrorCode::kBadConfig,
              fmt::format("{}: a cross-validation has a run per fold",
                          args.training.monitor ? "--monitor" : "--weights-out"),
              "leave it out, or choose one with --fold");
}

Result<Reply> cross_validate(const Config& config, const RunOptions& options, bool silent,
                             const std::atomic<bool>& stop) {
  std::vector<Config> folds(config.data.folds, config);
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    folds[fold].data.fold = fold;
    if (!config.run.name.empty()) folds[fold].run.name += fmt::format("/{}", fold);
  }
  ProgressMeter meter(silent ? ProgressMeter::Style::kNone : ProgressMeter::natural_style());
  MFL_TRY(const auto outcomes,
          run_sweep(folds, options,
                    {.progress = [&](const Progress& progress) { meter.show(progress); }, .stop = &stop}));
  return cross_validation_reply(config, outcomes);
}

Result<Config> assemble(const RunArguments& args) {
  const bool model_given = std::ranges::count(args.experiment.given(), "--model") > 0;
  MFL_TRY(Config config, args.experiment.assemble([&](Config& made) -> Result<void> {
    if (!args.resume.empty()) return {};
    return args.training.trainer.take_model(made, model_given);
  }));
  MFL_CHECK(check_resume(args));
  return config;
}

Result<Reply> run_command(const RunArguments& args, Commands& commands) {
  const bool json = commands.json;
  MFL_TRY(Config config, commands.processes.read([&] { return assemble(args); }));
  const bool engine_given = std::ranges::count(args.experiment.given(), "--engine") > 0;
  MFL_TRY(const auto where, commands.processes.place(config.run, engine_given));
  if (is_cross_validation(config)) MFL_CHECK(check_cross_validation(args));
  const auto natural = ProgressMeter::natural_style();
  const bool silent = args.quiet || (json && natural == ProgressMeter::Style::kLines);
  RunOptions options{.store = args.store, .resume_id = args.resume, .reuse = args.reuse, .ranks = where};
  args.training.fill(options, silent);
  const std::atomic<bool>& stop = watch_interrupts(kStopsAfterRound);
  if (is_cross_validation(config)) return cross_validate(config, options, silent, stop);
  Result<RunOutcome> outcome = fail(ErrorCode::kInternal, "");
  {
    ProgressMeter meter(silent ? ProgressMeter::Style::kNone : natural);
    outcome = run_experiment(config, options,
                             {.progress = [&](const Progress& progress) { meter.show(progress); },
                              .stop = &stop,
                              .warn =
                                  [&](const RunWarning& warning) {
                                    if (!json) meter.say(warning_text(warning));
                                  }});
  }
  if (!outcome) return tl::unexpected<Error>(std::move(outcome).error());
  return outcome_reply(*outcome, args);
}

}  // namespace

void setup_run(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<RunArguments>();
  Command& command = commands.add(
      mfl, "run", "Train one model with one algorithm and record it",
      "  mfl run experiments/quickstart.toml --gamma 0.9\n"
      "  mfl run --data mnist --train 5000 --test 5000 --model svm --algorithm mfl --tau 4 --json\n"
      "  mfl run experiments/fleet.toml --nodes 1000000\n"
      "  mfl run --data csv:my.csv --model logistic --standardise full --folds 5\n"
      "  mfl run --data csv:my.csv --model logistic --eta 0.0001 --steps 40 --init model.npz\n"
      "  mfl run --train 5000 --nodes 20 --device-speed 'lognormal(2000, 0.5)' --network-up 1e6 "
      "--round-deadline 5 --quorum 15\n"
      "Precedence, lowest first: defaults, FILE, --set, the other flags.\n"
      "Ctrl-C stops at the end of a round; mfl run --resume latest continues it.\n"
      "With --trainer \"python train.py\" your own program trains your own model (docs/trainer.md).",
      [args, &commands] { return run_command(*args, commands); });
  commands.processes.share(command);
  args->experiment.add(command);
  command
      .add_option("--resume", args->resume,
                  "Continue a stopped run: id, name or latest (--engine and --threads may change)")
      ->type_name("RUN");
  command.add_flag("--reuse", args->reuse,
                   "Show the finished run of the same setting, data and mfl version, if there is one, "
                   "instead of training");
  add_store_flag(command, args->store);
  args->training.add(command);
  command.add_flag("--quiet", args->quiet, "No progress on stderr");
}

}  // namespace mfl::cli
