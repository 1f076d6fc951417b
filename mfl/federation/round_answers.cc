#include "mfl/federation/round_answers.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/aggregation.h"
#include "mfl/base/digest.h"
#include "mfl/federation/payload.h"

namespace mfl {
namespace {

constexpr std::optional<double> Losses::*kLosses[kUpdateNumbers] = {&Losses::train_loss, &Losses::batch_loss,
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
  layout_ = layout;
  const std::size_t parameters = state.w().size();
  blocks_ = blocks_of(layout, layout.up(), parameters, options_.codecs.encoding<T>());
  most_bytes_ = most_bytes_up<T>(layout, parameters, options_.codecs);
  // Waking a thread takes longer than the work on a small state.
  constexpr std::uint64_t kSmall = std::uint64_t{256} << 10U;
  if (!workers_)
    workers_ = layout.numbers_up(parameters) * sizeof(T) <= kSmall ? serial_workers()
                                                                   : thread_workers(options_.threads);
  if (!sum_ || blocks_ != sum_blocks_) {
    sum_blocks_ = blocks_;
    sent_ = vectors_sent(layout, parameters);
    run_ = for_each_of(*workers_);
    const Aggregator& aggregator = options_.aggregator ? *options_.aggregator : mean_aggregator();
    sum_ = aggregator.accumulator<T>(sent_, {.run = run_});
  }
  if (trains_) return;
  blocks_.clear();
  most_bytes_ = 0;
}

template <class T>
Verdict RoundAnswers<T>::check(std::uint64_t weight, const Update& update) const {
  if (update.weight != weight)
    return {Reason::kWeight, fmt::format("{} samples, {} when it joined", update.weight, weight)};
  if (update.blocks != blocks_)
    return {Reason::kShape,
            fmt::format("sent {}, expected {}", blocks_text(update.blocks), blocks_text(blocks_))};
  const bool varies = trains_ && options_.codecs.encodes();
  if (varies ? update.payload.size() > most_bytes_ : update.payload.size() != most_bytes_)
    return {Reason::kShape, fmt::format("{} bytes of vectors, {}{} expected", update.payload.size(),
                                        varies ? "at most " : "", most_bytes_)};
  for (const auto loss : kLosses)
    if ((update.losses.*loss).has_value() != (wanted_.*loss).has_value())
      return {Reason::kShape, "sent other losses than the round measures"};
  return {};
}

template <class T>
Verdict RoundAnswers<T>::decode(std::string& payload, const State<T>& state) const {
  if (!options_.codecs.encodes()) return {};
  const std::vector<Vector<T>> origin = origin_of_updates(*layout_, state);
  std::vector<Vector<T>> numbers = origin;
  if (const auto received = options_.codecs.receive<T>(payload, update_vectors(numbers, origin)); !received)
    return {Reason::kShape, received.error().message};
  payload = to_payload(numbers);
  return {};
}

template <class T>
Verdict RoundAnswers<T>::not_finite(const std::string& node, const std::string& what) {
  objections_.diverges(node);
  return {Reason::kNotFinite, what + " is not finite"};
}

template <class T>
Verdict RoundAnswers<T>::measure(const SentUpdate<T>& sent, const State<T>& state, UpdateSize& size) {
  const std::string& node = sent.node.name;
  Losses losses;
  for (std::size_t i = 0; i < sent.numbers.size(); ++i) losses.*kLosses[i] = sent.numbers[i];
  size.loss = *loss_of_rounds(losses).value;
  if (trains_) {
    auto measured = measure_update<T>(sent_, sent.vectors, starts_of_updates(*layout_, state), run_);
    if (const auto& bad = measured.not_finite) return not_finite(node, *bad);
    size.moves = std::move(measured.moves);
  }
  Verdict verdict = objections_.check(node, size);
  if (verdict.counts() && losses.train_loss) return objections_.check_loss(*losses.train_loss);
  return verdict;
}

template <class T>
Verdict RoundAnswers<T>::count(const std::string& node, std::uint64_t weight, Update update,
                               const State<T>& state) {
  if (Verdict verdict = check(weight, update); !verdict.counts()) return verdict;
  for (const auto loss : kLosses)
    if (!std::isfinite((update.losses.*loss).value_or(0))) return not_finite(node, "the loss");
  const std::string digest = trains_ ? sha256_hex(update.payload) : "";
  SentUpdate<T> sent{.node = {node.size(), node}, .samples = weight, .metrics = &update.metrics};
  sent.bytes = update.payload.size();
  if (trains_) {
    if (Verdict verdict = decode(update.payload, state); !verdict.counts()) return verdict;
    const auto payload = spare_buffers_.hold(std::move(update.payload));
    sent.vectors = views_of<T>(*payload, sent_);
    sent.memory = payload;
  }
  for (std::size_t i = 0; i < sent.numbers.size(); ++i) sent.numbers[i] = update.losses.*kLosses[i];
  UpdateSize size;
  if (Verdict verdict = measure(sent, state, size); !verdict.counts()) return verdict;
  sum_->add(sent);
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
  for (std::size_t i = 0; i < kUpdateNumbers && sum_; ++i) out.*kLosses[i] = sum_->mean(i);
  return out;
}

template <class T>
Aggregate<T>& RoundAnswers<T>::aggregate(const State<T>& state) {
  sum_->finish(starts_of_updates(*layout_, state), aggregate_.vectors, run_);
  return aggregate_;
}

template class RoundAnswers<float>;
template class RoundAnswers<double>;

}  // namespace mfl
