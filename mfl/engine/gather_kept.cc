#include "mfl/engine/gather_kept.h"

#include "mfl/base/message.h"

namespace mfl {

template <class T>
std::vector<KeptVectors<T>> gather_kept(Ranks& ranks, std::span<const KeptVectors<T>> mine) {
  MessageWriter out;
  for (const KeptVectors<T>& kept : mine) {
    out.put(kept.node);
    out.put(kept.vectors.size());
    for (const Vector<T>& vector : kept.vectors) out.put_all(std::span<const T>(vector));
  }
  std::vector<KeptVectors<T>> all;
  for (const std::string& message : ranks.gather(out.bytes()))
    for (MessageReader in(message); !in.at_end();) {
      KeptVectors<T>& kept = all.emplace_back();
      kept.node = in.take<std::uint64_t>();
      kept.vectors.resize(in.take<std::size_t>());
      for (Vector<T>& vector : kept.vectors) {
        const auto numbers = in.take_all<T>();
        vector.assign(numbers.begin(), numbers.end());
      }
    }
  return all;
}

template std::vector<KeptVectors<float>> gather_kept(Ranks&, std::span<const KeptVectors<float>>);
template std::vector<KeptVectors<double>> gather_kept(Ranks&, std::span<const KeptVectors<double>>);

}  // namespace mfl
