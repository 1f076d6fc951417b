// Limits on the size of an update.
//
// A hostile or broken node may send any finite numbers. One that sends 1e38 once would leave the others a State from which they overflow,
// so an update is refused where it is far larger than updates of this run are. What is usual is measured in committed rounds
// only, and by medians, so a limit depends neither on the order of arrival nor on who else answers, and one node of three or
// more does not set it.
//
// An honest federation is not stopped by these limits: where more than half of the nodes exceed the automatic ones, the limits
// are raised to what these nodes send (retry_with). Within the limits a node may still send what it likes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mfl/federation/messages.h"

namespace mfl {

// What is measured of an update.
struct UpdateSize {
  std::vector<double>
      moves;        // how far each vector is from the broadcast one (L2); empty if it has the loss alone
  double loss = 0;  // F_i at the broadcast w
};

// What updates were like in the rounds committed so far. Each number is a maximum over the rounds' medians that fades by 3 % per round: after
// a hundred rounds a large one has no effect. Committed with each round, so that a restart does not change a limit.
struct SizeHistory {
  std::vector<double> moves;  // as of UpdateSize; empty: no round with a history was committed
  double loss = 0;

  bool operator==(const SizeHistory&) const = default;
};

struct UpdateLimitOptions {
  double max_update_norm = 0;        // of all vectors together; 0: automatic, per vector
  double least_loss = 0;             // that the model can have
  double largest_move = 0;           // of a vector, in any case: beyond it the next loss is not finite
  std::vector<std::string> vectors;  // their names, for people
};

// The verdict on an update's size.
struct SizeVerdict {
  enum class Kind {
    kFits,
    kImpossible,  // no node that computes what it should can send it
    kDiverging,   // beyond the operator's limit, or beyond what the next round can compute with
    kUnusual,     // beyond an automatic limit
  };
  Kind kind = Kind::kFits;
  Verdict verdict;
};

// The automatic limits: a move of 100 times the history's, a loss of a million times one plus the history's. Where there is no history, as
// in the first round, only largest_move applies on arrival, and outliers() compares the updates with each other before the round is
// committed. Not thread-safe.
class UpdateLimits {
 public:
  explicit UpdateLimits(UpdateLimitOptions options, SizeHistory history = {});

  SizeVerdict check(const UpdateSize& size) const;

  // Nodes whose updates exceed what the automatic limits would be with the medians of `counted` as history. None where there is a
  // history, after retry_with(), or with fewer than three nodes.
  std::vector<std::string> outliers(const std::map<std::string, UpdateSize>& counted) const;

  // Until the next commit these sizes count as usual too.
  void retry_with(const std::map<std::string, UpdateSize>& sizes);

  // The history once a round of these updates is committed; the limits then start from it.
  SizeHistory history_after(const std::map<std::string, UpdateSize>& counted) const;
  void commit(SizeHistory history);

 private:
  double usual_move(std::size_t vector) const;  // 0: not known
  SizeVerdict check_moves(const UpdateSize& size) const;

  UpdateLimitOptions options_;
  SizeHistory history_;
  std::optional<SizeHistory> retry_;
};

}  // namespace mfl
