// An engine decides where the nodes' work runs, and nothing else: every engine gives the bits of the serial one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/engine/workers.h"
#include "mfl/model/objective.h"

namespace mfl {

// The learning problem: who holds what, and what is minimised.
template <class T>
struct Federation {
  Objective objective;
  Samples<T> train;
  std::vector<Shard> nodes;  // disjoint parts of train
  std::optional<Samples<T>> test;
};

// Where a run left the numbers: the first node (by index) whose loss or vector is not finite.
struct NotFinite {
  std::size_t node = 0;
  std::string what;  // "the loss" or "d[17]"
};

struct TestMetrics {
  double loss = 0;
  double accuracy = 0;
};

// Not thread-safe: one call at a time.
template <class T>
class Engine {
 public:
  virtual ~Engine() = default;

  // Every node takes `steps` steps from the state's vectors; the weighted means and F at the state's w go into
  // `out`, whose memory is used again. A value that is not finite is returned; out.loss_before is then
  // F at the state's w all the same, NaN when that is not finite, and out.vectors are of no use.
  virtual std::optional<NotFinite> run_round(const State<T>& state, std::uint64_t steps, Aggregate<T>& out) = 0;

  // F(w) = sum |D_i| F_i(w) / |D|, the bits that run_round gives for the same w. Not finite when a node's is not.
  virtual double train_loss(const Vector<T>& w) = 0;

  // On the test set; nothing when there is none.
  virtual std::optional<TestMetrics> test(const Vector<T>& w) = 0;
};

// On this machine, over the given workers. The federation outlives the engine.
template <class T>
std::unique_ptr<Engine<T>> local_engine(const Federation<T>& federation, const Algorithm& algorithm,
                                        std::unique_ptr<Workers> workers);

}  // namespace mfl
