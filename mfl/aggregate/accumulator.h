// The updates of a round as they become one: the exact mean adds them up as they arrive, robust rules hold
// them until the end. Made by an aggregator (Aggregator::accumulator) for the vectors that nodes send.
// Workers of an engine, processes of a run and a coordinator all use it; losses and metrics travel through it
// as exactly as vectors.
//
//   const auto sums = aggregator.accumulator<float>({{"w", 784}}, {.workers = 4});
//   sums->add({.node = {7}, .samples = 100, .vectors = {w}, .numbers = {loss}}, worker);
//   MFL_CHECK(sums->merge(of_another_process));    // what its pack() gave
//   if (!sums->failure()) sums->finish({{w_broadcast}}, means, run);
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/aggregate/metric_means.h"
#include "mfl/base/for_each.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"

namespace mfl {

class MessageReader;
class MessageWriter;

// A vector that nodes send.
struct SentVector {
  std::string name = {};
  std::size_t length = 0;
  bool by_samples = true;  // nodes count by their samples in its mean; otherwise all count the same
};

// The place of a node among the others, in which rules that see all updates see them. In a simulation it is
// the node's number. A federation knows names: with their length as the number they have the order of a
// simulation's nodes.
struct NodePlace {
  std::uint64_t number = 0;
  std::string name = {};

  friend auto operator<=>(const NodePlace&, const NodePlace&) = default;
};

template <class T>
using VectorViews = std::vector<std::span<const T>>;

inline constexpr std::size_t kUpdateNumbers = 3;

// What a node sends.
template <class T>
struct SentUpdate {
  NodePlace node = {};
  std::uint64_t samples = 1;    // the weight, from 1 to ExactMean::kMaxWeight
  VectorViews<T> vectors = {};  // in the order of the layout; none: numbers and metrics alone
  // Losses, for example: the caller says which is which.
  std::array<std::optional<double>, kUpdateNumbers> numbers = {};
  const Metrics* metrics = nullptr;
  // Owns what the views show: the update may then be held and added together with others, in one pass over
  // the sums. Null: the views are valid during the call.
  std::shared_ptr<const void> memory = nullptr;
};

// The first number of an update that is not finite: of the first node that has one.
struct UpdateFailure {
  NodePlace node;
  std::string what;  // "d[17]"
};

struct AccumulatorOptions {
  unsigned workers = 1;   // that add
  std::size_t nodes = 0;  // that can send an update, where the caller knows; the mean of one needs no sums
  // Updates that own their memory are held until there are so many or they take so many bytes; one at least
  // is held.
  std::size_t most_held = 8;
  std::size_t most_bytes = std::size_t{1} << 29U;
  ForEach run = for_each_in_order;  // for a pass over such updates
};

// Consecutive coordinates of one vector.
struct Slice {
  std::size_t vector, first, count;
};

// Sums that processes merge and round slice by slice, each process a part of the slices.
template <class T>
class SlicedSums {
 public:
  virtual ~SlicedSums() = default;
  // The slices of the vectors of this round, in their order.
  virtual std::span<const Slice> slices() const = 0;
  // Adds up what the workers have added, and gives `out` the lengths of the vectors. Before the others.
  virtual void prepare(std::vector<Vector<T>>& out, const ForEach& run) = 0;
  // Upper bound on the words that pack_slice() appends.
  virtual std::size_t most_words(std::size_t slice) const = 0;
  virtual void pack_slice(std::size_t slice, std::vector<std::uint32_t>& to) = 0;
  // Merges such words from the front of `words`, and returns the rest. Throws std::invalid_argument for words
  // of another shape.
  virtual std::span<const std::uint32_t> merge_slice(std::size_t slice,
                                                     std::span<const std::uint32_t> words) = 0;
  // Writes the mean into the vector of `out`, which has its length.
  virtual void finish_slice(std::size_t slice, std::vector<Vector<T>>& out) = 0;
};

// What comes out depends neither on the order of add() and merge() nor on workers, threads and what is held.
// Not thread-safe, but add() and fail() may be called at the same time for different workers, with updates
// that do not own their memory.
template <class T>
class Accumulator {
 public:
  static constexpr std::size_t kAllVectors = std::numeric_limits<std::size_t>::max();

