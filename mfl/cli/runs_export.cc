#include <fmt/core.h>

#include <memory>

#include "mfl/base/files.h"
#include "mfl/cli/commands.h"
#include "mfl/record/export.h"

namespace mfl::cli {
namespace {

struct RunsExportArguments {
  std::string store, format = "csv", out;
  std::vector<std::string> ids;
  bool rounds = false, nodes = false;
};

Result<Reply> export_runs(const RunsExportArguments& args, bool json) {
  if (args.format != "csv" && args.format != "json")
    return fail(ErrorCode::kBadConfig, fmt::format("--format {}: must be csv or json", args.format));
  if (args.format == "csv" && args.rounds && args.nodes)
    return fail(ErrorCode::kBadConfig, "--rounds and --nodes are two tables, and CSV has one",
                "export them one after the other, or use --format json");
  MFL_TRY(const Store store, open_store(args.store));
  if (!args.out.empty()) MFL_CHECK(prepare_output(args.out));
  MFL_TRY(const std::vector<std::string> ids, store.find(args.ids));
  std::vector<RunExport> runs;
  for (const std::string& id : ids) {
    MFL_TRY(runs.emplace_back(), load_run(store, id, args.rounds, args.nodes));
  }
  Reply reply;
  const std::string text = args.format == "json" ? export_json_text(runs)
                           : args.nodes          ? nodes_csv(runs)
                           : args.rounds         ? rounds_csv(runs)
                                                 : records_csv(runs);
  if (!args.out.empty()) {
    MFL_CHECK(write_file(args.out, text));
    reply.text = fmt::format("wrote {}\n", args.out);
    reply.data = {{"file", args.out}, {"format", args.format}, {"bytes", text.size()}};
  } else if (json) {
    reply.data["runs"] = Json::array();
    for (const RunExport& run : runs) reply.data["runs"].push_back(export_json(run).sorted());
  } else {
    reply.text = text;
  }
  return reply;
}

}  // namespace

void setup_runs_export(Command& runs, Commands& commands) {
  const auto args = std::make_shared<RunsExportArguments>();
  Command& command = commands.add(runs, "export", "Write the records of runs as CSV or JSON",
                                  "  mfl runs export latest --format csv --out curve.csv",
                                  [args, &commands] { return export_runs(*args, commands.json); });
  command.add_option("RUN", args->ids, kRunsHelp)->required();
  command.add_option("--format", args->format, "csv or json")
      ->type_name("FORMAT")
      ->choices({"csv", "json"})
      ->capture_default_str();
  command.add_flag("--rounds", args->rounds, "Every round instead of the records (in JSON: both)");
  command.add_flag("--nodes", args->nodes,
                   "Every node of every round of a federation instead of the records (in JSON: both)");
  command.add_option("--out", args->out, "Write to a file instead of stdout")->type_name("FILE");
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
