#include <fmt/core.h>

#include <memory>

#include "mfl/cli/commands.h"

namespace mfl::cli {
namespace {

struct DeleteArguments {
  std::string store;
  std::vector<std::string> ids;
};

Result<Reply> delete_command(const DeleteArguments& args) {
  MFL_TRY(Store store, open_store(args.store, false));
  MFL_TRY(const std::vector<std::string> ids, store.find(args.ids));
  MFL_CHECK(store.remove(ids));
  Reply reply;
  reply.data["deleted"] = ids;
  for (const std::string& id : ids) reply.text += fmt::format("deleted {}\n", id);
  return reply;
}

}  // namespace

void setup_runs_delete(Command& runs, Commands& commands) {
  const auto args = std::make_shared<DeleteArguments>();
  Command& command = commands.add(runs, "delete", "Delete runs: all of those named, or none",
                                  "  mfl runs delete 3f2a 91bc", [args] { return delete_command(*args); });
  command.add_option("RUN", args->ids, kRunsHelp)->required();
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
