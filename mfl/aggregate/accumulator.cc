#include "mfl/aggregate/accumulator.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "mfl/aggregate/slices.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/message.h"

namespace mfl {
namespace {

// "d[17]"; nothing if all numbers are finite.
template <class T>
std::optional<std::string> not_finite(std::span<const SentVector> layout, const VectorViews<T>& vectors) {
  for (std::size_t v = 0; v < vectors.size(); ++v)
    if (const auto bad = first_not_finite(vectors[v])) return fmt::format("{}[{}]", layout[v].name, *bad);
  return std::nullopt;
}

}  // namespace

template <class T>
Accumulator<T>::Accumulator(std::vector<SentVector> layout, AccumulatorOptions options)
    : layout_(std::move(layout)),
      vectors_(layout_.size()),
      options_(std::move(options)),
      tallies_(options_.workers) {}

template <class T>
void Accumulator<T>::clear(std::size_t vectors) {
  vectors_ = std::min(vectors, layout_.size());
  for (Tally& tally : tallies_) tally.clear();
  clear_vectors();
}

template <class T>
void Accumulator<T>::add(const SentUpdate<T>& update, unsigned worker) {
  assert(update.vectors.empty() || update.vectors.size() == vectors_);
  Tally& tally = tallies_[worker];
  tally.empty = false;
  for (std::size_t i = 0; i < kUpdateNumbers; ++i)
    if (const auto& number = update.numbers[i])
      if (tally.numbers[i].add(std::span(&*number, 1), update.samples)) tally.finite[i] = false;
  if (update.metrics != nullptr) tally.metrics.add(*update.metrics, update.samples);
  if (!update.vectors.empty()) add_vectors(update, worker);
}

template <class T>
void Accumulator<T>::fail(NodePlace node, std::string what, unsigned worker) {
  tallies_[worker].fail({std::move(node), std::move(what)});
}

template <class T>
void Accumulator<T>::fail_if_not_finite(const SentUpdate<T>& update, unsigned worker) {
  if (auto bad = not_finite<T>(layout_, update.vectors)) fail(update.node, *std::move(bad), worker);
}

template <class T>
void Accumulator<T>::Tally::clear() {
  if (std::exchange(empty, true)) return;
  for (ExactMean& number : numbers) number.clear();
  finite.fill(true);
  metrics.clear();
  failure.reset();
}

template <class T>
void Accumulator<T>::Tally::merge(const Tally& other) {
  if (other.empty) return;
  empty = false;
  for (std::size_t i = 0; i < kUpdateNumbers; ++i) {
    numbers[i].merge(other.numbers[i]);
    finite[i] = finite[i] && other.finite[i];
  }
  metrics.merge(other.metrics);
  if (other.failure) fail(*other.failure);
}

template <class T>
void Accumulator<T>::Tally::fail(UpdateFailure other) {
  empty = false;
  if (!failure || other.node < failure->node) failure = std::move(other);
}

template <class T>
typename Accumulator<T>::Tally& Accumulator<T>::total() {
  Tally& total = tallies_.front();
  for (Tally& tally : std::span(tallies_).subspan(1)) {
    total.merge(tally);
    tally.clear();
  }
  return total;
}

template <class T>
std::optional<double> Accumulator<T>::mean(std::size_t number) {
  Tally& all = total();
  double mean = std::numeric_limits<double>::quiet_NaN();
  if (!all.finite[number]) return mean;
  if (all.numbers[number].total_weight() == 0) return std::nullopt;
  all.numbers[number].mean(std::span(&mean, 1));
  return mean;
}

template <class T>
std::string Accumulator<T>::pack(bool vectors) {
  const Tally& all = total();
  MessageWriter out;
  std::vector<std::uint32_t> buffer;
  for (std::size_t i = 0; i < kUpdateNumbers; ++i) {
    out.put(all.finite[i]);
    out.put(all.numbers[i].total_weight());
    out.put_all(all.numbers[i].pack(0, 1, buffer));
  }
  all.metrics.put(out);
  out.put(all.failure.has_value());
  if (all.failure) {
    out.put(all.failure->node.number);
    out.put_text(all.failure->node.name);
    out.put_text(all.failure->what);
  }
  out.put(vectors);
  if (vectors) put_vectors(out);
  return out.bytes();
}

template <class T>
Result<void> Accumulator<T>::merge(std::string_view packed) {
  const auto refuse = [](const char* why) {
    return mfl::fail(ErrorCode::kBadData, fmt::format("packed updates: {}", why));
  };
  Tally& all = total();
  all.empty = false;
  try {
    MessageReader in(packed);
    for (std::size_t i = 0; i < kUpdateNumbers; ++i) {
      all.finite[i] &= in.take<bool>();
      const auto weight = in.take<std::uint64_t>();
      all.numbers[i].merge_packed(in.take_all<std::uint32_t>(), weight);
    }
    all.metrics.merge(in);
    if (in.take<bool>()) {
      NodePlace node{in.take<std::uint64_t>()};
      node.name = in.take_text();
      all.fail({std::move(node), in.take_text()});
    }
    if (in.take<bool>()) merge_vectors(in);
    if (!in.at_end()) return refuse("they have bytes after their end");
  } catch (const std::logic_error& wrong) {
    return refuse(wrong.what());
  }
  return {};
}

template <class T>
UpdateMeasure measure_update(std::span<const SentVector> layout, const VectorViews<T>& vectors,
                             const VectorViews<T>& origin, const ForEach& run) {
  const Kernels<T>& kernels = default_kernel_set().of<T>();
  const std::vector<Slice> slices = slices_of(layout);
  std::vector<double> squares(slices.size());
  std::atomic<bool> finite = true;
  run(slices.size(), [&](std::size_t s) {
    const auto [v, first, count] = slices[s];
    const T* const x = vectors[v].data() + first;
    squares[s] = origin[v].empty() ? kernels.squared_norm(count, x)
                                   : kernels.squared_distance(count, x, origin[v].data() + first);
    if (!std::isfinite(squares[s]) && first_not_finite(std::span(x, count))) finite = false;
  });
  UpdateMeasure out;
  if (!finite) out.not_finite = not_finite<T>(layout, vectors);
  out.moves.resize(layout.size());
  for (std::size_t s = 0; s < slices.size(); ++s) out.moves[slices[s].vector] += squares[s];
  for (double& move : out.moves) move = std::sqrt(move);
  return out;
}

#define MFL_INSTANTIATE(T)                                                                  \
  template class Accumulator<T>;                                                            \
  template UpdateMeasure measure_update(std::span<const SentVector>, const VectorViews<T>&, \
                                        const VectorViews<T>&, const ForEach&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
