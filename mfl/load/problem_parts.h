// Helpers of load_problem in one process (problem.cc) and in several (share.cc).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/config/config.h"
#include "mfl/data/dataset.h"
#include "mfl/data/schema.h"
#include "mfl/model/objective.h"
#include "mfl/partition/partition.h"

namespace mfl {

template <class T>
constexpr Precision precision_of() {
  return sizeof(T) == sizeof(float) ? Precision::kF32 : Precision::kF64;
}

// Uses the number of rows and the labels only. A centralised algorithm has one node.
Result<Partition> who_holds_what(const Config& config, const Dataset& train);
std::vector<Shard> shards_of(const Partition& partition);

// The schema of a run over this training data: what the configuration states, completed by the data. Looks at rows, labels and
// names only.
Result<Schema> schema_of(const Config& config, const Dataset& train);
Result<std::vector<double>> targets_of(const Config& config, const Schema& schema, const Dataset& data);
bool two_classes(const Config& config, std::span<const double> targets);

// Rows as the model of this problem sees them, and their targets; with the class weights of the schema where they are trained on.
enum class Use { kTraining, kTest };
template <class T>
Result<Samples<T>> make_samples(const Config& config, const Schema& schema, Dataset data,
                                std::span<const double> targets, Use use);

// Digest of training data, test data and partition; the test digest is empty when there is no test set.
std::string data_digest_of(const std::string& train_digest, const std::string& test_digest,
                           const Partition& partition);

}  // namespace mfl
