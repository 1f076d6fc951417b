#include "mfl/algorithm/aggregation.h"

namespace mfl {

std::vector<SentVector> vectors_sent(const VectorLayout& layout, std::size_t parameters) {
  std::vector<SentVector> out;
  for (const std::size_t v : layout.up())
    out.push_back(
        {layout[v].name, layout.length(v, parameters), layout[v].weighting == Weighting::kBySamples});
  return out;
}

template <class T>
std::vector<Vector<T>> origin_of_updates(const VectorLayout& layout, const State<T>& state) {
  std::vector<Vector<T>> origin;
  for (const std::size_t v : layout.up()) {
    const auto start = layout.start(v);
    origin.push_back(start ? state.vectors[layout.place_in_state(*start)].values
                           : Vector<T>(layout.length(v, state.w().size())));
  }
  return origin;
}

template <class T>
std::vector<UpdateVector<T>> sent_vectors(const VectorLayout& layout, std::span<Vector<T>> own,
                                          const std::vector<Vector<T>>& origin) {
  std::vector<UpdateVector<T>> out;
  for (std::size_t i = 0; i < origin.size(); ++i)
    out.push_back({own[layout.place_at_node(layout.up()[i])], origin[i]});
  return out;
}

#define MFL_INSTANTIATE(T)                                                                      \
  template std::vector<Vector<T>> origin_of_updates(const VectorLayout&, const State<T>&);      \
  template std::vector<UpdateVector<T>> sent_vectors(const VectorLayout&, std::span<Vector<T>>, \
                                                     const std::vector<Vector<T>>&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
