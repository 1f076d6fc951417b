#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/config/config.h"
#include "mfl/record/export.h"
#include "mfl/report/nodes.h"
#include "mfl/report/runs.h"

namespace mfl::cli {
namespace {

constexpr std::size_t kRecords = 10;

struct ShowArguments {
  std::string store, id;
  bool nodes = false;
};

// Without what is at its default; empty for a run of another version, whose configuration cannot be read.
std::string shown_config(const RunRow& run) {
  const auto config = parse_config(run.config, "");
  return config ? changed_toml(*config) : "";
}

// One line per run of a group; the runs themselves are shown one by one.
Result<Reply> show_group(const Store& store, const std::vector<std::string>& ids) {
  std::vector<RunRow> runs;
  for (const std::string& id : ids) {
    MFL_TRY(runs.emplace_back(), store.get(id));
  }
  return Reply{runs_json(runs), runs_text(runs), {}};
}

Result<Reply> show_run(const ShowArguments& args) {
  MFL_TRY(const Store store, open_store(args.store));
  MFL_TRY(const std::vector<std::string> ids, store.find(std::vector{args.id}));
  if (ids.size() > 1) return show_group(store, ids);
  MFL_TRY(RunExport run, load_run(store, ids.front(), true, args.nodes));
  if (!args.nodes) return Reply{show_json(run), run_text(run, kRecords, shown_config(run.run)), {}};
  Reply reply{{}, run_text(run, kRecords, shown_config(run.run)) + nodes_text(run), {}};
  const Json participation = nodes_json(run);
  run.nodes.reset();
  reply.data = show_json(run);
  reply.data["participation"] = participation;
  return reply;
}

}  // namespace

void setup_runs_show(Command& runs, Commands& commands) {
  const auto args = std::make_shared<ShowArguments>();
  Command& command = commands.add(runs, "show", "Everything about one run",
                                  "  mfl runs show latest\n"
                                  "  mfl runs show latest --nodes",
                                  [args] { return show_run(*args); });
  command.add_option("RUN", args->id, kRunHelp)->required();
  command.add_flag("--nodes", args->nodes,
                   "Also list the participants of each round of a federation and verify the record");
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
