#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "mfl/advise/diagnose.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/experiment_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/progress.h"
#include "mfl/cli/text.h"
#include "mfl/report/theory.h"
#include "mfl/report/theory_page.h"
#include "mfl/run/outcome_json.h"

namespace mfl::cli {
namespace {

struct TheoryRunArguments {
  std::string page;
  bool quiet = false;
  ExperimentFlags experiment;
};

std::string theory_outcome_text(const TheoryOutcome& outcome) {
  const Path& path = outcome.diagnosis.run.path;
  return facts_text({
             {"setting", setting_text(outcome.config) + ", f64"},
             {"steps", fmt::format("{}, {} rounds", path.gaps.size(), path.intervals.size())},
             {"best", path.best_step == 0 ? ""
                                          : fmt::format("train loss {} at step {}", loss_text(path.best_loss),
                                                        path.best_step)},
             {"time", fmt::format("{:.2f} s loading, {:.2f} s measuring", outcome.load_seconds,
                                  outcome.wall_seconds)},
             {"digest", outcome.digest},
         }) +
         '\n' + theory_text(outcome.diagnosis);
}

Result<Reply> theory_run_command(const TheoryRunArguments& args, bool json) {
  MFL_TRY(const Config config, args.experiment.assemble());
  std::optional<ReportFolder> folder;  // opened first: an unwritable folder is reported before the training
  if (!args.page.empty()) {
    MFL_TRY(folder, ReportFolder::make(std::filesystem::absolute(args.page)));
  }
  const auto natural = ProgressMeter::natural_style();
  const bool silent = args.quiet || (json && natural == ProgressMeter::Style::kLines);
  const std::atomic<bool>& stop = watch_interrupts();
  Result<TheoryOutcome> outcome = fail(ErrorCode::kInternal, "");
  {
    ProgressMeter meter(silent ? ProgressMeter::Style::kNone : natural);
    outcome = diagnose_experiment(config, {[&](const Progress& progress) { meter.show(progress); }, &stop});
  }
  if (!outcome) return tl::unexpected<Error>(std::move(outcome).error());
  Reply reply;
  reply.data = {{"config", config_json(outcome->config)},
                {"digest", outcome->digest},
                {"load_seconds", outcome->load_seconds},
                {"wall_seconds", outcome->wall_seconds}};
  reply.data.update(theory_json(outcome->diagnosis));
  reply.text = theory_outcome_text(*outcome);
  if (folder) {
    MFL_CHECK(
        publish_theory_page(*folder, {setting_text(outcome->config), outcome->digest, outcome->diagnosis}));
    reply.data["page"] = (folder->target() / "report.html").string();
    reply.text += fmt::format("\npage            {}\n", (folder->target() / "report.html").string());
  }
  if (const auto& diverged = outcome->diagnosis.run.path.diverged_after)
    reply.failure = Error{ErrorCode::kRunFailed, fmt::format("the run diverged after step {}", *diverged),
                          "lower eta or gamma", nullptr};
  return reply;
}

}  // namespace

void setup_theory_run(Command& theory, Commands& commands) {
  const auto args = std::make_shared<TheoryRunArguments>();
  Command& command =
      commands.add(theory, "run",
                   "Train and measure the theory: constants, conditions, and bounds against measured values",
                   "  mfl theory run experiments/paper/squared-svm.toml --gamma 0.5\n"
                   "  mfl theory run --data synthetic --model logistic --tau 10 --steps 200 --json\n"
                   "Takes the files and flags of mfl run. Always f64 and full batches, and plain FL for "
                   "comparison; records nothing.",
                   [args, &commands] { return theory_run_command(*args, commands.json); });
  commands.processes.refuse(command);
  args->experiment.add(command);
  command.add_option("--page", args->page, "Write a page with figures into this folder; needs gnuplot")
      ->type_name("DIR");
  command.add_flag("--quiet", args->quiet, "No progress on stderr");
}

}  // namespace mfl::cli
