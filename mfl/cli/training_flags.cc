#include "mfl/cli/training_flags.h"

#include <fmt/core.h>

#include <cstdio>

namespace mfl::cli {

void TrainingFlags::add(Command& command) {
  command
      .add_option("--weights-out", weights_out,
                  "Write the final weights, and their schema to FILE.schema.json")
      ->type_name("FILE.npy");
  command.add_flag("--monitor", monitor,
                   "Warn when eta, drift or momentum leave the region in which averaging helps");
  trainer.add(command);
  trainer.add_processes(command);
}

void TrainingFlags::fill(RunOptions& options, bool silent) const {
  options.weights_out = weights_out;
  options.monitor = monitor;
  options.trainer = trainer.setup();
  if (options.trainer && !silent)
    options.trainer->waiting = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
}

}  // namespace mfl::cli
