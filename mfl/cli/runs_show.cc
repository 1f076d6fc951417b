#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/record/export.h"
#include "mfl/report/runs.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string store, id;
};

Result<Reply> show_command(const Arguments& args) {
  MFL_TRY(const Store store, open_store(args.store));
  MFL_TRY(const RunExport run, load_run(store, args.id, true));
  return Reply{show_json(run), run_text(run), {}};
}

}  // namespace

void setup_runs_show(Command& runs, Commands& commands) {
  const auto args = std::make_shared<Arguments>();
  Command& command = commands.add(runs, "show", "Everything about one run", "  mfl runs show latest",
                                  [args] { return show_command(*args); });
  command.add_option("RUN", args->id, kRunHelp)->required();
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
