#include "mfl/algorithm/early_stop.h"

#include <fmt/format.h>

#include <cmath>

namespace mfl {

bool EarlyStop::judges(std::uint64_t round) const {
  const bool any = rule_.target_loss || rule_.target_accuracy || rule_.patience != 0;
  return any && round > 0 && knows_loss(round);
}

void EarlyStop::note(std::uint64_t round, double loss) {
  if (!std::isfinite(loss)) return;
  if (!best_ || loss < best_->loss - kLeastImprovement * std::abs(best_->loss)) best_ = {round, loss};
}

std::optional<std::string> EarlyStop::judge(std::uint64_t round, double loss,
                                            std::optional<double> accuracy) {
  if (knows_loss(round)) note(round, loss);
  if (!judges(round)) return std::nullopt;
  const auto stopped = [&](const std::string& why) {
    return fmt::format("stopped early in round {}: {}", round, why);
  };
  if (rule_.target_loss && loss <= *rule_.target_loss)
    return stopped(fmt::format("training loss {:.10g} has reached target_loss {}", loss, *rule_.target_loss));
  if (rule_.target_accuracy && accuracy && *accuracy >= *rule_.target_accuracy)
    return stopped(fmt::format("test accuracy {:.6g} has reached target_accuracy {}", *accuracy,
                               *rule_.target_accuracy));
  if (rule_.patience != 0 && best_ && round - best_->round >= rule_.patience)
    return stopped(fmt::format("training loss {:.10g} has not improved since round {} ({:.10g}), patience {}",
                               loss, best_->round, best_->loss, rule_.patience));
  return std::nullopt;
}

}  // namespace mfl
