#include "mfl/algorithm/algorithm.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mfl {

Algorithm make_gd(double eta) { return {"gd", GradientDescent{eta}, 1, true}; }
Algorithm make_mgd(double eta, double gamma) { return {"mgd", Momentum{eta, gamma}, 1, true}; }
Algorithm make_fl(double eta, std::uint64_t tau) { return {"fl", GradientDescent{eta}, tau, false}; }
Algorithm make_mfl(double eta, double gamma, std::uint64_t tau) {
  return {"mfl", Momentum{eta, gamma}, tau, false};
}

template <class T>
State<T> initial_state(const Algorithm& algorithm, std::size_t parameters) {
  State<T> state;
  for (const auto name : vector_names(algorithm.rule))
    state.vectors.push_back({std::string(name), Vector<T>(parameters)});
  return state;
}

template <class T>
State<T> initial_state(const Algorithm& algorithm, const Model<T>& model, std::uint64_t seed) {
  State<T> state = initial_state<T>(algorithm, model.parameters());
  model.initialise(state.vectors.front().values, Stream(seed, Purpose::kInitialise));
  return state;
}

std::uint64_t next_round_steps(const Algorithm& algorithm, std::uint64_t step, std::uint64_t total) {
  return std::min(algorithm.tau, total - step);
}

template <class T>
void note_loss(State<T>& state, double train_loss) {
  if (state.round == 0 || !(train_loss < state.best.train_loss)) return;
  state.best.step = state.step;
  state.best.train_loss = train_loss;
  state.best.w = state.w();
}

template <class T>
void apply(State<T>& state, Aggregate<T>& aggregate, std::uint64_t steps) {
  assert(aggregate.vectors.size() == state.vectors.size());
  for (std::size_t v = 0; v < state.vectors.size(); ++v)
    std::swap(state.vectors[v].values, aggregate.vectors[v]);
  state.round += 1;
  state.step += steps;
}

template <class T>
std::uint64_t round_bytes(const Algorithm& algorithm, const State<T>& state, std::size_t nodes) {
  if (algorithm.centralised) return 0;
  return std::uint64_t{nodes} * state.vectors.size() * state.w().size() * sizeof(T);
}

#define MFL_INSTANTIATE(T)                                                           \
  template State<T> initial_state(const Algorithm&, std::size_t);                    \
  template State<T> initial_state(const Algorithm&, const Model<T>&, std::uint64_t); \
  template void note_loss(State<T>&, double);                                        \
  template void apply(State<T>&, Aggregate<T>&, std::uint64_t);                      \
  template std::uint64_t round_bytes(const Algorithm&, const State<T>&, std::size_t);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
