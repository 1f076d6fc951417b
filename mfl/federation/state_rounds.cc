#include "mfl/federation/state_rounds.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "mfl/algorithm/aggregation.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/round_answers.h"
#include "mfl/model/starting_model.h"
#include "mfl/model/tensors.h"

namespace mfl {
namespace {

template <class T>
UpdateLimitOptions limit_options(const Algorithm& algorithm, const CoordinatorOptions& options) {
  UpdateLimitOptions out{options.max_update_norm,
                         options.least_loss,
                         std::sqrt(static_cast<double>(std::numeric_limits<T>::max())),
                         {}};
  for (const std::size_t v : algorithm.vectors().up()) out.vectors.push_back(algorithm.vectors()[v].name);
  return out;
}

template <class T>
class StateRounds final : public RoundStage {
 public:
  StateRounds(CoordinatedRun& run, const Algorithm& algorithm, std::optional<Resumption<T>> from,
              ModelOf<T> model_of)
      : RoundStage(run, limit_options<T>(algorithm, run.options), from ? from->history : SizeHistory{}),
        algorithm_(algorithm),
        model_of_(std::move(model_of)),
        stop_(run.options.stop_rule, run.options.losses) {
    const CoordinatorOptions& options = run.options;
    for (const RoundLoss& past : options.past_losses) (void)stop_.judge(past.round, past.loss, std::nullopt);
    RoundReport start{options.ended_round, options.ended_step};
    if (from) {
      state_ = std::move(from->state);
      counted_ = std::move(from->counted);
      terms_ = std::move(from->terms);
      if (run.shape.columns() == 0) run.shape.set_columns(state_.w().size());
      show_state();
      start.bytes_up = from->bytes_up;
      start.bytes_down = from->bytes_down;
    }
    take_step_size();
    if (run.ended.empty()) std::tie(start.round, start.step) = std::tie(state_.round, state_.step);
    run.report.start(start);
  }

  bool has_state() const override { return !state_.vectors.empty(); }
  std::string spare_buffer() override { return answers_.spare_buffer(); }
  std::uint64_t most_bytes(const std::string& /*node*/) const override { return answers_.most_bytes(); }

  void forget() override {
    state_ = {};
    next_.reset();
    payload_.reset();
    weights_.reset();
    answers_.forget();
  }

  Assignment task(const std::string& node) const override {
    const auto counted = counted_.find(node);
    return {run_.options.run_id,
            ticket_,
            steps_,
            state_digest_,
            task_blocks_,
            counted == counted_.end() ? 0 : counted->second,
            work() == Work::kEvaluate ? weights_ : payload_,
            work(),
            run_.eta};
  }

  void begin(const std::vector<std::string>& available, const std::string& initial_weights) override {
    if (!has_state() && !make_state(initial_weights)) return;
    if (auto planned = plan(available); !planned) return stop(std::move(planned).error());
    steps_ = next_->steps;
    const Work work = steps_ != 0 ? Work::kTrain : Work::kEvaluate;
    task_blocks_ = task_blocks<T>(layout(), state_.w().size(), work);
    answers_.begin(layout(), state_, work);
    if (work == Work::kEvaluate && run_.options.losses.never_knows()) {
      note_last(state_);
      return end(RunStatus::kDone, next_->end, {.batch_loss = batch_loss_});
    }
    begin_attempt(available, {work});
  }

 private:
  const VectorLayout& layout() const { return algorithm_.vectors(state_.round + 1); }

  // Once per round: all attempts at it are alike.
  Result<void> plan(const std::vector<std::string>& available) {
    if (next_) return {};
    if (!run_.options.rounds) {
      next_ = RoundTerms{next_round_steps(algorithm_, state_.step, run_.options.steps)};
      return {};
    }
    const FederationStatus& so_far = run_.report.written();
    BetweenRounds now{.round = state_.round,
                      .step = state_.step,
                      .bytes = so_far.bytes_up + so_far.bytes_down,
                      .parameters = state_.w().size(),
                      .estimates = estimates_of(state_),
                      .time = terms_.time};
    for (const std::string& node : available) now.samples.push_back(run_.members.list().at(node).weight);
    MFL_TRY(next_, run_.options.rounds(now));
    if (next_->time && !terms_.time) terms_.time.emplace();
    return {};
  }

