#include "mfl/federation/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/participation.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/round_sum.h"
#include "mfl/federation/seats.h"

namespace mfl {
namespace {

// A connected node.
struct Member {
  std::uint64_t session = 0;
  std::uint64_t weight = 0;
};

template <class T>
class RoundCoordinator final : public Coordinator {
 public:
  RoundCoordinator(const Algorithm& algorithm, CoordinatorOptions options, RoundLog& log,
                   std::optional<Resumption<T>> from)
      : algorithm_(algorithm), options_(std::move(options)), log_(log) {
    forget_schema();
    if (from) {
      state_ = std::move(from->state);
      bytes_up_ = from->bytes_up;
      bytes_down_ = from->bytes_down;
      make_place();
    } else if (options_.columns != 0) {
      begin_with(options_.columns);
    }
    phase_ = options_.ended_status;
  }

  Joined join(Time now, const std::string& node, const Joining& joining) override {
    now_ = std::max(now_, now);
    Verdict verdict = check_joining(joining);
    std::optional<Schema> settled;
    if (verdict.counts()) verdict = check_schema(node, joining, settled);
    if (!verdict.counts()) {
      note(verdict);
      return {0, std::move(verdict)};
    }
    if (settled && *settled != schema_) {
      schema_ = *std::move(settled);
      schema_from_ = node;
    }
    if (state_.vectors.empty() && !over()) {
      begin_with(joining.columns);
      shaped_by_ = node;
    }
    if (members_.contains(node)) ++news_;  // its earlier session has ended
    members_[node] = {++last_session_, joining.weight};
    // A seat taken with other data is not the one that the State was handed to.
    if (const Seat* seat = seats_.find(node)) {
      if (seat->weight != joining.weight)
        give_up(node);
      else if (seat->state == Seat::State::kGone)
        seats_.put(node, Seat::State::kAwaited);
    }
    const std::uint64_t session = last_session_;
    move_on();
    return {session, {}};
  }

  void leave(Time now, const std::string& node, std::uint64_t session) override {
    now_ = std::max(now_, now);
    const auto member = members_.find(node);
    if (member == members_.end() || member->second.session != session) return;
    remove(member);
    move_on();
  }

  Order order_for(const std::string& node, std::uint64_t session, const Ticket& last) const override {
    const auto member = members_.find(node);
    if (member == members_.end() || member->second.session != session)
      return {Order::Kind::kEnded, {}, {}, {}};
    if (over()) return {Order::Kind::kDone, {}, phase_, digest_};
    const Seat* seat = seats_.find(node);
    if (!open_ || seat == nullptr || seat->state != Seat::State::kAwaited || last == ticket_) return {};
    return {Order::Kind::kTask, {options_.run_id, ticket_, steps_, state_digest_, payload_}, {}, {}};
  }

  Verdict submit(Time now, const std::string& node, Update update) override {
    now_ = std::max(now_, now);
    move_on();  // it may be past the deadline
    Verdict verdict = check_ticket(node, update.run_id, update.ticket);
    if (verdict.counts()) {
      verdict = count(seats_.find(node)->weight, std::move(update));
      seats_.put(node, verdict.counts() ? Seat::State::kCounted : Seat::State::kRefused);
      if (verdict.reason == Reason::kNotFinite) {
        ++not_finite_;
        divergence_ = fmt::format("node {}: {}", node, verdict.text);
      }
    }
    note(verdict);
    move_on();
    return verdict;
  }

  void tick(Time now) override {
    now_ = std::max(now_, now);
    move_on();
  }

  void set_min_available_nodes(Time now, std::size_t nodes) override {
    now_ = std::max(now_, now);
    options_.min_available_nodes = nodes;
    move_on();
  }

  std::optional<Time> deadline() const override {
    if (over() || failure_) return std::nullopt;
    if (open_) return deadline_;
    return now_ < not_before_ ? std::optional(not_before_) : std::nullopt;
  }

  std::optional<std::uint64_t> payload_size(const std::string& node, const Ticket& ticket) const override {
    if (!check_ticket(node, options_.run_id, ticket).counts()) return std::nullopt;
    return steps_ == 0 ? 0 : state_bytes();
  }

