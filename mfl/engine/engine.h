// An engine decides where the nodes' work runs, and nothing else: every engine gives the bits of the serial one.
//
// It runs one or several settings over the same data at once, each pass over a node's rows serving all of them. What a
// setting gets does not depend on the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/engine/fleet.h"
#include "mfl/engine/ranks.h"
#include "mfl/engine/workers.h"
#include "mfl/model/objective.h"
#include "mfl/solve/node.h"

namespace mfl {

// Who holds what, and the loss that is minimised: of all nodes, or of those that one of several processes runs.
template <class T>
struct Federation {
  Loss loss;
  Samples<T> train;
  std::vector<Shard> nodes;  // disjoint parts of train
  // Whole row blocks of the test set, those of lower ranks before those of higher ones; there on every rank or on none.
  std::optional<Samples<T>> test;
  // Where there is one, what its nodes hold is made when they run: train then has columns but no rows, and nodes is empty.
  std::shared_ptr<const Fleet<T>> fleet = nullptr;
  std::size_t first_node = 0;  // the number of nodes[0] among all nodes
  // How many samples each node has, those of other processes included; empty where this one has all nodes. Any process can
  // run any node of a fleet.
  std::vector<std::size_t> all_samples = {};

  std::size_t node_count() const {
    if (fleet) return fleet->nodes();
    return all_samples.empty() ? nodes.size() : all_samples.size();
  }
  std::size_t samples_of(std::size_t node) const {
    if (fleet) return fleet->samples(node);
    return all_samples.empty() ? nodes[node].count : all_samples[node];
  }
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

// One setting's part in a stretch of steps.
template <class T>
struct Stretch {
  std::size_t setting = 0;
  const State<T>* state = nullptr;
  bool starts =
      true;          // a round starts here: nodes take up the state's vectors; else they go on with their own
  bool ends = true;  // a round ends here: the nodes' vectors are averaged; else nodes keep them
  Aggregate<T>* out =
      nullptr;  // loss_before is written when the round starts, vectors when it ends; memory is reused
  std::optional<NotFinite>
      failure;  // written; out.vectors are then of no use, loss_before is NaN if it was the loss
  bool measure_moves = false;  // out.mean_square_move is written when the round ends
  // The nodes that take part, ascending; empty: all. The same for all stretches of a call, and from the start of a round
  // to its end.
  std::span<const std::uint32_t> participants = {};
};

// Not thread-safe: one call at a time.
template <class T>
class Engine {
 public:
  virtual ~Engine() = default;

  // Every node that takes part takes `steps` steps with each of the settings. Means are over those nodes.
  virtual void run(std::span<Stretch<T>> stretches, std::uint64_t steps) = 0;

  // F(w) = sum |D_i| F_i(w) / |D| over the participants (empty: all nodes), the bits that run gives for the same w and
  // nodes. NaN when a node's is not finite.
  virtual double train_loss(std::size_t setting, const Vector<T>& w,
                            std::span<const std::uint32_t> participants) = 0;
  double train_loss(std::size_t setting, const Vector<T>& w) { return train_loss(setting, w, {}); }

  // On the test set; nothing when there is none.
  virtual std::optional<TestMetrics> test(std::size_t setting, const Vector<T>& w) = 0;

  // Whether to stop, given whether this process is asked to. Processes that share a run agree on it: what one of them is
  // asked for, all of them stop for after their next run().
  virtual bool stop(bool asked) { return asked; }
};

// On this machine, over the given workers: over nodes, or over row blocks inside a node when nodes are too few to
// keep the workers busy. The federation outlives the engine. Memory: O(workers x settings x model), O(workers x largest
// node) for a fleet, and O(nodes x model) for settings whose rounds do not end together with the others'.
template <class T>
std::unique_ptr<Engine<T>> local_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                        std::unique_ptr<Workers> workers);

// The same over several processes: each runs the nodes of its own federation, and the sums of all of them become one. Every
// process makes the same calls in the same order, with the same states, and gets the same answers. The ranks outlive
// the engine.
template <class T>
std::unique_ptr<Engine<T>> shared_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                         std::unique_ptr<Workers> workers, Ranks& ranks);

}  // namespace mfl
