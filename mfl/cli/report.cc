#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "mfl/cli/commands.h"
#include "mfl/cli/compare_flags.h"
#include "mfl/report/runs_report.h"

namespace mfl::cli {
namespace {

struct ReportArguments {
  std::string out = "report";
  ReportLook look;
  CompareFlags runs;
};

Result<Reply> report_command(const ReportArguments& args) {
  MFL_TRY(const Store store, args.runs.open());
  constexpr std::string_view kOver[] = {"steps", "rounds", "bytes", "seconds"};
  if (std::ranges::find(kOver, args.look.x) == std::end(kOver))
    return fail(ErrorCode::kBadConfig,
                fmt::format("--x {}: must be steps, rounds, bytes or seconds", args.look.x));
  MFL_TRY(const std::vector<std::string> ids, store.find(args.runs.ids));
  MFL_TRY(const CompareOptions options, args.runs.labelled(store));
  MFL_TRY(const Report report, runs_report(store, ids, options, args.look));
  MFL_TRY(const auto folder, write_report(report, args.out));
  const std::string page = (folder / "report.html").string();
  return Reply{{{"report", page}, {"folder", folder.string()}}, fmt::format("wrote {}\n", page), {}};
}

}  // namespace

void setup_report(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<ReportArguments>();
  Command& command =
      commands.add(mfl, "report", "Write a page of recorded runs: curves, comparison, configuration, digests",
                   "  mfl report 3f2a 91bc --out report\n"
                   "  mfl report latest --x rounds --title 'Digits' --label latest=momentum\n"
                   "writes report/report.html, which is self-contained, and the figures and data as files.\n"
                   "An earlier report in that folder is replaced.",
                   [args] { return report_command(*args); });
  args->runs.add(command);
  command.add_option("--title", args->look.title, "The title of the page")->type_name("TEXT");
  command.add_option("--x", args->look.x, "What curves are drawn over: steps, rounds, bytes or seconds")
      ->type_name("WHAT")
      ->choices({"steps", "rounds", "bytes", "seconds"})
      ->capture_default_str();
  command.add_option("--out", args->out, "The folder to write")->type_name("DIR")->capture_default_str();
}

}  // namespace mfl::cli
