// An engine decides where the nodes' work runs, and nothing else: every engine gives the same bits as the serial one.
//
// It runs one or several settings over the same data at once; they share each pass over a node's rows. The results of a
// setting do not depend on the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/node_states.h"
#include "mfl/algorithm/rounds.h"
#include "mfl/engine/external.h"
#include "mfl/engine/fleet.h"
#include "mfl/engine/node.h"
#include "mfl/engine/ranks.h"
#include "mfl/engine/test_scores.h"
#include "mfl/engine/workers.h"
#include "mfl/model/model.h"

namespace mfl {

// The nodes' data and the model to train: of all nodes, or of those that one of several processes runs.
template <class T>
struct Federation {
  std::shared_ptr<const Model<T>> model;
  Samples<T> train;
  std::vector<Shard> nodes;  // disjoint parts of train
  // Whole row blocks of the test set, those of lower ranks before those of higher ones; present on every rank or on none.
  std::optional<Samples<T>> test;
  // If set, the nodes' data is generated when they run: train then has columns but no rows, and nodes is empty.
  std::shared_ptr<const Fleet<T>> fleet = nullptr;
  // If set, nodes are run by programs outside of mfl: train then has no rows, and nodes have numbers of samples alone. For one setting, in
  // one process, and no more workers than it has.
  std::shared_ptr<ExternalNodes<T>> external = nullptr;
  std::size_t first_node = 0;  // the number of nodes[0] among all nodes
  // The number of samples of each node, including those of other processes; may be empty if this process has all nodes. Any process
  // can run any node of a fleet.
  std::vector<std::size_t> all_samples = {};
  std::vector<std::string> names = {};  // of nodes; empty: those of a simulation (node_name)

  std::string name_of(std::size_t node) const {
    return names.empty() ? node_name(node) : names[node - first_node];
  }

  std::size_t node_count() const {
    if (fleet) return fleet->nodes();
    return all_samples.empty() ? nodes.size() : all_samples.size();
  }
  std::size_t samples_of(std::size_t node) const {
    if (fleet) return fleet->samples(node);
    return all_samples.empty() ? nodes[node].count : all_samples[node];
  }
};

// The first non-finite value: of the first node (by index) whose loss or vector is not finite.
struct NotFinite {
  std::size_t node = 0;
  std::string what;  // "the loss" or "d[17]"
};

// Beside loss and accuracy what was asked for (TestDetail). Of external nodes a mean over those that measured it, NaN where one did not.
struct TestMetrics : ScoreMetrics {
  double loss = 0;
  double accuracy = 0;
};

// One setting's share of a range of steps.
template <class T>
struct StepRange {
  std::size_t setting = 0;
  const State<T>* state = nullptr;
  bool starts =
      true;  // a round starts here: nodes start from the state's vectors; else they continue with their own
  bool ends = true;  // a round ends here: what the nodes send up is aggregated; else they keep their vectors
  std::uint64_t round_steps = 0;  // of the whole round; 0: it is this range
  // loss_before and evaluated are written when the round starts, vectors when it ends; memory is reused. With batches a node's part of
  // loss_before is the mean over its batches, each at the w of its step.
  Aggregate<T>* out = nullptr;
  // Written; out.vectors are then undefined, and loss_before is NaN if it was the loss.
  std::optional<NotFinite> failure = {};
  bool measure_moves = false;  // out.mean_square_move is written when the round ends
  bool evaluate = false;       // out.evaluated is wanted; for batches and external nodes
  std::string* sent =
      nullptr;  // of a federation of one node: gets what the node sends up, when the round ends
  // The nodes that take part, ascending; empty: all. The same for all ranges of a call, and from the start of a round
  // to its end.
  std::span<const std::uint32_t> participants = {};
};

// Not thread-safe: one call at a time. An exception of a worker, such as std::bad_alloc, is rethrown; discard the engine then.
template <class T>
class Engine {
 public:
  virtual ~Engine() = default;

  // Every node that takes part takes `steps` steps, or epochs (Batching::by_epochs), with each of the settings. Means are over
  // those nodes. With batches smaller than the samples of a node, all ranges are whole rounds with the same number.
  virtual void run(std::span<StepRange<T>> ranges, std::uint64_t steps) = 0;

  // F(w) = sum |D_i| F_i(w) / |D| over the participants (empty: all nodes), with the same bits as run() for the same w and
  // nodes. NaN if the loss of a node is not finite.
  virtual double train_loss(std::size_t setting, const Vector<T>& w,
                            std::span<const std::uint32_t> participants) = 0;
  double train_loss(std::size_t setting, const Vector<T>& w) { return train_loss(setting, w, {}); }

  // On the test set; empty if there is none. External nodes have their own: what they measured of this w in the last run() from it, or
  // train_loss() of it. Detail takes another pass, and targets that are what it asks for.
  virtual std::optional<TestMetrics> test(std::size_t setting, const Vector<T>& w, TestDetail detail) = 0;
  std::optional<TestMetrics> test(std::size_t setting, const Vector<T>& w) {
    return test(setting, w, TestDetail::kNone);
  }

  // What external nodes measured in the last run() or train_loss(): means over them.
  virtual Metrics measured() const { return {}; }

  // The nodes of the setting's last round keep what they had at its end (VectorFlow::kept) and the residuals of codecs. Without this call the next round starts from
  // what they had before.
  virtual void keep(std::size_t setting) = 0;
  // What nodes keep, by ascending numbers; of all processes of the run, each of which calls it. Empty where nothing is kept.
  virtual std::vector<KeptVectors<T>> kept(std::size_t setting) = 0;
  // Before the first run(): continues from that.
  virtual void restore(std::size_t setting, const std::vector<KeptVectors<T>>& kept) = 0;

  // Whether to stop, given whether this process was asked to. Processes that share a run agree: if one of them was asked,
  // all of them stop after their next run().
  virtual bool stop(bool asked) { return asked; }
};

struct EngineOptions {
  Batching batching = {};
  // How the vectors of the nodes become one; null: the exact mean. Any other needs memory for the vectors of all nodes of a round.
  // Losses are always means that are weighted by samples.
  std::shared_ptr<const Aggregator> aggregator = nullptr;
  CodecChain codecs = {};       // that an update passes before it is aggregated
  bool update_digests = false;  // NodeReport::digest of external nodes is wanted
  std::function<void()> before_step =
      {};  // called by workers before every local step; what it throws ends run()
};

// On this machine, over the given workers: in parallel over nodes, or over row blocks within a node if there are too few
// nodes to keep the workers busy. The federation outlives the engine. Memory: O(workers x settings x model), O(workers x largest
// node) for a fleet, and O(nodes x model) for settings whose rounds do not end at the same steps as the others'.
template <class T>
std::unique_ptr<Engine<T>> local_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                        std::unique_ptr<Workers> workers, EngineOptions options = {});

// The same over several processes: each runs the nodes of its own federation, and their sums are combined. Every
// process makes the same calls in the same order, with the same states, and gets the same results. The ranks outlive
// the engine.
template <class T>
std::unique_ptr<Engine<T>> shared_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                         std::unique_ptr<Workers> workers, Ranks& ranks,
                                         EngineOptions options = {});

}  // namespace mfl
