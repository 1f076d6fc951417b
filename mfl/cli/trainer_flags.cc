#include "mfl/cli/trainer_flags.h"

#include <fmt/core.h>

#include <cmath>

#include "mfl/config/entries.h"

namespace mfl::cli {

void TrainerFlags::add(Command& command) {
  command
      .add_option("--trainer", spec,
                  "Your own program that trains the model: a command to start, or unix:PATH where it listens")
      ->type_name("COMMAND")
      ->not_blank();
  command.add_option("--trainer-deadline", deadline, "Seconds that a call to the trainer may take")
      ->type_name("S")
      ->check_range(0.1, 1e7);
}

void TrainerFlags::add_processes(Command& command) {
  command.add_option("--trainer-processes", processes, "Trainers to start, which share the nodes")
      ->type_name("N")
      ->check_range(1, kMostTrainers);
}

Result<void> TrainerFlags::take_model(Config& config, bool model_given) const {
  if (spec.empty()) return {};
  if (!entry_of(config.model).external && (model_given || config.model.name != ModelConfig{}.name))
    return fail(ErrorCode::kBadConfig,
                fmt::format("the model is {}, and a trainer has its own", config.model.name),
                "leave model out, or --trainer");
  config.model.name = "external";
  if (config.data.source == DataConfig{}.source) config.data.source = kTrainerSource;
  return {};
}

std::optional<TrainerSetup> TrainerFlags::setup() const {
  if (spec.empty()) return std::nullopt;
  return TrainerSetup{.spec = spec,
                      .processes = static_cast<unsigned>(processes),
                      .deadline = std::chrono::milliseconds(std::llround(1000 * deadline))};
}

}  // namespace mfl::cli
