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

Cadence make_cadence(const Config& config) {
  constexpr std::uint64_t kRecords = 100;
  constexpr std::uint64_t kStepsOfBudget = 10;  // how many there will be is not known
  const std::uint64_t every = config.run.record_every != 0 ? config.run.record_every
                              : has_budget(config.run)     ? kStepsOfBudget
                                                           : run_length(config) / kRecords;
  return {std::max<std::uint64_t>(1, every), config.run.checkpoint_every};
}

template <class T>
Result<Start<T>> start_run(const std::optional<RecordedRun>& found, const RunSpec& spec, State<T> initial,
                           Recorder& recorder) {
  if (!found) {
    MFL_TRY(std::string id, recorder.create_run(spec));
    return Start<T>{.id = std::move(id), .state = std::move(initial)};
  }
  const Unfinished& run = found->run;
  Start<T> start{.id = run.id,
                 .state = std::move(initial),
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
Training<T>::Training(std::size_t setting, const Algorithm& algorithm, std::uint64_t steps, Engine<T>& engine,
                      Population population, TestLabels labels, FinalModel untrained, Cadence cadence,
                      LossRule losses, StopRule stop_rule, BudgetRule budget, Recorder& recorder,
                      Start<T> start)
    : setting_(setting),
      algorithm_(algorithm),
      steps_(steps),
      engine_(engine),
      population_(std::move(population)),
      labels_(std::move(labels)),
      model_(std::move(untrained)),
      cadence_(cadence),
      losses_(losses),
      stop_(stop_rule, losses),
      budget_(budget),
      journal_(recorder, std::move(start.id)),
      state_(std::move(start.state)),
      closed_(start.recorded),
      previous_step_(state_.step),
      wall_before_(start.wall_seconds),
      bytes_up_(start.bytes_up),
      bytes_down_(start.bytes_down) {
  if (population_.time) {
    virtual_seconds_ = start.virtual_seconds.value_or(0);
    last_time_ = RoundTime{};
  }
  for (const RoundLoss& past : start.losses) (void)stop_.judge(past.round, past.loss, std::nullopt);
  engine_.restore(setting_, start.kept);
  if (!start_round()) round_steps_ = 1;  // prepare() has the same error
}

template <class T>
double Training<T>::seconds() const {
  return wall_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <class T>
RoundWork Training<T>::work_of(std::uint64_t steps) const {
  return work_of_round(budget_, steps, node_bytes_, population_);
}

template <class T>
Spent Training<T>::spent() const {
  return {virtual_seconds_.value_or(population_.time ? 0 : seconds()), bytes_up_ + bytes_down_};
}

// Exact under virtual time and of bytes; else as long as rounds have been so far.
template <class T>
Result<Spent> Training<T>::cost_of(std::uint64_t round, std::uint64_t steps) const {
  MFL_TRY(const RoundPlan plan, plan_round(population_, round, work_of(steps)));
  Spent cost{0, plan.sent * node_bytes_.down + plan.received * node_bytes_.up};
  if (plan.time) {
    cost.seconds = plan.time->seconds;
  } else if (engine_rounds_ > 0) {
    const double elsewhere = seconds() - wall_before_ - engine_seconds_;
    cost.seconds = engine_seconds_ / static_cast<double>(engine_steps_) * static_cast<double>(steps) +
                   elsewhere / static_cast<double>(engine_rounds_);
  }
  return cost;
}

// Of the round that led to the state: what it would have cost with twice the steps is what a step costs.
template <class T>
Result<RoundCosts> Training<T>::measured_costs(std::uint64_t last_steps) const {
  MFL_TRY(const Spent once, cost_of(state_.round, last_steps));
  MFL_TRY(const Spent twice, cost_of(state_.round, 2 * last_steps));
  const auto steps = static_cast<double>(last_steps);
  const double per_step = std::max(0.0, (twice.seconds - once.seconds) / steps);
  return RoundCosts{per_step, std::max(0.0, once.seconds - per_step * steps),
                    static_cast<double>(once.bytes)};
}

template <class T>
Result<std::uint64_t> Training<T>::affordable(std::uint64_t most) {
  const auto fits = [&](std::uint64_t steps) -> Result<bool> {
    MFL_TRY(const Spent cost, cost_of(state_.round + 1, steps));
    return allows(budget_, spent(), cost);
  };
  MFL_TRY(const bool all, fits(most));
  if (all) return most;
  std::uint64_t fitting = 0, too_many = most;
  while (too_many - fitting > 1) {
    const std::uint64_t middle = fitting + (too_many - fitting) / 2;
    MFL_TRY(const bool fit, fits(middle));
    (fit ? fitting : too_many) = middle;
  }
  return fitting;
}

template <class T>
Result<void> Training<T>::start_round() {
  taken_ = 0;
  plan_.reset();
  choice_.reset();
  round_steps_ = next_round_steps(algorithm_, state_.step, steps_);
  node_bytes_ = round_bytes<T>(algorithm_, state_.round + 1, state_.w().size(), population_.codecs);
  if (!budget_.limits() || round_steps_ == 0) return {};
  if (budget_.adaptive) MFL_CHECK(choose());
  MFL_TRY(round_steps_, affordable(std::min(round_steps_, steps_ - state_.step)));
  if (choice_) choice_->tau = round_steps_;
  return {};
}

// One step in the first round: there is nothing to go by.
template <class T>
Result<void> Training<T>::choose() {
  choice_ = RoundChoice{.tau = 1};
  if (const auto known = estimates_of(state_)) {
    MFL_TRY(const RoundCosts costs, measured_costs(known->steps));
    const TauChoice best = choose_tau(*budget_.adaptive, {known->rho, known->beta, known->delta},
                                      resources_of(budget_, costs), known->steps);
    choice_ = RoundChoice{.tau = best.tau,
                          .rho = known->rho,
                          .beta = known->beta,
                          .delta = known->delta,
                          .bound = best.bound,
                          .step_seconds = costs.step_seconds,
                          .round_seconds = costs.round_seconds};
  }
  round_steps_ = choice_->tau;
  return {};
}

template <class T>
Result<void> Training<T>::prepare() {
  if (plan_) return {};
  if (state_.round == 0) MFL_CHECK(require_a_round(budget_, node_bytes_, population_));
  MFL_TRY(plan_, plan_round(population_, state_.round + 1, work_of(round_steps_)));
  return {};
}

template <class T>
Result<double> Training<T>::train_loss() {
  MFL_CHECK(prepare());
  return engine_.train_loss(setting_, state_.w(), plan_->counted);
}

template <class T>
Result<Losses> Training<T>::losses_of_state(const Aggregate<T>& next) {
  Losses losses{.batch_loss = batch_loss_};
  if (losses_.passing == LossRule::Passing::kTrain) losses.train_loss = next.loss_before;
  if (losses_.passing == LossRule::Passing::kStart) losses.start_loss = next.loss_before;
  if (!losses_.evaluates(state_.round)) return losses;
  if (losses_.elsewhere) {
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
  if (losses_.passing == LossRule::Passing::kTrain) {
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
  if (losses_.knows_train_loss(state_.round, true)) {
    MFL_TRY(losses.train_loss, train_loss());
  }
  return losses;
}

template <class T>
Result<StepRange<T>> Training<T>::range(std::uint64_t steps) {
  MFL_CHECK(prepare());
  entered_ = std::chrono::steady_clock::now();
  return StepRange<T>{.setting = setting_,
                      .state = &state_,
                      .starts = taken_ == 0,
                      .ends = taken_ + steps == round_steps_,
                      .round_steps = round_steps_,
                      .out = &aggregate_,
                      .failure = std::nullopt,
                      .measure_moves = monitor_ != nullptr,
                      .evaluate = losses_.evaluates(state_.round) && !losses_.elsewhere,
                      .participants = plan_->counted};
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
        losses_.passing == LossRule::Passing::kTrain ? Losses{.train_loss = aggregate_.loss_before}
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
  if (losses_.passing == LossRule::Passing::kBatch) batch_loss_ = aggregate_.loss_before;
  const std::size_t counted = plan_->counted.empty() ? population_.nodes : plan_->counted.size();
  apply(algorithm_, state_, aggregate_, {round_steps_, counted, population_.nodes});
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
  bytes_down_ += plan_->sent * node_bytes_.down;
  bytes_up_ += plan_->received * node_bytes_.up;
  last_time_ = plan_->time;
  last_choice_ = choice_;
  ++engine_rounds_;
  if (last_time_) last_time_->total_seconds = *virtual_seconds_ += last_time_->seconds;
  closed_ = false;
  MFL_CHECK(start_round());
  if (round_steps_ > 0) return {};
  MFL_TRY(const Losses losses, losses_of_end());
  if (!std::isfinite(losses.train_loss.value_or(0)))
    return end(RunStatus::kDiverged, fmt::format("the loss is not finite after step {}", state_.step),
               losses);
  return end(RunStatus::kDone,
             state_.step < steps_ ? budget_text(budget_, spent(), virtual_seconds_.has_value()) : "", losses);
}

// The losses of the state are known: its row can be written.
template <class T>
Result<void> Training<T>::close_round(const Losses& losses, Row row) {
  if (losses.train_loss) last_losses_.train_loss = losses.train_loss;
  last_losses_.batch_loss = losses.batch_loss;
  last_losses_.start_loss = losses.start_loss;
  if (closed_) return {};
  closed_ = true;
  const bool finite = std::isfinite(losses.train_loss.value_or(0));
  std::optional<TestMetrics> test;
  if (row != Row::kLast && (stopped_ = judge(losses, test))) row = Row::kLast;
  if (losses.train_loss) note_loss(state_, *losses.train_loss);
  if (losses_.never_knows() && row == Row::kLast) note_last(state_);
  const std::string digest = journal_.recorder().keeps() ? state_digest(state_) : "";
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
  const bool passed = state_.step / cadence_.record_every > previous_step_ / cadence_.record_every;
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
  if (cadence_.checkpoint_every == 0 || state_.round == 0 || state_.round % cadence_.checkpoint_every != 0)
    return {};
  return journal_.flush(state_as_checkpoint());
}

template <class T>
Result<void> Training<T>::stop() {
  MFL_TRY(const Losses losses, losses_when_stopped());
  MFL_CHECK(close_round(losses, Row::kWhenStopped));
  if (stopped_) return end(RunStatus::kDone, *stopped_, losses);
  return end(RunStatus::kInterrupted, fmt::format("stopped at step {} of {}", state_.step, steps_), losses);
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

template Result<Start<float>> start_run(const std::optional<RecordedRun>&, const RunSpec&, State<float>,
                                        Recorder&);
template Result<Start<double>> start_run(const std::optional<RecordedRun>&, const RunSpec&, State<double>,
                                         Recorder&);
template class Training<float>;
template class Training<double>;
template Result<void> train_together(Engine<float>&, std::span<Training<float>>, const RunHooks&);
template Result<void> train_together(Engine<double>&, std::span<Training<double>>, const RunHooks&);

}  // namespace mfl