  virtual ~Accumulator() = default;
  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;

  // Forgets what was added. The updates that follow have the first so many vectors of the layout.
  void clear(std::size_t vectors = kAllVectors);

  // A vector that is not finite is a failure, and what finish() gives is undefined then; an update that is held
  // is looked at when its turn comes, so measure_update() comes first. A number that is not finite makes its
  // mean NaN.
  void add(const SentUpdate<T>& update, unsigned worker = 0);
  // Notes the failure of a node; the first one by node is kept.
  void fail(NodePlace node, std::string what, unsigned worker = 0);

  // Of what all workers have added, and of what was merged:
  const std::optional<UpdateFailure>& failure() { return total().failure; }
  // The mean by samples of one of the numbers; NaN if one of them was not finite, nothing if no update had
  // one.
  std::optional<double> mean(std::size_t number);
  // As MetricMeans::means.
  Metrics metrics() { return total().metrics.means(); }

  // All of it, or all but the vectors, for merge() in another process of the same program.
  std::string pack(bool vectors = true);
  // Adds what another accumulator of the same aggregator, layout and clear() has packed. Takes any bytes;
  // kBadData for those of another shape, after which only clear() may follow.
  Result<void> merge(std::string_view packed);

  // Writes one vector for each of the layout, whose memory is reused; at least one update has vectors, and as
  // many as the aggregator needs (std::invalid_argument if not). What was added is used up. `origin` is where
  // the vectors started the round, empty views those that started at zero; robust rules read it. `run` may
  // distribute the work over threads.
  virtual void finish(const VectorViews<T>& origin, std::vector<Vector<T>>& out, const ForEach& run) = 0;

  // The sums, where they can be merged and finished in parts; null for rules that need all updates in one
  // place. merge() of everything but the vectors comes first.
  virtual SlicedSums<T>* sliced() { return nullptr; }

 protected:
  Accumulator(std::vector<SentVector> layout, AccumulatorOptions options);

  std::span<const SentVector> layout() const { return std::span(layout_).first(vectors_); }
  const AccumulatorOptions& options() const { return options_; }
  // The failure of an update, if one of its vectors is not finite.
  void fail_if_not_finite(const SentUpdate<T>& update, unsigned worker);

  virtual void clear_vectors() = 0;
  virtual void add_vectors(const SentUpdate<T>& update, unsigned worker) = 0;
  virtual void put_vectors(MessageWriter& to) = 0;
  // Throws std::invalid_argument or std::out_of_range.
  virtual void merge_vectors(MessageReader& from) = 0;

 private:
  // Everything but the vectors.
  struct Tally {
    std::array<ExactMean, kUpdateNumbers> numbers = {ExactMean(1), ExactMean(1), ExactMean(1)};
    std::array<bool, kUpdateNumbers> finite = {true, true, true};
    MetricMeans metrics;
    std::optional<UpdateFailure> failure;
    bool empty = true;

    void clear();
    void merge(const Tally& other);
    void fail(UpdateFailure other);
  };
  // The tallies of all workers, merged into the first.
  Tally& total();

  std::vector<SentVector> layout_;
  std::size_t vectors_;
  AccumulatorOptions options_;
  std::vector<Tally> tallies_;  // by worker
};

// What one pass over an update tells.
struct UpdateMeasure {
  std::optional<std::string> not_finite;  // "d[17]", the first number that is not
  std::vector<double> moves;  // of each vector from `origin` (L2); may be infinite; undefined with not_finite
};

// `origin` as in Accumulator::finish, and finite. Moves are added up in a fixed order: they do not depend on
// `run`.
template <class T>
UpdateMeasure measure_update(std::span<const SentVector> layout, const VectorViews<T>& vectors,
                             const VectorViews<T>& origin, const ForEach& run);

}  // namespace mfl
