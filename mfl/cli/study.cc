#include "mfl/study/study.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/progress.h"
#include "mfl/cli/text.h"
#include "mfl/report/folder.h"
#include "mfl/report/gnuplot.h"
#include "mfl/study/conclusions.h"
#include "mfl/study/tables.h"

namespace mfl::cli {
namespace {

struct StudyArguments {
  std::string file, out = "study", store;
  bool quick = false, quiet = false;
  ConfigFlags flags;
};

// Reported before the training rather than after it.
Result<void> check_study_folder(const StudyArguments& args) {
  MFL_CHECK(check_gnuplot());
  MFL_TRY(const ReportFolder writable, ReportFolder::make(args.out));
  return {};
}

Result<StudyOutcome> study_all(const StudyArguments& args, const StudyPlan& plan, bool json) {
  const auto natural = ProgressMeter::natural_style();
  const bool silent = args.quiet || (json && natural == ProgressMeter::Style::kLines);
  const std::atomic<bool>& stop = watch_interrupts(kStopsAfterRound);
  ProgressMeter meter(silent ? ProgressMeter::Style::kNone : natural);
  return run_study(plan, args.store, {[&](const Progress& progress) { meter.show(progress); }, &stop});
}

std::string study_text(const StudyEvidence& evidence, const StudyResults& results) {
  const std::size_t width = stdout_width();
  std::string out = ranking_table(evidence, results).text(width) + "\n";
  for (const Conclusion& one : conclusions_of(evidence, results))
    out += folded("- " + one.text, width, 2) + "\n";
  const auto cautions = cautions_of(evidence, results);
  if (!cautions.empty()) out += fmt::format("\n{}\n", folded("What limits them:", width, 0));
  for (const std::string& one : cautions) out += folded("- " + one, width, 2) + "\n";
  return out;
}

Result<Reply> study_command(const StudyArguments& args, bool json) {
  const auto start = std::chrono::steady_clock::now();
  const StudyOptions options{.quick = args.quick,
                             .adjust = [&args](Config& config) { return args.flags.apply(config); }};
  MFL_TRY(const StudyPlan plan, read_study(args.file, options));
  MFL_CHECK(check_study_folder(args));
  MFL_TRY(const StudyOutcome study, study_all(args, plan, json));
  MFL_TRY(const Report report, study_report(study));
  MFL_TRY(const std::filesystem::path folder, write_report(report, args.out));
  const StudyResults results = results_of(study.evidence);
  const std::string page = (folder / "report.html").string();
  Reply reply;
  reply.data = {
      {"report", page},
      {"folder", folder.string()},
      {"quick", plan.quick},
      {"runs", study.runs},
      {"reused", study.reused},
      {"wall_seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
  reply.data["conclusions"] = Json::array();
  for (const Conclusion& one : conclusions_of(study.evidence, results))
    reply.data["conclusions"].push_back({{"id", one.id}, {"text", one.text}});
  reply.data["cautions"] = Json(cautions_of(study.evidence, results));
  reply.text = study_text(study.evidence, results) + fmt::format("\nwrote {}\n", page);
  return reply;
}

}  // namespace

void setup_study(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<StudyArguments>();
  Command& command = commands.add(
      mfl, "study",
      "Compare algorithms over splits and seeds, each with tuned settings: tables, figures, conclusions",
      "  mfl study experiments/heterogeneity.toml --quick --out study\n"
      "writes report.html, which is self-contained, and figures/, tables/, data/ and study.json.\n"
      "Settings are tuned on seeds other than those reported. After Ctrl-C or a crash the same command\n"
      "continues: runs that the store already holds are not trained again. An earlier report in that\n"
      "folder is replaced.",
      [args, &commands] { return study_command(*args, commands.json); });
  commands.processes.refuse(command);
  command.add_option("FILE", args->file, "Experiment file (TOML) with a table [study]")->required();
  command.add_flag("--quick", args->quick, "The quick form, as [study.quick] of the file says");
  command.add_option("--out", args->out, "The folder to write")->type_name("DIR")->capture_default_str();
  args->flags.add_set(command);
  add_store_flag(command, args->store);
  command.add_flag("--quiet", args->quiet, "No progress on stderr");
}

}  // namespace mfl::cli
