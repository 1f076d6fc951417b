// What a served run knows of its nodes' data before a node has joined.
#pragma once

#include <string>

#include "mfl/experiment/experiment.h"
#include "mfl/federation/coordinator.h"
#include "mfl/network/host.h"
#include "mfl/trained/trained_model.h"

namespace mfl {

// What must be measured before the first round of a run of this schema.
PreparationNeeds needs_of(const Experiment& experiment, const Schema& schema);

// Fills the part of `out` that is about the nodes' data: the schema and where it comes from, what an earlier
// process of the run has measured, whom it has excluded, and the warnings about both. The schema is the one
// that the experiment states, completed by the initial model, which may be null, and by the run's store.
// kBadConfig where two of them differ.
Result<void> take_schema(const Experiment& experiment, const HostOptions& options, const RunRow& run,
                         const TrainedModel* initial, CoordinatorOptions& out);

// Completes it by that of the server's test set, `spec`. kBadData where the test set leaves the classes open.
Result<void> take_test_schema(const Schema& test, const std::string& spec, CoordinatorOptions& out);

}  // namespace mfl
