#include "mfl/federation/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/participation.h"
#include "mfl/base/digest.h"
#include "mfl/base/json.h"
#include "mfl/base/visible.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/quarantine.h"
#include "mfl/federation/round_sum.h"
#include "mfl/federation/run_shape.h"
#include "mfl/federation/run_warnings.h"
#include "mfl/federation/seats.h"
#include "mfl/federation/update_limits.h"
#include "mfl/model/starting_model.h"
#include "mfl/model/tensors.h"

namespace mfl {
namespace {

// A connected node.
struct Member {
  std::uint64_t session = 0;
  std::uint64_t weight = 0;
  std::uint64_t instance = 0;  // as of Joining
};

template <class T>
UpdateLimitOptions limit_options(const Algorithm& algorithm, const CoordinatorOptions& options) {
  UpdateLimitOptions out{options.max_update_norm,
                         options.least_loss,
                         std::sqrt(static_cast<double>(std::numeric_limits<T>::max())),
                         {}};
  for (const std::size_t v : algorithm.vectors().up()) out.vectors.push_back(algorithm.vectors()[v].name);
  return out;
}

// Of a model whose vectors fit into `bytes` in either direction.
template <class T>
std::uint64_t most_parameters(const Algorithm& algorithm, std::uint64_t bytes) {
  const VectorLayout& layout = algorithm.vectors();
  return bytes / (std::max(layout.down().size(), layout.up().size()) * sizeof(T));
}

template <class T>
RunShapeOptions shape_options(const Algorithm& algorithm, const CoordinatorOptions& options,
                              const ModelOf<T>& model_of) {
  RunShapeOptions out;
  out.config_digest = options.config_digest;
  out.bits = 8 * sizeof(T);
  out.columns = options.columns;
  if (model_of) out.parameters = [model_of](const Schema& schema) { return model_of(schema)->parameters(); };
  out.max_parameters = most_parameters<T>(algorithm, options.max_payload);
  out.max_samples = options.max_samples;
  out.schema = options.schema;
  out.schema_from = options.schema_from;
  return out;
}

template <class T>
class RoundCoordinator final : public Coordinator {
 public:
  RoundCoordinator(const Algorithm& algorithm, CoordinatorOptions options, RoundLog& log,
                   std::optional<Resumption<T>> from, ModelOf<T> model_of)
      : algorithm_(algorithm),
        options_(std::move(options)),
        log_(log),
        model_of_(std::move(model_of)),
        shape_(shape_options<T>(algorithm_, options_, model_of_)),
        limits_(limit_options<T>(algorithm_, options_), from ? from->history : SizeHistory{}),
        warnings_(options_.warnings),
        stop_(options_.stop_rule, options_.losses) {
    for (const RoundLoss& past : options_.past_losses) (void)stop_.judge(past.round, past.loss, std::nullopt);
    if (from) {
      state_ = std::move(from->state);
      if (shape_.columns() == 0) shape_.set_columns(parameters());
      bytes_up_ = from->bytes_up;
      bytes_down_ = from->bytes_down;
      counted_ = std::move(from->counted);
      make_place();
    }
    if (options_.prepared) {
      preparation_.emplace(options_.prepared_needs, shape_.whole_schema(), options_.step_size_of,
                           options_.on_outlier, *options_.prepared);
      take_step_size(options_.prepared->eta);
      schema_kept_ = true;
    }
    note_written();
    phase_ = options_.ended_status;
    if (!phase_.empty())
      std::tie(written_.round, written_.step) = std::tie(options_.ended_round, options_.ended_step);
    reported_ = written_;
  }

  Joined join(Time now, const std::string& node, const Joining& joining) override {
    now_ = std::max(now_, now);
    Verdict verdict = check_excluded(node);
    if (verdict.counts() && !joining.withheld.empty()) verdict = check_withheld(node, joining);
    if (verdict.counts()) verdict = shape_.join(node, joining);
    if (!verdict.counts()) {
      note(verdict);
      return {0, std::move(verdict)};
    }
    if (const auto member = members_.find(node); member != members_.end())
      end_session(node, member->second, joining);
    members_[node] = {++last_session_, joining.weight, joining.instance};
    if (preparation_) {
      preparation_->join(node, joining.weight);
      await_preparation();
    }
    // A seat taken with other data is not the one that the State was handed to.
    if (const Seat* seat = seats_.find(node)) {
      if (seat->weight != joining.weight)
        walk_out(node);
      else if (seat->state == Seat::State::kGone)
        seats_.put(node, Seat::State::kAwaited);
    }
    const std::uint64_t session = last_session_;
    move_on();
    return {session, {}};
  }

  void leave(Time now, const std::string& node, std::uint64_t session) override {
    now_ = std::max(now_, now);
    displaced_.erase(session);
    const auto member = members_.find(node);
    if (member == members_.end() || member->second.session != session) return;
    walk_out(node);
    remove(member);
    if (preparing()) trouble_.clear();  // it may have been this node's
    move_on();
  }

