// When a run ends before its last step. Simulations and servers use the same rule on the same losses, so both end in the same round.
// Of losses it judges F(w), train_loss, of States that have one.
//
//   EarlyStop stop(rule, losses);
//   for (const RoundLoss& past : recorded) (void)stop.judge(past.round, past.loss, {});  // of a run that is resumed
//   if (const auto why = stop.judge(state.round, loss, accuracy)) end(*why);
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mfl/algorithm/losses.h"

namespace mfl {

// All off by default.
struct StopRule {
  std::optional<double> target_loss;      // F(w) <= it
  std::optional<double> target_accuracy;  // of the test set, >= it
  std::uint64_t patience = 0;             // rounds since the last improvement >= it; 0: off

  bool operator==(const StopRule&) const = default;
};

// An improvement is a loss below (best - kLeastImprovement |best|), where best is the loss of the last improvement, at first that of
// round 0: many small steps together are one.
inline constexpr double kLeastImprovement = 1e-4;

// The training loss of the State after so many rounds.
struct RoundLoss {
  std::uint64_t round = 0;
  double loss = 0;
};

// A plain value. Not thread-safe.
class EarlyStop {
 public:
  EarlyStop() = default;
  EarlyStop(const StopRule& rule, const LossRule& losses) : rule_(rule), losses_(losses) {}

  // Whether the accuracy of the State after this round is judged: not of the initial one, and of others where F(w) is known as well, or
  // where it takes a pass of its own.
  bool needs_accuracy(std::uint64_t round) const {
    return rule_.target_accuracy && round > 0 && (losses_.knows_train_loss(round) || losses_.elsewhere);
  }

  // In the order of rounds; twice the same has no effect; what is absent is not judged. Why the run ends here: "stopped early in round 37: ..."; nothing if it
  // continues. Losses that are not finite improve nothing.
  std::optional<std::string> judge(std::uint64_t round, std::optional<double> train_loss,
                                   std::optional<double> accuracy);

 private:
  void note(std::uint64_t round, double loss);

  StopRule rule_;
  LossRule losses_;
  std::optional<RoundLoss> best_;
};

}  // namespace mfl
