// What a Problem is made of, as functions of the configuration and of data that is read.
#pragma once

#include <vector>

#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/data/dataset.h"
#include "mfl/data/schema.h"
#include "mfl/experiment/experiment.h"
#include "mfl/model/model.h"
#include "mfl/partition/partition.h"

namespace mfl {

template <class T>
constexpr Precision precision_of() {
  return sizeof(T) == sizeof(float) ? Precision::kF32 : Precision::kF64;
}

// Uses the number of rows and the labels only. A centralised algorithm has one node.
Result<Partition> who_holds_what(const Experiment& experiment, const Dataset& train);

// The schema of a run over this training data: what the configuration states, completed by the data. Looks at rows, labels and
// names only.
Result<Schema> schema_of(const Config& config, const Dataset& train);

// The rows of a set that a process holds, and their targets.
struct OwnRows {
  Dataset data;
  std::vector<double> targets;
};

// Rows as the model sees them; with the class weights of the schema where they are trained on.
enum class Use { kTraining, kTest };
template <class T>
Result<Samples<T>> make_samples(const Config& config, const Schema& schema, const Model<T>& model,
                                OwnRows held, Use use);

}  // namespace mfl