  Order order_for(const std::string& node, std::uint64_t session, const Ticket& last) const override {
    const auto member = members_.find(node);
    if (member == members_.end() || member->second.session != session)
      return {Order::Kind::kEnded, {}, ending_of(node, session), {}};
    if (over()) return {Order::Kind::kDone, {}, phase_, digest_};
    if (preparation_ && !preparation_->answered(node)) return preparation_order(node, last);
    const Seat* seat = seats_.find(node);
    if (!open_ || seat == nullptr || seat->state != Seat::State::kAwaited || last == ticket_) return {};
    return {Order::Kind::kTask,
            {options_.run_id, ticket_, steps_, state_digest_, task_blocks_, counted_round(node),
             steps_ == 0 ? weights_ : payload_, Work::kTrain, preparation_ ? preparation_->result().eta : 0},
            {},
            {}};
  }

  Verdict submit(Time now, const std::string& node, Update update) override {
    now_ = std::max(now_, now);
    move_on();  // it may be past the deadline
    const bool preparing = update.ticket.round == 0 && preparation_;
    Verdict verdict = check_ticket(node, update.run_id, update.ticket);
    if (verdict.counts() && update.ticket.round == 0) {
      verdict = preparation_->submit(node, update);
      judge_claims();  // of a newcomer
      if (verdict.reason == Reason::kOutlier || verdict.reason == Reason::kNotFinite)
        judge_claim({node, fmt::format("{}: {}", node, verdict.text)});
      ++version_;
    } else if (verdict.counts()) {
      verdict = count(node, seats_.find(node)->weight, std::move(update));
      seats_.put(node, verdict.counts() ? Seat::State::kCounted : Seat::State::kRefused);
      if (verdict.counts() && walked_out_.contains(node)) quarantine_.forgive(node);
      if (!verdict.counts()) {
        refusal_ = fmt::format("node {}: {}", node, verdict.text);
        quarantine_.fail(now_, node, fmt::format("round {}: {}", ticket_.round, verdict.text));
      }
    }
    // Whoever joins begins the preparation again: honest answers to the one before come too late.
    if (verdict.reason != Reason::kStale || !preparing) note(verdict);
    move_on();
    return verdict;
  }

  void tick(Time now) override {
    now_ = std::max(now_, now);
    report_durable();
    move_on();
  }

  void flush() override {
    if (failure_) return;
    if (auto kept = log_.flush(); !kept) return stop_with(std::move(kept).error());
    report_durable();
  }

  void set_min_available_nodes(Time now, std::size_t nodes) override {
    now_ = std::max(now_, now);
    options_.min_available_nodes = nodes;
    move_on();
  }

  std::optional<Time> deadline() const override {
    if (over() || failure_) return std::nullopt;
    if (open_) return deadline_;
    if (preparing() && !members_.empty()) return preparation_deadline_;
    return now_ < not_before_ ? std::optional(not_before_) : std::nullopt;
  }

  std::optional<std::uint64_t> payload_size(const std::string& node, const Ticket& ticket) const override {
    if (!check_ticket(node, options_.run_id, ticket).counts()) return std::nullopt;
    if (ticket.round == 0) return preparation_->most_bytes(node);
    return steps_ == 0 ? 0 : up_bytes();
  }

  std::string spare_buffer() override { return sum_ ? sum_->spare_buffer() : std::string(); }

  const Schema& schema() const override { return shape_.schema(); }
  std::uint64_t version() const override { return version_; }
  bool over() const override { return !phase_.empty(); }
  const std::optional<Error>& failure() const override { return failure_; }

  FederationStatus status() const override {
    FederationStatus out = reported_;
    out.run_id = options_.run_id;
    out.phase = failure_      ? "failed"
                : over()      ? phase_
                : preparing() ? "preparing"
                : !open_      ? "waiting"
                : steps_ == 0 ? "closing"
                              : "training";
    out.steps = options_.steps;
    out.nodes = members_.size();
    out.needed = needed_nodes();
    out.chosen = open_ ? seats_.size() : 0;
    out.counted = open_ ? seats_.count(Seat::State::kCounted) : 0;
    out.abandoned = abandoned_;
    out.refused = refused_;
    out.digest = digest_;
    out.trouble = trouble_;
    out.warnings = warnings_.list();
    out.standings = quarantine_.list(now_);
    out.quarantined = static_cast<std::uint64_t>(std::ranges::count_if(
        out.standings, [](const NodeStanding& node) { return node.set_aside.has_value(); }));
    if (schema() != Schema{})
      out.schema = fmt::format("{} (from {})", schema_text(schema()), shape_.schema_from());
    if (const auto test = log_.last_test()) {
      out.test_loss = test->loss;
      out.test_accuracy = test->accuracy;
    }
    return out;
  }

 private:
  std::size_t parameters() const { return state_.vectors.empty() ? 0 : state_.w().size(); }
  const VectorLayout& layout() const { return algorithm_.vectors(state_.round + 1); }
  // Of the vectors that one node gets, and sends, in a round.
  std::uint64_t down_bytes() const { return layout().numbers_down(parameters()) * sizeof(T); }
  std::uint64_t up_bytes() const {
    return layout().numbers_up(parameters()) * options_.codecs.bytes_per_number<T>();
  }

  bool preparing() const { return preparation_ && !preparation_->settled(); }
  Ticket preparation_ticket(const std::string& node) const {
    return {options_.epoch, 0, preparation_->stage(node)};
  }

