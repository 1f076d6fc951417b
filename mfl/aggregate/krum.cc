#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "mfl/aggregate/rules.h"
#include "mfl/aggregate/slices.h"
#include "mfl/base/kernels/kernels.h"

namespace mfl {
namespace {

constexpr std::size_t kMostPartial = std::size_t{1} << 23U;  // sums over one slice that are held at a time
constexpr std::size_t kNodeBlock = 16;  // nodes whose slices stay in the second-level cache

// Of the pair i > j.
std::size_t pair_index(std::size_t i, std::size_t j) { return i * (i - 1) / 2 + j; }

// Squared distances of all pairs, by pair_index.
template <class T>
std::vector<double> squared_distances(std::span<const NodeVectors<T>> updates, const ForEach& run) {
  const std::size_t n = updates.size(), pairs = n * (n - 1) / 2;
  std::vector<double> total(pairs);
  const auto slices = slices_of(updates.front());
  if (pairs == 0 || slices.empty()) return total;
  const auto squared_distance = default_kernel_set().of<T>().squared_distance;
  const std::size_t wave = std::clamp<std::size_t>(kMostPartial / pairs, 1, slices.size());
  const std::size_t blocks = (n + kNodeBlock - 1) / kNodeBlock;
  std::vector<double> partial(wave * pairs);
  for (std::size_t start = 0; start < slices.size(); start += wave) {
    const std::size_t count = std::min(wave, slices.size() - start);
    run(count * blocks, [&](std::size_t item) {
      const Slice& slice = slices[start + item / blocks];
      double* const to = partial.data() + item / blocks * pairs;
      const std::size_t first = item % blocks * kNodeBlock, end = std::min(n, first + kNodeBlock);
      for (std::size_t j = 0; j + 1 < end; ++j)
        for (std::size_t i = std::max(first, j + 1); i < end; ++i)
          to[pair_index(i, j)] = squared_distance(slice.count, slice_of(updates[i], slice).data(),
                                                  slice_of(updates[j], slice).data());
    });
    for (std::size_t s = 0; s < count; ++s)
      for (std::size_t pair = 0; pair < pairs; ++pair) total[pair] += partial[s * pairs + pair];
  }
  return total;
}

class MultiKrum final : public AggregatorOf<MultiKrum> {
 public:
  MultiKrum(std::string spec, std::size_t f, std::optional<std::size_t> m)
      : AggregatorOf(std::move(spec)), f_(f), m_(m) {}

  Result<void> check(std::size_t nodes) const override {
    const std::size_t least = 2 * f_ + 3;
    if (nodes < least)
      return fail(ErrorCode::kBadConfig,
                  fmt::format("{} needs at least {} nodes (2 f + 3), not {}", spec(), least, nodes),
                  "lower f, or use more nodes");
    if (m_ && *m_ > nodes)
      return fail(ErrorCode::kBadConfig, fmt::format("{} cannot choose {} of {} nodes", spec(), *m_, nodes),
                  "lower m, or use more nodes");
    return {};
  }

  template <class T>
  void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>&, std::vector<Vector<T>>& out,
               const ForEach& run) const {
    const auto scores = krum_scores(updates, f_, run);
    auto order = all_of(updates.size());
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
    order.resize(m_.value_or(updates.size() - f_));
    exact_mean(updates, order, false, out, run);
  }

 private:
  std::size_t f_;
  std::optional<std::size_t> m_;
};

}  // namespace

template <class T>
std::vector<double> krum_scores(std::span<const NodeVectors<T>> updates, std::size_t f, const ForEach& run) {
  const std::size_t n = updates.size();
  const auto distances = squared_distances(updates, run);
  std::vector<double> scores(n);
  run(n, [&](std::size_t i) {
    std::vector<double> to_others;
    for (std::size_t j = 0; j < n; ++j)
      if (j != i) to_others.push_back(distances[pair_index(std::max(i, j), std::min(i, j))]);
    std::ranges::sort(to_others);
    for (std::size_t k = 0; k + f + 2 < n; ++k) scores[i] += to_others[k];
  });
  return scores;
}

template std::vector<double> krum_scores(std::span<const NodeVectors<float>>, std::size_t, const ForEach&);
template std::vector<double> krum_scores(std::span<const NodeVectors<double>>, std::size_t, const ForEach&);

std::unique_ptr<const Aggregator> make_multi_krum(std::string spec, std::size_t f,
                                                  std::optional<std::size_t> m) {
  return std::make_unique<MultiKrum>(std::move(spec), f, m);
}

}  // namespace mfl
