#include <fmt/core.h>

#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/cli/compare_flags.h"
#include "mfl/report/runs_report.h"

namespace mfl::cli {
namespace {

struct ReportArguments {
  std::string out = "report";
  CompareFlags runs;
};

Result<Reply> report_command(const ReportArguments& args) {
  MFL_TRY(const Store store, args.runs.open());
  MFL_TRY(const Report report, runs_report(store, args.runs.ids, args.runs.options));
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
                   "writes report/report.html, which is self-contained, and the figures and data as files.\n"
                   "An earlier report in that folder is replaced.",
                   [args] { return report_command(*args); });
  args->runs.add(command);
  command.add_option("--out", args->out, "The folder to write")->type_name("DIR")->capture_default_str();
}

}  // namespace mfl::cli
