// Algorithms as values over explicit State: how a run starts, how long a round is, and what a round does to State.
// Which vectors go down to the nodes and come back up to be averaged is the rule's list: {w} or {w, d}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mfl/algorithm/state.h"
#include "mfl/solve/rules.h"

namespace mfl {

struct Algorithm {
  std::string name;
  Rule rule;
  std::uint64_t tau = 1;     // local steps a round
  bool centralised = false;  // all data in one place: one node and nothing sent
};

Algorithm make_gd(double eta);                                    // GradientDescent, centralised
Algorithm make_mgd(double eta, double gamma);                     // Momentum, centralised
Algorithm make_fl(double eta, std::uint64_t tau);                 // GradientDescent, w averaged
Algorithm make_mfl(double eta, double gamma, std::uint64_t tau);  // Momentum, w and d averaged (Algorithm 1)

// Round 0, step 0, all vectors zero.
template <class T>
State<T> initial_state(const Algorithm& algorithm, std::size_t columns);

// Steps of the next round: tau, or what is left of `total`.
std::uint64_t next_round_steps(const Algorithm& algorithm, std::uint64_t step, std::uint64_t total);

// What the nodes' round comes to, vectors in the order of State's.
template <class T>
struct Aggregate {
  double loss_before = 0;       // F at the broadcast w
  double mean_square_move = 0;  // weighted mean of |w_i - broadcast w|^2, where it was asked for
  std::vector<Vector<T>> vectors;
};

// Takes note of F(w) of the state's own w: w^f becomes w if none before was better (rounds >= 1 only).
template <class T>
void note_loss(State<T>& state, double train_loss);

// The state after a round of `steps` steps. Swaps the vectors, so that the aggregate's memory is used again.
template <class T>
void apply(State<T>& state, Aggregate<T>& aggregate, std::uint64_t steps);

// Bytes that travel in one direction in a round with `nodes` nodes: the vectors, without any framing.
template <class T>
std::uint64_t round_bytes(const Algorithm& algorithm, const State<T>& state, std::size_t nodes);

}  // namespace mfl