  // What nodes are given of the State.
  void show_state() {
    state_digest_ = mfl::state_digest(state_);
    payload_ = std::make_shared<const std::string>(down_payload(layout(), state_));
    weights_ = layout()[0].down ? payload_ : std::make_shared<const std::string>(number_bytes(state_.w()));
  }

  void take_step_size() {
    if (run_.eta != 0 && run_.options.algorithm_of) algorithm_ = run_.options.algorithm_of(run_.eta);
  }

  Verdict count(const std::string& node, std::uint64_t weight, Update update) override {
    return answers_.count(node, weight, std::move(update), state_);
  }
  void drop_answers() override { answers_.clear(); }

  bool make_state(const std::string& weights) {
    take_step_size();
    state_ = first_state(weights);
    if (const auto bad = first_not_finite(std::span<const T>(state_.w()))) {
      stop({ErrorCode::kRunFailed, fmt::format("number {} of the initial weights is not finite", *bad),
            "check the trainer of the first node", nullptr});
      return false;
    }
    show_state();
    return true;
  }

  State<T> first_state(const std::string& weights) const {
    if (!model_of_) return initial_state<T>(algorithm_, static_cast<std::size_t>(run_.shape.columns()));
    const auto model = model_of_(run_.shape.whole_schema());
    if (weights.empty()) return initial_state<T>(algorithm_, *model, run_.options.seed);
    auto w = from_payload<T>(weights, std::array{model->parameters()});
    return initial_state<T>(algorithm_, *starting_from(model, std::move(w.front())), run_.options.seed);
  }

  // What trainers have measured of the State's w.
  std::optional<TestRow> test_of_nodes() const {
    if (!algorithm_.starts_at_w() && work() != Work::kEvaluate) return std::nullopt;
    const Metrics means = answers_.metrics();
    const auto loss = find_metric(means, kTestLossMetric);
    TestRow row{loss.value_or(std::numeric_limits<double>::quiet_NaN()),
                find_metric(means, kTestAccuracyMetric)};
    return loss || row.accuracy ? std::optional(std::move(row)) : std::nullopt;
  }

  RoundRow row_of_state(const Losses& losses) const {
    const FederationStatus& so_far = run_.report.written();
    RoundRow row{state_.round,    state_.step,       losses.train_loss,
                 so_far.bytes_up, so_far.bytes_down, state_digest_};
    row.time = terms_.time;
    row.choice = terms_.choice;
    row.batch_loss = losses.batch_loss;
    row.start_loss = losses.start_loss;
    return row;
  }

  void close() override {
    Losses losses = answers_.losses();
    const auto batch_loss = std::exchange(losses.batch_loss, batch_loss_);
    if (losses.train_loss) note_loss(state_, *losses.train_loss);
    if (work() == Work::kEvaluate) return end(RunStatus::kDone, next_->end, losses);
    if (auto why = stop_early(losses)) return end(RunStatus::kDone, *std::move(why), losses);
    CommittedRound round;
    round.round = ticket_.round;
    round.closed = row_of_state(losses);
    round.measured = test_of_nodes();
    round.weights = weights_;
    for (const auto& [node, row] : answers_.rows()) {
      round.nodes.push_back(node);
      round.node_rows.push_back(row);
    }
    if (!run_.schema_kept && is_complete(run_.shape.schema())) round.data_schema = run_.kept_schema();
    commit(round, losses, batch_loss);
  }

