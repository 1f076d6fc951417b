// Converts a configuration into a row of the store, and a row into what a caller is told.
#pragma once

#include "mfl/config/config.h"
#include "mfl/experiment/experiment.h"
#include "mfl/load/problem.h"
#include "mfl/model/score_metrics.h"
#include "mfl/record/run.h"
#include "mfl/run/runner.h"

namespace mfl {

// Without what only somebody who holds the data knows. `train_digest` is that of the training data, or what
// stands for it.
RunSpec make_spec(const Experiment& experiment, std::size_t nodes, const std::string& train_digest);

template <class T>
TestLabels test_labels(const Experiment& experiment, const Problem<T>& problem);

// Of features that are constant in the training data.
std::vector<RunWarning> data_warnings(const std::vector<std::string>& constant_features);

// kBadConfig if the configuration has a target_accuracy and there is no test set of classes.
template <class T>
Result<void> check_target_accuracy(const Experiment& experiment, const Problem<T>& problem);

// `experiment` is what was asked for; what the run found out before it started is taken from its row.
RunOutcome make_outcome(const RunRow& run, const Experiment& experiment);

}  // namespace mfl
