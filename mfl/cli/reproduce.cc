#include "mfl/reproduce/reproduce.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/progress.h"
#include "mfl/cli/text.h"
#include "mfl/report/folder.h"
#include "mfl/report/gnuplot.h"
#include "mfl/report/table.h"

namespace mfl::cli {
namespace {

namespace fs = std::filesystem;

struct ReproduceArguments {
  std::string figure = "all", out = "reproduction", store, experiments;
  std::optional<std::uint64_t> seeds;
  bool quick = false, quiet = false;
  ConfigFlags flags;
};

// Relative to the program: the folder of an installation, and that of a build inside the checkout.
fs::path find_experiments(const std::string& named) {
  if (!named.empty()) return named;
  const fs::path here = "experiments/paper";
  std::error_code error;
  if (fs::exists(here / "figure-4.toml", error)) return here;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* way : {"../share/mfl/experiments/paper", "../../../experiments/paper"})
    if (fs::path folder = program / way; !program.empty() && fs::exists(folder / "figure-4.toml", error))
      return folder.lexically_normal();
  return here;
}

Result<PlanOptions> plan_options(const ReproduceArguments& args) {
  PlanOptions options;
  MFL_TRY(options.figures, parse_figures(args.figure));
  options.quick = args.quick;
  options.seeds = args.seeds.value_or(args.quick ? 1 : 5);
  if (options.seeds < 1 || options.seeds > 1000)
    return fail(ErrorCode::kBadConfig, fmt::format("--seeds {}: must be 1 to 1000", options.seeds));
  options.experiments = find_experiments(args.experiments);
  options.adjust = [&args](Config& config) { return args.flags.apply(config); };
  return options;
}

// A table where it fits the terminal, else a few lines for each claim.
std::string claims_text(const std::vector<Claim>& claims) {
  constexpr std::size_t kClaimIndent = 4;
  const std::size_t width = stdout_width();
  Table table({{"figure"}, {"verdict"}, {"claim"}, {"measured"}});
  std::string list;
  for (const Claim& claim : claims) {
    if (claim.verdict == ClaimVerdict::kNotTested) continue;
    const std::string verdict(verdict_text(claim.verdict));
    table.add({claim.figure, verdict, claim.text, claim.measured});
    list += folded(fmt::format("{}  {}: {}", claim.figure, verdict, claim.text), width, kClaimIndent) + '\n';
    list += folded(std::string(kClaimIndent, ' ') + claim.measured, width, kClaimIndent) + '\n';
  }
  const std::string as_table = table.text();
  const bool fits =
      as_table.find('\n', as_table.find('\n') + 1) - as_table.find('\n') - 1 <= width;  // its rule
  const std::string untested = not_tested_text(claims);
  return (fits ? as_table : list) +
         (untested.empty() ? "" : fmt::format("\n{}\n", folded(untested, width, 0)));
}

Result<Reproduction> reproduce_all(const ReproduceArguments& args, const PlanOptions& options, bool json) {
  const auto natural = ProgressMeter::natural_style();
  const bool silent = args.quiet || (json && natural == ProgressMeter::Style::kLines);
  const std::atomic<bool>& stop = watch_interrupts(kStopsAfterRound);
  ProgressMeter meter(silent ? ProgressMeter::Style::kNone : natural);
  return reproduce(options, args.store, {[&](const Progress& progress) { meter.show(progress); }, &stop});
}

// Reported before the training rather than after it.
Result<void> check_reproduction_folder(const ReproduceArguments& args) {
  MFL_CHECK(check_gnuplot());
  MFL_TRY(const ReportFolder writable, ReportFolder::make(args.out));
  return {};
}

Result<Reply> reproduce_command(const ReproduceArguments& args, bool json) {
  const auto start = std::chrono::steady_clock::now();
  MFL_TRY(const PlanOptions options, plan_options(args));
  MFL_CHECK(check_reproduction_folder(args));
  MFL_TRY(const Reproduction reproduction, reproduce_all(args, options, json));
  MFL_TRY(const Report report, reproduction_report(reproduction, options));
  MFL_TRY(const fs::path folder, write_report(report, args.out));
  const std::string page = (folder / "report.html").string();
  Reply reply;
  reply.data = {
      {"report", page},
      {"folder", folder.string()},
      {"quick", options.quick},
      {"seeds", options.seeds},
      {"runs", reproduction.runs},
      {"reused", reproduction.reused},
      {"wall_seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
  reply.data["claims"] = Json::array();
  for (const Claim& claim : reproduction.claims)
    reply.data["claims"].push_back(
        {{"id", claim.id}, {"verdict", verdict_text(claim.verdict)}, {"measured", claim.measured}});
  reply.text = claims_text(reproduction.claims) + fmt::format("\nwrote {}\n", page);
  return reply;
}

}  // namespace

void setup_reproduce(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<ReproduceArguments>();
  Command& command =
      commands.add(mfl, "reproduce", "Run the paper's experiments: every figure, every claim, one report",
                   "  mfl reproduce --quick --out reproduction\n"
                   "  mfl reproduce --figure 5 --seeds 3\n"
                   "writes report.html, which is self-contained, and figures/, data/ and claims.json.\n"
                   "Runs that the store already holds are not trained again. An earlier report in that "
                   "folder is replaced.",
                   [args, &commands] { return reproduce_command(*args, commands.json); });
  commands.processes.refuse(command);
  command.add_option("--figure", args->figure, "all, 4, 4a to 4d, 5, 5a to 5c, 6, or several with commas")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--seeds", args->seeds,
                  "Use seeds 1 to N, each with its own samples and split (default: 5, quick: 1)")
      ->type_name("N");
  command.add_flag("--quick", args->quick, "One seed, without the runs of 60,000 steps of figure 6");
  command.add_option("--out", args->out, "The folder to write")->type_name("DIR")->capture_default_str();
  command
      .add_option("--experiments", args->experiments,
                  "Folder that holds figure-4.toml and the other settings (default: experiments/paper)")
      ->type_name("DIR");
  args->flags.add_set(command);
  add_store_flag(command, args->store);
  command.add_flag("--quiet", args->quiet, "No progress on stderr");
}

}  // namespace mfl::cli