  Order preparation_order(const std::string& node, const Ticket& last) const {
    const Ticket ticket = preparation_ticket(node);
    if (last == ticket) return {};
    const PreparationTask& task = preparation_->task(node);
    return {Order::Kind::kTask,
            {options_.run_id, ticket, 0, task.digest, task.blocks, 0, task.payload, task.work, 0},
            {},
            {}};
  }

  // Before the node decides anything about the run.
  Verdict check_withheld(const std::string& node, const Joining& joining) const {
    const auto refuse = [&](std::string_view what, std::string_view name) -> Verdict {
      return {Reason::kConfig,
              fmt::format("this run {}, and {} does not allow that: its operator must add {} to "
                          "--allow, or leave --allow out",
                          what, node, name)};
    };
    const auto withholds = [&](Work work) { return std::ranges::count(joining.withheld, work) != 0; };
    if (withholds(Work::kTrain)) return refuse("trains at its nodes", "train");
    if (!withholds(Work::kMeasure) || !options_.needs) return {};
    RunShape tried = shape_;
    Verdict verdict = tried.join(node, joining);
    if (!verdict.counts()) return verdict;
    const PreparationNeeds needs =
        options_.prepared ? options_.prepared_needs : options_.needs(tried.schema());
    return needs.sums() ? refuse("needs the sums of its nodes' columns", "measure") : Verdict{};
  }

  Verdict check_excluded(const std::string& node) const {
    const auto found = excluded_.find(node);
    if (found == excluded_.end()) return {};
    return {Reason::kOutlier, excluded_text(found->second)};
  }

  std::string ending_of(const std::string& node, std::uint64_t session) const {
    return displaced_.contains(session) ? displaced_text(node) : check_excluded(node).text;
  }

  // What a node says of its data, which is impossible or unlike the others'.
  void judge_claim(const Outlier& claim) {
    if (options_.on_outlier == OnOutlier::kExclude && preparing() && !claim.node.empty()) {
      excluded_.emplace(claim.node, claim.text);
      warnings_.outlier(claim.node, excluded_text(claim.text));
      if (const auto member = members_.find(claim.node); member != members_.end()) remove(member);
      ++version_;
    } else if (options_.on_outlier == OnOutlier::kWarn || !preparing()) {
      warnings_.outlier(claim.node, claim.text);
    } else {
      trouble_ = fmt::format(
          "before the first round: {}; fix the data or revoke the node, or start the server with "
          "--on-outlier "
          "exclude or warn",
          claim.text);
    }
  }

  void judge_claims() {
    const std::vector<Outlier> claims = preparation_->outliers();  // excluding a node changes them
    for (const Outlier& claim : claims) judge_claim(claim);
  }

  // Those that are connected have until then to answer.
  void await_preparation() {
    preparation_deadline_ = now_ + options_.round_deadline;
    ++version_;
  }

  // Begins with enough nodes, and continues as they answer. True when rounds may start.
  bool prepare() {
    if (!preparation_) {
      if (!options_.needs || !state_.vectors.empty()) return true;
      const PreparationNeeds needs = options_.needs(schema());
      Preprocessing preprocessing = schema().preprocessing;
      preprocessing.intercept = needs.intercept;
      shape_.set_preprocessing(std::move(preprocessing));
      if (!needs.any()) return true;
      preparation_.emplace(needs, shape_.whole_schema(), options_.step_size_of, options_.on_outlier);
      for (const auto& [node, member] : members_) preparation_->join(node, member.weight);
      await_preparation();
    }
    if (preparation_->settled()) return true;
    if (now_ >= preparation_deadline_) drop_unprepared();
    if (members_.size() < needed_nodes()) return false;
    const std::uint64_t stage = preparation_->stage();
    const auto settled = preparation_->advance();
    if (!settled) {
      stop_with(settled.error());
      return false;
    }
    if (preparation_->stage() != stage) await_preparation();
    judge_claims();
    return *settled && keep_preparation();
  }

  bool keep_preparation() {
    const Prepared& result = preparation_->result();
    trouble_.clear();
    measured_.clear();
    for (const auto& [node, member] : members_) measured_.push_back(node);
    if (measured_.size() < options_.nodes) warnings_.measured_by(measured_, options_.nodes);
    if (!result.initial_weights
             .empty()) {  // kept with the first round: until then they can be asked for again
      if (result.differ) warnings_.different_starts(members_.begin()->first);
      ++version_;
      return true;
    }
    shape_.set_preprocessing(result.preprocessing);
    if (auto kept = log_.prepare(kept_schema(), result.eta); !kept) {
      stop_with(std::move(kept).error());
      return false;
    }
    schema_kept_ = true;
    take_step_size(result.eta);
    if (!result.constant_columns.empty()) warnings_.constant_features(schema(), result.constant_columns);
    ++version_;
    return true;
  }

  // With what a later process of this run must know of its nodes.
  std::string kept_schema() const {
    const bool some_measured = !measured_.empty() && measured_.size() < options_.nodes;
    if (excluded_.empty() && !some_measured) return schema_json(schema());
    Json out = Json::parse(schema_json(schema())).value();
    if (some_measured) out[kMeasuredBy] = measured_;
    for (const auto& [node, why] : excluded_) out[kExcluded][node] = why;
    return out.dump();
  }

  void take_step_size(double eta) {
    if (eta != 0 && options_.algorithm_of) algorithm_ = options_.algorithm_of(eta);
  }

