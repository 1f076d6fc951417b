// Median and trimmed mean: both are the exact mean of the middle of the ordered numbers of a coordinate.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/aggregate/rules.h"
#include "mfl/aggregate/slices.h"

namespace mfl {
namespace {

constexpr std::size_t kLanes = 32;         // coordinates that are ordered together
constexpr std::size_t kTile = 256;         // coordinates that ExactMean takes together
constexpr std::size_t kMostSorted = 2048;  // nodes; with more, selection is faster than a network
static_assert(kTile % kLanes == 0);

// Ranks of the ordered numbers: first <= rank < end.
struct Middle {
  std::size_t first, end;
};

// Written for SIMD minima and maxima. Of two zeros one may be lost: a mean has no sign of zero.
template <class T>
void order(T* __restrict low, T* __restrict high) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const T a = low[lane], b = high[lane];
    low[lane] = b < a ? b : a;
    high[lane] = a < b ? b : a;
  }
}

// Batcher's merge exchange (Knuth, volume 3, algorithm 5.2.2M), without the comparisons that no middle rank depends on.
class SortingNetwork {
 public:
  SortingNetwork(std::size_t n, Middle middle) {
    if (n < 2) return;
    const std::size_t top = std::bit_ceil(n) / 2;
    for (std::size_t p = top; p > 0; p /= 2) {
      std::size_t r = 0, d = p;
      for (std::size_t q = top; d > 0; q /= 2) {
        for (std::size_t i = 0; i + d < n; ++i)
          if ((i & p) == r) comparisons_.push_back({i, i + d});
        d = q - p;
        r = p;
      }
    }
    keep_those_needed(n, middle);
  }

  // Orders each of the kLanes columns of n rows, as far as the middle needs it.
  template <class T>
  void sort(T* rows) const {
    for (const Comparison& comparison : comparisons_)
      order(rows + comparison.low * kLanes, rows + comparison.high * kLanes);
  }

 private:
  struct Comparison {
    std::size_t low, high;
  };

  void keep_those_needed(std::size_t n, Middle middle) {
    std::vector<bool> needed(n);
    for (std::size_t rank = middle.first; rank < middle.end; ++rank) needed[rank] = true;
    std::vector<Comparison> kept;
    for (auto it = comparisons_.rbegin(); it != comparisons_.rend(); ++it) {
      if (!needed[it->low] && !needed[it->high]) continue;
      needed[it->low] = needed[it->high] = true;
      kept.push_back(*it);
    }
    comparisons_.assign(kept.rbegin(), kept.rend());
  }

  std::vector<Comparison> comparisons_;
};

// Puts the numbers of the middle ranks of each of the kLanes columns into the middle rows, in any order.
template <class T>
void select_middle(std::size_t n, Middle middle, T* rows, std::vector<T>& column) {
  const auto at = [&](std::size_t rank) { return column.begin() + static_cast<std::ptrdiff_t>(rank); };
  column.resize(n);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < n; ++i) column[i] = rows[i * kLanes + lane];
    std::nth_element(at(0), at(middle.first), at(n));
    std::nth_element(at(middle.first), at(middle.end - 1), at(n));
    for (std::size_t i = middle.first; i < middle.end; ++i) rows[i * kLanes + lane] = column[i];
  }
}

template <class T>
class MiddleMean {
 public:
  MiddleMean(std::span<const NodeVectors<T>> updates, Middle middle)
      : updates_(updates),
        middle_(middle),
        network_(updates.size() <= kMostSorted ? updates.size() : 0, middle) {}

  void operator()(const Slice& slice, std::span<T> out) const {
    const std::size_t n = updates_.size(), kept = middle_.end - middle_.first;
    Vector<T> rows(n * kLanes), tile(kept * kTile);
    std::vector<T> column;
    for (std::size_t first = 0; first < slice.count; first += kTile) {
      const std::size_t width = std::min(kTile, slice.count - first);
      for (std::size_t start = 0; start < width; start += kLanes) {
        const std::size_t lanes = std::min(kLanes, width - start);
        for (std::size_t i = 0; i < n; ++i)
          std::copy_n(slice_of(updates_[i], slice).data() + first + start, lanes, rows.data() + i * kLanes);
        if (n <= kMostSorted)
          network_.sort(rows.data());
        else
          select_middle(n, middle_, rows.data(), column);
        for (std::size_t k = 0; k < kept; ++k)
          std::copy_n(rows.data() + (middle_.first + k) * kLanes, lanes, tile.data() + k * kTile + start);
      }
      ExactMean sum(width);
      for (std::size_t k = 0; k < kept; ++k)
        if (sum.add(std::span<const T>(tile).subspan(k * kTile, width), 1))
          throw std::invalid_argument("an update has a number that is not finite");
      sum.mean(out.subspan(first, width));
    }
  }

 private:
  std::span<const NodeVectors<T>> updates_;
  Middle middle_;
  SortingNetwork network_;
};

template <class T>
void mean_without_ends(std::span<const NodeVectors<T>> updates, std::size_t trimmed,
                       std::vector<Vector<T>>& out, const ForEach& run) {
  if (trimmed == 0) return exact_mean(updates, all_of(updates.size()), false, out, run);
  const auto slices = slices_of(updates.front());
  const MiddleMean<T> mean(updates, {trimmed, updates.size() - trimmed});
  run(slices.size(), [&](std::size_t s) { mean(slices[s], slice_of(out, slices[s])); });
}

class Median final : public AggregatorOf<Median> {
 public:
  using AggregatorOf::AggregatorOf;

  template <class T>
  void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>&, std::vector<Vector<T>>& out,
               const ForEach& run) const {
    mean_without_ends(updates, (updates.size() - 1) / 2, out, run);
  }
};

class TrimmedMean final : public AggregatorOf<TrimmedMean> {
 public:
  TrimmedMean(std::string spec, double fraction) : AggregatorOf(std::move(spec)), fraction_(fraction) {}

  template <class T>
  void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>&, std::vector<Vector<T>>& out,
               const ForEach& run) const {
    mean_without_ends(updates, trimmed(updates.size()), out, run);
  }

 private:
  std::size_t trimmed(std::size_t n) const {
    constexpr double kRounding = 1 + 0x1p-50;  // 0.29 * 100 is below 29
    const double product = fraction_ * static_cast<double>(n) * kRounding;
    return std::min(static_cast<std::size_t>(product), (n - 1) / 2);
  }

  double fraction_;
};

}  // namespace

std::unique_ptr<const Aggregator> make_median(std::string spec) {
  return std::make_unique<Median>(std::move(spec));
}

std::unique_ptr<const Aggregator> make_trimmed_mean(std::string spec, double fraction) {
  return std::make_unique<TrimmedMean>(std::move(spec), fraction);
}

}  // namespace mfl
