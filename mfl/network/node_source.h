// What a node of a federation trains on: data that mfl reads, or a trainer of the user's, which has its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mfl/external/trainers.h"
#include "mfl/federation/messages.h"
#include "mfl/load/problem.h"
#include "mfl/network/node.h"

namespace mfl {

// Not thread-safe. The options must outlive it.
class NodeSource {
 public:
  // Reads the data, or starts the trainer, that the options name for this plan. `name` is the node's.
  static Result<NodeSource> open(const Plan& plan, const NodeOptions& options, const std::string& name);

  // The plan over this data, as the experiment of a federation with one node.
  const Experiment& experiment() const { return experiment_; }
  // What the node says of its data.
  const Schema& schema() const { return schema_; }
  std::uint64_t samples() const { return samples_; }
  std::uint64_t columns() const { return columns_; }  // of a trainer: numbers of w

  // The samples of a node whose data mfl reads, in a run with so many columns. Reads them again where a
  // problem has taken them; kBadData unless they are those of the first call.
  Result<const Dataset*> rows(std::uint64_t columns);
  // Over a complete schema, that of `run`. Takes the samples.
  template <class T>
  Result<Problem<T>> problem(const Experiment& run);

 private:
  NodeSource(Experiment experiment, const NodeOptions& options)
      : experiment_(std::move(experiment)), options_(&options) {}
  Result<void> start_trainer(const std::string& name);
  Result<void> read(std::uint64_t columns);
  Result<void> describe(const Schema& run);

  Experiment experiment_;
  const NodeOptions* options_;
  std::shared_ptr<Trainers> trainers_;  // of an external model
  TrainTest data_;                      // until a problem has it
  std::string digest_;                  // of the data; empty: nobody has asked for it
  Schema schema_;
  std::uint64_t samples_ = 0, columns_ = 0;
};

}  // namespace mfl
