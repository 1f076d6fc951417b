// The flags of commands that train (run and sweep) beside those of the configuration.
#pragma once

#include <string>

#include "mfl/cli/command.h"
#include "mfl/cli/trainer_flags.h"
#include "mfl/run/runner.h"

namespace mfl::cli {

struct TrainingFlags {
  std::string weights_out;
  bool monitor = false;
  TrainerFlags trainer;

  void add(Command& command);
  // Says on standard error whom a long wait is for, unless `silent`.
  void fill(RunOptions& options, bool silent) const;
};

}  // namespace mfl::cli
