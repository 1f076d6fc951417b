// A simulation whose nodes are trained by programs of the user's (docs/trainer.md).
#pragma once

#include <optional>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/external/trainers.h"
#include "mfl/load/problem.h"

namespace mfl {

// What trainers are told of a run with this configuration, which is valid and has an external model.
TrainerIntroduction introduction_of(const Config& config, std::vector<std::string> nodes);

// The nodes of a trainer: the model has its tensors, and starts where it says. Without a schema that is of the trainer's own.
template <class T>
Problem<T> external_problem(std::shared_ptr<Trainers> trainers);

// Starts the trainers of a simulation. kBadConfig without a setup.
template <class T>
Result<Problem<T>> start_trainers(const Config& config, const std::optional<TrainerSetup>& setup);

}  // namespace mfl
