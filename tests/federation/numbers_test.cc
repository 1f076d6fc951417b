// What a coordinator believes of a node's numbers, and what it does about nodes that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "mfl/algorithm/algorithms.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/update_limits.h"
#include "tests/federation/keeping_log.h"

namespace mfl {
namespace {

using test::coordinator_options;
using test::KeepingLog;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kPopulationColumns = 3;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Answer = std::function<void(Update&)>;

// Some nodes of a run with one vector of three numbers. Every node adds 1 to each number unless it is told otherwise.
class Population {
 public:
  Population(CoordinatorOptions o, const std::vector<std::string>& names,
             std::optional<Resumption<double>> from = std::nullopt)
      : coordinator(make_coordinator<double>(make_fl(0.1, 2), std::move(o), log, std::move(from))) {
    for (const std::string& name : names) join(name);
  }

  Joined join(const std::string& node, std::uint64_t weight = 1, std::uint64_t instance = 0) {
    const Joined joined =
        coordinator->join(now, node, {"config", weight, kPopulationColumns, 64, {}, instance});
    if (joined.session != 0) sessions[node] = joined.session;
    return joined;
  }

  Verdict answer(const std::string& node, const Answer& change = {}) {
    const Order order = coordinator->order_for(node, sessions[node], {});
    if (order.kind != Order::Kind::kTask) return {Reason::kNotChosen, "no task"};
    auto vectors = from_payload<double>(*order.task.payload, std::vector<std::size_t>{kPopulationColumns});
    for (double& x : vectors[0]) x += 1;
    Update update{order.task.run_id, order.task.ticket, 1, 0.5};
    update.base = order.task.state_digest;
    if (order.task.steps != 0) {
      update.blocks = order.task.blocks;
      update.payload = to_payload(vectors);
    }
    if (change) change(update);
    return coordinator->submit(now, node, update);
  }

  // One attempt: all who are asked answer, the bad one first.
  void attempt(const std::string& bad = "", const Answer& change = {}) {
    if (!bad.empty()) answer(bad, change);
    for (const auto& [node, session] : sessions)
      if (node != bad) answer(node);
    now += Time(100);
    coordinator->tick(now);
  }