  void drop_unprepared() {
    std::vector<std::string> silent;
    for (const auto& [node, member] : members_)
      if (!preparation_->answered(node)) silent.push_back(node);
    for (const std::string& node : silent) {
      quarantine_.fail(now_, node, "no answer to what precedes the first round");
      remove(members_.find(node));
    }
    if (!silent.empty()) trouble_ = fmt::format("before the first round: no answer from {}", some_of(silent));
    await_preparation();
  }

  std::size_t needed_nodes() const {
    std::size_t available = options_.min_available_nodes;
    if (!excluded_.empty())
      available = std::min(available, options_.nodes - std::min(options_.nodes, excluded_.size()));
    return std::max({std::size_t{1}, available, options_.quorum});
  }

  void make_place() {
    // Waking a thread takes longer than the work on a small state.
    constexpr std::uint64_t kSmall = std::uint64_t{256} << 10U;
    workers_ = up_bytes() <= kSmall ? serial_workers() : thread_workers(options_.threads);
    show_state();
  }

  // What the nodes of the round get and send.
  void fit_round() {
    task_blocks_ = task_blocks<T>(layout(), parameters(), steps_);
    std::vector<Block> up = blocks_of(layout(), layout().up(), parameters(), options_.codecs.encoding<T>());
    if (sum_ && up == up_blocks_) return;
    up_blocks_ = std::move(up);
    sum_.emplace(layout(), parameters(), *workers_, options_.aggregator);
  }

  // What nodes are given of the state.
  void show_state() {
    state_digest_ = mfl::state_digest(state_);
    payload_ = std::make_shared<const std::string>(down_payload(layout(), state_));
    weights_ = layout()[0].down ? payload_ : std::make_shared<const std::string>(number_bytes(state_.w()));
  }

  void note(const Verdict& verdict) { ++refused_[static_cast<std::size_t>(verdict.reason)]; }

  // A session whose node joins again.
  void end_session(const std::string& node, const Member& member, const Joining& joining) {
    ++version_;
    if (member.instance == 0 || joining.instance == 0 || member.instance == joining.instance) return;
    constexpr std::size_t kMost = 1'000;  // whose end nobody has noticed yet
    if (displaced_.size() >= kMost) displaced_.erase(displaced_.begin());
    displaced_.insert(member.session);
    warnings_.displaced(node);
  }

