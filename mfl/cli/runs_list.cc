#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "mfl/base/nearest.h"
#include "mfl/cli/commands.h"
#include "mfl/report/runs.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string store, status;
  RunFilter filter;
};

Result<RunFilter> make_filter(const Arguments& args) {
  RunFilter filter = args.filter;
  if (args.status.empty()) return filter;
  filter.status = parse_run_status(args.status);
  if (filter.status) return filter;
  constexpr std::string_view kNames[] = {"running", "done", "diverged", "interrupted", "failed"};
  const std::string near = nearest(args.status, kNames);
  return fail(ErrorCode::kBadConfig,
              fmt::format("--status {}: must be running, done, diverged, interrupted or failed{}",
                          args.status, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

Result<Reply> list_command(const Arguments& args) {
  MFL_TRY(const RunFilter filter, make_filter(args));
  std::vector<RunRow> runs;
  std::error_code ignored;
  if (std::filesystem::exists(args.store, ignored)) {
    MFL_TRY(const Store store, open_store(args.store));
    MFL_TRY(runs, store.list(filter));
  }
  return Reply{
      runs_json(runs), runs.empty() ? fmt::format("no runs in {}\n", args.store) : runs_text(runs), {}};
}

}  // namespace

void setup_runs_list(Command& runs, Commands& commands) {
  const auto args = std::make_shared<Arguments>();
  Command& command =
      commands.add(runs, "list", "One line a run, newest first", "  mfl runs list --status done --limit 10",
                   [args] { return list_command(*args); });
  command.add_option("--status", args->status, "Only running, done, diverged, interrupted or failed ones")
      ->type_name("STATUS");
  command.add_option("--name", args->filter.name, "Only runs with this name")->type_name("TEXT");
  command.add_option("--model", args->filter.model, "Only runs of this model")->type_name("NAME");
  command.add_option("--algorithm", args->filter.algorithm, "Only runs of this algorithm")->type_name("NAME");
  command.add_option("--limit", args->filter.limit, "At most so many; 0 for all")
      ->type_name("N")
      ->capture_default_str();
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
