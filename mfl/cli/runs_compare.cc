#include <fmt/core.h>

#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/cli/compare_flags.h"

namespace mfl::cli {
namespace {

Result<Reply> compare_command(const CompareFlags& flags) {
  MFL_TRY(const Store store, flags.open());
  MFL_TRY(const Comparison comparison, compare_runs(store, flags.ids, flags.options));
  return Reply{compare_json(comparison), compare_text(comparison), {}};
}

}  // namespace

void setup_runs_compare(Command& runs, Commands& commands) {
  const auto flags = std::make_shared<CompareFlags>();
  Command& command = commands.add(
      runs, "compare", "Compare runs: loss, accuracy, steps and bytes to a target loss",
      "  mfl runs compare latest~1 latest --baseline fl\n"
      "The target is the final loss of the baseline, per model and problem, unless --target gives another.",
      [flags] { return compare_command(*flags); });
  flags->add(command);
}

}  // namespace mfl::cli