  Verdict check_ticket(const std::string& node, const std::string& run_id, const Ticket& ticket) const {
    if (run_id != options_.run_id)
      return {Reason::kForeign,
              fmt::format("this is run {}, the update is of run {}", options_.run_id, visible(run_id, 12))};
    if (!members_.contains(node)) return {Reason::kForeign, "the node has not joined"};
    if (over()) return {Reason::kOver, fmt::format("the run is {}", phase_)};
    if (ticket.round == 0 && preparation_) return check_preparation_ticket(node, ticket);
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

  Verdict check_preparation_ticket(const std::string& node, const Ticket& ticket) const {
    if (ticket != preparation_ticket(node)) return {Reason::kStale, "this is no longer to be measured"};
    if (preparation_->answered(node)) return {Reason::kDuplicate, "answered before"};
    return {};
  }

  // Adds an update of a node that joined with `weight`, if all of it is in order.
  Verdict count(const std::string& node, std::uint64_t weight, Update update) {
    if (update.weight != weight)
      return {Reason::kWeight, fmt::format("{} samples, {} when it joined", update.weight, weight)};
    static const std::vector<Block> kNone;
    if (const auto& blocks = steps_ == 0 ? kNone : up_blocks_; update.blocks != blocks)
      return {Reason::kShape,
              fmt::format("sent {}, expected {}", blocks_text(update.blocks), blocks_text(blocks))};
    const std::uint64_t expected = steps_ == 0 ? 0 : up_bytes();
    if (update.payload.size() != expected)
      return {Reason::kShape,
              fmt::format("{} bytes of vectors, {} expected", update.payload.size(), expected)};
    const Losses& losses = update.losses;
    const Losses wanted = wanted_losses();
    if (losses.train_loss.has_value() != wanted.train_loss.has_value() ||
        losses.batch_loss.has_value() != wanted.batch_loss.has_value() ||
        losses.start_loss.has_value() != wanted.start_loss.has_value())
      return {Reason::kShape, "sent other losses than the round measures"};
    const std::string digest = steps_ == 0 ? "" : sha256_hex(update.payload);
    if (steps_ != 0) decode(update.payload);
    UpdateSize size{{}, *loss_of_rounds(losses).value};
    Verdict verdict = measure(update, size);
    if (verdict.reason == Reason::kNotFinite) diverging_.insert(node);
    if (!verdict.counts()) return verdict;
    SizeVerdict judged = limits_.check(size);
    if (judged.kind == SizeVerdict::Kind::kDiverging) diverging_.insert(node);
    if (judged.kind == SizeVerdict::Kind::kUnusual) unusual_[node] = size;
    if (!judged.verdict.counts()) return judged.verdict;
    if (losses.train_loss)
      if (const auto other = limits_.check({{}, *losses.train_loss}).verdict; !other.counts()) return other;
    if (steps_ != 0) sum_->add(node, std::move(update.payload), weight);
    for (const auto& [mean, loss] :
         {std::pair(&train_loss_, losses.train_loss), std::pair(&batch_loss_, losses.batch_loss),
          std::pair(&start_loss_, losses.start_loss)})
      if (loss) mean->add(std::span(&*loss, 1), weight);
    sizes_[node] = std::move(size);
    const double took = update.timing.compute;
    parts_[node] = {ticket_.round,
                    node,
                    weight,
                    losses.train_loss,
                    std::isfinite(took) && took >= 0 ? std::optional(took) : std::nullopt,
                    digest,
                    metrics_json(update.metrics),
                    losses.batch_loss,
                    losses.start_loss};
    metrics_.add(update.metrics, weight);
    return {};
  }

  // From what a node has sent to plain numbers.
  void decode(std::string& payload) const {
    if (options_.codecs.empty() || options_.codecs.encoding<T>() == CodecChain{}.encoding<T>()) return;
    const std::vector<Vector<T>> origin = origin_of_updates(layout(), state_);
    std::vector<Vector<T>> numbers = origin;
    options_.codecs.decode<T>(payload, update_vectors(numbers, origin));
    payload = to_payload(numbers);
  }

  // Those that an update of the round has, as zeros.
  Losses wanted_losses() const {
    if (steps_ == 0) return {.train_loss = 0};
    Losses out;
    switch (options_.losses.passing) {
      case LossRule::Passing::kTrain: out.train_loss = 0; break;
      case LossRule::Passing::kBatch: out.batch_loss = 0; break;
      case LossRule::Passing::kStart: out.start_loss = 0; break;
    }
    if (options_.losses.evaluates(state_.round)) out.train_loss = 0;
    return out;
  }

  Verdict measure(const Update& update, UpdateSize& size) {
    const Losses& losses = update.losses;
    for (const auto& loss : {losses.train_loss, losses.batch_loss, losses.start_loss})
      if (!std::isfinite(loss.value_or(0))) return {Reason::kNotFinite, "the loss is not finite"};
    if (steps_ == 0) return {};
    auto measured = sum_->measure(update.payload, state_);
    if (const auto bad = measured.not_finite)
      return {Reason::kNotFinite, fmt::format("{} is not finite", sum_->name_of(*bad))};
    size.moves = std::move(measured.moves);
    return {};
  }

  std::uint64_t counted_round(const std::string& node) const {
    const auto found = counted_.find(node);
    return found == counted_.end() ? 0 : found->second;
  }

  void give_up(const std::string& node) {
    const Seat* seat = seats_.find(node);
    if (seat != nullptr && seat->state == Seat::State::kAwaited) seats_.put(node, Seat::State::kGone);
  }

  // A node that leaves its task unanswered has failed, unless it answers while the attempt is in progress.
  void walk_out(const std::string& node) {
    const Seat* seat = seats_.find(node);
    if (seat == nullptr || seat->state != Seat::State::kAwaited) return;
    walked_out_.insert(node);
    quarantine_.fail(now_, node, fmt::format("round {}: left without an answer", ticket_.round));
    seats_.put(node, Seat::State::kGone);
  }

  using Members = std::map<std::string, Member>;

  Members::iterator remove(Members::iterator member) {
    give_up(member->first);
    forget_prepared(member->first);
    return members_.erase(member);
  }

  void forget_prepared(const std::string& node) {
    if (!preparation_) return;
    preparation_->leave(node);
    if (preparing()) await_preparation();
  }

  // Whatever the time and the seats allow.
  void move_on() {
    if (over() || failure_) return;
    if (open_) judge_round();
    if (!open_ && !over() && !failure_) start_round();
    if (!open_ && state_.round == 0 && members_.empty() && !schema_kept_) forget_shape();
  }

  // What nodes decided that have all left before a round was committed, and the memory for it.
  void forget_shape() {
    shape_.forget();
    preparation_.reset();
    state_ = {};
    payload_.reset();
    weights_.reset();
    sum_.reset();
    aggregate_ = {};
  }

  void judge_round() {
    const std::size_t counted = seats_.count(Seat::State::kCounted);
    const std::size_t awaited = seats_.count(Seat::State::kAwaited);
    const std::size_t needed = options_.quorum == 0 ? seats_.size() : options_.quorum;
    if (counted + awaited < needed) {
      forget_objections_of_the_gone();
      if (is_majority(diverging_.size())) return diverge();
      if (!unusual_.empty() && is_majority(diverging_.size() + unusual_.size())) return raise_limits();
      // The others may say the same: all must be heard to know.
      const bool may_diverge = counted == 0 && awaited > 0 && diverging_.size() + unusual_.size() > 0;
      if (!may_diverge || now_ >= deadline_)
        return abandon(fmt::format("needs {} updates, at most {} can still arrive{}", needed,
                                   counted + awaited,
                                   refusal_.empty() ? "" : fmt::format(" ({})", refusal_)));
    }
    if (awaited == 0) return settle_round();
    if (now_ < deadline_) return;
    if (counted >= needed) {
      drop_silent();
      return settle_round();
    }
    abandon(fmt::format("{} of {} updates at the deadline, {} needed; no answer from {}", counted,
                        seats_.size(), needed, awaited_nodes()));
  }

  void forget_objections_of_the_gone() {
    std::erase_if(diverging_, [&](const std::string& node) { return !members_.contains(node); });
    std::erase_if(unusual_, [&](const auto& node) { return !members_.contains(node.first); });
  }

  // Of all that are connected, that made the State or were asked to work on it, and of as many as a round needs.
  bool is_majority(std::size_t objections) const {
    const auto left =
        std::ranges::count_if(concerned_, [&](const std::string& node) { return !members_.contains(node); });
    return 2 * objections > std::max(needed_nodes(), members_.size() + static_cast<std::size_t>(left));
  }

  // Most nodes are beyond what was usual: so it is usual now.
  void raise_limits() {
    limits_.retry_with(unusual_);
    for (const auto& [node, size] : unusual_) quarantine_.forgive(node);
    abandon(fmt::format(
        "{} of {} nodes sent larger updates than in the rounds before ({}); the limits are raised",
        unusual_.size(), members_.size(), refusal_));
    unusual_.clear();
    not_before_ = now_;
  }

  // The first round has no history: its updates are compared with each other.
  void settle_round() {
    if (options_.aggregator && steps_ != 0)
      if (const auto enough = options_.aggregator->check(seats_.count(Seat::State::kCounted)); !enough)
        return abandon(enough.error().message);
    const std::vector<std::string> odd = limits_.outliers(sizes_);
    if (odd.empty()) return close_round();
    for (const std::string& node : odd) {
      note({Reason::kNorm, {}});
      quarantine_.fail(now_, node,
                       fmt::format("round {}: far larger than the others' updates", ticket_.round));
    }
    limits_.retry_with(sizes_);
    abandon(fmt::format("updates far larger than the others', from {}", some_of(odd)));
  }

  // Some of the names, for people.
  static std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 3;
    const auto named = std::span(names).first(std::min(kMost, names.size()));
    return names.size() <= kMost
               ? fmt::format("{}", fmt::join(named, ", "))
               : fmt::format("{} and {} more", fmt::join(named, ", "), names.size() - kMost);
  }
  std::string awaited_nodes() const { return some_of(seats_.names(Seat::State::kAwaited)); }

