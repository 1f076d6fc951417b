// The session state of a server, driven by plain threads in place of a transport, so that the thread sanitizer sees all of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "mfl/base/files.h"
#include "mfl/federation/participant.h"
#include "mfl/network/desk.h"
#include "reference.h"

namespace mfl::testing {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kChunk = 8;

std::size_t pieces(const Order& order) {
  return order.kind == Order::Kind::kTask ? 1 + (order.task.payload->size() + kChunk - 1) / kChunk : 1;
}

std::string encode(const Order& order, std::size_t number) {
  if (order.kind == Order::Kind::kDone) return fmt::format("done {} {}", order.status, order.digest);
  if (order.kind != Order::Kind::kTask) return "";
  const Assignment& task = order.task;
  if (number > 0) return task.payload->substr((number - 1) * kChunk, kChunk);
  return fmt::format("task {} {} {} {} {} {} {}", task.run_id, task.ticket.epoch, task.ticket.round,
                     task.ticket.attempt, task.steps, task.state_digest, task.payload->size());
}

// Puts orders together again.
class Decoder {
 public:
  Order take(const std::string& message) {
    if (missing_ == 0) return begin(message);
    payload_ += message;
    missing_ -= message.size();
    if (missing_ > 0) return {};
    task_.payload = std::make_shared<const std::string>(std::exchange(payload_, {}));
    return {Order::Kind::kTask, task_, {}, {}};
  }

 private:
  Order begin(const std::string& message) {
    std::istringstream words(message);
    std::string kind;
    if (!(words >> kind)) return {};
    if (kind == "done") {
      Order order{Order::Kind::kDone, {}, {}, {}};
      words >> order.status >> order.digest;
      return order;
    }
    words >> task_.run_id >> task_.ticket.epoch >> task_.ticket.round >> task_.ticket.attempt >>
        task_.steps >> task_.state_digest >> missing_;
    return {};
  }

  Assignment task_;
  std::string payload_;
  std::size_t missing_ = 0;
};

// A presence whose transport is a queue: what the desk asks for is done by the thread that reads it.
class QueuedPresence final : public Attendee {
 public:
  struct Event {
    MessageBytes message;        // a write, or null
    std::optional<CallEnd> end;  // the end of the call
  };

  using Attendee::Attendee;

  Event next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !events_.empty(); });
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void wait_for_cancel() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return cancelled_; });
  }

 private:
  void start_write(MessageBytes message) override { push({std::move(message), std::nullopt}); }
  void finish(const CallEnd& end) override { push({nullptr, end}); }
  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  void push(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  bool cancelled_ = false;
};

class PlainUpload final : public Upload {
 public:
  using Upload::Upload;

  // All of it, as a transport does; nothing when the desk ended the call.
  std::optional<Verdict> send(Desk& desk, const Update& update) {
    std::optional<Verdict> verdict;
    if (desk.begin(*this)) {
      Update received = update;
      received.payload = desk.room();
      if (desk.expected(*this, update.ticket) == update.payload.size()) received.payload.reserve(kChunk);
      received.payload += update.payload;
      const Verdict judged = desk.submit(*this, std::move(received), 0.001);
      if (desk.claim(*this)) {
        verdict = judged;
      } else {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return end_.has_value(); });
      }
      desk.gone(*this);
    }
    return verdict;
  }

 private:
  void finish(const CallEnd& end) override {
    const std::lock_guard lock(mutex_);
    end_ = end;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<CallEnd> end_;
};

class KeepingLog final : public RoundLog {
 public:
  Result<void> commit(const CommittedRound& round) override {
    rounds.push_back(round.round);
    return {};
  }
  Result<void> finish(const Ending& e) override {
    ending = e;
    return {};
  }
  std::vector<std::uint64_t> rounds;  // guarded by the desk, which makes one call at a time
  std::optional<Ending> ending;
};

// A desk over the real coordinator, with lists that may change.
class Session {
 public:
  Session(Reference& reference, std::size_t nodes)
      : folder_(TempFolder::make().value()), revoked_(folder_.path() / "revoked") {
    revoke("");
    CoordinatorOptions options;
    options.run_id = kRun;
    options.config_digest = kConfig;
    options.epoch = 7;
    options.steps = reference.steps();
    options.min_available_nodes = nodes;
    options.retry_pause = Time(1);
    ServerOptions server;
    server.admission.revoked = revoked_;
    server.measure = true;
    server.log = [this](const LogLine& line) { ++events[line.event]; };
    desk = std::make_unique<Desk>(make_coordinator<float>(reference.algorithm(), options, log), Plan{},
                                  server, OrderCodec{pieces, encode});
  }

