#include "mfl/algorithm/rounds.h"

#include <cassert>

namespace mfl {

template <class T>
State<T> initial_state(const Algorithm& algorithm, std::size_t parameters) {
  State<T> state;
  const VectorLayout& vectors = algorithm.vectors();
  for (const std::size_t v : vectors.state())
    state.vectors.push_back({vectors[v].name, Vector<T>(vectors.length(v, parameters))});
  return state;
}

template <class T>
State<T> initial_state(const Algorithm& algorithm, const Model<T>& model, std::uint64_t seed) {
  State<T> state = initial_state<T>(algorithm, model.parameters());
  model.initialise(state.vectors.front().values, Stream(seed, Purpose::kInitialise));
  const VectorLayout& layout = algorithm.vectors();
  if (const std::size_t start = *layout.start(0); start != 0)
    state.vectors[layout.place_in_state(start)].values = state.w();
  return state;
}

template <class T>
void note_loss(State<T>& state, double train_loss) {
  if (state.round == 0 || !(train_loss < state.best.train_loss)) return;
  state.best.step = state.step;
  state.best.train_loss = train_loss;
  state.best.w = state.w();
}

template <class T>
void note_last(State<T>& state) {
  state.best = {};
  state.best.step = state.step;
  state.best.w = state.w();
}

template <class T>
void apply(const Algorithm& algorithm, State<T>& state, Aggregate<T>& aggregate, const EndedRound& round) {
  const VectorLayout& layout = algorithm.vectors(state.round + 1);
  assert(aggregate.vectors.size() == layout.up().size());
  ServerRound<T> server{layout,      state.vectors, aggregate.vectors, state.round + 1,
                        round.steps, round.counted, round.nodes};
  algorithm.method().end_round(server);
  state.round += 1;
  state.step += round.steps;
}

template <class T>
std::uint64_t most_bytes_up(const VectorLayout& layout, std::size_t parameters, const CodecChain& codecs) {
  std::uint64_t bytes = 0;
  for (const std::size_t v : layout.up()) bytes += codecs.most_bytes<T>(layout.length(v, parameters));
  return bytes;
}

template <class T>
RoundBytes round_bytes(const Algorithm& algorithm, std::uint64_t round, std::size_t parameters,
                       const CodecChain& codecs) {
  if (algorithm.centralised) return {};
  const VectorLayout& layout = algorithm.vectors(round);
  return {layout.numbers_down(parameters) * sizeof(T), most_bytes_up<T>(layout, parameters, codecs)};
}

#define MFL_INSTANTIATE(T)                                                                      \
  template State<T> initial_state(const Algorithm&, std::size_t);                               \
  template State<T> initial_state(const Algorithm&, const Model<T>&, std::uint64_t);            \
  template void note_loss(State<T>&, double);                                                   \
  template void note_last(State<T>&);                                                           \
  template void apply(const Algorithm&, State<T>&, Aggregate<T>&, const EndedRound&);           \
  template std::uint64_t most_bytes_up<T>(const VectorLayout&, std::size_t, const CodecChain&); \
  template RoundBytes round_bytes<T>(const Algorithm&, std::uint64_t, std::size_t, const CodecChain&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
