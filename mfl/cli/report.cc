#include <fmt/core.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/report/runs_report.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string store, out = "report";
  std::vector<std::string> ids;
  CompareOptions options;
};

Result<Reply> report_command(const Arguments& args) {
  if (args.options.target && !std::isfinite(*args.options.target))
    return fail(ErrorCode::kBadConfig, "--target: must be a finite number");
  MFL_TRY(const Store store, open_store(args.store));
  MFL_TRY(const Report report, runs_report(store, args.ids, args.options));
  MFL_TRY(const auto folder, write_report(report, args.out));
  const std::string page = (folder / "report.html").string();
  return Reply{{{"report", page}, {"folder", folder.string()}}, fmt::format("wrote {}\n", page), {}};
}

}  // namespace

void setup_report(CLI::App& mfl, Commands& commands) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& command = commands.add(
      mfl, "report", "Write a page of recorded runs: curves, comparison, configuration, digests",
      "  mfl report 3f2a 91bc --out report\n"
      "writes report/report.html, one file that needs no other, and figures and data beside it.\n"
      "An earlier report in that folder is replaced.",
      [args] { return report_command(*args); });
  command.add_option("ID", args->ids, "Runs, beginnings of their ids, or latest")->required();
  command.add_option("--out", args->out, "The folder to write")->type_name("DIR")->capture_default_str();
  command.add_option("--baseline", args->options.baseline, "The algorithm whose final loss is the target")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--target", args->options.target, "The training loss to reach")->type_name("LOSS");
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