  // The State moves on if the log has taken the round.
  void commit(CommittedRound& round, const Losses& losses, std::optional<double> batch_loss) {
    SizeHistory history = objections_.next_history();
    const std::uint64_t step = state_.step, nodes = round.nodes.size();
    const std::uint64_t up = run_.report.written().bytes_up + answers_.bytes();
    const std::uint64_t down = run_.report.written().bytes_down + seats().size() * payload_->size();
    apply(algorithm_, state_, answers_.aggregate(state_), {steps_, nodes, run_.options.nodes});
    if (keeps_at_nodes(algorithm_, run_.options.codecs))
      for (const std::string& node : round.nodes) counted_[node] = round.round;
    answers_.workers().for_each(2, [&](unsigned, std::size_t part) {
      if (part == 0)
        round.blob = encode_round(state_, up, down, history, counted_, *next_);
      else
        show_state();
    });
    if (auto kept = run_.log.take(round); !kept) {
      state_.round = round.round - 1;
      state_.step = step;
      return stop(std::move(kept).error());
    }
    run_.schema_kept = true;
    committed(std::move(history), round.nodes);
    batch_loss_ = batch_loss;
    terms_ = *std::exchange(next_, std::nullopt);
    run_.report.commit({round.round,
                        state_.step,
                        up,
                        down,
                        nodes,
                        took(),
                        {losses.train_loss, batch_loss, losses.start_loss}});
    run_.report.durable(run_.log.durable());
    end_attempt();
  }

  // Why the run ends with the State that has these.
  std::optional<std::string> stop_early(const Losses& losses) {
    std::optional<double> accuracy;
    if (run_.options.test_accuracy && stop_.needs_accuracy(state_.round))
      accuracy = run_.options.test_accuracy(*weights_);
    return stop_.judge(state_.round, losses.train_loss, accuracy);
  }

  void diverge() override {
    end(RunStatus::kDiverged, fmt::format("{} in round {}", refusal(), ticket_.round),
        run_.options.losses.passing == LossRule::Passing::kTrain ? Losses{.train_loss = NAN}
                                                                 : Losses{.batch_loss = batch_loss_});
  }

  void end(RunStatus status, std::string message, const Losses& losses) {
    Ending ending{status, std::move(message), row_of_state(losses), weights_, {}};
    ending.measured = test_of_nodes();
    RunSummary& summary = ending.summary;
    summary.final = {state_.step, losses.train_loss, {}, {}};
    summary.best = best_of(state_);
    summary.rounds = state_.round;
    summary.bytes_up = ending.last.bytes_up;
    summary.bytes_down = ending.last.bytes_down;
    summary.digest = weights_digest(state_);
    if (terms_.time) summary.virtual_seconds = terms_.time->total_seconds;
    ending.warnings = run_.report.warnings().list();
    if (status == RunStatus::kDone && model_of_)
      ending.model = FinalModel{.tensors = tensors_json(model_of_(run_.shape.whole_schema())->tensors()),
                                .weights = number_bytes(state_.w())};
    if (auto kept = run_.log.finish(ending); !kept) return stop(std::move(kept).error());
    run_.report.end(losses.train_loss, status == RunStatus::kDone ? "" : ending.message);
    run_.digest = summary.digest;
    run_.ended = run_status_name(status);
    end_attempt();
    ++run_.version;
  }

  Algorithm algorithm_;
  ModelOf<T> model_of_;
  State<T> state_;  // without vectors until the first round starts
  std::string state_digest_;
  std::shared_ptr<const std::string> payload_;  // the vectors that are sent down
  std::shared_ptr<const std::string> weights_;  // begins with w
  CountedRounds counted_;
  RoundTerms terms_;                // of the round that led to the State
  std::optional<RoundTerms> next_;  // of the round that leads on from it, once that is planned
  RoundAnswers<T> answers_{run_.options, objections_};
  EarlyStop stop_;
  std::uint64_t steps_ = 0;  // of the round
  std::vector<Block> task_blocks_;
  std::optional<double> batch_loss_ = run_.options.batch_loss;  // of the round that led to the State
};

}  // namespace

template <class T>
std::unique_ptr<RoundStage> make_state_rounds(CoordinatedRun& run, const Algorithm& algorithm,
                                              std::optional<Resumption<T>> from, ModelOf<T> model_of) {
  return std::make_unique<StateRounds<T>>(run, algorithm, std::move(from), std::move(model_of));
}

template std::unique_ptr<RoundStage> make_state_rounds(CoordinatedRun&, const Algorithm&,
                                                       std::optional<Resumption<float>>, ModelOf<float>);
template std::unique_ptr<RoundStage> make_state_rounds(CoordinatedRun&, const Algorithm&,
                                                       std::optional<Resumption<double>>, ModelOf<double>);

}  // namespace mfl
