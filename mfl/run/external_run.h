// A simulation whose nodes are trained by programs of the user's (docs/trainer.md).
#pragma once

#include <optional>

#include "mfl/base/result.h"
#include "mfl/experiment/experiment.h"
#include "mfl/external/trainers.h"
#include "mfl/load/problem.h"

namespace mfl {

// What trainers are told of a run of this experiment, which has an external model.
TrainerIntroduction introduction_of(const Experiment& experiment, std::vector<std::string> nodes);

// The nodes of a trainer: the model has its tensors, and starts where it says. Without a schema that is of the trainer's own.
template <class T>
Problem<T> external_problem(std::shared_ptr<Trainers> trainers);

// Starts the trainers of a simulation. kBadConfig without a setup.
template <class T>
Result<Problem<T>> start_trainers(const Experiment& experiment, const std::optional<TrainerSetup>& setup);

}  // namespace mfl