  std::string room() override { return sum_ ? sum_->room() : std::string(); }

  const Schema& schema() const override { return schema_; }
  std::uint64_t news() const override { return news_; }
  bool over() const override { return !phase_.empty(); }
  const std::optional<Error>& failure() const override { return failure_; }

  FederationStatus status() const override {
    FederationStatus out;
    out.run_id = options_.run_id;
    out.phase = failure_      ? "failed"
                : over()      ? phase_
                : !open_      ? "waiting"
                : steps_ == 0 ? "closing"
                              : "training";
    out.round = state_.round;
    out.step = state_.step;
    out.steps = options_.steps;
    out.nodes = members_.size();
    out.needed = needed_nodes();
    out.chosen = open_ ? seats_.size() : 0;
    out.counted = open_ ? seats_.count(Seat::State::kCounted) : 0;
    out.rounds_timed = rounds_timed_;
    out.last_round = last_round_;
    out.all_rounds = all_rounds_;
    out.abandoned = abandoned_;
    out.bytes_up = bytes_up_;
    out.bytes_down = bytes_down_;
    out.train_loss = train_loss_;
    out.refused = refused_;
    out.digest = digest_;
    out.trouble = trouble_;
    out.warnings = options_.warnings;
    if (schema_ != Schema{}) out.schema = fmt::format("{} (from {})", schema_text(schema_), schema_from_);
    if (const auto test = log_.last_test()) {
      out.test_loss = test->loss;
      out.test_accuracy = test->accuracy;
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kBits = 8 * sizeof(T);

  std::size_t columns() const { return state_.vectors.empty() ? 0 : state_.w().size(); }
  std::uint64_t state_bytes() const { return state_.vectors.size() * columns() * sizeof(T); }

  std::size_t needed_nodes() const {
    return std::max({std::size_t{1}, options_.min_available_nodes, options_.quorum});
  }

  void begin_with(std::uint64_t columns) {
    state_ = initial_state<T>(algorithm_, static_cast<std::size_t>(columns));
    make_place();
  }

  void make_place() {
    // Waking a thread takes longer than the work on a small state.
    constexpr std::uint64_t kSmall = std::uint64_t{256} << 10U;
    workers_ = state_bytes() <= kSmall ? serial_workers() : thread_workers(options_.threads);
    sum_.emplace(state_.vectors.size(), columns(), *workers_);
    show_state();
  }

  // What nodes are given of the state.
  void show_state() {
    state_digest_ = mfl::state_digest(state_);
    payload_ = std::make_shared<const std::string>(to_payload(state_.vectors));
  }

  void note(const Verdict& verdict) { ++refused_[static_cast<std::size_t>(verdict.reason)]; }

  Verdict check_joining(const Joining& joining) const {
    if (joining.config_digest != options_.config_digest)
      return {Reason::kConfig,
              fmt::format("the configuration is {}, the node follows {}",
                          options_.config_digest.substr(0, 12), joining.config_digest.substr(0, 12))};
    if (joining.bits != kBits)
      return {Reason::kShape, fmt::format("numbers have {} bits, the node's {}", kBits, joining.bits)};
    if (joining.weight == 0 || joining.weight > ExactMean::kMaxWeight)
      return {Reason::kWeight,
              fmt::format("{} samples: must be from 1 to {}", joining.weight, ExactMean::kMaxWeight)};
    const std::uint64_t vectors = vector_names(algorithm_.rule).size();
    if (joining.columns == 0 || joining.columns > options_.max_payload / (vectors * sizeof(T)))
      return {Reason::kShape, fmt::format("{} features: must be from 1 to {}", joining.columns,
                                          options_.max_payload / (vectors * sizeof(T)))};
    if (columns() != 0 && joining.columns != columns())
      return {Reason::kShape,
              fmt::format("samples have {} features in this run{}, the node's {}", columns(),
                          shaped_by_.empty() ? "" : fmt::format(" since {} joined", shaped_by_),
                          joining.columns)};
    return {};
  }

  // Puts the run's schema, completed by the node's, into `settled`; nothing where the node brings none.
  Verdict check_schema(const std::string& node, const Joining& joining,
                       std::optional<Schema>& settled) const {
    if (joining.schema.task == LabelTask::kUnknown) return {};
    Schema seen = joining.schema;
    seen.columns = joining.columns;
    auto found = settle(schema_, seen);
    if (!found)
      return {Reason::kSchema,
              fmt::format("the data of {} does not fit the run{}: {}", node,
                          schema_from_.empty() ? "" : fmt::format(", whose schema is from {}", schema_from_),
                          found.error().message)};
    if (!is_complete(*found))
      return {Reason::kSchema,
              fmt::format(
                  "{} has samples of one class only ({}), so the run cannot learn its two classes from it: "
                  "name them in the server's experiment file, [schema] classes = [\"...\", \"...\"]",
                  node, labels_text(seen))};
    settled = *std::move(found);
    return {};
  }

  void forget_schema() {
    schema_ = options_.schema;
    schema_from_ = options_.schema_from;
  }

  Verdict check_ticket(const std::string& node, const std::string& run_id, const Ticket& ticket) const {
    if (run_id != options_.run_id)
      return {Reason::kForeign,
              fmt::format("this is run {}, the update is of run {}", options_.run_id, run_id)};
    if (!members_.contains(node)) return {Reason::kForeign, "the node has not joined"};
    if (over()) return {Reason::kOver, fmt::format("the run is {}", phase_)};
    if (ticket.round <= state_.round)
      return {Reason::kStale,
              fmt::format("round {} is over, this is round {}", ticket.round, state_.round + 1)};
    if (ticket.round > state_.round + 1)
      return {Reason::kFuture,
              fmt::format("round {} has not begun, this is round {}", ticket.round, state_.round + 1)};
    if (ticket.epoch != options_.epoch)
      return {Reason::kStale, "the server has restarted since this task was issued"};
    if (!open_ || ticket.attempt != ticket_.attempt)
      return {ticket.attempt > attempt_ ? Reason::kFuture : Reason::kLate,
              fmt::format("attempt {} at round {} is not in progress", ticket.attempt, ticket.round)};
    const Seat* seat = seats_.find(node);
    if (seat == nullptr) return {Reason::kNotChosen, fmt::format("no part in round {}", ticket.round)};
    switch (seat->state) {
      case Seat::State::kAwaited: return {};
      case Seat::State::kCounted:
      case Seat::State::kRefused:
        return {Reason::kDuplicate, fmt::format("answered round {} before", ticket.round)};
      case Seat::State::kGone: return {Reason::kLate, fmt::format("left round {}", ticket.round)};
    }
    return {};
  }

  // Adds an update of a node that joined with `weight`, if all of it is in order.
  Verdict count(std::uint64_t weight, Update update) {
    if (update.weight != weight)
      return {Reason::kWeight, fmt::format("{} samples, {} when it joined", update.weight, weight)};
    const std::uint64_t expected = steps_ == 0 ? 0 : state_bytes();
    if (update.payload.size() != expected)
      return {Reason::kShape,
              fmt::format("{} bytes of vectors, {} expected", update.payload.size(), expected)};
    if (!std::isfinite(update.loss)) return {Reason::kNotFinite, "the loss is not finite"};
    if (steps_ != 0)
      if (const auto bad = sum_->add(std::move(update.payload), weight))
        return {Reason::kNotFinite,
                fmt::format("{}[{}] is not finite", state_.vectors[*bad / columns()].name, *bad % columns())};
    loss_.add(std::span<const double>(&update.loss, 1), weight);
    return {};
  }

  void give_up(const std::string& node) {
    const Seat* seat = seats_.find(node);
    if (seat != nullptr && seat->state == Seat::State::kAwaited) seats_.put(node, Seat::State::kGone);
  }

  using Members = std::map<std::string, Member>;

  Members::iterator remove(Members::iterator member) {
    give_up(member->first);
    return members_.erase(member);
  }

  // Whatever the time and the seats allow.
  void move_on() {
    if (over() || failure_) return;
    if (open_) judge_round();
    if (!open_ && !over() && !failure_) start_round();
    if (!open_ && state_.round == 0 && options_.columns == 0 && members_.empty()) state_ = {};
    if (!open_ && state_.round == 0 && members_.empty()) forget_schema();
  }

  void judge_round() {
    const std::size_t counted = seats_.count(Seat::State::kCounted);
    const std::size_t awaited = seats_.count(Seat::State::kAwaited);
    const std::size_t needed = options_.quorum == 0 ? seats_.size() : options_.quorum;
    if (not_finite_ == seats_.size()) return diverge();
    const bool may_diverge = not_finite_ > 0 && counted == 0 && awaited > 0;
    if (counted + awaited < needed && (!may_diverge || now_ >= deadline_))
      return abandon(fmt::format("needs {} updates, at most {} can still arrive{}", needed, counted + awaited,
                                 not_finite_ > 0 ? fmt::format(" ({})", divergence_) : ""));
    if (awaited == 0) return close_round();
    if (now_ < deadline_) return;
    if (counted >= needed) {
      drop_silent();
      return close_round();
    }
    abandon(fmt::format("{} of {} updates at the deadline, {} needed; no answer from {}", counted,
                        seats_.size(), needed, awaited_nodes()));
  }

  // Some of their names, for people.
  std::string awaited_nodes() const {
    constexpr std::size_t kMost = 3;
    const std::vector<std::string> names = seats_.names(Seat::State::kAwaited);
    const auto named = std::span(names).first(std::min(kMost, names.size()));
    return names.size() <= kMost
               ? fmt::format("{}", fmt::join(named, ", "))
               : fmt::format("{} and {} more", fmt::join(named, ", "), names.size() - kMost);
  }

  // Drops nodes that missed the deadline; live ones join again.
  void drop_silent() {
    ++news_;
    for (const std::string& node : seats_.names(Seat::State::kAwaited)) members_.erase(node);
  }

  void abandon(std::string why) {
    trouble_ = fmt::format("round {}: {}", ticket_.round, why);
    ++abandoned_;
    if (now_ >= deadline_) drop_silent();
    end_attempt();
    not_before_ = now_ + options_.retry_pause;
  }

  void end_attempt() {
    open_ = false;
    seats_.clear();
    not_finite_ = 0;
    if (sum_) sum_->clear();
    loss_.clear();
  }

  void start_round() {
    if (state_.vectors.empty() || now_ < not_before_) return;
    if (members_.size() < needed_nodes()) return;
    ticket_ = {options_.epoch, state_.round + 1, ++attempt_};
    steps_ = next_round_steps(algorithm_, state_.step, options_.steps);
    started_ = now_;
    deadline_ = now_ + options_.round_deadline;
    open_ = true;
    ++news_;
    for (const auto& node : choose()) seats_.add(node, members_.at(node).weight);
  }

  // The draw of a simulation whose nodes are the connected ones, in the order of their names.
  std::vector<std::string> choose() const {
    std::vector<std::string> names;
    for (const auto& member : members_) names.push_back(member.first);
    const auto chosen = choose_participants({options_.seed, options_.fraction_train, options_.quorum},
                                            ticket_.round, ticket_.attempt, names.size());
    std::vector<std::string> out;
    for (const std::uint32_t i : chosen) out.push_back(names[i]);
    return out;
  }

  RoundRow row_of_state(double train_loss) const {
    return {state_.round, state_.step, train_loss, bytes_up_, bytes_down_, state_digest_};
  }

  void close_round() {
    double train_loss = 0;
    loss_.mean(std::span(&train_loss, 1));
    train_loss_ = train_loss;
    note_loss(state_, train_loss);
    if (steps_ == 0) return end(RunStatus::kDone, "", train_loss);
    CommittedRound round;
    round.round = ticket_.round;
    round.closed = row_of_state(train_loss);
    round.vectors = payload_;
    round.nodes = seats_.names(Seat::State::kCounted);
    if (!schema_kept_ && is_complete(schema_)) round.data_schema = schema_json(schema_);
    const std::uint64_t up = bytes_up_ + round.nodes.size() * state_bytes();
    const std::uint64_t down = bytes_down_ + seats_.size() * state_bytes();
    const std::uint64_t step = state_.step;
    sum_->mean(aggregate_.vectors);
    apply(state_, aggregate_, steps_);
    workers_->for_each(2, [&](unsigned, std::size_t part) {
      if (part == 0)
        round.blob = encode_round(state_, up, down);
      else
        show_state();
    });
    if (auto kept = log_.commit(round); !kept) {
      apply(state_, aggregate_, 0);  // the vectors as they were
      state_.round = ticket_.round - 1;
      state_.step = step;
      return stop_with(std::move(kept).error());
    }
    schema_kept_ = true;
    bytes_up_ = up;
    bytes_down_ = down;
    attempt_ = 0;
    trouble_.clear();
    ++rounds_timed_;
    last_round_ = now_ - started_;
    all_rounds_ += last_round_;
    end_attempt();
  }

  void diverge() {
    end(RunStatus::kDiverged, fmt::format("{} in round {}", divergence_, ticket_.round), NAN);
  }

  void end(RunStatus status, std::string message, double train_loss) {
    Ending ending{status, std::move(message), row_of_state(train_loss), payload_, {}};
    RunSummary& summary = ending.summary;
    summary.final = {state_.step, train_loss, {}, {}};
    summary.best = {state_.best.step, state_.best.train_loss};
    summary.rounds = state_.round;
    summary.bytes_up = bytes_up_;
    summary.bytes_down = bytes_down_;
    summary.digest = weights_digest(state_);
    if (auto kept = log_.finish(ending); !kept) return stop_with(std::move(kept).error());
    trouble_ = ending.message;
    digest_ = summary.digest;
    end_attempt();
    phase_ = run_status_name(status);
    ++news_;
  }

  void stop_with(Error error) {
    failure_ = std::move(error);
    trouble_ = failure_->text();
    end_attempt();
  }

  Algorithm algorithm_;
  CoordinatorOptions options_;
  RoundLog& log_;
  State<T> state_;
  Schema schema_;
  std::string schema_from_;
  bool schema_kept_ = false;  // in the log, by this process
  std::string shaped_by_;     // whose number of features the State has, where the options do not say
  std::string state_digest_;
  std::shared_ptr<const std::string> payload_;
  Members members_;
  std::uint64_t last_session_ = 0;
  std::uint64_t news_ = 0;
  Time now_{0};
  Time not_before_{0};

  // The attempt in progress.
  bool open_ = false;
  Ticket ticket_;
  std::uint64_t attempt_ = 0;
  std::uint64_t steps_ = 0;
  Time started_{0}, deadline_{0};
  Seats seats_;
  std::size_t not_finite_ = 0;
  std::string divergence_;
  std::unique_ptr<Workers> workers_;
  std::optional<RoundSum<T>> sum_;
  Aggregate<T> aggregate_;  // its memory is the next round's
  ExactMean loss_{1};

  std::string phase_;  // empty while the run continues
  std::string digest_ = options_.ended_digest;
  std::optional<Error> failure_;
  std::uint64_t bytes_up_ = 0, bytes_down_ = 0, abandoned_ = 0;
  std::uint64_t rounds_timed_ = 0;
  Time last_round_{0}, all_rounds_{0};
  std::optional<double> train_loss_;
  std::array<std::uint64_t, kReasons> refused_ = {};
  std::string trouble_;
};

}  // namespace

template <class T>
std::unique_ptr<Coordinator> make_coordinator(const Algorithm& algorithm, CoordinatorOptions options,
                                              RoundLog& log, std::optional<Resumption<T>> from) {
  return std::make_unique<RoundCoordinator<T>>(algorithm, std::move(options), log, std::move(from));
}

template std::unique_ptr<Coordinator> make_coordinator(const Algorithm&, CoordinatorOptions, RoundLog&,
                                                       std::optional<Resumption<float>>);
template std::unique_ptr<Coordinator> make_coordinator(const Algorithm&, CoordinatorOptions, RoundLog&,
                                                       std::optional<Resumption<double>>);

}  // namespace mfl
