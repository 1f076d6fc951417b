#include "mfl/federation/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mfl/base/visible.h"
#include "mfl/federation/preparation_stage.h"
#include "mfl/federation/state_rounds.h"

namespace mfl {
namespace {

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

class RoundCoordinator final : public Coordinator {
 public:
  RoundCoordinator(std::unique_ptr<CoordinatedRun> run, std::unique_ptr<RoundStage> rounds)
      : owned_(std::move(run)),
        run_(*owned_),
        preparing_(std::make_unique<PreparationStage>(run_)),
        rounds_(std::move(rounds)) {}

  Joined join(Time now, const std::string& node, const Joining& joining) override {
    advance_time(now);
    Verdict verdict = run_.members.check_excluded(node);
    if (verdict.counts() && !joining.withheld.empty()) verdict = preparing_->check_withheld(node, joining);
    if (verdict.counts()) verdict = run_.shape.join(node, joining);
    if (!verdict.counts()) {
      run_.report.refuse(verdict.reason);
      return {0, std::move(verdict)};
    }
    const Entrance entrance = run_.members.join(node, joining.weight, joining.instance);
    if (entrance.again) ++run_.version;
    if (entrance.displaced) run_.report.warnings().displaced(node);
    preparing_->join(node, joining.weight);
    rounds_->join(node, joining.weight);
    move_on();
    return {entrance.session, {}};
  }

  void leave(Time now, const std::string& node, std::uint64_t session) override {
    advance_time(now);
    if (!run_.members.end(node, session)) return;
    run_.members.remove(node);
    rounds_->leave(node);
    preparing_->leave(node);
    move_on();
  }

  Order order_for(const std::string& node, std::uint64_t session, const Ticket& last) const override {
    if (!run_.members.is_current(node, session))
      return {Order::Kind::kEnded, {}, run_.members.ending_of(node, session), {}};
    if (over()) return {Order::Kind::kDone, {}, run_.ended, run_.digest};
    const Stage& stage = preparing_->awaits(node) ? *preparing_ : static_cast<const Stage&>(*rounds_);
    if (!stage.awaits(node) || stage.ticket(node) == last) return {};
    return {Order::Kind::kTask, stage.task(node), {}, {}};
  }

  Verdict submit(Time now, const std::string& node, Update update) override {
    advance_time(now);
    move_on();  // it may be past the deadline
    Stage& stage = stage_of(update.ticket);
    Verdict verdict = check_ticket(node, update.run_id, update.ticket);
    if (verdict.counts()) verdict = check_base(update, stage.task(node).state_digest);
    if (verdict.counts()) verdict = stage.submit(node, std::move(update));
    if (!verdict.expected) run_.report.refuse(verdict.reason);
    move_on();
    return verdict;
  }

  void tick(Time now) override {
    advance_time(now);
    run_.report.durable(run_.log.durable());
    move_on();
  }

  void flush() override {
    if (run_.failure) return;
    if (auto kept = run_.log.flush(); !kept) return rounds_->stop(std::move(kept).error());
    run_.report.durable(run_.log.durable());
  }

  void set_min_available_nodes(Time now, std::size_t nodes) override {
    advance_time(now);
    run_.members.set_min_available_nodes(nodes);
    move_on();
  }

  std::optional<Time> deadline() const override {
    if (over() || run_.failure) return std::nullopt;
    const auto prepared = preparing_->deadline();
    return prepared ? prepared : rounds_->deadline();
  }

  std::optional<std::uint64_t> payload_size(const std::string& node, const Ticket& ticket) const override {
    if (!check_ticket(node, run_.options.run_id, ticket).counts()) return std::nullopt;
    return stage_of(ticket).most_bytes(node);
  }

  std::string spare_buffer() override { return rounds_->spare_buffer(); }

  const Schema& schema() const override { return run_.shape.schema(); }
  std::uint64_t version() const override { return run_.version; }
  bool over() const override { return !run_.ended.empty(); }
  const std::optional<Error>& failure() const override { return run_.failure; }

