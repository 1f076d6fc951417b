// A node's work: the engine of the simulation over the one shard that the node holds.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "mfl/base/result.h"
#include "mfl/engine/engine.h"
#include "mfl/federation/kept_file.h"
#include "mfl/federation/messages.h"

namespace mfl {

struct Trained {
  Losses losses = {};         // of the node; may be not finite
  std::vector<Block> blocks;  // of the payload
  std::string payload;
  Metrics metrics = {};  // of an external node
};

// Not thread-safe: one call at a time.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual std::uint64_t weight() const = 0;   // |D_i|
  virtual std::uint64_t columns() const = 0;  // features
  virtual std::uint32_t bits() const = 0;     // of a number
  // kNetwork when the task is not one of the plan: another shape than the rule needs, a number that is not finite,
  // more steps than tau. kRunFailed when it was stopped, or when what the node keeps was lost (KeptFile); the trainer
  // must not be used after that.
  virtual Result<Trained> train(const Assignment& task) = 0;
};

struct TrainerOptions {
  Batching batching = {};
  LossRule losses = {};          // of a federation
  CodecChain codecs = {};        // that an update passes
  std::uint64_t most_steps = 0;  // of a task; 0: tau of the algorithm
};

// `federation` has one node, with its name where batches are drawn, and outlives the trainer.
// `stop` is polled before every step and, where there are several workers, before every block of rows.
// `kept` is what the node keeps across rounds.
template <class T>
std::unique_ptr<Trainer> make_trainer(const Federation<T>& federation, const Setting& setting,
                                      std::unique_ptr<Workers> workers,
                                      const std::atomic<bool>* stop = nullptr,
                                      const TrainerOptions& options = {}, KeptFile<T> kept = {});

}  // namespace mfl