  // Drops nodes that missed the deadline; live ones join again.
  void drop_silent() {
    ++version_;
    for (const std::string& node : seats_.names(Seat::State::kAwaited)) {
      quarantine_.fail(now_, node, fmt::format("round {}: no answer by the deadline", ticket_.round));
      seats_.put(node, Seat::State::kGone);
      forget_prepared(node);
      members_.erase(node);
    }
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
    walked_out_.clear();
    sizes_.clear();
    parts_.clear();
    refusal_.clear();
    if (sum_) sum_->clear();
    for (ExactMean* mean : {&train_loss_, &batch_loss_, &start_loss_}) mean->clear();
    metrics_.clear();
  }

  void start_round() {
    if (now_ < not_before_ || members_.empty()) return;
    if (!preparation_ && members_.size() < needed_nodes()) return;
    if (!prepare() || ready_nodes() < needed_nodes()) return;
    if (state_.vectors.empty()) {
      state_ = first_state();
      if (const auto bad = first_not_finite(std::span<const T>(state_.w())))
        return stop_with({ErrorCode::kRunFailed,
                          fmt::format("number {} of the initial weights is not finite", *bad),
                          "check the trainer of the first node", nullptr});
      make_place();
    }
    ticket_ = {options_.epoch, state_.round + 1, ++attempt_};
    steps_ = next_round_steps(algorithm_, state_.step, options_.steps);
    fit_round();
    if (steps_ == 0 && options_.losses.never_knows()) {
      note_last(state_);
      return end(RunStatus::kDone, "", {.batch_loss = round_batch_loss_});
    }
    started_ = now_;
    deadline_ = now_ + options_.round_deadline;
    open_ = true;
    ++version_;
    for (const auto& node : choose(available())) {
      seats_.add(node, members_.at(node).weight);
      concerned_.insert(node);
    }
    warn_of_weight();
  }

  bool is_ready(const std::string& node) const { return !preparation_ || preparation_->ready(node); }
  std::size_t ready_nodes() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(members_, [&](const auto& member) { return is_ready(member.first); }));
  }

  State<T> first_state() const {
    if (!model_of_) return initial_state<T>(algorithm_, static_cast<std::size_t>(shape_.columns()));
    const auto model = model_of_(shape_.whole_schema());
    if (!preparation_ || preparation_->result().initial_weights.empty())
      return initial_state<T>(algorithm_, *model, options_.seed);
    auto w = from_payload<T>(preparation_->result().initial_weights, std::array{model->parameters()});
    return initial_state<T>(algorithm_, *starting_from(model, std::move(w.front())), options_.seed);
  }

  // Those that may be chosen; names those that are set aside in left_out_.
  std::vector<std::string> available() {
    std::vector<std::string> all, fit;
    left_out_.clear();
    for (const auto& [node, member] : members_) {
      if (!is_ready(node)) continue;
      const bool held = quarantine_.holds(now_, node);
      all.push_back(node);
      (held ? left_out_ : fit).push_back(node);
    }
    const std::size_t needed = needed_nodes();
    const bool enough = fit.size() >= needed || (fit.size() >= options_.quorum && 2 * fit.size() > needed);
    if (enough) return fit;
    left_out_.clear();
    return all;
  }

