// How the updates of a round become one: the exact mean, and rules that a minority of wrong or hostile updates cannot move far.
//
// Engine and coordinator use the same rules, chosen by a spec (mfl/base/catalog.h): make_aggregator("trimmed-mean(0.2)").
//
//   mean                          sum of samples_i x_i / sum of samples_i, exact, rounded once
//   median                        of each coordinate; of two middle numbers the mean, rounded once
//   trimmed-mean(fraction)        of each coordinate: the mean without the b smallest and b largest numbers, b = floor(fraction n)
//   krum(f), multi-krum(f, [m])   the mean of the m nodes with the lowest scores, m = 1 for krum, otherwise n - f by default. The
//                                 score of a node is the sum of its n - f - 2 smallest squared distances to others; of equal
//                                 scores the lower node number comes first (Blanchard et al. 2017). Needs n >= 2 f + 3 and m <= n
//   geometric-median(iterations, nu)      alias rfa: v <- sum_i a_i x_i, a_i proportional to 1 / max(nu, |x_i - v|), from v = mean
//                                 (smoothed Weiszfeld steps, Pillutla et al. 2022)
//   centred-clipping(radius, iterations)  alias centered-clipping: v <- v + mean_i of (x_i - v) min(1, radius / |x_i - v|), from
//                                 v = what was broadcast (Karimireddy et al. 2021)
//
// All but `mean` are unweighted: every node counts once, whatever number of samples it claims, because a hostile node claims as
// many as it likes. Distances are Euclidean over all vectors of a node together: for MFL over w and d.
//
// What they withstand, for n nodes of which f are hostile:
//   - mean: nothing. median: f < n / 2. trimmed-mean: f <= b. krum and multi-krum: the f of the spec, if m <= n - f.
//   - geometric-median: f < n / 2 once it has converged. Each step divides what distant updates contribute by about n / f - 1, so of a
//     distance R about R / (n / f - 1)^(iterations + 1) is left. Limit the size of updates (max_update_norm), or take more steps.
//   - centred-clipping: an update moves the result by at most radius / n in each step. Updates of good nodes farther than radius are
//     clipped too.
//
// Numerics. Every mean without weights is the exact one of ExactMean. Distances and steps are f64: sums over coordinates by slices of
// kAggregateSlice, slices added in their order; sums over nodes in the order of their numbers; v is rounded to T once, at the end.
// If no node is clipped, a step of centred clipping is the exact mean, so centred-clipping(inf) is the unweighted mean bit for
// bit. Results are finite, an exact zero is +0, and neither threads nor the instruction set change a bit. The numbering of nodes affects
// neither median nor trimmed-mean; krum only in ties; the others in the last bits. A squared distance too large for f64 is infinite
// for krum; the other rules scale it. Differences below 1e-154 may count as zero distance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/aggregate/accumulator.h"
#include "mfl/base/catalog.h"
#include "mfl/base/for_each.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"

namespace mfl {

// The coordinates of one part of the work.
inline constexpr std::size_t kAggregateSlice = 4096;

// Views of one node's vectors, w first; the owner outlives them.
template <class T>
struct NodeVectors {
  VectorViews<T> vectors;
  std::uint64_t samples = 1;  // the weight, from 1 to ExactMean::kMaxWeight; read by weighted rules only
};

// Immutable, so safe to use from several threads at a time.
class Aggregator {
 public:
  virtual ~Aggregator() = default;
  Aggregator(const Aggregator&) = delete;
  Aggregator& operator=(const Aggregator&) = delete;

  // Canonical: parsing it makes an aggregator that gives the same bits. Part of what digests and schemas compare.
  const std::string& spec() const { return spec_; }

  // Whether a node counts by its samples; otherwise all nodes count the same.
  virtual bool weighted() const { return false; }

  // Whether `nodes` updates are enough, at least 1. kBadConfig with both numbers if not. Engines check the nodes of a run before the
  // first round; a round that fewer updates reach than can be aggregated has failed.
  virtual Result<void> check(std::size_t nodes) const;

  // For updates with such vectors, which it makes one with the bits of aggregate(). The aggregator outlives it.
  template <class T>
  std::unique_ptr<Accumulator<T>> accumulator(std::vector<SentVector> layout,
                                              AccumulatorOptions options = {}) const {
    std::unique_ptr<Accumulator<T>> made;
    make_accumulator(std::move(layout), std::move(options), made);
    return made;
  }

