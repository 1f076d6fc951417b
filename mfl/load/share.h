// The part of an experiment's data that one of several processes reads, and whether all of them read the same data. A process alone is
// rank 0 of 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/digest.h"
#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/data/dataset.h"
#include "mfl/data/rows.h"
#include "mfl/engine/ranks.h"

namespace mfl {

// Rows of a set in an order in which those of each rank follow those of lower ranks.
struct Division {
  std::vector<std::uint32_t> order;
  std::vector<std::size_t> starts;  // rank r has order[starts[r] .. starts[r + 1])

  std::span<const std::uint32_t> of_rank(unsigned rank) const {
    return std::span(order).subspan(starts[rank], starts[rank + 1] - starts[rank]);
  }
};

// All rows of a test set in their order: whole row blocks, as many for each rank as for the others.
Division divide_test(std::size_t rows, unsigned ranks);

struct RowShare {
  Dataset rows;        // of this rank, in the order of the division
  std::string digest;  // of the whole set; with several ranks only on the first
};

// Reads this rank's rows of each set of an experiment and compares them with those of the first rank. Not thread-safe.
class ShareReader {
 public:
  explicit ShareReader(Ranks& ranks) : ranks_(ranks), expected_(ranks.first() ? ranks.size() : 0) {}
  const Ranks& ranks() const { return ranks_; }

  // Something about the data that must be the same on every rank.
  void add_fact(RankFact fact) { facts_.push_back(std::move(fact)); }
  // A rank of several holds no more than its own rows; the first one reads all rows once more for the digest, a few at a time. A process
  // alone reads all rows once. `set` names them in errors: "training".
  Result<RowShare> read(const std::string& set, SomeRows rows, const Division& division);
  // After all sets are read, on every rank. Collective. kBadData, on all ranks, if a rank has other data than the first one: shape,
  // labels, names, facts, or any of the rows that it holds.
  Result<void> require_same_data();

 private:
  Ranks& ranks_;
  std::vector<RankFact> facts_;
  Sha256 held_;                   // of the hashes of the rows that this rank holds
  std::vector<Sha256> expected_;  // on the first rank: what `held_` of each rank must be
};

// Compares the digests of the data of a sweep, whose ranks load different settings: once per distinct [data], as its first setting
// takes it. Every rank reads that data once more; nothing is read where there is one. Collective. kBadData names a rank and the data.
Result<void> require_same_sources(std::span<const Config> configs, Ranks& ranks);

}  // namespace mfl
