#include "world.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <utility>

#include "mfl/base/json.h"
#include "mfl/base/rng.h"
#include "mfl/federation/participant.h"
#include "mfl/federation/payload.h"
#include "mfl/network/wire.h"

namespace mfl::test {
namespace {

constexpr Time kRoundDeadline{5'000};
constexpr Time kFaultsEnd{60'000};
constexpr Time kPatienceOfTheTest{400'000};

struct Crash {};
struct Violation {
  std::string what;
};

// A disk that may lose unsynced data on a power failure.
class Disk final : public RoundLog {
 public:
  // `hostile` is the name of a node whose updates are not what the reference says; empty: none.
  Disk(Reference& reference, std::size_t quorum, std::string hostile, Stream& dice,
       const double& crash_chance, Outcome& outcome)
      : reference_(reference),
        quorum_(quorum),
        hostile_(std::move(hostile)),
        dice_(dice),
        crash_chance_(crash_chance),
        outcome_(outcome) {}

  Result<void> commit(const CommittedRound& round) override {
    const auto next = decode_round<float>(round.blob);
    if (!next) throw Violation{"a committed round cannot be read: " + next.error().text()};
    check(round, next->state);
    if (dice_.uniform() < crash_chance_) {
      switch (dice_.below(3)) {
        case 0:  // lost
          ++outcome_.lost_writes;
          break;
        case 1: {  // torn: some bytes differ from what was written
          ++outcome_.lost_writes;
          std::string torn = round.blob.substr(0, 1 + dice_.below(round.blob.size()));
          torn[dice_.below(torn.size())] ^= 0x40;
          generations_.push_back({round.round, torn, false});
          break;
        }
        default:  // written, but never acknowledged
          generations_.push_back({round.round, round.blob, true});
      }
      throw Crash{};
    }
    generations_.push_back({round.round, round.blob, true});
    while (generations_.size() > 2) generations_.erase(generations_.begin());
    acknowledged_ = round.round;
    current_ = next->state;
    return {};
  }

  Result<void> prepare(const std::string& data_schema, double eta) override {
    const Json kept = Json::parse(data_schema).value();
    std::vector<std::string> nodes;
    if (const Json* some = kept.find(kMeasuredBy))
      for (const Json& node : some->elements()) nodes.emplace_back(node.text());
    else
      for (std::size_t i = 0; i < reference_.nodes(); ++i) nodes.push_back(reference_.name(i));
    const Schema schema = parse_schema(data_schema).value();
    const Prepared expected = reference_.prepared(nodes);
    if (schema.preprocessing != expected.preprocessing || eta != expected.eta)
      throw Violation{"what was measured is not what the nodes sent"};
    const bool crash = dice_.uniform() < crash_chance_;
    if (!crash || dice_.below(2) == 0) {
      schema_ = schema;
      prepared_ = expected;
    } else {
      ++outcome_.lost_writes;
    }
    if (crash) throw Crash{};
    return {};
  }

  Result<void> finish(const Ending& ending) override {
    const bool crash = dice_.uniform() < crash_chance_;
    if (!crash || dice_.below(2) == 0) ending_ = ending;
    if (crash) throw Crash{};
    return {};
  }

  // The contents that a new process finds.
  std::optional<Resumption<float>> load() {
    std::optional<Resumption<float>> found;
    for (auto it = generations_.rbegin(); it != generations_.rend() && !found; ++it) {
      auto read = decode_round<float>(it->blob);
      if (read && !it->whole) throw Violation{"a torn write was taken for a round"};
      if (read) found = *std::move(read);
    }
    std::erase_if(generations_, [](const Generation& g) { return !g.whole; });
    const std::uint64_t round = found ? found->state.round : 0;
    if (round < acknowledged_)
      throw Violation{fmt::format("round {} was committed, a restart finds round {}", acknowledged_, round)};
    acknowledged_ = round;
    current_ = found ? found->state : initial_state<float>(reference_.algorithm(), kColumns);
    return found;
  }

  std::uint64_t acknowledged() const { return acknowledged_; }
  const std::optional<Ending>& ending() const { return ending_; }
  const Schema& schema() const { return schema_; }
  const std::optional<Prepared>& prepared() const { return prepared_; }

 private:
  struct Generation {
    std::uint64_t round;
    std::string blob;
    bool whole;
  };

  void check(const CommittedRound& round, const State<float>& next) {
    const std::set<std::string> once(round.nodes.begin(), round.nodes.end());
    if (once.size() != round.nodes.size()) throw Violation{"a node was counted twice"};
    const std::size_t needed = quorum_ == 0 ? reference_.nodes() - (hostile_.empty() ? 0 : 1) : quorum_;
    if (once.size() < needed) throw Violation{fmt::format("{} updates, {} needed", once.size(), needed)};
    if (round.round != current_.round + 1 || next.round != round.round)
      throw Violation{"a round was left out"};
    if (once.contains(hostile_)) ++outcome_.hostile_counted;
    if (!once.contains(hostile_) && state_digest(next) != reference_.after(current_, round.nodes))
      throw Violation{fmt::format("round {} is not the mean of what its nodes sent", round.round)};
  }

  Reference& reference_;
  std::size_t quorum_;
  std::string hostile_;
  Stream& dice_;
  const double& crash_chance_;
  Outcome& outcome_;
  std::vector<Generation> generations_;
  State<float> current_ = initial_state<float>(reference_.algorithm(), kColumns);
  std::uint64_t acknowledged_ = 0;
  std::optional<Ending> ending_;
  Schema schema_;
  std::optional<Prepared> prepared_;
};

class World {
 public:
  World(Reference& reference, const Faults& faults, std::size_t min_available_nodes, std::size_t quorum,
        std::uint64_t seed, Hostility hostility)
      : reference_(reference),
        faults_(faults),
        hostility_(hostility),
        min_available_(min_available_nodes),
        quorum_(quorum),
        dice_(seed, Purpose::kSynthetic, 99),
        disk_(reference, quorum, hostility == Hostility::kNone ? "" : reference.name(reference.nodes() - 1),
              dice_, faults_.disk_crash, outcome_) {
    for (std::size_t i = 0; i < reference.nodes(); ++i) nodes_.emplace_back(reference.trainer(i).weight());
  }

  Outcome run() {
    try {
      start_server();
      for (std::size_t i = 0; i < nodes_.size(); ++i) after(below(100), [this, i] { act(i); });
      at(kFaultsEnd, [this] { faults_ = Faults{}; });
      while (!finished()) {
        if (events_.empty() || now_ > kPatienceOfTheTest)
          throw Violation{fmt::format("no progress: round {} at {} ms", disk_.acknowledged(), now_.count())};
        const Event event = events_.top();
        events_.pop();
        now_ = event.time;
        event.what();
      }
      if (coordinator_) note_status();
      if (disk_.ending()->status != RunStatus::kDone) throw Violation{"the run " + disk_.ending()->message};
      outcome_.digest = disk_.ending()->summary.digest;
      outcome_.rounds = disk_.acknowledged();
    } catch (const Violation& violation) {
      outcome_.violation = violation.what;
    }
    return outcome_;
  }

 private:
  struct Event {
    Time time;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const {  // the earliest is the largest
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };
  struct Node {
    explicit Node(std::uint64_t weight) : participant(weight) {}
    Participant participant;
    bool up = true;
    bool busy = false;                 // a call or the training is in progress
    std::uint64_t connection = 0;      // 0: none
    std::uint64_t life = 0, word = 0;  // counts of restarts and of messages received
    std::optional<wire::OrderReader> reader;
  };
  struct Attached {
    std::size_t node;
    std::uint64_t session;
    Ticket last;
  };

  Time below(std::int64_t ms) { return Time(dice_.below(static_cast<std::uint64_t>(ms))); }
  bool chance(double p) { return p > 0 && dice_.uniform() < p; }
  void at(Time time, std::function<void()> what) { events_.push({time, ++number_, std::move(what)}); }
  void after(Time delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  bool is_hostile(std::size_t node) const {
    return hostility_ != Hostility::kNone && node + 1 == nodes_.size();
  }

  bool finished() const {
    const auto honest = std::span(nodes_).first(nodes_.size() - (hostility_ == Hostility::kNone ? 0 : 1));
    return disk_.ending() &&
           std::ranges::all_of(honest, [](const Node& n) { return n.participant.ending().has_value(); });
  }

  void send(const std::function<void()>& deliver) {
    const int copies = chance(faults_.drop) ? 0 : chance(faults_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) after(Time(1) + below(faults_.longest_delay_ms), deliver);
  }

  // --- the server

  void start_server() {
    if (disk_.ending()) {
      CoordinatorOptions ended = options();
      ended.ended_status = run_status_name(disk_.ending()->status);
      ended.ended_digest = disk_.ending()->summary.digest;
      coordinator_ = make_coordinator<float>(reference_.algorithm(), ended, disk_, disk_.load());
    } else {
      coordinator_ = make_coordinator<float>(reference_.algorithm(), options(), disk_, disk_.load());
    }
  }

  CoordinatorOptions options() {
    CoordinatorOptions out;
    out.run_id = kRun;
    out.config_digest = kConfig;
    out.epoch = dice_.next();
    out.steps = reference_.steps();
    out.min_available_nodes = min_available_;
    out.quorum = quorum_;
    out.round_deadline = kRoundDeadline;
    out.retry_pause = Time(200);
    out.nodes = nodes_.size();
    out.needs = &Reference::needs;
    out.step_size_of = &Reference::step_size_of;
    out.schema = disk_.schema();
    out.columns = out.schema.columns;
    out.prepared = disk_.prepared();
    out.prepared_needs = Reference::needs({});
    if (hostility_ != Hostility::kNone) out.max_samples = 1'000;
    return out;
  }

  void crash_server() {
    if (!coordinator_) return;
    note_status();
    ++outcome_.restarts;
    coordinator_.reset();
    for (const auto& [connection, attached] : attached_) tell_broken(attached.node, connection);
    attached_.clear();
    after(below(3'000), [this] { start_server(); });
  }

  void note_status() {
    const FederationStatus status = coordinator_->status();
    for (std::size_t i = 1; i < kReasons; ++i) outcome_.refused += status.refused[i];
    outcome_.abandoned += status.abandoned;
    for (const NodeStanding& standing : status.standings) outcome_.failing.insert(standing.name);
  }

  // A message reaches the server; its replies are delivered unless it crashes.
  void serve(const std::function<void()>& what) {
    if (!coordinator_) return;
    if (chance(faults_.server_crash)) return crash_server();
    try {
      what();
      pump();
    } catch (const Crash&) {
      crash_server();
    }
  }

  void pump() {
    for (auto it = attached_.begin(); it != attached_.end();) {
      auto& [connection, attached] = *it;
      const std::size_t node = attached.node;
      const std::uint64_t number = connection;
      const Order order = coordinator_->order_for(reference_.name(node), attached.session, attached.last);
      if (order.kind == Order::Kind::kEnded) {
        tell_broken(node, number);
        it = attached_.erase(it);
        continue;
      }
      if (order.kind == Order::Kind::kTask) attached.last = order.task.ticket;
      if (order.kind != Order::Kind::kNone)
        send([this, node, number, messages = wire::encode(order)] { get_order(node, number, messages); });
      if (order.kind == Order::Kind::kDone)
        it = attached_.erase(it);
      else
        ++it;
    }
    if (const auto deadline = coordinator_->deadline())
      at(std::max(*deadline, now_), [this] {
        if (coordinator_ && coordinator_->deadline() && *coordinator_->deadline() <= now_)
          serve([this] { coordinator_->tick(now_); });
      });
  }

  void get_joining(std::size_t node, std::uint64_t connection, const std::string& bytes) {
    serve([&] {
      const auto joining = wire::decode_joining(bytes);
      if (!joining) throw Violation{joining.error().text()};
      const Joined joined = coordinator_->join(now_, reference_.name(node), *joining);
      if (!joined.verdict.counts()) {
        if (is_hostile(node)) return;
        throw Violation{"a node may not join: " + joined.verdict.text};
      }
      attached_[connection] = {node, joined.session, {}};
      send([this, node, connection] { get_order(node, connection, wire::encode(Order{})); });
    });
  }

  void get_update(std::size_t node, std::uint64_t life, const std::vector<std::string>& parts) {
    serve([&] {
      wire::UpdateReader reader;
      for (const std::string& part : parts)
        if (const auto taken = reader.take(part); !taken) throw Violation{taken.error().text()};
      const auto update = reader.finish();
      if (!update) throw Violation{update.error().text()};
      const Verdict verdict = coordinator_->submit(now_, reference_.name(node), *update);
      if (!is_hostile(node) && is_about_contents(verdict.reason))
        throw Violation{"an honest update was refused: " + verdict.text};
      send([this, node, life, ticket = update->ticket, bytes = wire::encode(verdict)] {
        get_verdict(node, life, ticket, bytes);
      });
    });
  }

  static bool is_about_contents(Reason reason) {
    return reason == Reason::kShape || reason == Reason::kWeight || reason == Reason::kNotFinite ||
           reason == Reason::kLoss || reason == Reason::kNorm;
  }

  // --- the nodes

  // What the hostile node sends in place of an update. It is honest before the first round.
  Update spoiled(Update update) {
    if (update.ticket.round == kPreparationRound) return update;
    const auto fill = [&](float value) {
      const std::size_t count = update.payload.size() / sizeof(float);
      update.payload = to_payload(std::vector<Vector<float>>{Vector<float>(count, value)});
    };
    switch (hostility_) {
      case Hostility::kNone: break;
      case Hostility::kHuge: fill(1e38F); break;
      case Hostility::kLarge: fill(1e10F); break;
      case Hostility::kNotFinite: update.losses.train_loss = std::numeric_limits<double>::quiet_NaN(); break;
      case Hostility::kZeros: fill(0); break;
      case Hostility::kHeavy: update.weight = std::uint64_t{1} << 32U; break;
      case Hostility::kImpossible: update.losses.train_loss = -1e308; break;
      case Hostility::kAbsurdLoss: update.losses.train_loss = 1e308; break;
      case Hostility::kAlternating:
        if (++turns_ % 2 == 1) fill(1e38F);
        break;
    }
    return update;
  }

  // The other end may notice, or not.
  void tell_broken(std::size_t node, std::uint64_t connection) {
    if (chance(0.5)) return;
    after(Time(1) + below(500), [this, node, connection] {
      Node& n = nodes_[node];
      if (n.up && n.connection == connection) hang_up(node);
    });
  }

  void hang_up(std::size_t node) {
    Node& n = nodes_[node];
    const std::uint64_t connection = std::exchange(n.connection, 0);
    n.participant.lost();
    n.busy = false;
    ++n.word;
    if (chance(0.5))
      after(Time(1) + below(500), [this, node, connection] {
        const auto attached = attached_.find(connection);
        if (attached == attached_.end()) return;
        const std::uint64_t session = attached->second.session;
        attached_.erase(attached);
        serve([&] { coordinator_->leave(now_, reference_.name(node), session); });
      });
    after(below(1'000), [this, node] { act(node); });
  }

  void crash_node(std::size_t node) {
    Node& n = nodes_[node];
    ++outcome_.node_crashes;
    const std::uint64_t life = n.life + 1;
    n = Node(reference_.trainer(node).weight());
    n.life = life;
    n.up = false;
    after(below(4'000), [this, node] {
      nodes_[node].up = true;
      act(node);
    });
  }

  // Does what the participant wants next.
  void act(std::size_t node) {
    Node& n = nodes_[node];
    if (!n.up || n.busy) return;
    switch (n.participant.next()) {
      case Participant::Next::kJoin: {
        n.busy = true;
        n.connection = ++connections_;
        n.reader.emplace(std::uint64_t{1} << 20U);
        Joining joining{kConfig, reference_.trainer(node).weight(), kColumns, 32};
        joining.schema.columns = kColumns;
        joining.schema.task = LabelTask::kRegression;
        if (is_hostile(node) && hostility_ == Hostility::kHeavy) joining.weight = std::uint64_t{1} << 32U;
        send([this, node, connection = n.connection, bytes = wire::encode(joining)] {
          get_joining(node, connection, bytes);
        });
        break;
      }
      case Participant::Next::kTrain: {
        n.busy = true;
        const Assignment task = n.participant.task();
        after(Time(1) + below(50), [this, node, task, life = n.life, connection = n.connection] {
          Node& trained = nodes_[node];
          if (trained.life != life || trained.connection != connection) return;
          trained.busy = false;
          if (trained.participant.next() == Participant::Next::kTrain &&
              trained.participant.task().ticket == task.ticket) {
            const Trained result = reference_.answer(node, task);
            trained.participant.trained(result.losses, result.blocks, result.payload);
          }
          act(node);
        });
        break;
      }
      case Participant::Next::kSubmit:
        n.busy = true;
        send([this, node, life = n.life,
              parts =
                  wire::encode(is_hostile(node) ? spoiled(n.participant.update()) : n.participant.update())] {
          get_update(node, life, parts);
        });
        break;
      case Participant::Next::kWait:
      case Participant::Next::kStop: break;
    }
    // A node that receives nothing for long reconnects.
    if (n.participant.next() != Participant::Next::kStop)
      after(Time(1'500) + below(1'500), [this, node, life = n.life, word = n.word] {
        if (nodes_[node].up && nodes_[node].life == life && nodes_[node].word == word) hang_up(node);
      });
  }

  bool hears(std::size_t node) {
    Node& n = nodes_[node];
    if (!n.up) return false;
    if (chance(faults_.node_crash)) {
      crash_node(node);
      return false;
    }
    if (chance(faults_.break_connection)) {
      hang_up(node);
      return false;
    }
    ++n.word;
    return true;
  }

  void get_order(std::size_t node, std::uint64_t connection, const std::vector<std::string>& messages) {
    Node& n = nodes_[node];
    if (!n.up || n.connection != connection || n.participant.ending() || !hears(node)) return;
    for (const std::string& message : messages) {
      auto order = n.reader->take(message);
      if (!order) throw Violation{order.error().text()};
      if (order->kind == Order::Kind::kNone && n.participant.next() == Participant::Next::kJoin) {
        n.participant.joined();
      } else if (order->kind != Order::Kind::kNone) {
        if (order->kind == Order::Kind::kTask && order->task.ticket.round > disk_.acknowledged() + 1)
          throw Violation{"a node was given a round before the one before it was committed"};
        n.participant.joined();
        n.participant.ordered(*std::move(order));
      }
    }
    n.busy = false;
    act(node);
  }

  void get_verdict(std::size_t node, std::uint64_t life, const Ticket& ticket, const std::string& bytes) {
    Node& n = nodes_[node];
    if (!n.up || n.life != life || n.participant.next() != Participant::Next::kSubmit ||
        n.participant.task().ticket != ticket || !hears(node))
      return;
    const auto verdict = wire::decode_verdict(bytes);
    if (!verdict) throw Violation{verdict.error().text()};
    n.participant.judged(*verdict);
    if (n.participant.refusal() && !is_hostile(node))
      throw Violation{"an honest node was refused: " + verdict->text};
    n.busy = false;
    act(node);
  }

  Reference& reference_;
  Faults faults_;
  Hostility hostility_;
  std::uint64_t turns_ = 0;
  std::size_t min_available_, quorum_;
  Outcome outcome_;
  Stream dice_;
  Disk disk_;
  Time now_{0};
  std::uint64_t number_ = 0, connections_ = 0;
  std::priority_queue<Event> events_;
  std::unique_ptr<Coordinator> coordinator_;
  std::map<std::uint64_t, Attached> attached_;
  std::vector<Node> nodes_;
};

}  // namespace

Outcome simulate(Reference& reference, const Faults& faults, std::size_t min_available_nodes,
                 std::size_t quorum, std::uint64_t seed, Hostility hostility) {
  return World(reference, faults, min_available_nodes, quorum, seed, hostility).run();
}

}  // namespace mfl::test
