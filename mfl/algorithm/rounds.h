// The rounds of a run over an explicit State: how it starts, how long a round is, and what a round changes. Example: end of file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mfl/aggregate/metric_means.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/codec/codec.h"
#include "mfl/model/model.h"

namespace mfl {

// Round 0, step 0, all vectors zero.
template <class T>
State<T> initial_state(const Algorithm& algorithm, std::size_t parameters);
// The same with the w that a run with this seed starts from.
template <class T>
State<T> initial_state(const Algorithm& algorithm, const Model<T>& model, std::uint64_t seed);

// Steps of the next round: tau, or the rest of `total` if that is less.
std::uint64_t next_round_steps(const Algorithm& algorithm, std::uint64_t step, std::uint64_t total);

// What an external node sent in a round.
struct NodeReport {
  std::size_t node = 0;
  std::uint64_t samples = 0;
  double loss = 0;
  double seconds = 0;  // that its program took
  Metrics metrics = {};
  std::string digest = {};  // SHA-256 of what it sent up, hex
};

// The result of a round.
template <class T>
struct Aggregate {
  double loss_before = 0;              // F at the broadcast w
  double mean_square_move = 0;         // weighted mean of |w_i - broadcast w|^2, if requested
  std::vector<Vector<T>> vectors;      // means of those that are sent up, in the order of VectorLayout::up()
  std::vector<NodeReport> nodes = {};  // external ones, ascending; others report nothing
};

// What the training loss of a round is over. Without batches it is over all samples of the round's nodes. With them it is the mean
// over the batches that the nodes computed in the next round, except where F(w) itself is asked for, and of the last round.
struct LossRule {
  bool batches = false;
  std::uint64_t evaluate_every = 0;  // rounds between losses over all samples; 0: none but the last
  // The nodes of the next round do not start at w, and the loss is that of where they start, except of the last round.
  bool elsewhere = false;

  // Whether the loss of the state after `round` rounds is wanted over all samples.
  bool evaluates(std::uint64_t round) const { return evaluate_every != 0 && round % evaluate_every == 0; }
  // Whether that state may be w^f, which compares losses of one kind: over all samples if such are asked for.
  bool decides_best(std::uint64_t round, bool is_last) const {
    if (elsewhere && is_last) return false;
    return !batches || (is_last || evaluates(round)) == (evaluate_every != 0);
  }
};

// Records F(w) of the state's w: w^f becomes w if no earlier round was better (rounds >= 1 only).
template <class T>
void note_loss(State<T>& state, double train_loss);

// A round that has ended.
struct EndedRound {
  std::uint64_t steps = 0;
  std::size_t counted = 1;  // nodes whose updates are in the aggregate
  std::size_t nodes = 1;    // of the federation
};

// Advances the state by the round. Where the algorithm takes the means as they are, vectors are swapped: the aggregate then has those
// of the state before, and its memory can be reused.
template <class T>
void apply(const Algorithm& algorithm, State<T>& state, Aggregate<T>& aggregate, const EndedRound& round);

// Bytes of vectors in a round, from 1, with one node, without framing.
struct RoundBytes {
  std::uint64_t down = 0, up = 0;
};
template <class T>
RoundBytes round_bytes(const Algorithm& algorithm, std::uint64_t round, std::size_t parameters,
                       const CodecChain& codecs = {});

}  // namespace mfl

// Example: the rounds of a run.
//
//   const Algorithm algorithm = make_mfl(0.002, 0.5, 4);
//   State<float> state = initial_state<float>(algorithm, *model, seed);
//   while (state.step < total) {
//     const std::uint64_t steps = next_round_steps(algorithm, state.step, total);
//     ...  // run the nodes from state.vectors and aggregate what they send (engine.h)
//     apply(algorithm, state, aggregate, {.steps = steps, .counted = nodes, .nodes = nodes});
//   }
