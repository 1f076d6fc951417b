#include <fmt/core.h>

#include <memory>
#include <optional>

#include "mfl/cli/commands.h"
#include "mfl/report/runs.h"

namespace mfl::cli {
namespace {

constexpr std::size_t kUsualLimit = 20;

struct ListArguments {
  std::string store, status;
  RunFilter filter;
  std::optional<std::size_t> limit;
};

Result<Reply> list_runs(const ListArguments& args, bool json) {
  MFL_TRY(std::vector<RunRow> runs, find_runs(args.store, args.filter, args.status));
  const std::size_t found = runs.size();
  const std::size_t limit = args.limit.value_or(json ? 0 : kUsualLimit);
  if (limit > 0 && found > limit) runs.resize(limit);
  if (json) return Reply{runs_json(runs), {}, {}};
  std::string text = runs.empty() ? fmt::format("no runs in {}\n", args.store) : runs_text(runs);
  if (!args.limit && runs.size() < found)
    text += fmt::format("\nthe newest {} of {} runs; --limit 0 shows all\n", runs.size(), found);
  return Reply{{}, text, {}};
}

}  // namespace

void setup_runs_list(Command& runs, Commands& commands) {
  const auto args = std::make_shared<ListArguments>();
  Command& command =
      commands.add(runs, "list", "One line per run, newest first", "  mfl runs list --status done --limit 10",
                   [args, &commands] { return list_runs(*args, commands.json); });
  command
      .add_option("--status", args->status,
                  "Only running, done, diverged, interrupted, failed or killed runs")
      ->type_name("STATUS")
      ->choices({shown_statuses().begin(), shown_statuses().end()});
  command.add_option("--name", args->filter.name, "Only runs with this name")->type_name("TEXT");
  command.add_option("--model", args->filter.model, "Only runs of this model")->type_name("NAME");
  command.add_option("--algorithm", args->filter.algorithm, "Only runs of this algorithm")->type_name("NAME");
  command.add_option("--limit", args->limit, "At most this many; 0 for all (default: 20, with --json all)")
      ->type_name("N");
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