  // The draw of a simulation whose nodes are these. Where not all are needed, nodes that have objected to this State are not asked
  // again.
  std::vector<std::string> choose(std::vector<std::string> names) const {
    const Participation participation{options_.seed, options_.fraction_train, options_.quorum};
    const std::size_t wanted = participant_count(participation, names.size());
    if (wanted < names.size()) {
      std::vector<std::string> rest;
      for (const std::string& node : names)
        if (!diverging_.contains(node) && !unusual_.contains(node)) rest.push_back(node);
      if (rest.size() >= wanted) names = std::move(rest);
    }
    const auto chosen = choose_participants(participation, ticket_.round, ticket_.attempt, names.size());
    std::vector<std::string> out;
    for (const std::uint32_t i : chosen) out.push_back(names[i]);
    return out;
  }

  void warn_of_weight() {
    const auto [node, share] = seats_.heaviest();
    warnings_.heaviest(node, share, seats_.size(), ticket_.round);
  }

  // What trainers have measured of the State's w.
  std::optional<TestRow> test_of_nodes() const {
    if (!algorithm_.starts_at_w() && steps_ != 0) return std::nullopt;
    const Metrics means = metrics_.means();
    const auto loss = find_metric(means, kTestLossMetric);
    TestRow row{loss.value_or(std::numeric_limits<double>::quiet_NaN()),
                find_metric(means, kTestAccuracyMetric)};
    return loss || row.accuracy ? std::optional(std::move(row)) : std::nullopt;
  }

  RoundRow row_of_state(const Losses& losses) const {
    RoundRow row{state_.round, state_.step, losses.train_loss, bytes_up_, bytes_down_, state_digest_};
    row.batch_loss = losses.batch_loss;
    row.start_loss = losses.start_loss;
    return row;
  }

  static std::optional<double> mean_of(ExactMean& mean) {
    if (mean.total_weight() == 0) return std::nullopt;
    double out = 0;
    mean.mean(std::span(&out, 1));
    return out;
  }

  void close_round() {
    const Losses losses{mean_of(train_loss_), round_batch_loss_, mean_of(start_loss_)};
    if (losses.train_loss) note_loss(state_, *losses.train_loss);
    if (steps_ == 0) return end(RunStatus::kDone, "", losses);
    if (auto why = stop_early(losses)) return end(RunStatus::kDone, *std::move(why), losses);
    CommittedRound round;
    round.round = ticket_.round;
    round.closed = row_of_state(losses);
    round.measured = test_of_nodes();
    round.weights = weights_;
    round.nodes = seats_.names(Seat::State::kCounted);
    for (const std::string& node : round.nodes) round.node_rows.push_back(parts_.at(node));
    if (!schema_kept_ && is_complete(schema())) round.data_schema = kept_schema();
    SizeHistory history = limits_.history_after(sizes_);
    const std::uint64_t up = bytes_up_ + round.nodes.size() * up_bytes();
    const std::uint64_t down = bytes_down_ + seats_.size() * down_bytes();
    const std::uint64_t step = state_.step;
    sum_->finish(state_, aggregate_.vectors);
    apply(algorithm_, state_, aggregate_, {steps_, round.nodes.size(), options_.nodes});
    if (algorithm_.keeps_at_nodes())
      for (const std::string& node : round.nodes) counted_[node] = round.round;
    workers_->for_each(2, [&](unsigned, std::size_t part) {
      if (part == 0)
        round.blob = encode_round(state_, up, down, history, counted_);
      else
        show_state();
    });
    if (auto kept = log_.take(round); !kept) {
      state_.round = ticket_.round - 1;
      state_.step = step;
      return stop_with(std::move(kept).error());
    }
    schema_kept_ = true;
    limits_.commit(std::move(history));
    praise(round);
    bytes_up_ = up;
    bytes_down_ = down;
    attempt_ = 0;
    trouble_.clear();
    round_batch_loss_ = mean_of(batch_loss_);
    report_round(losses);
    end_attempt();
  }

  // Why the run ends with the State that has these.
  std::optional<std::string> stop_early(const Losses& losses) {
    std::optional<double> accuracy;
    if (options_.test_accuracy && stop_.needs_accuracy(state_.round))
      accuracy = options_.test_accuracy(*weights_);
    return stop_.judge(state_.round, losses.train_loss, accuracy);
  }

  // What a committed round tells of its nodes.
  void praise(const CommittedRound& round) {
    for (const std::string& node : round.nodes) quarantine_.succeed(node);
    for (const std::string& node : left_out_)
      warnings_.left_out(node, round.round, quarantine_.last_failure(node));
    concerned_ = {round.nodes.begin(), round.nodes.end()};
    written_.last_nodes = round.nodes.size();
    diverging_.clear();
    unusual_.clear();
  }

  // The round that was committed before this one is durable; this one may still be written.
  void report_round(const Losses& losses) {
    reported_ = written_;
    const Time took = now_ - started_;
    ++written_.rounds_timed;
    written_.last_round = took;
    written_.all_rounds += took;
    if (losses.train_loss) written_.losses.train_loss = losses.train_loss;
    written_.losses.batch_loss = round_batch_loss_;
    written_.losses.start_loss = losses.start_loss;
    note_written();
    report_durable();
  }

  void note_written() {
    written_.round = state_.round;
    written_.step = state_.step;
    written_.bytes_up = bytes_up_;
    written_.bytes_down = bytes_down_;
  }

