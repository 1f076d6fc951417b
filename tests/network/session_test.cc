// The session state of a server, driven by plain threads in place of a transport, so that the thread sanitizer sees all of it.
#include "mfl/network/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "mfl/algorithm/algorithms.h"
#include "mfl/base/files.h"
#include "mfl/federation/participant.h"
#include "mfl/network/session_thread.h"
#include "reference.h"

namespace mfl::test {
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
  std::string out = fmt::format("task {} {} {} {} {} {} {} {}", task.run_id, task.ticket.epoch,
                                task.ticket.round, task.ticket.attempt, static_cast<int>(task.work),
                                task.steps, task.state_digest, task.payload->size());
  for (const Block& block : task.blocks)
    out += fmt::format(" {} {} {}", block.name, block.encoding, block.numbers);
  return out;
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
    int work = 0;
    words >> task_.run_id >> task_.ticket.epoch >> task_.ticket.round >> task_.ticket.attempt >> work >>
        task_.steps >> task_.state_digest >> missing_;
    task_.work = static_cast<Work>(work);
    task_.blocks.clear();
    for (Block block; words >> block.name >> block.encoding >> block.numbers;) task_.blocks.push_back(block);
    return {};
  }

  Assignment task_;
  std::string payload_;
  std::size_t missing_ = 0;
};

// A presence whose transport is a queue: what the session asks for is done by the thread that reads it.
class QueuedPresence final : public Attendee {
 public:
  struct Event {
    std::shared_ptr<Messages> order;  // to send, or null
    std::optional<CallStatus> end;    // of the call
  };

  using Attendee::Attendee;

  Event next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !events_.empty(); });
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  void send(std::shared_ptr<Messages> order) override { push({std::move(order), std::nullopt}); }
  void finish(const CallStatus& status) override { push({nullptr, status}); }
  void push(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
};

class PlainUpload final : public Upload {
 public:
  using Upload::Upload;

  // All of it, as a transport does; nothing when the session ended the call.
  static std::optional<Verdict> send(const std::string& node, Session& session, SessionThread& thread,
                                     const Update& update) {
    const auto upload = std::make_shared<PlainUpload>(Peer{node, "01", {}});
    auto received = std::make_shared<Update>(update);
    received->payload = session.buffer();
    if (session.expected(node, update.ticket) == update.payload.size()) received->payload.reserve(kChunk);
    received->payload += update.payload;
    thread.post([upload, ticket = update.ticket](Session& s) {
      s.begin(*upload);
      s.expects(*upload, ticket);
    });
    thread.post([upload, received](Session& s) { s.submit(*upload, std::move(*received), 0.001); });
    std::optional<Verdict> verdict;
    {
      std::unique_lock lock(upload->mutex_);
      upload->ended_.wait(lock, [&] { return upload->over_; });
      verdict = upload->verdict_;
    }
    thread.post([upload](Session& s) { s.gone(*upload); });
    return verdict;
  }

 private:
  void answer(const Verdict& verdict) override { end(verdict); }
  void finish(const CallStatus&) override { end(std::nullopt); }
  void end(std::optional<Verdict> verdict) {
    const std::lock_guard lock(mutex_);
    verdict_ = std::move(verdict);
    over_ = true;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::optional<Verdict> verdict_;
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
  std::vector<std::uint64_t> rounds;  // of the session's thread
  std::optional<Ending> ending;
};

// A session over the real coordinator, on its thread.
class Served {
 public:
  Served(Reference& reference, std::size_t nodes) {
    CoordinatorOptions options;
    options.run_id = kRun;
    options.config_digest = kConfig;
    options.epoch = 7;
    options.steps = reference.steps();
    options.min_available_nodes = nodes;
    options.retry_pause = Time(1);
    ServerOptions server;
    server.measure = true;
    server.log = [this](const LogLine& line) { ++events[line.event]; };
    session = std::make_unique<Session>(make_coordinator<float>(reference.algorithm(), options, log), Plan{},
                                        server, OrderCodec{pieces, encode});
    thread = std::make_unique<SessionThread>(*session);
  }

