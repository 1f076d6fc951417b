// Trainers: programs of the user's that train the nodes of a run (docs/trainer.md). One serves the node of a federation; several share the nodes of
// a simulation.
//
//   MFL_TRY(const auto trainers, Trainers::open({.spec = "python train.py"}, introduction_of(config, {"hospital-a"})));
//   trainers->facts().tensors;  // of the model
//   federation.external = external_nodes<float>(trainers);
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/data/schema.h"
#include "mfl/engine/external.h"
#include "mfl/external/link.h"
#include "mfl/model/model.h"

namespace mfl {

inline constexpr std::chrono::milliseconds kTrainerDeadline = std::chrono::minutes(10);
inline constexpr unsigned kMostTrainers = 256;

struct TrainerSetup {
  std::string spec;                                       // as of TrainerLink
  unsigned processes = 1;                                 // that are started, and work concurrently
  std::chrono::milliseconds deadline = kTrainerDeadline;  // of a call
  double max_norm = 0;  // of what a round changes, over all vectors of a node (L2); 0: any
  const std::atomic<bool>* stop =
      nullptr;  // polled while a trainer is waited for: ends the wait with ExternalFailure
  std::function<void(const std::string& text)> waiting =
      {};  // says whom a wait of more than two seconds is for
};

// Throws ExternalFailure once the flag is set; null: never.
std::function<void()> stop_poll(const std::atomic<bool>* stop);

// What trainers are told first.
struct TrainerIntroduction {
  std::vector<std::string> nodes;  // that they may be asked to train
  Precision precision = Precision::kF32;
  std::uint64_t seed = 1;
  std::string algorithm;
  NodeSteps steps;
  std::uint64_t batch_size = 0;  // 0: all samples
};

// The hyper-parameters that trainers are sent, by name.
Json step_parameters(const NodeSteps& steps, std::uint64_t batch_size);

// What they say of themselves. All of them say the same, every time.
struct TrainerFacts {
  std::string name;                    // for messages; may be empty
  std::vector<std::uint64_t> samples;  // of each node, at least 1
  std::vector<Tensor> tensors;         // of w
  Schema schema;                       // of the task external, complete

  bool operator==(const TrainerFacts&) const = default;
};

// Starts the trainers and keeps them running: one that dies, hangs up or does not answer in time is started again, and the call repeated, up to three
// times in all. Calls with different workers may be concurrent. Every error names the trainer.
class Trainers {
 public:
  // kRunFailed, or kBadConfig where a trainer cannot do what the algorithm needs. `poll` as of CallLimits.
  static Result<std::shared_ptr<Trainers>> open(TrainerSetup setup, TrainerIntroduction introduction,
                                                const std::function<void()>& poll = {});

  const TrainerFacts& facts() const { return facts_; }
  const TrainerSetup& setup() const { return setup_; }
  const TrainerIntroduction& introduction() const { return introduction_; }
  unsigned workers() const { return static_cast<unsigned>(links_.size()); }

  // A call to the trainer of a worker, whose reply has this message and no more than `most_body` bytes of vectors. `about` is for errors: "train of
  // round 5 of node-0001".
  Result<TrainerReply> call(unsigned worker, const TrainerRequest& request, std::string_view expected,
                            std::size_t most_body, const std::string& about,
                            const std::function<void()>& poll);
  // An error of a reply that was received, with the trainer's name.
  Error blame(std::string what, const std::string& about) const;

 private:
  Trainers(TrainerSetup setup, TrainerIntroduction introduction);

  // Connects a link and introduces mfl. What the trainer says must be what others have said.
  Result<void> greet(TrainerLink& link, const std::function<void()>& poll);
  Result<TrainerFacts> read_facts(const Json& reply) const;
  std::string who() const;

  TrainerSetup setup_;
  TrainerIntroduction introduction_;
  std::vector<TrainerLink> links_;
  TrainerFacts facts_;
  bool known_ = false;  // facts_ are there
};

// The nodes of the introduction, trained by the trainers.
template <class T>
std::shared_ptr<ExternalNodes<T>> external_nodes(std::shared_ptr<Trainers> trainers);

}  // namespace mfl
