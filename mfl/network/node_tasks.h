// What a node does for its server, without a connection: takes up the run's schema, answers what is asked of
// its data before the first round, and trains.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mfl/federation/trainer.h"
#include "mfl/network/node_source.h"

namespace mfl {

// The node's problem, once everything that its samples are prepared with is known.
class NodeTraining {
 public:
  virtual ~NodeTraining() = default;
  // Of the node's loss; see node_smoothness().
  virtual Result<double> smoothness() = 0;
  // The weights that its trainer starts from, as bytes.
  virtual Result<std::string> initial_weights() = 0;
  // The step size of the tasks is the same every time.
  virtual Result<Trained> train(const Assignment& task) = 0;
};

// Not thread-safe. The options must outlive it.
class NodeTasks {
 public:
  NodeTasks(NodeSource data, std::string run_id, std::string name, const NodeOptions& options);

  // Takes up the schema that the run has once this node has joined. False where it is not complete: the
  // server has lost this node in between. kNetwork where the run had another one before.
  Result<bool> follow(const Schema& run);
  // Whether the run was prepared again since the last task, with another step size. This node must then be
  // prepared for it too, and join again.
  bool forget_if_outdated(const Assignment& task);
  // After follow().
  Result<Trained> work(const Assignment& task);

 private:
  const Schema& schema() const { return experiment_.config.schema; }
  bool measures_eta_here() const;
  Result<void> settle_in(const Preprocessing& preprocessing);
  Result<Trained> measure();
  Result<Trained> prepare(const Assignment& task);
  Result<Trained> initialise();

  NodeSource data_;
  Experiment experiment_;  // with the run's schema, once following_
  std::string run_id_, name_;
  const NodeOptions& options_;
  bool following_ = false;
  std::string sums_;             // that this node has measured; empty: not yet
  std::string prepared_digest_;  // of the task that training_ was made by; empty where there was none
  double smoothness_ = 0;
  std::optional<double> eta_;  // of the tasks so far
  std::unique_ptr<NodeTraining> training_;
};

}  // namespace mfl