  KeepingLog log;
  std::map<std::string, int> events;  // no lock of its own: a log is called once at a time
  std::unique_ptr<Session> session;
  std::unique_ptr<SessionThread> thread;
};

// How often a node does what it should not, in percent of its tasks.
struct Manners {
  unsigned leave = 0, repeat = 0;
};

// A node on a thread of its own.
class ThreadedNode {
 public:
  ThreadedNode(Served& served, Reference& reference, std::size_t number, Manners manners)
      : served_(served),
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
    served_.thread->post([name = name_](Session& session) { session.heard({name, "01", {}}); });
    digest = participant_.ending()->digest;
  }

  void attend() {
    const auto presence = std::make_shared<QueuedPresence>(Peer{name_, "01", {}});
    std::vector<std::thread> others;
    SessionThread& thread = *served_.thread;
    thread.post(
        [presence, joining = Joining{kConfig, trainer_.weight(), trainer_.columns(), trainer_.bits()}](
            Session& session) { session.attend(*presence, joining); });
    for (bool joined = false;;) {
      const auto event = presence->next();
      if (event.end) {
        if (event.end->code == StatusCode::kUnavailable) stopped_ = true;
        break;
      }
      Decoder decoder;
      Order order;
      for (std::size_t i = 0; i < event.order->size(); ++i) order = decoder.take(*event.order->at(i));
      if (!std::exchange(joined, true)) participant_.joined();
      if (presence->order_sent()) thread.post([presence](Session& session) { session.sent(*presence); });
      participant_.ordered(order);
      if (order.kind != Order::Kind::kTask) continue;
      const bool leaves_now = happens(manners_.leave);
      if (leaves_now)
        others.emplace_back([&] { thread.post([presence](Session& s) { s.gone(*presence); }); });
      work(others);
      if (leaves_now) {
        ++leaves;
        break;
      }
    }
    for (std::thread& other : others) other.join();
    thread.post([presence](Session& session) { session.gone(*presence); });
  }

  void work(std::vector<std::thread>& others) {
    if (participant_.next() == Participant::Next::kTrain) {
      Trained trained = trainer_.train(participant_.task()).value();
      participant_.trained(trained.losses, std::move(trained.blocks), std::move(trained.payload));
    }
    if (participant_.next() != Participant::Next::kSubmit) return;
    const Update update = participant_.update();
    if (happens(manners_.repeat))
      others.emplace_back(
          [this, update] { PlainUpload::send(name_, *served_.session, *served_.thread, update); });
    if (const auto verdict = PlainUpload::send(name_, *served_.session, *served_.thread, update))
      participant_.judged(*verdict);
  }

  Served& served_;
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
  Served served(reference, kNodes);
  Session& session = *served.session;
  std::uint64_t leaves = 0;
  {
    const Repeated ticker(milliseconds(1), [&] { served.thread->post([](Session& s) { s.tick(); }); });
    const Repeated watcher(milliseconds(1), [&, last = std::uint64_t{0}]() mutable {
      const FederationStatus status = session.status();
      EXPECT_GE(status.round, last) << "a round was lost";
      last = status.round;
      EXPECT_LE(session.attending(), 20 * kNodes);
      EXPECT_FALSE(session.failure());
      (void)session.unaware();
      const auto measured = session.measured();
      EXPECT_LE(measured.answers.size(), measured.asked);
    });
    const Repeated lists(milliseconds(5), [&] {
      served.thread->post([](Session& s) { s.admitted(kNodes); });
      EXPECT_LE(session.serials().size(), kNodes);
      EXPECT_LE(session.status(true).node_list.size(), kNodes);
      (void)session.plan();
    });
    std::deque<ThreadedNode> nodes;
    for (std::size_t i = 0; i < kNodes; ++i)
      nodes.emplace_back(served, reference, i, Manners{.leave = 5, .repeat = 20});
    for (ThreadedNode& node : nodes) {
      node.join();
      EXPECT_EQ(node.digest, expected);
      leaves += node.leaves;
    }
  }
  served.thread->wait();
  EXPECT_EQ(served.log.rounds, up_to(kSteps / kTau));
  ASSERT_TRUE(served.log.ending);
  EXPECT_EQ(served.log.ending->summary.digest, expected);
  EXPECT_EQ(session.status().digest, expected);
  EXPECT_EQ(session.unaware(), 0U);
  EXPECT_EQ(session.attending(), 0U);
  EXPECT_EQ(served.events["round"], static_cast<int>(kSteps / kTau));
  EXPECT_EQ(served.events["done"], 1);
  EXPECT_GT(leaves, 0U);
}

