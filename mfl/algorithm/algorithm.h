// Algorithms as values over an explicit State: how a run starts, how long a round is, and how a round changes State.
// The vectors that are sent to the nodes and averaged are those of the rule: {w} or {w, d}. Example: end of file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mfl/algorithm/state.h"
#include "mfl/model/model.h"
#include "mfl/solve/rules.h"

namespace mfl {

struct Algorithm {
  std::string name;
  Rule rule;
  std::uint64_t tau = 1;     // local steps per round
  bool centralised = false;  // all data in one place: one node, nothing is sent
};

Algorithm make_gd(double eta);                                    // GradientDescent, centralised
Algorithm make_mgd(double eta, double gamma);                     // Momentum, centralised
Algorithm make_fl(double eta, std::uint64_t tau);                 // GradientDescent, w averaged
Algorithm make_mfl(double eta, double gamma, std::uint64_t tau);  // Momentum, w and d averaged (Algorithm 1)

// Round 0, step 0, all vectors zero.
template <class T>
State<T> initial_state(const Algorithm& algorithm, std::size_t parameters);
// The same with the w that a run with this seed starts from.
template <class T>
State<T> initial_state(const Algorithm& algorithm, const Model<T>& model, std::uint64_t seed);

// Steps of the next round: tau, or the rest of `total` if that is less.
std::uint64_t next_round_steps(const Algorithm& algorithm, std::uint64_t step, std::uint64_t total);

// The result of a round, with the vectors in the order of State's.
template <class T>
struct Aggregate {
  double loss_before = 0;       // F at the broadcast w
  double mean_square_move = 0;  // weighted mean of |w_i - broadcast w|^2, if requested
  std::vector<Vector<T>> vectors;
};

// What the training loss of a round is over. Without batches it is over all samples of the round's nodes. With them it is the mean
// over the batches that the nodes computed in the next round, except where F(w) itself is asked for, and of the last round.
struct LossRule {
  bool batches = false;
  std::uint64_t evaluate_every = 0;  // rounds between losses over all samples; 0: none but the last

  // Whether the loss of the state after `round` rounds is wanted over all samples.
  bool evaluates(std::uint64_t round) const { return evaluate_every != 0 && round % evaluate_every == 0; }
  // Whether that state may be w^f, which compares losses of one kind: over all samples if such are asked for.
  bool decides_best(std::uint64_t round, bool is_last) const {
    return !batches || (is_last || evaluates(round)) == (evaluate_every != 0);
  }
};

// Records F(w) of the state's w: w^f becomes w if no earlier round was better (rounds >= 1 only).
template <class T>
void note_loss(State<T>& state, double train_loss);

// Advances the state by a round of `steps` steps. Swaps the vectors, so that the aggregate's memory can be reused.
template <class T>
void apply(State<T>& state, Aggregate<T>& aggregate, std::uint64_t steps);

// Bytes sent in one direction in a round with `nodes` nodes: the vectors, without framing.
template <class T>
std::uint64_t round_bytes(const Algorithm& algorithm, const State<T>& state, std::size_t nodes);

}  // namespace mfl

// Example: the rounds of a run.
//
//   const Algorithm algorithm = make_mfl(0.002, 0.5, 4);
//   State<float> state = initial_state<float>(algorithm, *model, seed);
//   while (state.step < total) {
//     const std::uint64_t steps = next_round_steps(algorithm, state.step, total);
//     ...  // run the nodes from state.vectors and average theirs into `aggregate` (engine.h)
//     apply(state, aggregate, steps);
//   }