  void revoke(const std::string& names) { EXPECT_TRUE(write_file(revoked_, names)); }

  // As the transport does for every call.
  Peer identify(const std::string& name) {
    Peer peer;
    peer.name = name;
    peer.serial = "01";
    peer.refusal = desk->refusal(peer);
    return peer;
  }

  KeepingLog log;
  std::map<std::string, int> events;  // no lock of its own: a log is called once at a time
  std::unique_ptr<Desk> desk;

 private:
  TempFolder folder_;
  std::filesystem::path revoked_;
};

// How often a node does what it should not, in percent of its tasks.
struct Manners {
  unsigned leave = 0, repeat = 0;
};

// A node on a thread of its own.
class ThreadedNode {
 public:
  ThreadedNode(Session& session, Reference& reference, std::size_t number, Manners manners)
      : session_(session),
        trainer_(reference.trainer(number)),
        name_(reference.name(number)),
        manners_(manners),
        dice_(static_cast<unsigned>(number + 1)),
        participant_(trainer_.weight()),
        thread_([this] { live(); }) {}
  ~ThreadedNode() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::string digest;  // of the end that it was told, once joined
  std::uint64_t leaves = 0;

 private:
  bool happens(unsigned percent) { return dice_() % 100 < percent; }

  void live() {
    while (!participant_.ending() && !stopped_) {
      attend();
      participant_.lost();
      std::this_thread::sleep_for(milliseconds(1));
    }
    if (!participant_.ending()) return;
    session_.desk->watch(session_.identify(name_));
    digest = participant_.ending()->digest;
  }

  void attend() {
    QueuedPresence presence(session_.identify(name_));
    std::vector<std::thread> others;
    Desk& desk = *session_.desk;
    desk.attend(presence, Joining{kConfig, trainer_.weight(), trainer_.columns(), trainer_.bits()});
    Decoder decoder;
    bool joined = false, left = false;
    for (;;) {
      const auto event = presence.next();
      if (event.end) {
        if (event.end->code == CallEnd::Code::kUnavailable) stopped_ = true;
        break;
      }
      const Order order = decoder.take(*event.message);
      if (!std::exchange(joined, true)) participant_.joined();
      desk.written(presence, !left);
      if (left) continue;
      participant_.ordered(order);
      if (order.kind != Order::Kind::kTask) continue;
      if (happens(manners_.leave)) {
        left = true;
        ++leaves;
        others.emplace_back([&] { desk.cancelled(presence); });
      }
      work(others);
    }
    for (std::thread& other : others) other.join();
    desk.gone(presence);
  }

  void work(std::vector<std::thread>& others) {
    if (participant_.next() == Participant::Next::kTrain) {
      Trained trained = trainer_.train(participant_.task()).value();
      participant_.trained(trained.loss, std::move(trained.payload));
    }
    if (participant_.next() != Participant::Next::kSubmit) return;
    const Update update = participant_.update();
    if (happens(manners_.repeat))
      others.emplace_back(
          [this, update] { PlainUpload(session_.identify(name_)).send(*session_.desk, update); });
    if (const auto verdict = PlainUpload(session_.identify(name_)).send(*session_.desk, update))
      participant_.judged(*verdict);
  }

  Session& session_;
  Trainer& trainer_;
  std::string name_;
  Manners manners_;
  std::mt19937 dice_;
  Participant participant_;
  bool stopped_ = false;
  std::thread thread_;
};

// Calls `what` again and again on a thread of its own.
class Repeated {
 public:
  Repeated(milliseconds pause, std::function<void()> what)
      : thread_([this, pause, what = std::move(what)] {
          while (!done_) {
            what();
            std::this_thread::sleep_for(pause);
          }
        }) {}
  ~Repeated() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

std::vector<std::uint64_t> up_to(std::uint64_t rounds) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t round = 1; round <= rounds; ++round) out.push_back(round);
  return out;
}

