// --trainer and its further flags, for the commands that train.
#pragma once

#include <optional>
#include <string>

#include "mfl/base/result.h"
#include "mfl/cli/command.h"
#include "mfl/config/config.h"
#include "mfl/external/trainers.h"

namespace mfl::cli {

struct TrainerFlags {
  std::string spec;
  std::uint64_t processes = 1;
  double deadline = std::chrono::duration<double>(kTrainerDeadline).count();  // seconds

  void add(Command& command);
  void add_processes(Command& command);
  // Makes the model that of the trainer. kBadConfig if the configuration or a flag names another.
  Result<void> take_model(Config& config, bool model_given) const;
  // Nothing without --trainer.
  std::optional<TrainerSetup> setup() const;
};

}  // namespace mfl::cli
