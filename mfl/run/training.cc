#include "mfl/run/training.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/algorithm/estimating.h"
#include "mfl/model/tensors.h"
#include "mfl/record/checkpoint.h"
#include "mfl/run/rounds.h"
#include "mfl/solve/batches.h"

namespace mfl {

template <class T>
Result<Start<T>> start_run(const std::optional<RecordedRun>& found, const RunSpec& spec,
                           const Experiment& experiment, const Model<T>& model, Recorder& recorder) {
  const auto initial = [&] {
    return initial_state<T>(experiment.algorithm, model, experiment.config.run.seed);
  };
  if (!found) {
    MFL_TRY(std::string id, recorder.create_run(spec));
    return Start<T>{.id = std::move(id), .state = initial()};
  }
  const Unfinished& run = found->run;
  Start<T> start{.id = run.id,
                 .state = initial(),
                 .recorded = run.checkpoint.has_value(),
                 .wall_seconds = run.wall_seconds,
                 .virtual_seconds = run.virtual_seconds,
                 .bytes_up = run.bytes_up,
                 .bytes_down = run.bytes_down,
                 .losses = run.losses};
  if (run.checkpoint) {
    auto snapshot = decode_snapshot<T>(run.checkpoint->blob);
    if (!snapshot) return fail_because(snapshot.error(), fmt::format("cannot resume run {}", run.id));
    start.state = std::move(snapshot->state);
    start.kept = std::move(snapshot->kept);
  }
  MFL_CHECK(recorder.continue_run(run));
  return start;
}

template <class T>
Training<T>::Training(TrainingParts<T> parts)
    : setting_(parts.setting),
      experiment_(parts.experiment),
      engine_(parts.engine),
      labels_(std::move(parts.labels)),
      model_(std::move(parts.untrained)),
      stop_(experiment_.stop, experiment_.losses),
      planner_(std::move(parts.planner)),
      journal_(parts.recorder, std::move(parts.start.id)),
      state_(std::move(parts.start.state)),
      closed_(parts.start.recorded),
      previous_step_(state_.step),
      wall_before_(parts.start.wall_seconds),
      bytes_up_(parts.start.bytes_up),
      bytes_down_(parts.start.bytes_down),
      monitor_(parts.monitor),
      warnings_(std::move(parts.warnings)) {
  if (planner_.population().time) {
    virtual_seconds_ = parts.start.virtual_seconds.value_or(0);
    last_time_ = RoundTime{};
  }
  for (const RoundLoss& past : parts.start.losses) (void)stop_.judge(past.round, past.loss, std::nullopt);
  if (!parts.start.kept.empty()) engine_.restore(setting_, parts.start.kept);
  start_round();
}

template <class T>
double Training<T>::seconds() const {
  return wall_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <class T>
Spent Training<T>::spent() const {
  return {virtual_seconds_.value_or(planner_.population().time ? 0 : seconds()), bytes_up_ + bytes_down_};
}

// A round that cannot be planned has a step, so that range() has the error.
template <class T>
void Training<T>::start_round() {
  taken_ = 0;
  RunSoFar so_far{.round = state_.round, .step = state_.step, .spent = spent()};
  if (experiment_.budget.adaptive) so_far.estimates = estimates_of(state_);
  so_far.engine_seconds = engine_seconds_;
  so_far.other_seconds = seconds() - wall_before_ - engine_seconds_;
  so_far.engine_steps = engine_steps_;
  so_far.engine_rounds = engine_rounds_;
  round_steps_ = planner_.next(so_far) ? planner_.steps() : 1;
}

template <class T>
Result<double> Training<T>::train_loss() {
  MFL_TRY(const RoundPlan* const plan, planner_.plan());
  return engine_.train_loss(setting_, state_.w(), plan->counted);
}

template <class T>
Result<Losses> Training<T>::losses_of_state(const Aggregate<T>& next) {
  Losses losses{.batch_loss = batch_loss_};
  if (experiment_.losses.passing == LossRule::Passing::kTrain) losses.train_loss = next.loss_before;
  if (experiment_.losses.passing == LossRule::Passing::kStart) losses.start_loss = next.loss_before;
  if (!experiment_.losses.evaluates(state_.round)) return losses;
  if (experiment_.losses.elsewhere) {
    MFL_TRY(losses.train_loss, train_loss());
  } else {
    losses.train_loss = next.evaluated;
  }
  return losses;
}

// So that the row of the state does not depend on where the run was stopped.
template <class T>
Result<Losses> Training<T>::losses_when_stopped() {
  Aggregate<T> discarded;
  if (experiment_.losses.passing == LossRule::Passing::kTrain) {
    MFL_TRY(discarded.loss_before, train_loss());
  } else {
    MFL_TRY(StepRange<T> whole, range(round_steps_));
    whole.out = &discarded;
    engine_.run(std::span(&whole, 1), round_steps_);
  }
  return losses_of_state(discarded);
}

template <class T>
Result<Losses> Training<T>::losses_of_end() {
  Losses losses{.batch_loss = batch_loss_};
  if (experiment_.losses.knows_train_loss(state_.round, true)) {
    MFL_TRY(losses.train_loss, train_loss());
  }
  return losses;
}

template <class T>
Result<StepRange<T>> Training<T>::range(std::uint64_t steps) {
  MFL_TRY(const RoundPlan* const plan, planner_.plan());
  entered_ = std::chrono::steady_clock::now();
  return StepRange<T>{.setting = setting_,
                      .state = &state_,
                      .starts = taken_ == 0,
                      .ends = taken_ + steps == round_steps_,
                      .round_steps = round_steps_,
                      .out = &aggregate_,
                      .failure = std::nullopt,
                      .measure_moves = monitor_ != nullptr,
                      .evaluate = experiment_.losses.evaluates(state_.round) && !experiment_.losses.elsewhere,
                      .participants = plan->counted};
}

template <class T>
Result<void> Training<T>::took(std::uint64_t steps, const StepRange<T>& range) {
  engine_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - entered_).count();
  engine_steps_ += steps;
  if (range.failure)
    return end(
        RunStatus::kDiverged,
        fmt::format("node {}: {} is not finite in round {} (steps {} to {})", range.failure->node,
                    range.failure->what, state_.round + 1, state_.step + 1, state_.step + round_steps_),
        experiment_.losses.passing == LossRule::Passing::kTrain ? Losses{.train_loss = aggregate_.loss_before}
                                                                : Losses{.batch_loss = batch_loss_});
  if (range.starts) {
    MFL_TRY(const Losses losses, losses_of_state(aggregate_));
    MFL_CHECK(close_round(losses));
    if (stopped_) return end(RunStatus::kDone, *stopped_, losses);
    MFL_CHECK(checkpoint_if_due());
  }
  taken_ += steps;
  if (!range.ends) return {};
  previous_step_ = state_.step;
  if (experiment_.losses.passing == LossRule::Passing::kBatch) batch_loss_ = aggregate_.loss_before;
  MFL_TRY(const RoundPlan* const plan, planner_.plan());
  const std::size_t nodes = planner_.population().nodes;
  const std::size_t counted = plan->counted.empty() ? nodes : plan->counted.size();
  apply(experiment_.algorithm, state_, aggregate_, {round_steps_, counted, nodes});
  engine_.keep(setting_);
  for (const NodeReport& node : aggregate_.nodes)
    journal_.add(NodeRow{.round = state_.round,
                         .node = node_name(node.node),
                         .weight = node.samples,
                         .train_loss = node.evaluated,
                         .seconds = node.seconds,
                         .digest = node.digest,
                         .metrics = metrics_json(node.metrics),
                         .batch_loss = node.loss});
  if (monitor_ != nullptr)  // whose algorithms swap: aggregate_ has the vectors of the round before
    monitor_->round_done(round_signs(monitor_->descent(), round_steps_, aggregate_.vectors, state_.vectors,
                                     aggregate_.mean_square_move));
  bytes_down_ += plan->sent * planner_.node_bytes().down;
  // Of attempts that were given up, the updates are not known: their bounds count.
  bytes_up_ += aggregate_.bytes_up + (plan->received - counted) * planner_.node_bytes().up;
  last_time_ = plan->time;
  last_choice_ = planner_.choice();
  ++engine_rounds_;
  if (last_time_) last_time_->total_seconds = *virtual_seconds_ += last_time_->seconds;
  closed_ = false;
  start_round();
  if (round_steps_ > 0) return {};
  MFL_TRY(const Losses losses, losses_of_end());
  if (!std::isfinite(losses.train_loss.value_or(0)))
    return end(RunStatus::kDiverged, fmt::format("the loss is not finite after step {}", state_.step),
               losses);
  return end(RunStatus::kDone, state_.step < experiment_.steps ? planner_.budget_text(spent()) : "", losses);
}

// The losses of the state are known: its row can be written.
template <class T>
Result<void> Training<T>::close_round(const Losses& losses, Row row) {
  if (losses.train_loss) last_losses_.train_loss = losses.train_loss;
  last_losses_.batch_loss = losses.batch_loss;
  last_losses_.start_loss = losses.start_loss;
  if (closed_) return {};
  closed_ = true;
  const bool finite = std::isfinite(losses.train_loss.value_or(0)), keeps = journal_.recorder().keeps();
  std::optional<TestMetrics> test;
  if (row != Row::kLast && (stopped_ = judge(losses, test))) row = Row::kLast;
  if (losses.train_loss) note_loss(state_, *losses.train_loss);
  if (experiment_.losses.never_knows() && row == Row::kLast) note_last(state_);
  const std::string digest = keeps ? state_digest(state_) : "";
  journal_.add(RoundRow{.round = state_.round,
                        .step = state_.step,
                        .train_loss = losses.train_loss,
                        .bytes_up = bytes_up_,
                        .bytes_down = bytes_down_,
                        .digest = digest,
                        .time = last_time_,
                        .choice = last_choice_,
                        .batch_loss = losses.batch_loss,
                        .start_loss = losses.start_loss});
  const bool passed =
      state_.step / experiment_.cadence.record_every > previous_step_ / experiment_.cadence.record_every;
  if (passed || row != Row::kOfRound || state_.step == 0) {
    if (!test && finite) test = engine_.test(setting_, state_.w());
    RecordRow record{.step = state_.step,
                     .round = state_.round,
                     .train_loss = losses.train_loss,
                     .test_loss = {},
                     .test_accuracy = {},
                     .bytes_up = bytes_up_,
                     .bytes_down = bytes_down_,
                     .wall_seconds = 0,
                     .digest = digest,
                     .batch_loss = losses.batch_loss,
                     .start_loss = losses.start_loss};
    set_test(test, record);
    record.wall_seconds = seconds();
    record.virtual_seconds = virtual_seconds_;
    journal_.add(std::move(record));
    if (monitor_ != nullptr) monitor_->recorded(state_.step);
  }
  return journal_.flush_if_due();
}

// External nodes may measure one of the two alone.
template <class T>
void Training<T>::set_test(const std::optional<TestMetrics>& test, auto& to) const {
  if (!test) return;
  if (!labels_.external || !std::isnan(test->loss)) to.test_loss = test->loss;
  if (labels_.has_accuracy && !std::isnan(test->accuracy)) to.test_accuracy = test->accuracy;
}

template <class T>
std::optional<std::string> Training<T>::judge(const Losses& losses, std::optional<TestMetrics>& test) {
  if (stop_.needs_accuracy(state_.round) && std::isfinite(losses.train_loss.value_or(0)))
    test = engine_.test(setting_, state_.w());
  return stop_.judge(state_.round, losses.train_loss, test ? std::optional(test->accuracy) : std::nullopt);
}

template <class T>
std::optional<Checkpoint> Training<T>::state_as_checkpoint() {
  const std::vector<KeptVectors<T>> kept = engine_.kept(setting_);
  if (!journal_.recorder().keeps()) return std::nullopt;
  return Checkpoint{state_.round, encode_state(state_, kept), 0};
}

template <class T>
std::optional<FinalModel> Training<T>::trained_model() {
  if (!journal_.recorder().keeps()) return std::nullopt;
  model_.weights = number_bytes(state_.w());
  return std::move(model_);
}

template <class T>
Result<void> Training<T>::checkpoint_if_due() {
  if (experiment_.cadence.checkpoint_every == 0 || state_.round == 0 ||
      state_.round % experiment_.cadence.checkpoint_every != 0)
    return {};
  return journal_.flush(state_as_checkpoint());
}

template <class T>
Result<void> Training<T>::stop() {
  MFL_TRY(const Losses losses, losses_when_stopped());
  MFL_CHECK(close_round(losses, Row::kWhenStopped));
  if (stopped_) return end(RunStatus::kDone, *stopped_, losses);
  return end(RunStatus::kInterrupted, fmt::format("stopped at step {} of {}", state_.step, steps()), losses);
}

template <class T>
Result<void> Training<T>::end(RunStatus status, std::string message, const Losses& losses) {
  over_ = true;
  MFL_CHECK(close_round(losses, status == RunStatus::kDone ? Row::kLast : Row::kWhenStopped));
  RunSummary summary;
  summary.final = {state_.step, losses.train_loss, {}, {}};
  const bool finite = std::isfinite(losses.train_loss.value_or(0));
  if (const auto test = finite ? engine_.test(setting_, state_.w(), detail_of(labels_)) : std::nullopt) {
    set_test(test, summary.final);
    summary.test_metrics = metrics_text(*test, labels_);
  }
  summary.best = best_of(state_);
  summary.rounds = state_.round;
  summary.bytes_up = bytes_up_;
  summary.bytes_down = bytes_down_;
  summary.digest = weights_digest(state_);
  summary.virtual_seconds = virtual_seconds_;
  const double wall_seconds = seconds();
  const bool stopped = status == RunStatus::kInterrupted;
  MFL_CHECK(journal_.flush(stopped ? state_as_checkpoint() : std::nullopt));
  return journal_.recorder().finish(journal_.id(), status, message, summary, wall_seconds, warnings_,
                                    status == RunStatus::kDone ? trained_model() : std::nullopt);
}

template <class T>
Result<void> train_together(Engine<T>& engine, std::span<Training<T>> trainings, const RunHooks& hooks) {
  const auto started = std::chrono::steady_clock::now();
  const auto total = [&](auto count) {
    std::uint64_t sum = 0;
    for (const Training<T>& training : trainings) sum += count(training);
    return sum;
  };
  const std::uint64_t all_steps = total([](const auto& t) { return t.steps(); });
  return train_rounds(engine, trainings, hooks.stop, [&](const Training<T>& first) {
    if (!hooks.progress) return;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
    hooks.progress({.step = total([](const auto& t) { return t.step(); }),
                    .steps = all_steps,
                    .round = first.state().round,
                    .losses = first.last_losses(),
                    .wall_seconds = taken.count(),
                    .settings = trainings.size(),
                    .settings_done = total([](const auto& t) { return t.over() ? 1U : 0U; })});
  });
}

template Result<Start<float>> start_run(const std::optional<RecordedRun>&, const RunSpec&, const Experiment&,
                                        const Model<float>&, Recorder&);
template Result<Start<double>> start_run(const std::optional<RecordedRun>&, const RunSpec&, const Experiment&,
                                         const Model<double>&, Recorder&);
template class Training<float>;
template class Training<double>;
template Result<void> train_together(Engine<float>&, std::span<Training<float>>, const RunHooks&);
template Result<void> train_together(Engine<double>&, std::span<Training<double>>, const RunHooks&);

}  // namespace mfl
