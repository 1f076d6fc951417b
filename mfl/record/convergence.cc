#include "mfl/record/convergence.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

namespace mfl {
namespace {

constexpr std::size_t kFewestRounds = 20;  // for a judgement of the end

constexpr std::string_view kSteadier = "lower eta or gamma, or standardise the features";

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// One of the losses of a run's rounds, with what makes a difference between two values count.
class LossSeries {
 public:
  // `noisy`: of some of the nodes or samples, or of weights that minibatches move.
  LossSeries(std::string_view name, std::span<const RoundRow> rounds, std::optional<double> RoundRow::*loss,
             bool noisy)
      : name_(name), noisy_(noisy) {
    for (const RoundRow& round : rounds)
      if (round.*loss) {
        all_.push_back(*(round.*loss));
        rounds_.push_back(round.round);
      }
    if (all_.empty()) return;
    constexpr std::size_t kFewestNoisy = 3, kFewestForNoise = 10;
    tenth_ = std::max<std::size_t>(noisy_ ? kFewestNoisy : 1, (all_.size() - 1) / 10);
    if (noisy_) noise_ = noise_of(last(std::max(2 * tenth_, kFewestForNoise)));
  }

  std::string_view name() const { return name_; }
  // That the last `count` values are of.
  std::uint64_t rounds(std::size_t count) const {
    return rounds_.back() - rounds_[rounds_.size() - 1 - std::min(count, rounds_.size() - 1)];
  }
  double first() const { return all_.front(); }
  double end() const { return noisy_ ? mean(last(tenth_)) : all_.back(); }
  double before_end() const {
    return noisy_ ? mean(last(2 * tenth_).first(tenth_)) : all_[all_.size() - 1 - tenth_];
  }
  std::size_t size() const { return all_.size(); }
  std::size_t tenth() const { return tenth_; }
  std::span<const double> last(std::size_t count) const {
    return std::span(all_).last(std::min(count, all_.size()));
  }

  // The losses from `from` on; where they are noisy, means of half a tenth each.
  std::vector<double> points(std::size_t from) const {
    const std::size_t length = noisy_ ? std::max<std::size_t>(1, tenth_ / 2) : 1;
    std::vector<double> out;
    for (std::size_t at = all_.size(); at >= from + length; at -= length)
      out.push_back(mean(std::span(all_).subspan(at - length, length)));
    std::ranges::reverse(out);
    return out;
  }

  // Differences between means of `count` losses that noise does not explain. 0 where there is none.
  double above_noise(std::size_t count) const {
    constexpr double kDeviations = 4;
    return kDeviations * noise_ * std::sqrt(2.0 / static_cast<double>(count));
  }
  double above_noise_of_points() const { return above_noise(std::max<std::size_t>(1, tenth_ / 2)); }

 private:
  // From neighbours, so that a trend does not count.
  static double noise_of(std::span<const double> losses) {
    double sum = 0;
    for (std::size_t i = 1; i < losses.size(); ++i)
      sum += (losses[i] - losses[i - 1]) * (losses[i] - losses[i - 1]);
    return std::sqrt(sum / 2 / std::max(1.0, static_cast<double>(losses.size()) - 1));
  }

