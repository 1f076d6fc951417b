#include "mfl/cli/compare_flags.h"

#include <cmath>

namespace mfl::cli {

void CompareFlags::add(Command& command) {
  command.add_option("RUN", ids, kRunsHelp)->required();
  command.add_option("--baseline", options.baseline, "The algorithm whose final loss is the target")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--target", options.target, "The training loss to reach")->type_name("LOSS");
  add_store_flag(command, store);
}

Result<Store> CompareFlags::open() const {
  if (options.target && !std::isfinite(*options.target))
    return fail(ErrorCode::kBadConfig, "--target: must be a finite number");
  return open_store(store);
}

}  // namespace mfl::cli
