// What goes wrong in a federation, and which model comes out: the rows of docs/failures.md that need no process. Sites train as real ones
// do; clock and connections are the test's.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "mfl/algorithm/algorithms.h"
#include "mfl/config/entries.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/trainer.h"
#include "tests/federation/keeping_log.h"

namespace mfl {
namespace {

using test::coordinator_options;
using test::KeepingLog;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::size_t kFeatures = 5, kTestRows = 1000;
constexpr std::uint64_t kFailureSteps = 40, kFailureTau = 4;

Algorithm momentum() { return make_mfl(0.2, 0.5, kFailureTau); }

struct Rows {
  std::vector<double> features, targets;

  static Rows draw(std::size_t count, std::uint64_t seed) {
    Stream stream(seed, Purpose::kSynthetic);
    Rows out;
    for (std::size_t i = 0; i < count; ++i) {
      double score = 0;
      for (std::size_t j = 0; j < kFeatures; ++j) {
        out.features.push_back(stream.normal());
        score += (j % 2 == 0 ? 1 : -1) * out.features.back();
      }
      out.targets.push_back(score > 0 ? 1 : 0);
    }
    return out;
  }
  Samples<float> samples() const {
    std::vector<float> numbers(features.begin(), features.end());
    return {Dataset{.rows = targets.size(),
                    .columns = kFeatures,
                    .scale = 1,
                    .features = DenseRows<float>{std::move(numbers)},
                    .labels = targets},
            targets};
  }
};

std::shared_ptr<const Model<float>> logistic() {
  ModelConfig config;
  config.name = "logistic";
  return entry_of(config).make<float>({.columns = kFeatures});
}

// A site: what it has, and what it makes of its updates.
struct Site {
  Rows rows;
  std::function<void(Update&)> spoil = {};
  std::function<bool(const Assignment&)> answers = [](const Assignment&) { return true; };
};

class Ward {
 public:
  explicit Ward(CoordinatorOptions options, std::vector<std::size_t> samples = {60, 60, 60, 60})
      : coordinator(make_coordinator<float>(momentum(), std::move(options), log)) {
    for (std::size_t i = 0; i < samples.size(); ++i)
      sites[std::string(1, static_cast<char>('a' + i))] = {Rows::draw(samples[i], i + 1)};
  }

  void join(const std::string& name) {
    const Site& site = sites.at(name);
    federations.try_emplace(
        name, Federation<float>{logistic(), site.rows.samples(), {{0, site.rows.targets.size()}}, {}});
    if (!trainers.contains(name))
      trainers[name] = make_trainer<float>(federations.at(name), Setting{momentum(), 0}, serial_workers());
    const Joined joined = coordinator->join(now, name, {"config", site.rows.targets.size(), kFeatures, 32});
    EXPECT_TRUE(joined.verdict.counts()) << joined.verdict.text;
    sessions[name] = joined.session;
  }
  void leave(const std::string& name) { coordinator->leave(now, name, sessions.at(name)); }
  void join_all() {
    for (const auto& [name, site] : sites) join(name);
  }

  // Everybody who is asked and answers does so, in order; then time passes.
  void step() {
    for (auto& [name, session] : sessions) {
      const Site& site = sites.at(name);
      const Order order = coordinator->order_for(name, session, answered[name]);
      if (order.kind == Order::Kind::kEnded) join(name);  // it missed a deadline
      if (order.kind != Order::Kind::kTask || !site.answers(order.task)) continue;
      answered[name] = order.task.ticket;
      Trained trained = trainers.at(name)->train(order.task).value();
      Update update{order.task.run_id, order.task.ticket,         site.rows.targets.size(),
                    trained.losses,    std::move(trained.blocks), std::move(trained.payload)};
      update.base = order.task.state_digest;
      if (site.spoil && order.task.steps != 0) site.spoil(update);
      (void)coordinator->submit(now, name, std::move(update));
    }
    now += Time(200);
    coordinator->tick(now);
  }
  std::string run() {
    if (sessions.empty()) join_all();
    constexpr int kMost = 2000;
    for (int i = 0; i < kMost && !coordinator->over(); ++i) step();
    EXPECT_EQ(status().phase, "done") << status().trouble;
    return status().digest;
  }

