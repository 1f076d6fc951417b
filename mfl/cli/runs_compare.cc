#include <fmt/core.h>

#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/cli/compare_flags.h"

namespace mfl::cli {
namespace {

struct CompareArguments {
  CompareFlags runs;
  std::string format = "text";
  bool each = false;
};

Result<Reply> compare_command(const CompareArguments& args) {
  auto format = parse_table_format(args.format);
  if (!format) return fail_because(format.error(), "--format");
  MFL_TRY(const Store store, args.runs.open());
  MFL_TRY(const std::vector<std::string> ids, store.find(args.runs.ids));
  MFL_TRY(const CompareOptions options, args.runs.labelled(store));
  MFL_TRY(const Comparison comparison, compare_runs(store, ids, options));
  return Reply{compare_json(comparison), compare_text(comparison, {*format, args.each}), {}};
}

}  // namespace

void setup_runs_compare(Command& runs, Commands& commands) {
  const auto args = std::make_shared<CompareArguments>();
  Command& command =
      commands.add(runs, "compare", "Compare runs: loss, accuracy, steps and bytes to a target loss",
                   "  mfl runs compare latest~1 latest --baseline fl\n"
                   "  mfl runs compare latest~1 latest --format csv\n"
                   "The target is the final loss of the baseline, per model, problem and seed, unless "
                   "--target gives another.\n"
                   "Runs that differ only in the seed are one row with mean and standard deviation, unless "
                   "--each is given.",
                   [args] { return compare_command(*args); });
  args->runs.add(command);
  command.add_option("--format", args->format, "How to print the table: text, markdown, csv or latex")
      ->type_name("FORMAT")
      ->choices(table_format_names())
      ->capture_default_str();
  command.add_flag("--each", args->each, "One row per run, also where runs differ only in the seed");
}

}  // namespace mfl::cli