  void report_durable() {
    if (log_.durable().value_or(written_.round) >= written_.round) reported_ = written_;
  }

  void diverge() {
    end(RunStatus::kDiverged, fmt::format("{} in round {}", refusal_, ticket_.round),
        options_.losses.passing == LossRule::Passing::kTrain ? Losses{.train_loss = NAN}
                                                             : Losses{.batch_loss = round_batch_loss_});
  }

  void end(RunStatus status, std::string message, const Losses& losses) {
    Ending ending{status, std::move(message), row_of_state(losses), weights_, {}};
    ending.measured = test_of_nodes();
    RunSummary& summary = ending.summary;
    summary.final = {state_.step, losses.train_loss, {}, {}};
    summary.best = best_of(state_);
    summary.rounds = state_.round;
    summary.bytes_up = bytes_up_;
    summary.bytes_down = bytes_down_;
    summary.digest = weights_digest(state_);
    ending.warnings = warnings_.list();
    if (status == RunStatus::kDone && model_of_)
      ending.model = FinalModel{.tensors = tensors_json(model_of_(shape_.whole_schema())->tensors()),
                                .weights = number_bytes(state_.w())};
    if (auto kept = log_.finish(ending); !kept) return stop_with(std::move(kept).error());
    if (losses.train_loss && std::isfinite(*losses.train_loss))
      written_.losses.train_loss = losses.train_loss;
    reported_ = written_;
    trouble_ = status == RunStatus::kDone ? "" : ending.message;
    digest_ = summary.digest;
    end_attempt();
    phase_ = run_status_name(status);
    ++version_;
  }

  void stop_with(Error error) {
    failure_ = std::move(error);
    trouble_ = failure_->text();
    end_attempt();
  }

  Algorithm algorithm_;
  CoordinatorOptions options_;
  RoundLog& log_;
  ModelOf<T> model_of_;
  RunShape shape_;
  State<T> state_;            // without vectors until the first round starts
  bool schema_kept_ = false;  // in the log, by this process
  std::string state_digest_;
  std::vector<Block> task_blocks_, up_blocks_;  // of the round
  CountedRounds counted_;
  std::shared_ptr<const std::string> payload_;  // for nodes
  std::shared_ptr<const std::string> weights_;  // begins with w
  Members members_;
  std::optional<Preparation> preparation_;  // nothing where nothing is measured, or not begun
  Time preparation_deadline_{0};
  std::map<std::string, std::string> excluded_ = options_.excluded;  // from the run, and why
  std::vector<std::string> measured_;  // the nodes whose answers settled the preparation
  std::uint64_t last_session_ = 0;
  std::set<std::uint64_t> displaced_;  // sessions that another process of their node has ended
  std::uint64_t version_ = 0;
  Time now_{0};
  Time not_before_{0};

  // The attempt in progress.
  bool open_ = false;
  Ticket ticket_;
  std::uint64_t attempt_ = 0;
  std::uint64_t steps_ = 0;
  Time started_{0}, deadline_{0};
  Seats seats_;
  std::set<std::string> walked_out_;         // that left while they were awaited
  std::string refusal_;                      // the last one of an update's contents
  std::map<std::string, UpdateSize> sizes_;  // of what was counted
  std::map<std::string, NodeRow> parts_;     // the same, for the log
  std::vector<std::string> left_out_;        // connected, and set aside
  std::unique_ptr<Workers> workers_;
  std::optional<RoundSum<T>> sum_;
  Aggregate<T> aggregate_;  // its memory is the next round's
  ExactMean train_loss_{1}, batch_loss_{1}, start_loss_{1};
  MetricMeans metrics_;

  // What nodes have said of the current State, over all attempts.
  std::set<std::string> diverging_;
  std::map<std::string, UpdateSize> unusual_;
  std::set<std::string> concerned_;  // nodes of the round that made it, or that were asked to work on it

  UpdateLimits limits_;
  Quarantine quarantine_{options_.round_deadline};
  RunWarnings warnings_;
  EarlyStop stop_;
  std::optional<double> round_batch_loss_ = options_.batch_loss;  // of the round that led to the State

  std::string phase_;  // empty while the run continues
  std::string digest_ = options_.ended_digest;
  std::optional<Error> failure_;
  std::uint64_t bytes_up_ = 0, bytes_down_ = 0, abandoned_ = 0;
  // What status() says of committed rounds: up to the last durable one, and with the one that is being written.
  FederationStatus reported_, written_;
  std::array<std::uint64_t, kReasons> refused_ = {};
  std::string trouble_;
};

}  // namespace

template <class T>
std::unique_ptr<Coordinator> make_coordinator(const Algorithm& algorithm, CoordinatorOptions options,
                                              RoundLog& log, std::optional<Resumption<T>> from,
                                              ModelOf<T> model_of) {
  return std::make_unique<RoundCoordinator<T>>(algorithm, std::move(options), log, std::move(from),
                                               std::move(model_of));
}

template std::unique_ptr<Coordinator> make_coordinator(const Algorithm&, CoordinatorOptions, RoundLog&,
                                                       std::optional<Resumption<float>>, ModelOf<float>);
template std::unique_ptr<Coordinator> make_coordinator(const Algorithm&, CoordinatorOptions, RoundLog&,
                                                       std::optional<Resumption<double>>, ModelOf<double>);

}  // namespace mfl