  FederationStatus status() const override {
    FederationStatus out = run_.report.status();
    out.run_id = run_.options.run_id;
    out.phase = run_.failure                ? "failed"
                : over()                    ? run_.ended
                : preparing_->in_progress() ? preparing_->phase()
                                            : rounds_->phase();
    out.steps = run_.options.steps;
    out.nodes = run_.members.size();
    out.needed = run_.members.needed();
    out.chosen = rounds_->seats().size();
    out.counted = rounds_->seats().count(Seat::State::kCounted);
    out.digest = run_.digest;
    out.standings = run_.members.quarantine().list(run_.now);
    out.quarantined = static_cast<std::uint64_t>(std::ranges::count_if(
        out.standings, [](const NodeStanding& node) { return node.set_aside.has_value(); }));
    if (schema() != Schema{})
      out.schema = fmt::format("{} (from {})", schema_text(schema()), run_.shape.schema_from());
    if (const auto test = run_.log.last_test()) {
      out.test_loss = test->loss;
      out.test_accuracy = test->accuracy;
    }
    return out;
  }

 private:
  void advance_time(Time now) { run_.now = std::max(run_.now, now); }

  // That an answer with this ticket is for.
  Stage& stage_of(const Ticket& ticket) const {
    return preparing_->has(ticket) ? *preparing_ : static_cast<Stage&>(*rounds_);
  }

  Verdict check_ticket(const std::string& node, const std::string& run_id, const Ticket& ticket) const {
    if (run_id != run_.options.run_id)
      return {Reason::kForeign, fmt::format("this is run {}, the update is of run {}", run_.options.run_id,
                                            visible(run_id, 12))};
    if (!run_.members.contains(node)) return {Reason::kForeign, "the node has not joined"};
    if (over()) return {Reason::kOver, fmt::format("the run is {}", run_.ended)};
    return stage_of(ticket).check(node, ticket);
  }

  // Whatever the time and the answers allow.
  void move_on() {
    if (over() || run_.failure) return;
    rounds_->advance();
    if (!rounds_->open() && !over() && !run_.failure) start_round();
    if (!rounds_->open() && run_.report.written().round == 0 && run_.members.size() == 0 && !run_.schema_kept)
      forget();
  }

  // What nodes decided that have all left before a round was committed, and the memory for it.
  void forget() {
    run_.shape.forget();
    preparing_->forget();
    rounds_->forget();
  }

  void start_round() {
    Membership& members = run_.members;
    if (run_.now < rounds_->not_before() || members.size() == 0) return;
    if (!preparing_->begun() && members.size() < members.needed()) return;
    if (!rounds_->has_state()) preparing_->advance();
    const auto is_ready = [&](const std::string& node) { return preparing_->ready(node); };
    const auto ready =
        std::ranges::count_if(members.list(), [&](const auto& m) { return is_ready(m.first); });
    if (run_.failure || static_cast<std::size_t>(ready) < members.needed()) return;
    rounds_->begin(members.available(run_.now, is_ready), preparing_->result().initial_weights);
  }

  std::unique_ptr<CoordinatedRun> owned_;
  CoordinatedRun& run_;
  std::unique_ptr<PreparationStage> preparing_;
  std::unique_ptr<RoundStage> rounds_;
};

}  // namespace

template <class T>
std::unique_ptr<Coordinator> make_coordinator(const Algorithm& algorithm, CoordinatorOptions options,
                                              RoundLog& log, std::optional<Resumption<T>> from,
                                              ModelOf<T> model_of) {
  RunShapeOptions shape = shape_options<T>(algorithm, options, model_of);
  auto run = std::make_unique<CoordinatedRun>(std::move(options), std::move(shape), log);
  auto rounds = make_state_rounds<T>(*run, algorithm, std::move(from), std::move(model_of));
  return std::make_unique<RoundCoordinator>(std::move(run), std::move(rounds));
}

template std::unique_ptr<Coordinator> make_coordinator(const Algorithm&, CoordinatorOptions, RoundLog&,
                                                       std::optional<Resumption<float>>, ModelOf<float>);
template std::unique_ptr<Coordinator> make_coordinator(const Algorithm&, CoordinatorOptions, RoundLog&,
                                                       std::optional<Resumption<double>>, ModelOf<double>);

}  // namespace mfl
