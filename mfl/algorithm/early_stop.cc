#include "mfl/algorithm/early_stop.h"

#include <fmt/format.h>

#include <cmath>

namespace mfl {

void EarlyStop::note(std::uint64_t round, double loss) {
  if (!std::isfinite(loss)) return;
  if (!best_ || loss < best_->loss - kLeastImprovement * std::abs(best_->loss)) best_ = {round, loss};
}

std::optional<std::string> EarlyStop::judge(std::uint64_t round, std::optional<double> train_loss,
                                            std::optional<double> accuracy) {
  if (train_loss) note(round, *train_loss);
  if (round == 0) return std::nullopt;
  const auto stopped = [&](const std::string& why) {
    return fmt::format("stopped early in round {}: {}", round, why);
  };
  if (rule_.target_loss && train_loss && *train_loss <= *rule_.target_loss)
    return stopped(
        fmt::format("training loss {:.10g} has reached target_loss {}", *train_loss, *rule_.target_loss));
  if (rule_.target_accuracy && accuracy && *accuracy >= *rule_.target_accuracy)
    return stopped(fmt::format("test accuracy {:.6g} has reached target_accuracy {}", *accuracy,
                               *rule_.target_accuracy));
  if (rule_.patience != 0 && train_loss && best_ && round - best_->round >= rule_.patience)
    return stopped(
        fmt::format("training loss {:.10g} is not {:g} % below that of round {} ({:.10g}), patience {}",
                    *train_loss, 100 * kLeastImprovement, best_->round, best_->loss, rule_.patience));
  return std::nullopt;
}

}  // namespace mfl