TEST(Session, ThreadsThatJoinSubmitRepeatLeaveAndWatchGiveTheResultOfTheSimulation) {
  constexpr std::size_t kNodes = 4;
  constexpr std::uint64_t kSteps = 80, kTau = 2;
  Reference reference(make_mfl(0.1, 0.5, kTau), kNodes, kSteps);
  const std::string expected = reference.final_digest();
  Session session(reference, kNodes);
  Desk& desk = *session.desk;
  std::uint64_t leaves = 0;
  {
    const Repeated ticker(milliseconds(1), [&] { desk.tick(); });
    const Repeated watcher(milliseconds(1), [&, last = std::uint64_t{0}]() mutable {
      const FederationStatus status = desk.status();
      EXPECT_GE(status.round, last) << "a round was lost";
      last = status.round;
      EXPECT_LE(desk.attending(), 20 * kNodes);
      EXPECT_FALSE(desk.failure());
      (void)desk.unaware();
      EXPECT_LE(desk.measured().answers.size(), desk.measured().asked);
    });
    int changes = 0;
    const Repeated lists(milliseconds(20), [&] {
      if (changes < 10) session.revoke(++changes % 2 == 1 ? "node-1\n" : "");
    });
    std::deque<ThreadedNode> nodes;
    for (std::size_t i = 0; i < kNodes; ++i)
      nodes.emplace_back(session, reference, i, Manners{.leave = 5, .repeat = 20});
    for (ThreadedNode& node : nodes) {
      node.join();
      EXPECT_EQ(node.digest, expected);
      leaves += node.leaves;
    }
  }
  EXPECT_EQ(session.log.rounds, up_to(kSteps / kTau));
  ASSERT_TRUE(session.log.ending);
  EXPECT_EQ(session.log.ending->summary.digest, expected);
  EXPECT_EQ(desk.status().digest, expected);
  EXPECT_EQ(desk.unaware(), 0U);
  EXPECT_EQ(desk.attending(), 0U);
  EXPECT_EQ(session.events["round"], static_cast<int>(kSteps / kTau));
  EXPECT_EQ(session.events["done"], 1);
  EXPECT_GT(leaves, 0U);
}

TEST(Session, NothingIsCommittedOnceItIsClosed) {
  constexpr std::size_t kNodes = 3;
  for (int i = 0; i < 10; ++i) {
    Reference reference(make_fl(0.1, 1), kNodes, 1'000'000);
    Session session(reference, kNodes);
    Desk& desk = *session.desk;
    const Repeated ticker(milliseconds(1), [&] { desk.tick(); });
    std::deque<ThreadedNode> nodes;
    for (std::size_t n = 0; n < kNodes; ++n)
      nodes.emplace_back(session, reference, n, Manners{.leave = 2, .repeat = 10});
    while (desk.status().round < 10) std::this_thread::sleep_for(milliseconds(1));
    desk.close();
    const FederationStatus closed = desk.status();
    for (ThreadedNode& node : nodes) node.join();
    const FederationStatus later = desk.status();
    EXPECT_EQ(later.round, closed.round);
    EXPECT_EQ(later.step, closed.step);
    EXPECT_EQ(later.abandoned, closed.abandoned);
    EXPECT_EQ(session.log.rounds, up_to(closed.round));
    EXPECT_EQ(desk.attending(), 0U);
  }
}

// The end of a presence waits for the write in progress; where the peer does not read, that write is cancelled.
TEST(Session, APresenceThatDoesNotReadIsCancelled) {
  Reference reference(make_fl(0.1, 1), 1, 10);
  Session session(reference, 1);
  Desk& desk = *session.desk;
  const Repeated ticker(milliseconds(1), [&] { desk.tick(); });
  QueuedPresence presence(session.identify("node-0"));
  desk.attend(presence, Joining{kConfig, 3, kColumns, 32});
  ASSERT_TRUE(presence.next().message);
  session.revoke("node-0\n");
  presence.wait_for_cancel();
  desk.written(presence, false);
  const auto last = presence.next();
  ASSERT_TRUE(last.end);
  EXPECT_EQ(last.end->code, CallEnd::Code::kDenied);
  desk.gone(presence);
  EXPECT_EQ(desk.attending(), 0U);
}

}  // namespace
}  // namespace mfl::testing