  Time now{0};
  KeepingLog log;
  std::unique_ptr<Coordinator> coordinator;
  std::map<std::string, std::uint64_t> sessions;
};

Answer vectors_of(double value) {
  return [value](Update& u) {
    u.payload = to_payload(std::vector<Vector<double>>{Vector<double>(kPopulationColumns, value)});
  };
}
Answer loss_of(double value) {
  return [value](Update& u) { u.losses.train_loss = value; };
}

TEST(Numbers, EveryReasonIsNamedCountedAndCostsOnlyItsSender) {
  struct Case {
    Reason reason;
    Answer change;
    const char* text;
  };
  const Case cases[] = {
      {Reason::kWeight, [](Update& u) { u.weight = 3; }, "3 samples, 1 when it joined"},
      {Reason::kShape, [](Update& u) { u.payload.pop_back(); }, "bytes of vectors"},
      {Reason::kNotFinite, loss_of(kNan), "the loss is not finite"},
      {Reason::kNotFinite, vectors_of(kNan), "w[0] is not finite"},
      {Reason::kLoss, loss_of(-1e308), "never below 0"},
      {Reason::kLoss, loss_of(-1e-300), "never below 0"},
      {Reason::kLoss, loss_of(1e308), "the loss is 1e+308"},
      {Reason::kLoss, loss_of(1e9), "at most 1.5e+06 is accepted"},
      {Reason::kNorm, vectors_of(1e200), "w is inf from the broadcast one"},
      {Reason::kNorm, vectors_of(1e3), "at most 173.205 is accepted"},
      {Reason::kNorm, vectors_of(-1e3), "at most 173.205 is accepted"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.text);
    Population population(coordinator_options(400, 4, 2), {"a", "b", "c", "mallory"});
    population.attempt();
    ASSERT_EQ(population.log.rounds.size(), 1U);
    const Verdict verdict = population.answer("mallory", test.change);
    EXPECT_EQ(verdict.reason, test.reason);
    EXPECT_THAT(verdict.text, HasSubstr(test.text));
    for (const char* node : {"a", "b", "c"}) EXPECT_TRUE(population.answer(node).counts());
    ASSERT_EQ(population.log.rounds.size(), 2U);
    EXPECT_THAT(population.log.rounds[1].nodes, ElementsAre("a", "b", "c"));
    EXPECT_EQ(decode_round<double>(population.log.rounds[1].blob)->state.w(),
              Vector<double>(kPopulationColumns, 2));
    const FederationStatus status = population.coordinator->status();
    EXPECT_EQ(status.refused[static_cast<std::size_t>(test.reason)], 1U);
    EXPECT_EQ(status.standings, (std::vector<NodeStanding>{{"mallory", 1, {}}}));
  }
}

TEST(Numbers, AModelWhoseLossMayBeNegativeSaysSo) {
  CoordinatorOptions o = coordinator_options(400, 1);
  o.least_loss = -2;
  Population population(o, {"a"});
  EXPECT_TRUE(population.answer("a", loss_of(-1.5)).counts());
  EXPECT_EQ(population.answer("a", loss_of(-2.5)).reason, Reason::kLoss);
}

TEST(Numbers, AnOperatorMayBoundTheUpdateNorm) {
  CoordinatorOptions o = coordinator_options(400, 3, 2);
  o.max_update_norm = 10;
  Population population(o, {"a", "b", "mallory"});
  EXPECT_THAT(population.answer("mallory", vectors_of(6)).text, HasSubstr("max_update_norm is 10"));
  population.answer("a", vectors_of(5));
  population.answer("b");
  EXPECT_EQ(population.log.rounds.size(), 1U);
}

TEST(Numbers, SampleCountsAreLimitedAndAHeavyNodeIsAWarning) {
  CoordinatorOptions o = coordinator_options(400, 3);
  o.max_samples = 100;
  Population population(o, {"a", "b"});
  const Joined refused = population.join("mallory", 101);
  EXPECT_EQ(refused.verdict.reason, Reason::kWeight);
  EXPECT_THAT(refused.verdict.text, HasSubstr("101 samples: max_samples of this server is 100"));
  EXPECT_THAT(population.coordinator->status().warnings, IsEmpty());
  EXPECT_TRUE(population.join("c", 100).verdict.counts());
  EXPECT_THAT(population.coordinator->status().warnings,
              ElementsAre(HasSubstr("node c has 98 % of the samples")));
}

// Before the first commit there is nothing to compare with but the other updates.
TEST(Numbers, TheFirstRoundComparesUpdatesWithEachOther) {
  Population population(coordinator_options(400, 4, 3), {"a", "b", "c", "mallory"});
  population.attempt("mallory", vectors_of(1e10));
  EXPECT_THAT(population.log.rounds, IsEmpty());
  EXPECT_THAT(population.coordinator->status().trouble,
              HasSubstr("far larger than the others', from mallory"));
  EXPECT_EQ(population.answer("mallory", vectors_of(1e10)).reason, Reason::kNorm);
  for (const char* node : {"a", "b", "c"}) population.answer(node);
  ASSERT_EQ(population.log.rounds.size(), 1U);
  EXPECT_EQ(decode_round<double>(population.log.rounds[0].blob)->state.w(),
            Vector<double>(kPopulationColumns, 1));
}

TEST(Numbers, TheLimitsSurviveARestart) {
  Population before(coordinator_options(400, 3, 2), {"a", "b", "mallory"});
  before.attempt();
  auto kept = decode_round<double>(before.log.rounds.back().blob).value();
  EXPECT_THAT(kept.history.moves, ElementsAre(std::sqrt(3.0)));
  EXPECT_EQ(kept.history.loss, 0.5);
  Population after(coordinator_options(400, 3, 2), {"a", "b", "mallory"}, kept);
  EXPECT_EQ(after.answer("mallory", vectors_of(1e3)).reason, Reason::kNorm);
  kept.history = {};  // as an earlier version wrote it
  Population old(coordinator_options(400, 3, 2), {"a", "b", "mallory"}, kept);
  EXPECT_EQ(old.answer("mallory", vectors_of(1e3)).reason, Reason::kNone);
  old.attempt();
  EXPECT_THAT(old.coordinator->status().trouble, HasSubstr("from mallory"));
}

TEST(Numbers, ARoundWithAndWithoutAHistoryKeepsItsBytes) {
  State<double> state = initial_state<double>(make_mfl(0.1, 0.5, 2), kPopulationColumns);
  const SizeHistory none, some{{1.5, 2.5}, 0.25};
  const CountedRounds nobody, two{{"a b", 3}, {"c", 12}};
  for (const auto& [history, counted] : {std::pair{none, nobody}, {some, nobody}, {none, two}, {some, two}}) {
    const std::string bytes = encode_round(state, 11, 12, history, counted);
    const auto round = decode_round<double>(bytes).value();
    EXPECT_EQ(round.history, history);
    EXPECT_EQ(round.counted, counted);
    EXPECT_EQ(round.terms, RoundTerms{});
    EXPECT_EQ(encode_round(round.state, round.bytes_up, round.bytes_down, round.history, round.counted),
              bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string torn = bytes;
      torn[i] ^= 0x10;
      EXPECT_FALSE(decode_round<double>(torn)) << i;
      EXPECT_FALSE(decode_round<double>(bytes.substr(0, i))) << i;
    }
  }
}

TEST(Numbers, ARoundKeepsItsChoiceAndItsTime) {
  State<double> state = initial_state<double>(make_mfl(0.1, 0.5, 2), kPopulationColumns);
  const RoundChoice choice{7, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5};
  const RoundTime time{10.5, 1.25, 1, 0.5, 4, 1, 2};
  for (const RoundTerms& terms :
       {RoundTerms{.choice = choice}, RoundTerms{.time = time}, RoundTerms{.choice = choice, .time = time}})
    for (const CountedRounds& counted : {CountedRounds{}, CountedRounds{{"a b", 3}}}) {
      const std::string bytes = encode_round(state, 11, 12, {{1.5}, 0.25}, counted, terms);
      const auto round = decode_round<double>(bytes).value();
      EXPECT_EQ(round.terms, terms);
      EXPECT_EQ(round.counted, counted);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string torn = bytes;
        torn[i] ^= 0x10;
        EXPECT_FALSE(decode_round<double>(torn)) << i;
        EXPECT_FALSE(decode_round<double>(bytes.substr(0, i))) << i;
      }
    }
}

TEST(Numbers, AnHonestMajorityBeyondTheLimitsRaisesThem) {
  Population population(coordinator_options(400, 3), {"a", "b", "c"});
  population.attempt();
  for (const char* node : {"a", "b"}) population.answer(node, vectors_of(1e6));
  EXPECT_THAT(population.coordinator->status().trouble, HasSubstr("the limits are raised"));
  EXPECT_EQ(population.coordinator->status().quarantined, 0U);
  for (const char* node : {"a", "b", "c"}) EXPECT_TRUE(population.answer(node, vectors_of(1e6)).counts());
  EXPECT_EQ(population.log.rounds.size(), 2U);
}

// An honest run that grows without bound ends as diverged, at the numbers where it always did.
TEST(Numbers, AnHonestRunThatGrowsEndsAsDiverged) {
  for (const double growth : {3.0, 1e4, 1e40}) {
    CoordinatorOptions o = coordinator_options(400, 3);
    o.steps = 1'000'000;
    Population population(o, {"a", "b", "c"});
    double size = 1;
    for (int i = 0; i < 4000 && !population.coordinator->over(); ++i) {
      const std::size_t before = population.log.rounds.size();
      for (const auto& [node, session] : population.sessions)
        population.answer(node, [&](Update& u) {
          vectors_of(size)(u);
          u.losses.train_loss = size > 1e150 ? kNan : size;
        });
      population.now += Time(100);
      population.coordinator->tick(population.now);
      if (population.log.rounds.size() > before) size *= growth;
    }
    ASSERT_TRUE(population.log.ending) << growth;
    EXPECT_EQ(population.log.ending->status, RunStatus::kDiverged);
    EXPECT_GT(size, 1e150);
  }
}

TEST(Divergence, OneNotFiniteAnswerOfTheOnlyNodeChosenDoesNotEndTheRun) {
  CoordinatorOptions o = coordinator_options(400, 3);
  o.fraction_train = 0.34;
  Population population(o, {"a", "b", "mallory"});
  for (int i = 0; i < 60; ++i) population.attempt("mallory", loss_of(kNan));
  EXPECT_FALSE(population.coordinator->over());
  EXPECT_GT(population.log.rounds.size(), 20U);
  for (const CommittedRound& round : population.log.rounds)
    EXPECT_THAT(round.nodes, ::testing::Not(::testing::Contains("mallory")));
}

TEST(Divergence, MostNodesOverSeveralAttemptsEndTheRun) {
  CoordinatorOptions o = coordinator_options(400, 3);
  o.fraction_train = 0.34;
  Population population(o, {"a", "b", "c"});
  int attempts = 0;
  while (!population.coordinator->over() && ++attempts < 10) {
    for (const char* node : {"a", "b", "c"}) population.answer(node, loss_of(kNan));
    population.now += Time(100);
    population.coordinator->tick(population.now);
  }
  EXPECT_EQ(attempts, 2) << "two of three; the second attempt asks another node";
  EXPECT_EQ(population.log.ending->status, RunStatus::kDiverged);
}

TEST(Divergence, TheNodesOfTheLastRoundHaveAVoteEvenIfTheyHaveLeft) {
  Population population(coordinator_options(400, 1), {"a", "b", "mallory"});
  while (population.log.rounds.empty() || population.log.rounds.back().nodes.size() < 3) population.attempt();
  for (const char* node : {"a", "b"})
    population.coordinator->leave(population.now, node, population.sessions[node]);
  for (int i = 0; i < 5; ++i) {
    population.answer("mallory", loss_of(kNan));
    population.now += Time(100);
    population.coordinator->tick(population.now);
  }
  EXPECT_FALSE(population.coordinator->over());
}

TEST(Quarantines, ANodeThatFailsAgainAndAgainIsSetAsideAndTheOthersContinue) {
  Population population(coordinator_options(400, 3), {"a", "b", "mallory"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(population.coordinator->status().quarantined, 0U);
    population.attempt("mallory", loss_of(kNan));
  }
  EXPECT_EQ(population.coordinator->status().abandoned, 3U);
  EXPECT_EQ(population.coordinator->status().quarantined, 1U);
  EXPECT_EQ(population.coordinator->status().standings[0].set_aside, Time(9'900));
  population.attempt();
  ASSERT_EQ(population.log.rounds.size(), 1U);
  EXPECT_THAT(population.log.rounds[0].nodes, ElementsAre("a", "b"));
  EXPECT_THAT(population.coordinator->status().warnings,
              ElementsAre(AllOf(HasSubstr("node mallory was set aside and round 1 made without it"),
                                HasSubstr("the loss is not finite"))));
  population.join("mallory");  // does not help
  population.attempt();
  EXPECT_EQ(population.answer("mallory").reason, Reason::kNotChosen);
  for (int i = 0; i < 102; ++i) population.attempt();
  EXPECT_THAT(population.log.rounds.back().nodes, ElementsAre("a", "b", "mallory")) << "it is back";
  EXPECT_EQ(population.coordinator->status().standings, (std::vector<NodeStanding>{{"mallory", 3, {}}}));
}

TEST(Quarantines, ANodeThatMissesDeadlinesIsSetAside) {
  Population population(coordinator_options(400, 3, 2), {"a", "b", "slow"});
  for (int i = 0; i < 3; ++i) {
    for (const char* node : {"a", "b"}) population.answer(node);
    population.now += Time(1000);
    population.coordinator->tick(population.now);
    population.join("slow");
  }
  EXPECT_EQ(population.coordinator->status().quarantined, 1U);
  EXPECT_EQ(population.coordinator->status().chosen, 2U);
}

TEST(Quarantines, TwoNodesThatBothMustAnswerAreNotReplaced) {
  Population population(coordinator_options(400, 2), {"a", "mallory"});
  for (int i = 0; i < 6; ++i) population.attempt("mallory", loss_of(kNan));
  EXPECT_THAT(population.log.rounds, IsEmpty()) << "one of two is not more than half";
  population.attempt();
  EXPECT_EQ(population.log.rounds.size(), 1U) << "it is still asked";
}

TEST(Quarantines, TimesDoubleAndGoodUpdatesMakeUpForBadOnes) {
  Quarantine quarantine(Time(1'000));
  const auto fail_at = [&](Time now) { return quarantine.fail(now, "x", "why"); };
  EXPECT_FALSE(fail_at(Time(0)));
  EXPECT_FALSE(fail_at(Time(0)));
  EXPECT_TRUE(fail_at(Time(0)));
  EXPECT_TRUE(quarantine.holds(Time(9'999), "x"));
  EXPECT_FALSE(quarantine.holds(Time(10'000), "x"));
  EXPECT_TRUE(fail_at(Time(10'000)));
  EXPECT_TRUE(quarantine.holds(Time(29'999), "x"));
  for (int i = 0; i < 20; ++i) fail_at(Time(30'000));
  EXPECT_EQ(quarantine.list(Time(30'000))[0].set_aside, Time(600'000));
  for (int i = 0; i < 4; ++i) quarantine.succeed("x");
  EXPECT_FALSE(fail_at(Time(1'000'000)));
  Quarantine alternating(Time(1'000));
  int times = 0;
  while (!alternating.fail(Time(0), "y", "why") && ++times < 100) alternating.succeed("y");
  EXPECT_LT(times, 6);
  Quarantine slow(Time(60'000));
  for (int i = 0; i < 3; ++i) slow.fail(Time(0), "z", "why");
  EXPECT_TRUE(slow.holds(Time(119'999), "z")) << "twice the deadline";
  EXPECT_FALSE(slow.holds(Time(120'000), "z"));
}

TEST(Instances, TwoProcessesWithOneNameAreTold) {
  Population population(coordinator_options(400, 2), {"b"});
  const std::uint64_t first = population.join("a", 1, 11).session;
  const std::uint64_t again = population.join("a", 1, 11).session;
  EXPECT_EQ(population.coordinator->order_for("a", first, {}).kind, Order::Kind::kEnded);
  EXPECT_EQ(population.coordinator->order_for("a", first, {}).status, "") << "the same process";
  EXPECT_THAT(population.coordinator->status().warnings, IsEmpty());
  population.join("a", 1, 22);
  EXPECT_EQ(population.coordinator->order_for("a", again, {}).status,
            "another process joined as a; two processes must not share a certificate");
  population.join("a", 1, 11);
  EXPECT_THAT(population.coordinator->status().warnings,
              ElementsAre(AllOf(HasSubstr("joined as a"), HasSubstr("2 times"))));
  population.coordinator->leave(population.now, "a", again);
  EXPECT_EQ(population.coordinator->order_for("a", again, {}).status, "");
}

// 2^27 columns would be a gigabyte.
TEST(Shapes, JoiningAllocatesNothingOfTheStatesSize) {
  CoordinatorOptions o = coordinator_options(400, 2);
  o.max_payload = std::uint64_t{1} << 62U;
  Population population(o, {});
  const auto join = [&](const std::string& node, std::uint64_t columns) {
    return population.coordinator->join(population.now, node, {"config", 1, columns, 64});
  };
  const Joined huge = join("mallory", std::uint64_t{1} << 58U);
  ASSERT_TRUE(huge.verdict.counts());
  EXPECT_EQ(population.coordinator->spare_buffer(), "");
  EXPECT_FALSE(population.coordinator->payload_size("mallory", {7, 1, 1}));
  EXPECT_EQ(join("a", kPopulationColumns).verdict.reason, Reason::kShape);
  population.coordinator->leave(population.now, "mallory", huge.session);
  EXPECT_TRUE(population.join("a").verdict.counts());
  EXPECT_TRUE(population.join("b").verdict.counts());
  population.attempt();
  EXPECT_EQ(population.log.rounds.size(), 1U);
}

}  // namespace
}  // namespace mfl
