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
      runs, "compare", "Runs side by side: loss, accuracy, steps and bytes to a target loss",
      "  mfl runs compare 3f2a 91bc --baseline fl\n"
      "The target is the baseline's final loss, per model and problem, unless --target says otherwise.",
      [flags] { return compare_command(*flags); });
  flags->add(command);
}

}  // namespace mfl::cli