  FederationStatus status() const { return coordinator->status(); }
  double accuracy() const {
    static const Samples<float> test = Rows::draw(kTestRows, 99).samples();
    const auto state = decode_round<float>(log.rounds.back().blob).value().state;
    const auto found = logistic()->evaluate(test, {0, kTestRows}, 0, state.w().data());
    return static_cast<double>(found.correct) / static_cast<double>(kTestRows);
  }

  Time now{0};
  KeepingLog log;
  std::unique_ptr<Coordinator> coordinator;
  std::map<std::string, Site> sites;
  std::map<std::string, Federation<float>> federations;
  std::map<std::string, std::unique_ptr<Trainer>> trainers;
  std::map<std::string, std::uint64_t> sessions;
  std::map<std::string, Ticket> answered;
};

CoordinatorOptions quorum_of_three() { return coordinator_options(kFailureSteps, 3, 3); }
CoordinatorOptions everybody(std::size_t nodes = 4) { return coordinator_options(kFailureSteps, nodes); }

// The model of the sites a, b and c.
std::string digest_without_d() {
  static const std::string digest = Ward(quorum_of_three(), {60, 60, 60}).run();
  return digest;
}
std::string digest_of_all() {
  static const std::string digest = Ward(everybody()).run();
  return digest;
}

// The last number of the last vector, after all others were added.
void spoil_the_end(Update& update, float value) {
  std::memcpy(update.payload.data() + update.payload.size() - sizeof value, &value, sizeof value);
}

TEST(Failures, AnUpdateThatIsRefusedHalfWayLeavesNoTrace) {
  Ward ward(quorum_of_three());
  ward.sites["d"].spoil = [](Update& u) { spoil_the_end(u, std::numeric_limits<float>::infinity()); };
  EXPECT_EQ(ward.run(), digest_without_d());
  EXPECT_GT(ward.status().refused[static_cast<std::size_t>(Reason::kNotFinite)], 0U);
}

TEST(Failures, AnUpdateOfNaNCostsTheSiteItsPart) {
  for (const bool quorum : {true, false}) {
    Ward ward(quorum ? quorum_of_three() : everybody());
    ward.sites["d"].spoil = [](Update& u) { u.losses.train_loss = std::nan(""); };
    EXPECT_EQ(ward.run(), digest_without_d()) << (quorum ? "" : "set aside after three attempts");
    EXPECT_EQ(ward.status().standings.front().name, "d");
    EXPECT_EQ(ward.status().abandoned, quorum ? 0U : 3U);
  }
}

TEST(Failures, ASiteThatDoesNotSayItsCountIsNoMember) {
  Ward ward(quorum_of_three());
  for (const char* name : {"a", "b", "c"}) ward.join(name);
  EXPECT_EQ(ward.coordinator->join(ward.now, "d", {"config", 0, kFeatures, 32}).verdict.reason,
            Reason::kWeight);
  EXPECT_EQ(ward.run(), digest_without_d());

  Ward lying(quorum_of_three());
  lying.sites["d"].spoil = [](Update& u) { u.weight = 0; };
  EXPECT_EQ(lying.run(), digest_without_d());
  EXPECT_GT(lying.status().refused[static_cast<std::size_t>(Reason::kWeight)], 0U);
}

// A deadline is five steps away.
TEST(Failures, ASlowSiteIsLeftOutOfRoundsWithAQuorumAndWaitedForWithout) {
  Ward with(quorum_of_three());
  with.sites["d"].answers = [](const Assignment&) { return false; };
  EXPECT_EQ(with.run(), digest_without_d());
  Ward without(everybody());
  without.sites["d"].answers = [waited = 0](const Assignment& task) mutable {
    constexpr int kLate = 8;
    return task.ticket.round != 2 || ++waited > kLate;
  };
  EXPECT_EQ(without.run(), digest_of_all());
  EXPECT_EQ(without.status().abandoned, 1U);
}

TEST(Failures, WithoutTheSiteThatHasMostSamplesTheOthersContinueWithAQuorumAndWaitWithout) {
  const std::vector<std::size_t> sizes = {600, 60, 60};
  const std::string all = Ward(everybody(3), sizes).run();
  Ward without(everybody(3), sizes);
  without.join_all();
  for (int i = 0; i < 3; ++i) without.step();
  without.leave("a");
  without.sessions.erase("a");
  const std::uint64_t round = without.status().round;
  for (int i = 0; i < 50; ++i) without.step();
  EXPECT_EQ(without.status().round, round);
  EXPECT_EQ(without.status().phase, "waiting");
  without.join("a");
  EXPECT_EQ(without.run(), all);

  Ward with(coordinator_options(kFailureSteps, 2, 2), sizes);
  with.join_all();
  for (int i = 0; i < 3; ++i) with.step();
  EXPECT_THAT(with.status().warnings, Contains(HasSubstr("a has")));
  with.leave("a");
  with.sessions.erase("a");
  EXPECT_NE(with.run(), all) << "rounds after it are the mean of the other two";
  EXPECT_GT(with.accuracy(), 0.9);
}

TEST(Failures, AnEvaluationAfterTheLastRoundThatFailsIsAskedForAgain) {
  Ward ward(everybody());
  for (auto& [name, site] : ward.sites) site.answers = [](const Assignment& task) { return task.steps != 0; };
  ward.join_all();
  for (int i = 0; i < 100; ++i) ward.step();
  EXPECT_EQ(ward.status().phase, "closing");
  EXPECT_EQ(ward.status().step, kFailureSteps) << "the model is committed";
  EXPECT_GT(ward.status().abandoned, 0U);
  EXPECT_FALSE(ward.log.ending);
  for (auto& [name, site] : ward.sites) site.answers = [](const Assignment&) { return true; };
  EXPECT_EQ(ward.run(), digest_of_all());
}

TEST(Failures, AClockThatJumpsChangesNothing) {
  Ward ward(everybody());
  ward.join_all();
  for (int i = 0; i < 3; ++i) ward.step();
  const std::uint64_t round = ward.status().round;
  ward.now -= std::chrono::hours(1);
  ward.step();
  EXPECT_GT(ward.status().round, round) << "earlier times count as the latest";
  ward.now += std::chrono::hours(24);
  EXPECT_EQ(ward.run(), digest_of_all());
}

TEST(Failures, ADiskThatIsFullEndsTheRunAtTheLastRoundThatIsOnDisk) {
  Ward ward(everybody());
  ward.join_all();
  for (int i = 0; i < 3; ++i) ward.step();
  const std::size_t committed = ward.log.rounds.size();
  ward.log.broken = true;
  for (int i = 0; i < 5; ++i) ward.step();
  EXPECT_EQ(ward.status().phase, "failed");
  EXPECT_EQ(ward.status().round, committed);
  EXPECT_THAT(ward.coordinator->failure()->text(), HasSubstr("disk full"));
}

// Within what is usual: no rule sees it, a robust mean bears it.
TEST(Failures, InvertedLabelsOfOneSiteAreInTheMeanAndNotInTheMedian) {
  const auto inverted = [](const std::string& aggregator) {
    CoordinatorOptions options = everybody(5);
    options.aggregator = make_aggregator(aggregator).value();
    Ward ward(options, {60, 60, 60, 60, 60});
    for (double& target : ward.sites["e"].rows.targets) target = 1 - target;
    ward.run();
    EXPECT_TRUE(ward.status().standings.empty()) << "nobody is blamed";
    EXPECT_TRUE(ward.status().warnings.empty());
    return std::pair(ward.accuracy(), ward.status().losses.train_loss.value());
  };
  Ward clean(everybody(5), {60, 60, 60, 60, 60});
  clean.run();
  EXPECT_GT(inverted("mean").second, clean.status().losses.train_loss.value() + 0.1);
  EXPECT_GT(inverted("median").first, clean.accuracy() - 0.02);
}

// Millimetres in place of metres: its gradients are a thousand times as large.
TEST(Failures, OtherUnitsOfOneSiteAreRefusedByTheNormOfItsUpdates) {
  Ward ward(quorum_of_three());
  for (double& x : ward.sites["d"].rows.features) x *= 1000;
  EXPECT_EQ(ward.run(), digest_without_d());
  EXPECT_GT(ward.status().refused[static_cast<std::size_t>(Reason::kNorm)], 0U);
  EXPECT_EQ(ward.status().standings.front().name, "d");
}

}  // namespace
}  // namespace mfl