TEST(Session, NothingIsCommittedOnceItIsClosed) {
  constexpr std::size_t kNodes = 3;
  for (int i = 0; i < 10; ++i) {
    Reference reference(make_fl(0.1, 1), kNodes, 1'000'000);
    Served served(reference, kNodes);
    Session& session = *served.session;
    const Repeated ticker(milliseconds(1), [&] { served.thread->post([](Session& s) { s.tick(); }); });
    std::deque<ThreadedNode> nodes;
    for (std::size_t n = 0; n < kNodes; ++n)
      nodes.emplace_back(served, reference, n, Manners{.leave = 2, .repeat = 10});
    while (session.status().round < 10) std::this_thread::sleep_for(milliseconds(1));
    served.thread->post([](Session& s) { s.close(); });
    served.thread->wait();
    const FederationStatus closed = session.status();
    for (ThreadedNode& node : nodes) node.join();
    served.thread->wait();
    const FederationStatus later = session.status();
    EXPECT_EQ(later.round, closed.round);
    EXPECT_EQ(later.step, closed.step);
    EXPECT_EQ(later.abandoned, closed.abandoned);
    EXPECT_EQ(served.log.rounds, up_to(closed.round));
    EXPECT_EQ(session.attending(), 0U);
  }
}

// A commit that takes long keeps nobody from reading the status.
class SlowLog final : public RoundLog {
 public:
  Result<void> commit(const CommittedRound&) override {
    committing = true;
    std::this_thread::sleep_for(milliseconds(300));
    return {};
  }
  Result<void> finish(const Ending&) override { return {}; }
  std::atomic<bool> committing{false};
};

TEST(Session, ASlowCommitKeepsNobodyFromReadingTheStatus) {
  Reference reference(make_fl(0.1, 1), 1, 10);
  SlowLog log;
  CoordinatorOptions options;
  options.run_id = kRun;
  options.config_digest = kConfig;
  options.steps = reference.steps();
  Session session(make_coordinator<float>(reference.algorithm(), options, log), Plan{}, {}, {pieces, encode});
  SessionThread thread(session);
  const auto presence = std::make_shared<QueuedPresence>(Peer{"node-0", "01", {}});
  thread.post([&](Session& s) {
    s.attend(*presence, Joining{kConfig, reference.trainer(0).weight(), reference.trainer(0).columns(), 32});
  });
  ASSERT_TRUE(presence->next().order);
  presence->order_sent();
  thread.post([&](Session& s) { s.sent(*presence); });
  const Assignment task = presence->next().order->order().task;
  Trained trained = reference.trainer(0).train(task).value();
  const auto upload = std::make_shared<PlainUpload>(Peer{"node-0", "01", {}});
  thread.post([&](Session& s) {
    s.begin(*upload);
    s.submit(*upload,
             {.run_id = kRun,
              .ticket = task.ticket,
              .weight = reference.trainer(0).weight(),
              .losses = trained.losses,
              .blocks = trained.blocks,
              .payload = trained.payload,
              .base = task.state_digest},
             0);
  });
  while (!log.committing) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(session.status(true).round, 0U) << "the status waits for the commit";
  EXPECT_EQ(session.plan(), Plan{});
  thread.wait();
  EXPECT_EQ(session.status().round, 1U);
  thread.post([&](Session& s) {
    s.gone(*upload);
    s.gone(*presence);
  });
  thread.stop();
}

}  // namespace
}  // namespace mfl::test