  std::string_view name_;
  bool noisy_;
  std::vector<double> all_;
  std::vector<std::uint64_t> rounds_;
  std::size_t tenth_ = 1;
  double noise_ = 0;  // standard deviation of a loss
};

// The largest rise from a value to a later one; of the negated values, the largest fall.
double largest_rise(std::span<const double> values, double sign) {
  double least = sign * values.front(), rise = 0;
  for (const double value : values) {
    least = std::min(least, sign * value);
    rise = std::max(rise, sign * value - least);
  }
  return rise;
}

std::optional<RunWarning> above_start(const LossSeries& losses, std::uint64_t step) {
  constexpr double kRounding = 1e-3;
  if (!(losses.end() > losses.first() * (1 + kRounding) + losses.above_noise(losses.tenth()))) return {};
  return RunWarning{"above_start", step,
                    fmt::format("the final {} {:.4g} is above {:.4g}, where it started", losses.name(),
                                losses.end(), losses.first()),
                    std::string(kSteadier)};
}

std::optional<RunWarning> oscillating(const LossSeries& losses, std::uint64_t step) {
  constexpr double kShareOfLoss = 0.1, kShareOfStart = 0.01;
  const std::size_t fifth = 2 * losses.tenth();
  const std::span<const double> tail = losses.last(fifth);
  const std::vector<double> points = losses.points(losses.size() - fifth);
  const double least =
      std::max({kShareOfLoss * mean(tail), kShareOfStart * losses.first(), losses.above_noise_of_points()});
  if (!(largest_rise(points, 1) > least && largest_rise(points, -1) > least)) return {};
  const auto [low, high] = std::ranges::minmax(points);
  return RunWarning{"oscillating", step,
                    fmt::format("the {} swings between {:.4g} and {:.4g} over the last {} rounds",
                                losses.name(), low, high, losses.rounds(fifth)),
                    std::string(kSteadier)};
}

std::optional<RunWarning> rising(const LossSeries& losses, std::uint64_t step) {
  constexpr double kShareOfLoss = 0.02, kShareOfStart = 0.002, kShareOfBest = 0.1, kBestShareOfStart = 0.01;
  const double before = mean(losses.last(2 * losses.tenth()).first(losses.tenth()));
  const double now = mean(losses.last(losses.tenth()));
  if (now - before >
      std::max({kShareOfLoss * before, kShareOfStart * losses.first(), losses.above_noise(losses.tenth())}))
    return RunWarning{"rising", step,
                      fmt::format("the {} rose by {:.3g} % over the last {} rounds", losses.name(),
                                  100 * (now / before - 1), losses.rounds(losses.tenth())),
                      std::string(kSteadier)};
  const double best = std::ranges::min(losses.points(0));
  if (losses.end() - best >
      std::max({kShareOfBest * best, kBestShareOfStart * losses.first(), losses.above_noise_of_points()}))
    return RunWarning{
        "rising", step,
        fmt::format("the {} ended at {:.4g}, above its best of {:.4g}", losses.name(), losses.end(), best),
        "lower eta or tau: the nodes drift apart"};
  return {};
}

std::optional<RunWarning> still_falling(const LossSeries& losses, std::uint64_t step) {
  constexpr double kShareOfFall = 0.06, kShareOfLoss = 0.1, kLeastShareOfFall = 0.02;
  const double fall = losses.before_end() - losses.end(), whole = losses.first() - losses.end();
  if (!(fall > losses.above_noise(losses.tenth()))) return {};
  if (!(fall > kShareOfFall * whole ||
        (fall > kShareOfLoss * losses.end() && fall > kLeastShareOfFall * whole)))
    return {};
  return RunWarning{"still_falling", step,
                    fmt::format("the {} still fell by {:.3g} % over the last {} rounds", losses.name(),
                                100 * fall / losses.before_end(), losses.rounds(losses.tenth())),
                    "take more steps or a larger eta"};
}

bool is_broken(const RoundRow& round) {
  const auto bad = [](const std::optional<double>& loss) { return loss && !std::isfinite(*loss); };
  return bad(round.train_loss) || bad(round.batch_loss) || bad(round.start_loss);
}

// The first loss that enough rounds have.
LossSeries judged_losses(std::span<const RoundRow> rounds, bool sampled) {
  const bool noisy = sampled || std::ranges::any_of(rounds, [](const RoundRow& round) {
                       return round.batch_loss.has_value();
                     });
  LossSeries train("train loss", rounds, &RoundRow::train_loss, noisy);
  if (train.size() > kFewestRounds) return train;
  LossSeries start("start loss", rounds, &RoundRow::start_loss, noisy);
  if (start.size() > kFewestRounds) return start;
  LossSeries batch("batch loss", rounds, &RoundRow::batch_loss, noisy);
  return batch.size() > kFewestRounds ? batch : train;
}

}  // namespace

std::vector<RunWarning> convergence_warnings(std::span<const RoundRow> rounds, RunStatus status,
                                             bool sampled) {
  if (rounds.empty()) return {};
  const std::uint64_t step = rounds.back().step;
  const auto broken = std::ranges::find_if(rounds, is_broken);
  if (broken != rounds.end() || status == RunStatus::kDiverged)
    return {{"not_finite", step,
             fmt::format("the run diverged: a value is not finite after step {}",
                         broken != rounds.end() ? broken->step : step),
             std::string(kSteadier)}};
  const LossSeries losses = judged_losses(rounds, sampled);
  if (losses.size() == 0) return {};
  std::vector<RunWarning> out;
  if (auto warning = above_start(losses, step)) out.push_back(*std::move(warning));
  if (losses.size() <= kFewestRounds) return out;
  auto ending = oscillating(losses, step);
  if (!ending && out.empty()) ending = rising(losses, step);
  if (!ending && out.empty() && status == RunStatus::kDone) ending = still_falling(losses, step);
  if (ending) out.push_back(*std::move(ending));
  return out;
}

}  // namespace mfl
