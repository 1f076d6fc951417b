// The sums over the nodes of a round, and how the sums of several processes are combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/aggregation.h"
#include "mfl/base/message.h"
#include "mfl/engine/engine.h"

namespace mfl {

// Of one setting.
struct Sums {
  // Of vectors with these lengths.
  explicit Sums(std::span<const std::size_t> lengths);

  void clear();
  // How far a node's w has moved from that of the State. A move that is not finite is noticed where its vector is added.
  template <class T>
  void add_move(const Vector<T>& from, const Vector<T>& w, std::uint64_t weight);
  // Keeps the failure of the node with the lowest number.
  void fail(std::size_t node, std::string what);

  std::vector<ExactMean> vectors;
  ExactMean loss, evaluated;  // of the same nodes, or of none
  ExactMean square_moves;
  bool loss_is_finite = true;
  std::uint64_t samples = 0, nodes = 0;  // of everything added to a vector, by all processes of the run
  std::optional<NotFinite> failure;
};

// Which of the small parts a range of steps has changed.
struct SmallParts {
  bool loss = false, evaluated = false;
  bool square_moves = false;
  bool weights = false;
};

// Everything but the vectors, for another process.
void put_small(MessageWriter& to, const Sums& sums, SmallParts parts);
// Merges what another process has put.
void merge_small_from(MessageReader& from, Sums& total, SmallParts parts);

// The vectors, if they are small.
void put_vectors(MessageWriter& to, const Sums& sums);
void merge_vectors_from(MessageReader& from, Sums& total);

// Merges `mean`, of one number, over all ranks. Returns whether all of them are finite.
bool merge_over_ranks(Ranks& ranks, ExactMean& mean, bool finite);

// The updates of all ranks in the order of ranks, each of which runs consecutive nodes.
template <class T>
std::vector<NodeUpdate<T>> gather_updates(Ranks& ranks, std::span<const NodeUpdate<T>> mine);

// What the nodes of all ranks keep, in the order of ranks.
template <class T>
std::vector<KeptVectors<T>> gather_kept(Ranks& ranks, std::span<const KeptVectors<T>> mine);

}  // namespace mfl
