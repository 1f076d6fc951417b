// What the nodes of a round add up to, and how the sums of several processes become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/base/message.h"
#include "mfl/engine/engine.h"

namespace mfl {

// Of one setting.
struct Sums {
  Sums(std::size_t columns, std::size_t vector_count);

  void clear();
  // The node with the lowest number is kept.
  void fail(std::size_t node, std::string what);

  std::vector<ExactMean> vectors;
  ExactMean loss;
  ExactMean square_moves;
  bool loss_is_finite = true;
  std::uint64_t weight = 0;  // of all that is added to a vector; where processes share a run, by all of them
  std::optional<NotFinite> failure;
};

// Which of the small parts a stretch has changed.
struct SmallParts {
  bool loss = false;
  bool square_moves = false;
  bool weight = false;
};

// Everything but the vectors, for another process.
void put_small(MessageWriter& to, const Sums& sums, SmallParts parts);
// Merges what another has put.
void merge_small_from(MessageReader& from, Sums& total, SmallParts parts);

// The vectors, where they are small.
void put_vectors(MessageWriter& to, const Sums& sums);
void merge_vectors_from(MessageReader& from, Sums& total);

// `mean`, of one number, becomes that of all ranks; true if all of them are finite.
bool merge_over_ranks(Ranks& ranks, ExactMean& mean, bool finite);

// This rank's row blocks and how many rows they have become those of all, in the order of ranks.
void gather_blocks(Ranks& ranks, std::vector<Evaluation>& blocks, std::size_t& rows);

}  // namespace mfl