  // Writes one vector per vector of a node; the memory of `out` is reused, and shares nothing with the other arguments. `updates` are
  // in the order of node numbers, not of arrival, and check(updates.size()) succeeds. All numbers are finite. `broadcast` is what the
  // nodes started the round from, with the shape of the updates. `run` may distribute the work over threads.
  //
  // Throws std::invalid_argument for too few nodes, different shapes, or samples outside their range where they are read. Needs
  // all updates at a time, and for its own work at most 8 bytes per coordinate, 300 numbers per node and thread, and for krum
  // 64 MiB and 16 bytes per pair of nodes. 100 nodes of 1.6 million coordinates take one to three seconds on two cores.
  virtual void aggregate(std::span<const NodeVectors<float>> updates, const NodeVectors<float>& broadcast,
                         std::vector<Vector<float>>& out, const ForEach& run) const = 0;
  virtual void aggregate(std::span<const NodeVectors<double>> updates, const NodeVectors<double>& broadcast,
                         std::vector<Vector<double>>& out, const ForEach& run) const = 0;

 protected:
  explicit Aggregator(std::string spec) : spec_(std::move(spec)) {}
  // By default one that holds all updates for aggregate().
  virtual void make_accumulator(std::vector<SentVector> layout, AccumulatorOptions options,
                                std::unique_ptr<Accumulator<float>>& made) const;
  virtual void make_accumulator(std::vector<SentVector> layout, AccumulatorOptions options,
                                std::unique_ptr<Accumulator<double>>& made) const;

 private:
  std::string spec_;
};

// An Aggregator written once for both precisions: Rule derives from AggregatorOf<Rule> and has
//   template <class T>
//   void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>& broadcast, std::vector<Vector<T>>& out,
//                const ForEach& run) const;
// which is called with updates of equal shapes that check() accepts, and with `out` resized.
template <class Rule>
class AggregatorOf : public Aggregator {
 public:
  explicit AggregatorOf(std::string spec) : Aggregator(std::move(spec)) {}

  void aggregate(std::span<const NodeVectors<float>> updates, const NodeVectors<float>& broadcast,
                 std::vector<Vector<float>>& out, const ForEach& run) const final {
    prepare(updates, broadcast, out);
    static_cast<const Rule&>(*this).combine(updates, broadcast, out, run);
  }
  void aggregate(std::span<const NodeVectors<double>> updates, const NodeVectors<double>& broadcast,
                 std::vector<Vector<double>>& out, const ForEach& run) const final {
    prepare(updates, broadcast, out);
    static_cast<const Rule&>(*this).combine(updates, broadcast, out, run);
  }

 private:
  template <class T>
  void prepare(std::span<const NodeVectors<T>> updates, const NodeVectors<T>& broadcast,
               std::vector<Vector<T>>& out) const;
};

// Throws std::invalid_argument if check() fails or shapes differ; gives `out` the shape of the updates.
template <class T>
void prepare_aggregation(const Aggregator& aggregator, std::span<const NodeVectors<T>> updates,
                         const NodeVectors<T>& broadcast, std::vector<Vector<T>>& out);

template <class Rule>
template <class T>
void AggregatorOf<Rule>::prepare(std::span<const NodeVectors<T>> updates, const NodeVectors<T>& broadcast,
                                 std::vector<Vector<T>>& out) const {
  prepare_aggregation(*this, updates, broadcast, out);
}

// The entry "mean".
const Aggregator& mean_aggregator();

struct AggregatorEntry : CatalogEntry {
  // From the canonical spec and its values. Fails, with kBadConfig, only for values that are wrong together.
  std::function<Result<std::unique_ptr<const Aggregator>>(std::string spec, const ParameterValues& values)>
      make;
};

// All aggregators of the process: those above, and what was added. Example of an addition: end of file.
Catalog<AggregatorEntry>& aggregators();

// parse_spec on aggregators(), then make.
Result<std::unique_ptr<const Aggregator>> make_aggregator(std::string_view spec);

}  // namespace mfl

// Example: an aggregator of one's own, added before the first use.
//
//   class First final : public AggregatorOf<First> {  // the update of the node with the lowest number
//    public:
//     using AggregatorOf::AggregatorOf;
//     template <class T>
//     void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>&, std::vector<Vector<T>>& out,
//                  const ForEach&) const {
//       for (std::size_t v = 0; v < out.size(); ++v) std::ranges::copy(updates[0].vectors[v], out[v].begin());
//     }
//   };
//   aggregators().add({{.name = "first", .description = "the first node's update"},
//                      [](std::string spec, const ParameterValues&) -> Result<std::unique_ptr<const Aggregator>> {
//                        return std::make_unique<First>(std::move(spec));
//                      }});
//   MFL_TRY(const auto aggregator, make_aggregator("first"));
