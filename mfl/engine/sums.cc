#include "mfl/engine/sums.h"

#include <utility>

#include "mfl/base/kernels/kernels.h"

namespace mfl {
namespace {

void put_mean(MessageWriter& to, const ExactMean& mean) {
  std::vector<std::uint32_t> buffer;
  to.put(mean.total_weight());
  to.put_all(mean.pack(0, mean.size(), buffer));
}

void merge_mean(MessageReader& from, ExactMean& total) {
  const auto weight = from.take<std::uint64_t>();
  total.merge_packed(from.take_all<std::uint32_t>(), weight);
}

template <class T>
void put_plain(MessageWriter& to, const std::vector<Vector<T>>& vectors) {
  to.put(vectors.size());
  for (const Vector<T>& vector : vectors) to.put_all(std::span<const T>(vector));
}

template <class T>
std::vector<Vector<T>> take_plain(MessageReader& from) {
  std::vector<Vector<T>> vectors(from.take<std::size_t>());
  for (Vector<T>& vector : vectors) {
    const auto numbers = from.take_all<T>();
    vector.assign(numbers.begin(), numbers.end());
  }
  return vectors;
}

}  // namespace

Sums::Sums(std::span<const std::size_t> lengths)
    : vectors(lengths.begin(), lengths.end()), loss(1), evaluated(1), square_moves(1) {}

void Sums::clear() {
  for (ExactMean& sum : vectors) sum.clear();
  loss.clear();
  evaluated.clear();
  square_moves.clear();
  loss_is_finite = true;
  samples = nodes = 0;
  failure.reset();
}

template <class T>
void Sums::add_move(const Vector<T>& from, const Vector<T>& w, std::uint64_t weight) {
  const double square = default_kernel_set().of<T>().squared_distance(w.size(), w.data(), from.data());
  (void)square_moves.add(std::span<const double>(&square, 1), weight);
}

void Sums::fail(std::size_t node, std::string what) {
  if (!failure || node < failure->node) failure = NotFinite{node, std::move(what)};
}

void put_small(MessageWriter& to, const Sums& sums, SmallParts parts) {
  if (parts.loss) {
    to.put(sums.loss_is_finite);
    put_mean(to, sums.loss);
  }
  if (parts.evaluated) put_mean(to, sums.evaluated);
  if (parts.square_moves) put_mean(to, sums.square_moves);
  if (parts.weights) {
    to.put(sums.samples);
    to.put(sums.nodes);
  }
  to.put(sums.failure.has_value());
  if (!sums.failure) return;
  to.put(sums.failure->node);
  to.put_text(sums.failure->what);
}

void merge_small_from(MessageReader& from, Sums& total, SmallParts parts) {
  if (parts.loss) {
    total.loss_is_finite &= from.take<bool>();
    merge_mean(from, total.loss);
  }
  if (parts.evaluated) merge_mean(from, total.evaluated);
  if (parts.square_moves) merge_mean(from, total.square_moves);
  if (parts.weights) {
    total.samples += from.take<std::uint64_t>();
    total.nodes += from.take<std::uint64_t>();
  }
  if (!from.take<bool>()) return;
  const auto node = from.take<std::size_t>();
  total.fail(node, from.take_text());
}

void put_vectors(MessageWriter& to, const Sums& sums) {
  for (const ExactMean& sum : sums.vectors) put_mean(to, sum);
}

void merge_vectors_from(MessageReader& from, Sums& total) {
  for (ExactMean& sum : total.vectors) merge_mean(from, sum);
}

bool merge_over_ranks(Ranks& ranks, ExactMean& mean, bool finite) {
  MessageWriter mine;
  mine.put(finite);
  put_mean(mine, mean);
  const std::vector<std::string> all = ranks.gather(mine.bytes());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (rank == ranks.rank()) continue;
    MessageReader theirs(all[rank]);
    finite &= theirs.take<bool>();
    merge_mean(theirs, mean);
  }
  return finite;
}

template <class T>
std::vector<NodeUpdate<T>> gather_updates(Ranks& ranks, std::span<const NodeUpdate<T>> mine) {
  MessageWriter out;
  for (const NodeUpdate<T>& update : mine) {
    out.put(update.samples);
    put_plain(out, update.vectors);
  }
  std::vector<NodeUpdate<T>> all;
  for (const std::string& message : ranks.gather(out.bytes()))
    for (MessageReader in(message); !in.at_end();) {
      const auto samples = in.take<std::uint64_t>();
      all.push_back({take_plain<T>(in), samples});
    }
  return all;
}

template <class T>
std::vector<KeptVectors<T>> gather_kept(Ranks& ranks, std::span<const KeptVectors<T>> mine) {
  MessageWriter out;
  for (const KeptVectors<T>& kept : mine) {
    out.put(kept.node);
    put_plain(out, kept.vectors);
  }
  std::vector<KeptVectors<T>> all;
  for (const std::string& message : ranks.gather(out.bytes()))
    for (MessageReader in(message); !in.at_end();) {
      const auto node = in.take<std::uint64_t>();
      all.push_back({node, take_plain<T>(in)});
    }
  return all;
}

#define MFL_INSTANTIATE(T)                                                                    \
  template void Sums::add_move(const Vector<T>&, const Vector<T>&, std::uint64_t);            \
  template std::vector<NodeUpdate<T>> gather_updates(Ranks&, std::span<const NodeUpdate<T>>); \
  template std::vector<KeptVectors<T>> gather_kept(Ranks&, std::span<const KeptVectors<T>>);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
