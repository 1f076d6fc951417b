// The training losses that rounds measure. There are three, and nothing takes one for another.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace mfl {

// Each is absent where it was not measured.
struct Losses {
  std::optional<double> train_loss =
      {};  // F(w) of the State, over all samples of the nodes that its round counted
  std::optional<double> batch_loss = {};  // the mean over the batches of the round that ended at the State
  std::optional<double> start_loss =
      {};  // of where the State's nodes start, if that is not w, over all samples

  bool operator==(const Losses&) const = default;
};

struct NamedLoss {
  std::string_view name;  // "train_loss", ...
  std::optional<double> value;
};
// The one that every round has: what to show while a run continues.
inline NamedLoss loss_of_rounds(const Losses& losses) {
  if (losses.batch_loss) return {"batch_loss", losses.batch_loss};
  if (losses.start_loss) return {"start_loss", losses.start_loss};
  return {"train_loss", losses.train_loss};
}

// A round's nodes measure one of the three in passing: F(w) where they start at w and step on all samples; with batches, and where
// programs outside of mfl train, the mean over the steps; else the loss of where they start. In the latter two cases F(w) takes
// evaluations, passes over all samples.
struct LossRule {
  enum class Passing { kTrain, kBatch, kStart };

  Passing passing = Passing::kTrain;
  std::uint64_t evaluate_every =
      0;  // rounds between evaluations, the first of the initial State; the last State has one too; 0: none
  bool elsewhere = false;  // nodes do not start at w, and an evaluation is a pass of its own

  bool evaluates(std::uint64_t round, bool is_last = false) const {
    return passing != Passing::kTrain && evaluate_every != 0 && (is_last || round % evaluate_every == 0);
  }
  // Whether F(w) of the State after `round` rounds is known.
  bool knows_train_loss(std::uint64_t round, bool is_last = false) const {
    return passing == Passing::kTrain || evaluates(round, is_last);
  }
  // Nodes of a federation get what they start from, which is w at the beginning only: there the last State alone is evaluated beside it.
  LossRule in_federation() const {
    LossRule out = *this;
    if (elsewhere && evaluate_every != 0) out.evaluate_every = std::numeric_limits<std::uint64_t>::max();
    return out;
  }
  bool never_knows() const { return passing != Passing::kTrain && evaluate_every == 0; }
};

}  // namespace mfl
