#include "mfl/federation/update_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mfl {
namespace {

constexpr double kTimesUsualMove = 100;
constexpr double kTimesUsualLoss = 1e6;
constexpr double kFading = 0.97;         // of a round, with every later one
constexpr double kLargestLoss = 1e154;   // its square is a number
constexpr std::size_t kEnoughNodes = 3;  // for a median that one of them does not set

// The upper one of an even number. There must be one.
double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

SizeHistory medians(const std::map<std::string, UpdateSize>& sizes) {
  SizeHistory out;
  std::vector<double> losses;
  std::vector<std::vector<double>> moves;
  for (const auto& [node, size] : sizes) {
    losses.push_back(size.loss);
    moves.resize(std::max(moves.size(), size.moves.size()));
    for (std::size_t v = 0; v < size.moves.size(); ++v) moves[v].push_back(size.moves[v]);
  }
  if (!losses.empty()) out.loss = median(std::move(losses));
  for (std::vector<double>& of_vector : moves) out.moves.push_back(median(std::move(of_vector)));
  return out;
}

double length(const std::vector<double>& moves) {
  double squares = 0;
  for (const double move : moves) squares += move * move;
  return std::sqrt(squares);
}

SizeVerdict refuse(SizeVerdict::Kind kind, Reason reason, std::string text) {
  return {kind, {reason, std::move(text)}};
}

}  // namespace

UpdateLimits::UpdateLimits(UpdateLimitOptions options, SizeHistory history)
    : options_(std::move(options)), history_(std::move(history)) {}

double UpdateLimits::usual_move(std::size_t vector) const {
  double usual = vector < history_.moves.size() ? history_.moves[vector] : 0;
  if (retry_ && vector < retry_->moves.size()) usual = std::max(usual, retry_->moves[vector]);
  return usual;
}

SizeVerdict UpdateLimits::check(const UpdateSize& size) const {
  using Kind = SizeVerdict::Kind;
  if (size.loss < options_.least_loss)
    return refuse(
        Kind::kImpossible, Reason::kLoss,
        fmt::format("the loss is {:.6g}: this model's is never below {:g}", size.loss, options_.least_loss));
  if (size.loss > kLargestLoss)
    return refuse(Kind::kDiverging, Reason::kLoss, fmt::format("the loss is {:.6g}", size.loss));
  if (!history_.moves.empty() || retry_) {
    const double limit = kTimesUsualLoss * (1 + std::max(history_.loss, retry_ ? retry_->loss : 0));
    if (size.loss > limit)
      return refuse(Kind::kUnusual, Reason::kLoss,
                    fmt::format("the loss is {:.6g}: after the rounds so far at most {:.6g} is accepted",
                                size.loss, limit));
  }
  return check_moves(size);
}

SizeVerdict UpdateLimits::check_moves(const UpdateSize& size) const {
  using Kind = SizeVerdict::Kind;
  for (std::size_t v = 0; v < size.moves.size(); ++v)
    if (!(size.moves[v] <= options_.largest_move))
      return refuse(Kind::kDiverging, Reason::kNorm,
                    fmt::format("{} is {:.6g} from the broadcast one: at most {:.6g} is accepted",
                                options_.vectors[v], size.moves[v], options_.largest_move));
  if (options_.max_update_norm > 0) {
    const double all = length(size.moves);
    if (!(all > options_.max_update_norm)) return {};
    return refuse(Kind::kDiverging, Reason::kNorm,
                  fmt::format("the update is {:.6g} from the broadcast State: max_update_norm is {:.6g}", all,
                              options_.max_update_norm));
  }
  for (std::size_t v = 0; v < size.moves.size(); ++v) {
    const double limit = kTimesUsualMove * usual_move(v);
    if (limit > 0 && size.moves[v] > limit)
      return refuse(Kind::kUnusual, Reason::kNorm,
                    fmt::format("{} is {:.6g} from the broadcast one: after the rounds so far at most {:.6g} "
                                "is accepted",
                                options_.vectors[v], size.moves[v], limit));
  }
  return {};
}

std::vector<std::string> UpdateLimits::outliers(const std::map<std::string, UpdateSize>& counted) const {
  if (!history_.moves.empty() || retry_ || counted.size() < kEnoughNodes) return {};
  UpdateLimits limits = *this;
  limits.retry_with(counted);
  std::vector<std::string> out;
  for (const auto& [node, size] : counted)
    if (limits.check(size).kind != SizeVerdict::Kind::kFits) out.push_back(node);
  return out;
}

void UpdateLimits::retry_with(const std::map<std::string, UpdateSize>& sizes) { retry_ = medians(sizes); }

SizeHistory UpdateLimits::history_after(const std::map<std::string, UpdateSize>& counted) const {
  SizeHistory next = medians(counted);
  next.loss = std::max(next.loss, kFading * history_.loss);
  next.moves.resize(std::max(next.moves.size(), history_.moves.size()));  // not all are sent in every round
  for (std::size_t v = 0; v < history_.moves.size(); ++v)
    next.moves[v] = std::max(next.moves[v], kFading * history_.moves[v]);
  return next;
}

void UpdateLimits::commit(SizeHistory history) {
  history_ = std::move(history);
  retry_.reset();
}

}  // namespace mfl
