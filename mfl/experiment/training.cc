#include "mfl/experiment/training.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/record/checkpoint.h"

namespace mfl {

Cadence make_cadence(const RunConfig& run) {
  constexpr std::uint64_t kRecords = 100;
  const std::uint64_t every = run.record_every != 0 ? run.record_every : run.steps / kRecords;
  return {std::max<std::uint64_t>(1, every), run.checkpoint_every};
}

template <class T>
Training<T>::Training(const Algorithm& algorithm, Engine<T>& engine, std::size_t nodes, bool has_accuracy,
                      Cadence cadence, Journal& journal, State<T> state, bool recorded, double wall_seconds)
    : algorithm_(algorithm),
      engine_(engine),
      nodes_(nodes),
      has_accuracy_(has_accuracy),
      cadence_(cadence),
      journal_(journal),
      state_(std::move(state)),
      closed_(recorded),
      previous_step_(state_.step),
      wall_before_(wall_seconds) {}

template <class T>
double Training<T>::seconds() const {
  return wall_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <class T>
std::uint64_t Training<T>::bytes() const {
  return state_.round * round_bytes(algorithm_, state_, nodes_);
}

// The loss of the state's own w is known: its row can be written.
template <class T>
Result<void> Training<T>::close_round(double train_loss, bool force_record) {
  if (closed_) return {};
  closed_ = true;
  note_loss(state_, train_loss);
  const std::string digest = state_digest(state_);
  journal_.add(RoundRow{state_.round, state_.step, train_loss, bytes(), bytes(), digest});
  const bool passed = state_.step / cadence_.record_every > previous_step_ / cadence_.record_every;
  if (passed || force_record || state_.step == 0) {
    const auto test = std::isfinite(train_loss) ? engine_.test(state_.w()) : std::nullopt;
    RecordRow record{state_.step, state_.round, train_loss, {}, {}, bytes(), bytes(), 0, digest};
    if (test) record.test_loss = test->loss;
    if (test && has_accuracy_) record.test_accuracy = test->accuracy;
    record.wall_seconds = seconds();
    journal_.add(std::move(record));
  }
  return journal_.flush_if_due();
}

template <class T>
Result<void> Training<T>::checkpoint() {
  MFL_CHECK(close_round(engine_.train_loss(state_.w())));
  return journal_.flush(Checkpoint{state_.round, encode_state(state_), 0});
}

template <class T>
Result<Ending> Training<T>::end(RunStatus status, std::string message, double train_loss) {
  MFL_CHECK(close_round(train_loss, true));
  Ending ending{status, std::move(message), {}, 0};
  ending.summary.final = {state_.step, train_loss, {}, {}};
  if (const auto test = std::isfinite(train_loss) ? engine_.test(state_.w()) : std::nullopt) {
    ending.summary.final.test_loss = test->loss;
    if (has_accuracy_) ending.summary.final.test_accuracy = test->accuracy;
  }
  ending.summary.best = {state_.best.step, state_.best.train_loss};
  ending.summary.rounds = state_.round;
  ending.summary.bytes_up = ending.summary.bytes_down = bytes();
  ending.summary.digest = weights_digest(state_);
  ending.wall_seconds = seconds();
  const bool stopped = status == RunStatus::kInterrupted;
  MFL_CHECK(journal_.flush(stopped ? std::optional(Checkpoint{state_.round, encode_state(state_), 0}) : std::nullopt));
  MFL_CHECK(journal_.store().finish(journal_.id(), status, ending.message, ending.summary, ending.wall_seconds));
  return ending;
}

template <class T>
Result<Ending> Training<T>::run(std::uint64_t steps, const RunHooks& hooks) {
  start_ = std::chrono::steady_clock::now();
  Aggregate<T> aggregate;
  while (state_.step < steps) {
    if (hooks.stop != nullptr && hooks.stop->load(std::memory_order_relaxed))
      return end(RunStatus::kInterrupted, fmt::format("stopped at step {} of {}", state_.step, steps),
                 engine_.train_loss(state_.w()));
    const std::uint64_t round_steps = next_round_steps(algorithm_, state_.step, steps);
    if (const auto bad = engine_.run_round(state_, round_steps, aggregate))
      return end(RunStatus::kDiverged,
                 fmt::format("node {}: {} is not finite in round {} (steps {} to {})", bad->node, bad->what,
                             state_.round + 1, state_.step + 1, state_.step + round_steps),
                 aggregate.loss_before);
    MFL_CHECK(close_round(aggregate.loss_before));
    previous_step_ = state_.step;
    apply(state_, aggregate, round_steps);
    closed_ = false;
    if (cadence_.checkpoint_every != 0 && state_.round % cadence_.checkpoint_every == 0) MFL_CHECK(checkpoint());
    if (hooks.progress) hooks.progress({state_.step, steps, state_.round, aggregate.loss_before, seconds()});
  }
  const double train_loss = engine_.train_loss(state_.w());
  if (!std::isfinite(train_loss))
    return end(RunStatus::kDiverged, fmt::format("the loss is not finite after step {}", state_.step), train_loss);
  return end(RunStatus::kDone, "", train_loss);
}

template class Training<float>;
template class Training<double>;

}  // namespace mfl
