#include <fmt/core.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/report/compare.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string store;
  std::vector<std::string> ids;
  CompareOptions options;
};

Result<Reply> compare_command(const Arguments& args) {
  if (args.options.target && !std::isfinite(*args.options.target))
    return fail(ErrorCode::kBadConfig, "--target: must be a finite number");
  MFL_TRY(const Store store, open_store(args.store));
  MFL_TRY(const Comparison comparison, compare_runs(store, args.ids, args.options));
  return Reply{compare_json(comparison), compare_text(comparison), {}};
}

}  // namespace

void setup_runs_compare(CLI::App& runs, Commands& commands) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& command = commands.add(
      runs, "compare", "Runs side by side: loss, accuracy, steps and bytes to a target loss",
      "  mfl runs compare 3f2a 91bc --baseline fl\n"
      "The target is the baseline's final loss, per model and problem, unless --target says otherwise.",
      [args] { return compare_command(*args); });
  command.add_option("ID", args->ids, "Runs, beginnings of their ids, or latest")->required();
  command.add_option("--baseline", args->options.baseline, "The algorithm whose final loss is the target")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--target", args->options.target, "The training loss to reach")->type_name("LOSS");
  add_store_flag(command, args->store);
}

}  // namespace mfl::cli
