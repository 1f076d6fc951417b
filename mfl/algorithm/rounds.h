// The rounds of a run over an explicit State: how it starts, how long a round is, and what a round changes. Example: end of file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/aggregate/metric_means.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/algorithm/losses.h"
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
inline std::uint64_t next_round_steps(const Algorithm& algorithm, std::uint64_t step, std::uint64_t total) {
  return std::min(algorithm.tau, total - step);
}

// What an external node sent in a round.
struct NodeReport {
  std::size_t node = 0;
  std::uint64_t samples = 0;
  double loss = 0;                       // that it reported of its steps
  std::optional<double> evaluated = {};  // of where it started, where that was asked for
  double seconds = 0;                    // that its program took
  Metrics metrics = {};
  std::string digest = {};  // SHA-256 of what it sent up, hex
};

// The result of a round.
template <class T>
struct Aggregate {
  // Of where nodes start, over all samples: F(w) where they start at w. With batches, and of external nodes, the mean over their steps.
  double loss_before = 0;
  double evaluated = 0;                // of where nodes start, over all samples, if requested
  double mean_square_move = 0;         // weighted mean of |w_i - broadcast w|^2, if requested
  std::vector<Vector<T>> vectors;      // means of those that are sent up, in the order of VectorLayout::up()
  std::uint64_t bytes_up = 0;          // of vectors, as codecs encode them, from all nodes
  std::vector<NodeReport> nodes = {};  // external ones, ascending; others report nothing
};

// Records F(w) of the state's w: w^f becomes w if no earlier round was better (rounds >= 1 only).
template <class T>
void note_loss(State<T>& state, double train_loss);

// w^f is w, without a loss: of a run that never measures F(w), at its end.
template <class T>
void note_last(State<T>& state);

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

// No update of a node has more bytes of vectors, without framing, in a round with this layout.
template <class T>
std::uint64_t most_bytes_up(const VectorLayout& layout, std::size_t parameters, const CodecChain& codecs);

// Bytes of vectors in a round, from 1, with one node, without framing; at most so many up.
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
