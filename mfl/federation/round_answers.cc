#include "mfl/federation/round_answers.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "mfl/algorithm/aggregation.h"
#include "mfl/base/digest.h"
#include "mfl/federation/payload.h"

namespace mfl {
namespace {

constexpr std::optional<double> Losses::*kLosses[] = {&Losses::train_loss, &Losses::batch_loss,
                                                      &Losses::start_loss};

Losses wanted_losses(const LossRule& rule, std::uint64_t round, bool trains) {
  if (!trains) return {.train_loss = 0};
  Losses out;
  switch (rule.passing) {
    case LossRule::Passing::kTrain: out.train_loss = 0; break;
    case LossRule::Passing::kBatch: out.batch_loss = 0; break;
    case LossRule::Passing::kStart: out.start_loss = 0; break;
  }
  if (rule.evaluates(round)) out.train_loss = 0;
  return out;
}

}  // namespace

template <class T>
void RoundAnswers<T>::begin(const VectorLayout& layout, const State<T>& state, Work work) {
  trains_ = work == Work::kTrain;
  wanted_ = wanted_losses(options_.losses, state.round, trains_);
  blocks_.clear();
  bytes_ = 0;
  if (!trains_) return;
  layout_ = layout;
  const std::size_t parameters = state.w().size();
  blocks_ = blocks_of(layout, layout.up(), parameters, options_.codecs.encoding<T>());
  bytes_ = layout.numbers_up(parameters) * options_.codecs.bytes_per_number<T>();
  // Waking a thread takes longer than the work on a small state.
  constexpr std::uint64_t kSmall = std::uint64_t{256} << 10U;
  if (!workers_) workers_ = bytes_ <= kSmall ? serial_workers() : thread_workers(options_.threads);
  if (sum_ && blocks_ == sum_blocks_) return;
  sum_blocks_ = blocks_;
  sum_.emplace(layout, parameters, *workers_, options_.aggregator);
}

template <class T>
Verdict RoundAnswers<T>::check(std::uint64_t weight, const Update& update) const {
  if (update.weight != weight)
    return {Reason::kWeight, fmt::format("{} samples, {} when it joined", update.weight, weight)};
  if (update.blocks != blocks_)
    return {Reason::kShape,
            fmt::format("sent {}, expected {}", blocks_text(update.blocks), blocks_text(blocks_))};
  if (update.payload.size() != bytes_)
    return {Reason::kShape, fmt::format("{} bytes of vectors, {} expected", update.payload.size(), bytes_)};
  for (const auto loss : kLosses)
    if ((update.losses.*loss).has_value() != (wanted_.*loss).has_value())
      return {Reason::kShape, "sent other losses than the round measures"};
  return {};
}

template <class T>
void RoundAnswers<T>::decode(std::string& payload, const State<T>& state) const {
  if (options_.codecs.empty() || options_.codecs.encoding<T>() == CodecChain{}.encoding<T>()) return;
  const std::vector<Vector<T>> origin = origin_of_updates(*layout_, state);
  std::vector<Vector<T>> numbers = origin;
  options_.codecs.decode<T>(payload, update_vectors(numbers, origin));
  payload = to_payload(numbers);
}

template <class T>
Verdict RoundAnswers<T>::measure(const std::string& node, const Update& update, const State<T>& state,
                                 UpdateSize& size) {
  const auto refuse = [&](std::string text) -> Verdict {
    objections_.diverges(node);
    return {Reason::kNotFinite, std::move(text)};
  };
  for (const auto loss : kLosses)
    if (!std::isfinite((update.losses.*loss).value_or(0))) return refuse("the loss is not finite");
  size.loss = *loss_of_rounds(update.losses).value;
  if (trains_) {
    auto measured = sum_->measure(update.payload, state);
    if (const auto bad = measured.not_finite)
      return refuse(fmt::format("{} is not finite", sum_->name_of(*bad)));
    size.moves = std::move(measured.moves);
  }
  Verdict verdict = objections_.check(node, size);
  if (verdict.counts() && update.losses.train_loss) return objections_.check_loss(*update.losses.train_loss);
  return verdict;
}

template <class T>
Verdict RoundAnswers<T>::count(const std::string& node, std::uint64_t weight, Update update,
                               const State<T>& state) {
  if (Verdict verdict = check(weight, update); !verdict.counts()) return verdict;
  const std::string digest = trains_ ? sha256_hex(update.payload) : "";
  if (trains_) decode(update.payload, state);
  UpdateSize size;
  if (Verdict verdict = measure(node, update, state, size); !verdict.counts()) return verdict;
  if (trains_) sum_->add(node, std::move(update.payload), weight);
  for (std::size_t i = 0; i < losses_.size(); ++i)
    if (const auto& loss = update.losses.*kLosses[i]) losses_[i].add(std::span(&*loss, 1), weight);
  metrics_.add(update.metrics, weight);
  objections_.count(node, std::move(size));
  const double took = update.timing.compute;
  rows_[node] = {update.ticket.round,
                 node,
                 weight,
                 update.losses.train_loss,
                 std::isfinite(took) && took >= 0 ? std::optional(took) : std::nullopt,
                 digest,
                 metrics_json(update.metrics),
                 update.losses.batch_loss,
                 update.losses.start_loss};
  return {};
}

template <class T>
void RoundAnswers<T>::clear() {
  rows_.clear();
  metrics_.clear();
  for (ExactMean& mean : losses_) mean.clear();
  if (sum_) sum_->clear();
}

template <class T>
void RoundAnswers<T>::forget() {
  sum_.reset();
  workers_.reset();
  aggregate_ = {};
}

template <class T>
Losses RoundAnswers<T>::losses() {
  Losses out;
  for (std::size_t i = 0; i < losses_.size(); ++i)
    if (losses_[i].total_weight() != 0) losses_[i].mean(std::span(&(out.*kLosses[i]).emplace(), 1));
  return out;
}

template <class T>
Aggregate<T>& RoundAnswers<T>::aggregate(const State<T>& state) {
  sum_->finish(state, aggregate_.vectors);
  return aggregate_;
}

template class RoundAnswers<float>;
template class RoundAnswers<double>;

}  // namespace mfl
