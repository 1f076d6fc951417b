#include "mfl/federation/coordinator.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "mfl/algorithm/algorithms.h"
#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/store_log.h"
#include "mfl/model/tensors.h"
#include "tests/federation/keeping_log.h"

namespace mfl {
namespace {

using test::coordinator_options;
using test::KeepingLog;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kBenchColumns = 3;

// Drives a coordinator of {w} vectors of three numbers.
class Bench {
 public:
  explicit Bench(CoordinatorOptions o)
      : coordinator(make_coordinator<double>(make_fl(0.1, 2), std::move(o), log)) {}

  std::uint64_t join(const std::string& node, std::uint64_t weight = 1) {
    return coordinator->join(now, node, {"config", weight, kBenchColumns, 64}).session;
  }
  Order order(const std::string& node, std::uint64_t session) {
    return coordinator->order_for(node, session, {});
  }

  static Update answer(const Assignment& task, double value, std::uint64_t weight = 1) {
    std::vector<Vector<double>> vectors;
    if (task.steps > 0) vectors.push_back(Vector<double>(kBenchColumns, value));
    const auto blocks = task.steps > 0 ? task.blocks : std::vector<Block>{};
    return {task.run_id,         task.ticket, weight, {.train_loss = value}, blocks,
            to_payload(vectors), {},          {},     task.state_digest};
  }
  Reason submit(const std::string& node, const Update& update) {
    return coordinator->submit(now, node, update).reason;
  }

  Time now{0};
  KeepingLog log;
  std::unique_ptr<Coordinator> coordinator;
};

Joining joining_with(const Schema& schema) { return {"config", 1, kBenchColumns, 64, schema}; }

// What a site shows of its data: no positive class.
Schema site() {
  return {kBenchColumns, {"age", "bmi", "pressure"}, "", "sick", LabelTask::kBinary, {"no", "yes"}, ""};
}

TEST(CoordinatorSchema, TheFirstNodeDefinesTheSchemaAndOthersMustMatch) {
  Bench bench(coordinator_options(4, 3));
  ASSERT_NE(bench.coordinator->join(bench.now, "a", joining_with(site())).session, 0U);
  EXPECT_EQ(bench.coordinator->schema().positive, "yes");
  EXPECT_THAT(bench.coordinator->status().schema, HasSubstr("positive yes (from a)"));
  Schema swapped = site();
  std::swap(swapped.features[0], swapped.features[1]);
  const Joined refused = bench.coordinator->join(bench.now, "b", joining_with(swapped));
  EXPECT_EQ(refused.session, 0U);
  EXPECT_EQ(refused.verdict.reason, Reason::kSchema);
  EXPECT_THAT(refused.verdict.text,
              HasSubstr("whose schema is from a: column 1 is \"bmi\" here and \"age\" in the run"));
  Schema one_class = site();
  one_class.classes = {"no"};
  EXPECT_NE(bench.coordinator->join(bench.now, "c", joining_with(one_class)).session, 0U);
  EXPECT_EQ(bench.coordinator->status().refused[static_cast<std::size_t>(Reason::kSchema)], 1U);
}

TEST(CoordinatorSchema, ANodeWithOneClassDoesNotDefineBoth) {
  Bench bench(coordinator_options(4, 2));
  Schema one_class = site();
  one_class.classes = {"no"};
  const Joined refused = bench.coordinator->join(bench.now, "a", joining_with(one_class));
  EXPECT_EQ(refused.verdict.reason, Reason::kSchema);
  EXPECT_THAT(refused.verdict.text, HasSubstr("[schema] classes"));
  CoordinatorOptions known = coordinator_options(4, 2);
  known.schema.classes = {"no", "yes"};
  known.schema.task = LabelTask::kBinary;
  known.schema.positive = "no";
  Bench told(known);
  ASSERT_NE(told.coordinator->join(told.now, "a", joining_with(one_class)).session, 0U);
  EXPECT_EQ(told.coordinator->schema().positive, "no");
}

// Each node that joins begins the preparation again: an honest answer to the one before is late, not hostile.
TEST(CoordinatorSchema, AnAnswerToAPreparationThatBeganAgainIsNotCountedAsRefused) {
  CoordinatorOptions options = coordinator_options(4, 1);
  options.needs = [](const Schema&) { return PreparationNeeds{.step_size = true}; };
  options.step_size_of = [](double smoothness) { return 1 / smoothness; };
  Bench bench(options);
  const auto a = bench.coordinator->join(bench.now, "a", joining_with(site())).session;
  const Order asked = bench.order("a", a);
  ASSERT_EQ(asked.kind, Order::Kind::kTask);
  ASSERT_EQ(asked.task.ticket.round, 0U);
  ASSERT_NE(bench.coordinator->join(bench.now, "b", joining_with(site())).session, 0U);
  ASSERT_NE(bench.order("a", a).task.ticket, asked.task.ticket);
  EXPECT_EQ(bench.submit("a", Bench::answer(asked.task, 1)), Reason::kStale);
  EXPECT_EQ(bench.coordinator->status().refused[static_cast<std::size_t>(Reason::kStale)], 0U);
}

Schema digits_of(std::vector<std::string> classes) {
  return {kBenchColumns, {}, "", "", LabelTask::kMulticlass, std::move(classes), ""};
}

TEST(CoordinatorSchema, TheFirstNodeDoesNotDefineTheClassesOfAMulticlassRun) {
  for (const LabelTask stated : {LabelTask::kUnknown, LabelTask::kMulticlass}) {
    CoordinatorOptions open = coordinator_options(4, 2);
    open.schema.task = stated;
    Bench bench(open);
    for (const auto& classes : {std::vector<std::string>{"0", "1", "2"}, {"7"}}) {
      const Joined refused = bench.coordinator->join(bench.now, "a", joining_with(digits_of(classes)));
      EXPECT_EQ(refused.session, 0U);
      EXPECT_EQ(refused.verdict.reason, Reason::kSchema);
      EXPECT_THAT(refused.verdict.text, HasSubstr("[schema] classes"));
      EXPECT_THAT(refused.verdict.text, HasSubstr("test data"));
    }
    EXPECT_EQ(bench.coordinator->schema(), open.schema) << "a refused node decides nothing";
    EXPECT_EQ(bench.coordinator->status().refused[static_cast<std::size_t>(Reason::kSchema)], 2U);
  }
}

TEST(CoordinatorSchema, NodesHoldSomeOfTheClassesOfMulticlass) {
  CoordinatorOptions known = coordinator_options(4, 3);
  known.schema.task = LabelTask::kMulticlass;
  known.schema.classes = {"0", "1", "2", "10"};
  known.schema_from = "the experiment file";
  Bench bench(known);
  EXPECT_NE(bench.coordinator->join(bench.now, "a", joining_with(digits_of({"10"}))).session, 0U);
  EXPECT_NE(bench.coordinator->join(bench.now, "b", joining_with(digits_of({"0", "2"}))).session, 0U);
  const Joined refused = bench.coordinator->join(bench.now, "c", joining_with(digits_of({"1", "3"})));
  EXPECT_EQ(refused.verdict.reason, Reason::kSchema);
  EXPECT_THAT(refused.verdict.text, HasSubstr("class \"3\" is not one of"));
  const Joined two = bench.coordinator->join(bench.now, "c", joining_with(site()));
  EXPECT_THAT(two.verdict.text, HasSubstr("the task is binary here and multiclass in the run"));
  EXPECT_EQ(bench.coordinator->schema().classes, known.schema.classes);
  EXPECT_TRUE(is_complete(bench.coordinator->schema()));
}

TEST(CoordinatorSchema, IsOpenAgainWhenAllHaveLeftAndKeptWithTheFirstRound) {
  Bench bench(coordinator_options(4, 1));
  const auto a = bench.coordinator->join(bench.now, "a", joining_with(site())).session;
  bench.coordinator->leave(bench.now, "a", a);
  bench.now += Time(2000);
  bench.coordinator->tick(bench.now);
  Schema other = site();
  other.classes = {"0", "1"};
  const auto b = bench.coordinator->join(bench.now, "b", joining_with(other)).session;
  ASSERT_NE(b, 0U);
  EXPECT_EQ(bench.coordinator->schema().positive, "1");
  for (int round = 0; round < 2; ++round)
    ASSERT_EQ(bench.submit("b", Bench::answer(bench.order("b", b).task, 1)), Reason::kNone);
  ASSERT_EQ(bench.log.rounds.size(), 2U);
  EXPECT_EQ(bench.log.rounds[0].data_schema, schema_json(bench.coordinator->schema()));
  EXPECT_EQ(bench.log.rounds[1].data_schema, "");
}

TEST(Coordinator, StartsWhenEnoughNodesHaveJoinedAndWeighsThem) {
  Bench bench(coordinator_options(4, 2));
  const auto a = bench.join("a", 1);
  EXPECT_EQ(bench.order("a", a).kind, Order::Kind::kNone);
  EXPECT_EQ(bench.coordinator->status().phase, "waiting");
  const auto b = bench.join("b", 3);
  const Assignment task = bench.order("a", a).task;
  EXPECT_EQ(task.steps, 2U);
  EXPECT_EQ(bench.submit("b", Bench::answer(bench.order("b", b).task, 4, 3)), Reason::kNone);
  EXPECT_TRUE(bench.log.rounds.empty());
  EXPECT_EQ(bench.submit("a", Bench::answer(task, 8, 1)), Reason::kNone);
  ASSERT_EQ(bench.log.rounds.size(), 1U);
  const auto& round = bench.log.rounds[0];
  EXPECT_EQ(round.nodes, (std::vector<std::string>{"a", "b"}));
  const auto digest = [](double number) {
    return sha256_hex(number_bytes(Vector<double>(kBenchColumns, number)));
  };
  EXPECT_EQ(round.node_rows,
            (std::vector<NodeRow>{{1, "a", 1, 8, 0, digest(8)}, {1, "b", 3, 4, 0, digest(4)}}));
  EXPECT_EQ(round.closed.train_loss, 5);
  const auto kept = decode_round<double>(round.blob).value();
  EXPECT_EQ(kept.state.w(), Vector<double>(kBenchColumns, 5));
  EXPECT_EQ(kept.bytes_up, 2 * kBenchColumns * 8);
  EXPECT_EQ(bench.order("a", a).task.ticket.round, 2U);
}

TEST(Coordinator, EndsWithTheLossOfTheFinalWeights) {
  Bench bench(coordinator_options(4, 1));
  const auto a = bench.join("a");
  bench.submit("a", Bench::answer(bench.order("a", a).task, 4));
  bench.submit("a", Bench::answer(bench.order("a", a).task, 2));
  const Assignment closing = bench.order("a", a).task;
  EXPECT_EQ(closing.steps, 0U);
  EXPECT_EQ(bench.coordinator->payload_size("a", closing.ticket), 0U);
  EXPECT_EQ(bench.coordinator->status().phase, "closing");
  bench.submit("a", Bench::answer(closing, 1.5));
  ASSERT_TRUE(bench.log.ending);
  EXPECT_EQ(bench.log.ending->status, RunStatus::kDone);
  EXPECT_EQ(bench.log.ending->summary.final.train_loss, 1.5);
  EXPECT_EQ(bench.log.ending->summary.rounds, 2U);
  EXPECT_TRUE(bench.coordinator->over());
  const Order order = bench.order("a", a);
  EXPECT_EQ(order.kind, Order::Kind::kDone);
  EXPECT_EQ(order.digest, bench.log.ending->summary.digest);
  EXPECT_EQ(bench.submit("a", Bench::answer(closing, 1.5)), Reason::kOver);
}

TEST(Coordinator, SaysWhyANodeMayNotJoin) {
  Bench bench(coordinator_options(4, 1));
  const auto reason = [&](const Joining& joining) {
    return bench.coordinator->join(bench.now, "x", joining).verdict.reason;
  };
  EXPECT_EQ(reason({"other", 1, kBenchColumns, 64}), Reason::kConfig);
  EXPECT_EQ(reason({"config", 0, kBenchColumns, 64}), Reason::kWeight);
  EXPECT_EQ(reason({"config", std::numeric_limits<std::uint64_t>::max(), kBenchColumns, 64}),
            Reason::kWeight);
  EXPECT_EQ(reason({"config", 1, 0, 64}), Reason::kShape);
  EXPECT_EQ(reason({"config", 1, std::numeric_limits<std::uint64_t>::max(), 64}), Reason::kShape);
  EXPECT_EQ(reason({"config", 1, kBenchColumns, 32}), Reason::kShape);
  EXPECT_EQ(reason({"config", 1, kBenchColumns, 64}), Reason::kNone);
  EXPECT_EQ(reason({"config", 1, kBenchColumns + 1, 64}), Reason::kShape);
}

TEST(Coordinator, ANodeThatLeavesBeforeTheFirstRoundDoesNotFixTheNumberOfFeatures) {
  Bench bench(coordinator_options(4, 2));
  const auto join = [&](const std::string& node, std::uint64_t columns) {
    return bench.coordinator->join(bench.now, node, {"config", 1, columns, 64});
  };
  const Joined wrong = join("mallory", kBenchColumns + 2);
  ASSERT_TRUE(wrong.verdict.counts());
  EXPECT_THAT(join("a", kBenchColumns).verdict.text,
              HasSubstr("5 features in this run since mallory joined"));
  bench.coordinator->leave(bench.now, "mallory", wrong.session);
  const Joined a = join("a", kBenchColumns);
  EXPECT_TRUE(a.verdict.counts()) << a.verdict.text;
  EXPECT_FALSE(join("mallory", kBenchColumns + 2).verdict.counts());
  const Joined b = join("b", kBenchColumns);
  bench.submit("a", Bench::answer(bench.order("a", a.session).task, 1));
  bench.submit("b", Bench::answer(bench.order("b", b.session).task, 1));
  ASSERT_EQ(bench.log.rounds.size(), 1U);
  bench.coordinator->leave(bench.now, "a", a.session);
  bench.coordinator->leave(bench.now, "b", b.session);
  EXPECT_FALSE(join("mallory", kBenchColumns + 2).verdict.counts()) << "a round was committed";
}

TEST(Coordinator, NamesWhoDidNotAnswerAndTellsHowLongRoundsTook) {
  Bench bench(coordinator_options(4, 2));
  const auto a = bench.join("a");
  bench.join("b");
  bench.submit("a", Bench::answer(bench.order("a", a).task, 1));
  bench.now = Time(1000);
  bench.coordinator->tick(bench.now);
  EXPECT_THAT(bench.coordinator->status().trouble, HasSubstr("no answer from b"));
  bench.now = Time(1100);
  const auto b = bench.join("b");
  const Assignment task = bench.order("a", a).task;
  bench.submit("a", Bench::answer(task, 1));
  bench.now = Time(1350);
  bench.submit("b", Bench::answer(bench.order("b", b).task, 1));
  EXPECT_EQ(bench.coordinator->status().rounds_timed, 1U);
  EXPECT_EQ(bench.coordinator->status().last_round, Time(250));
  EXPECT_EQ(bench.coordinator->status().all_rounds, Time(250));
}

// A node whose updates are never finite blocks a run without a quorum; every attempt names the node.
TEST(Coordinator, ANodeThatIsNeverFiniteIsNamedAtEveryAttempt) {
  Bench bench(coordinator_options(4, 2));
  const auto a = bench.join("a"), b = bench.join("mallory");
  for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
    bench.submit("mallory",
                 Bench::answer(bench.order("mallory", b).task, std::numeric_limits<double>::quiet_NaN()));
    bench.submit("a", Bench::answer(bench.order("a", a).task, 1));
    EXPECT_EQ(bench.coordinator->status().abandoned, attempt);
    EXPECT_THAT(bench.coordinator->status().trouble, HasSubstr("node mallory: the loss is not finite"));
    bench.now += Time(100);
    bench.coordinator->tick(bench.now);
  }
  bench.coordinator->leave(bench.now, "mallory", b);  // revoked
  const auto c = bench.join("c");
  bench.now += Time(100);
  bench.coordinator->tick(bench.now);
  bench.submit("a", Bench::answer(bench.order("a", a).task, 1));
  bench.submit("c", Bench::answer(bench.order("c", c).task, 1));
  EXPECT_EQ(bench.log.rounds.size(), 1U);
}

TEST(Coordinator, SaysWhyAnUpdateDoesNotCountAndLeavesTheModelAlone) {
  Bench bench(coordinator_options(4, 2));
  const auto a = bench.join("a", 2);
  bench.join("b", 1);
  const Assignment task = bench.order("a", a).task;
  const auto changed = [&](auto change) {
    Update update = Bench::answer(task, 1, 2);
    change(update);
    return update;
  };
  EXPECT_EQ(bench.submit("c", changed([](Update&) {})), Reason::kForeign);
  EXPECT_EQ(bench.submit("a", changed([](Update& u) { u.run_id = "other"; })), Reason::kForeign);
  EXPECT_EQ(bench.submit("a", changed([](Update& u) { u.ticket.round = 0; })), Reason::kStale);
  EXPECT_EQ(bench.submit("a", changed([](Update& u) { u.ticket.round = 2; })), Reason::kFuture);
  EXPECT_EQ(bench.submit("a", changed([](Update& u) { u.ticket.epoch = 6; })), Reason::kStale);
  EXPECT_EQ(bench.submit("a", changed([](Update& u) { u.ticket.attempt = 0; })), Reason::kLate);
  EXPECT_EQ(bench.submit("a", changed([](Update& u) { u.ticket.attempt = 9; })), Reason::kFuture);
  bench.join("late");
  EXPECT_EQ(bench.submit("late", changed([](Update&) {})), Reason::kNotChosen);
  EXPECT_EQ(bench.coordinator->status().refused[static_cast<std::size_t>(Reason::kStale)], 2U);
  EXPECT_EQ(bench.coordinator->status().counted, 0U);
  EXPECT_EQ(bench.submit("a", changed([](Update&) {})), Reason::kNone);
  EXPECT_EQ(bench.submit("a", changed([](Update&) {})), Reason::kDuplicate);
  EXPECT_EQ(bench.coordinator->status().counted, 1U);
}

TEST(Coordinator, AnUpdateOnAnotherBaseOrOfAnotherStageIsNotCounted) {
  Bench bench(coordinator_options(4, 2));
  const auto a = bench.join("a"), b = bench.join("b");
  const Assignment task = bench.order("a", a).task;
  Update update = Bench::answer(task, 1);
  update.base = "0123456789abcdef";
  const Verdict other = bench.coordinator->submit(bench.now, "a", update);
  EXPECT_EQ(other.reason, Reason::kStale);
  EXPECT_EQ(other.text, fmt::format("the update starts from state \"0123456789ab\", the task from \"{}\"",
                                    task.state_digest.substr(0, 12)));
  update.base.clear();
  EXPECT_THAT(bench.coordinator->submit(bench.now, "a", update).text,
              HasSubstr("starts from state \"\", the task"));
  update = Bench::answer(task, 1);
  update.ticket.stage = 1;
  EXPECT_EQ(bench.submit("a", update), Reason::kFuture);
  EXPECT_EQ(bench.coordinator->status().counted, 0U);
  EXPECT_EQ(bench.submit("a", Bench::answer(task, 1)), Reason::kNone) << "it still has its part";
  EXPECT_EQ(bench.submit("a", Bench::answer(task, 2)), Reason::kDuplicate);
  EXPECT_EQ(bench.submit("b", Bench::answer(bench.order("b", b).task, 1)), Reason::kNone);
  ASSERT_EQ(bench.log.rounds.size(), 1U);
  EXPECT_EQ(bench.log.rounds[0].closed.train_loss, 1);
}

TEST(Coordinator, BadContentsCostTheNodeItsPartInTheAttempt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::pair<Reason, std::function<void(Update&)>> cases[] = {
      {Reason::kWeight, [](Update& u) { u.weight = 3; }},
      {Reason::kShape, [](Update& u) { u.payload.pop_back(); }},
      {Reason::kShape, [](Update& u) { u.payload += "x"; }},
      {Reason::kNotFinite, [&](Update& u) { u.losses.train_loss = nan; }},
      {Reason::kNotFinite,
       [&](Update& u) {
         u.payload = to_payload(std::vector<Vector<double>>{{1, inf, 1}});
       }},
      {Reason::kNotFinite,
       [&](Update& u) {
         u.payload = to_payload(std::vector<Vector<double>>{{1, 1, nan}});
       }},
  };
  for (const auto& [reason, change] : cases) {
    Bench bench(coordinator_options(4, 2, 1));
    const auto a = bench.join("a");
    const auto b = bench.join("b");
    Update bad = Bench::answer(bench.order("a", a).task, 1);
    change(bad);
    EXPECT_EQ(bench.submit("a", bad), reason);
    EXPECT_EQ(bench.submit("a", Bench::answer(bench.order("b", b).task, 1)), Reason::kDuplicate);
    EXPECT_EQ(bench.submit("b", Bench::answer(bench.order("b", b).task, 6)), Reason::kNone);
    ASSERT_EQ(bench.log.rounds.size(), 1U);
    EXPECT_EQ(bench.log.rounds[0].nodes, std::vector<std::string>{"b"});
    EXPECT_EQ(decode_round<double>(bench.log.rounds[0].blob)->state.w(), Vector<double>(kBenchColumns, 6));
  }
}

TEST(Coordinator, ClosesARoundAtTheDeadlineWithAQuorumAndRefusesTheRestAsStale) {
  Bench bench(coordinator_options(4, 3, 2));
  const auto a = bench.join("a"), b = bench.join("b"), c = bench.join("c");
  const Assignment task = bench.order("c", c).task;
  bench.submit("a", Bench::answer(task, 1));
  bench.submit("b", Bench::answer(task, 3));
  EXPECT_EQ(bench.coordinator->deadline(), Time(1000));
  bench.now = Time(999);
  bench.coordinator->tick(bench.now);
  EXPECT_TRUE(bench.log.rounds.empty());
  bench.now = Time(1000);
  EXPECT_EQ(bench.submit("c", Bench::answer(task, 100)), Reason::kForeign);  // it was considered gone
  ASSERT_EQ(bench.log.rounds.size(), 1U);
  EXPECT_EQ(bench.log.rounds[0].nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(bench.order("c", c).kind, Order::Kind::kEnded);
  const auto again = bench.join("c");
  EXPECT_EQ(bench.submit("c", Bench::answer(task, 100)), Reason::kStale);
  EXPECT_EQ(bench.order("c", again).task.ticket.round, 2U);  // three are connected again
  EXPECT_EQ(bench.order("a", a).task.ticket.round, 2U);
  EXPECT_EQ(bench.order("b", b).task.ticket.round, 2U);
}

TEST(Coordinator, AbandonsARoundWithoutAQuorumAndTriesAgainFromTheSameState) {
  Bench bench(coordinator_options(4, 2));
  const auto a = bench.join("a"), b = bench.join("b");
  const Assignment task = bench.order("a", a).task;
  bench.submit("a", Bench::answer(task, 1));
  bench.coordinator->leave(bench.now, "b", b);
  EXPECT_EQ(bench.coordinator->status().abandoned, 1U);
  EXPECT_THAT(bench.coordinator->status().trouble, HasSubstr("round 1"));
  EXPECT_EQ(bench.submit("a", Bench::answer(task, 1)), Reason::kLate);
  const auto back = bench.join("b", 5);  // replaced by a node with other data
  EXPECT_EQ(bench.order("b", back).kind, Order::Kind::kNone);
  EXPECT_EQ(bench.coordinator->deadline(), Time(100));
  bench.now = Time(100);
  bench.coordinator->tick(bench.now);
  const Assignment again = bench.order("a", a).task;
  EXPECT_EQ(again.ticket.round, 1U);
  EXPECT_EQ(again.state_digest, task.state_digest);
  EXPECT_NE(again.ticket, task.ticket);
  bench.submit("a", Bench::answer(again, 6));
  bench.submit("b", Bench::answer(again, 0, 5));
  ASSERT_EQ(bench.log.rounds.size(), 1U);
  EXPECT_EQ(decode_round<double>(bench.log.rounds[0].blob)->state.w(), Vector<double>(kBenchColumns, 1));
}

TEST(Coordinator, ANewSessionOfANameEndsTheOldAndKeepsItsPart) {
  Bench bench(coordinator_options(4, 2));
  const auto old = bench.join("a");
  bench.join("b");
  const auto session = bench.join("a");
  EXPECT_EQ(bench.order("a", old).kind, Order::Kind::kEnded);
  bench.coordinator->leave(bench.now, "a", old);  // too late to matter
  EXPECT_EQ(bench.order("a", session).kind, Order::Kind::kTask);
  EXPECT_EQ(bench.submit("a", Bench::answer(bench.order("a", session).task, 1)), Reason::kNone);
}

TEST(Coordinator, ChoosesAFractionAndNotAlwaysTheSame) {
  CoordinatorOptions o = coordinator_options(4, 4);
  o.fraction_train = 0.5;
  o.steps = 40;
  Bench bench(o);
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::map<std::string, std::uint64_t> sessions;
  for (const auto& name : names) sessions[name] = bench.join(name);
  std::set<std::vector<std::string>> groups;
  while (bench.coordinator->status().step < 40) {
    EXPECT_EQ(bench.coordinator->status().chosen, 2U);
    for (const auto& name : names)
      if (const Order order = bench.order(name, sessions[name]); order.kind == Order::Kind::kTask)
        bench.submit(name, Bench::answer(order.task, 1));
    groups.insert(bench.log.rounds.back().nodes);
  }
  EXPECT_GT(groups.size(), 2U);
}

TEST(Coordinator, EveryNodeNotFiniteIsADivergedRun) {
  Bench bench(coordinator_options(4, 2));
  const auto a = bench.join("a");
  bench.join("b");
  const Assignment task = bench.order("a", a).task;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(bench.submit("a", Bench::answer(task, nan)), Reason::kNotFinite);
  EXPECT_FALSE(bench.coordinator->over());
  EXPECT_EQ(bench.submit("b", Bench::answer(task, nan)), Reason::kNotFinite);
  ASSERT_TRUE(bench.log.ending);
  EXPECT_EQ(bench.log.ending->status, RunStatus::kDiverged);
  EXPECT_THAT(bench.log.ending->message, HasSubstr("node b: the loss is not finite in round 1"));
  EXPECT_EQ(bench.order("a", a).status, "diverged");
}

TEST(Coordinator, ALogThatFailsStopsTheRunBeforeAnybodyIsTold) {
  Bench bench(coordinator_options(4, 1));
  const auto a = bench.join("a");
  bench.log.broken = true;
  bench.submit("a", Bench::answer(bench.order("a", a).task, 1));
  ASSERT_TRUE(bench.coordinator->failure());
  EXPECT_EQ(bench.coordinator->failure()->message, "disk full");
  EXPECT_EQ(bench.order("a", a).kind, Order::Kind::kNone);
  EXPECT_EQ(bench.coordinator->status().phase, "failed");
}

TEST(StoreLog, GivesBackTheLastRoundAndItsRows) {
  const auto folder = TempFolder::make().value();
  Store store = Store::open(folder.path() / "runs.db", {.full_sync = true}).value();
  RunSpec spec;
  spec.algorithm = "fl";
  const std::string id = store.create_run(spec).value();
  CoordinatorOptions o = coordinator_options(4, 1);
  const auto answer_next = [](Coordinator& c, double value) {
    const std::uint64_t session = c.join(Time(0), "a", {"config", 1, kBenchColumns, 64}).session;
    c.submit(Time(0), "a", Bench::answer(c.order_for("a", session, {}).task, value));
  };
  {
    StoreLog log(store, id, {});
    const auto first = make_coordinator<double>(make_fl(0.1, 2), o, log);
    answer_next(*first, 4);
  }
  ASSERT_TRUE(store.set_status(id, RunStatus::kInterrupted, ""));
  const auto found = resume_rounds<double>(store, id).value().from;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state.round, 1U);
  EXPECT_EQ(found->state.w(), Vector<double>(kBenchColumns, 4));
  StoreLog log(store, id, {});
  const auto second = make_coordinator<double>(make_fl(0.1, 2), o, log, *found);
  answer_next(*second, 2);
  answer_next(*second, 1);
  EXPECT_TRUE(second->over());
  const auto rounds = store.rounds(id).value();
  ASSERT_EQ(rounds.size(), 3U);
  EXPECT_EQ(rounds[1].train_loss, 2);
  EXPECT_EQ(rounds[2].bytes_up, 2 * kBenchColumns * 8);
  EXPECT_EQ(store.get(id)->status, RunStatus::kDone);
  EXPECT_EQ(store.get(id)->summary->final.train_loss, 1);
}

TEST(StoreLog, AStoppedRunHasTheRecordsOfAWholeOne) {
  const auto folder = TempFolder::make().value();
  Store store = Store::open(folder.path() / "runs.db").value();
  constexpr std::uint64_t kRounds = 9, kEvery = 4;
  const auto steps_of_records = [&](std::optional<std::uint64_t> stop_after) {
    const std::string id = store.create_run({}).value();
    auto log = std::make_unique<StoreLog>(store, id, StoreLogOptions{.record_every = kEvery});
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      CommittedRound committed;
      committed.round = round;
      committed.closed.round = round - 1;
      committed.closed.step = 2 * (round - 1);
      EXPECT_TRUE(log->commit(committed));
      if (round == stop_after)
        log = std::make_unique<StoreLog>(
            store, id,
            StoreLogOptions{.record_every = kEvery, .last_step = store.rounds(id).value().back().step});
    }
    std::vector<std::uint64_t> steps;
    const auto records = store.records(id).value();
    for (const RecordRow& record : records) steps.push_back(record.step);
    return steps;
  };
  const auto whole = steps_of_records(std::nullopt);
  EXPECT_EQ(whole, (std::vector<std::uint64_t>{0, 4, 8, 12, 16}));
  for (std::uint64_t stop = 1; stop < kRounds; ++stop) EXPECT_EQ(steps_of_records(stop), whole) << stop;
}

// A tree of JSON that a recursive reader would follow to the end of its stack.
std::string bomb(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(CoordinatorSchema, TensorsOfAPeerAreBounded) {
  Schema schema = site();
  schema.task = LabelTask::kExternal;
  for (const bool external : {false, true}) {
    CoordinatorOptions options = coordinator_options(4, 1);
    if (external) options.schema.task = LabelTask::kExternal;
    Bench bench(options);
    std::string wide = R"([{"name":"w","shape":[3])";
    for (int i = 0; i < 100'000; ++i) wide += ",\"k" + std::to_string(i) + "\":0";
    for (const std::string& tensors :
         {bomb(20'000), bomb(90'000), bomb(10'000'000), wide + "}]", std::string("[]"), std::string(),
          std::string(R"([{"name":"w","shape":[3]} ])"), std::string(R"([{"name":"w","shape":[4]}])")}) {
      schema.tensors = tensors;
      const Joined refused = bench.coordinator->join(bench.now, "mallory", joining_with(schema));
      EXPECT_EQ(refused.session, 0U) << tensors.substr(0, 50);
      EXPECT_EQ(refused.verdict.reason, external ? Reason::kShape : Reason::kSchema) << tensors.substr(0, 50);
    }
    EXPECT_EQ(bench.coordinator->schema(), options.schema);
    schema.tensors = R"([{"name":"w","shape":[3]}])";
    EXPECT_EQ(bench.coordinator->join(bench.now, "a", joining_with(schema)).verdict.counts(), external);
    if (!external) continue;
    // Equal in what they say, and not in how: the difference must be found, or at least searched for in finite time.
    schema.tensors = R"([{"name":"w" ,"shape":[3]}])";
    EXPECT_EQ(bench.coordinator->join(bench.now, "b", joining_with(schema)).verdict.reason, Reason::kShape);
  }
}

TEST(Coordinator, ANodeThatWithholdsWhatTheRunNeedsIsRefused) {
  for (const bool standardises : {false, true}) {
    CoordinatorOptions options = coordinator_options(4, 1);
    options.needs = [standardises](const Schema&) {
      return PreparationNeeds{.standardise = standardises ? Standardise::kFull : Standardise::kNone};
    };
    Bench bench(options);
    Joining joining{"config", 1, kBenchColumns, 64};
    joining.withheld = {Work::kMeasure};
    const Joined joined = bench.coordinator->join(bench.now, "shy", joining);
    EXPECT_EQ(joined.verdict.counts(), !standardises);
    if (standardises) {
      EXPECT_THAT(joined.verdict.text, AllOf(HasSubstr("shy"), HasSubstr("--allow")));
    }
    joining.withheld = {Work::kTrain};
    EXPECT_FALSE(bench.coordinator->join(bench.now, "lazy", joining).verdict.counts());
  }
}

double inverse(double smoothness) { return 1 / smoothness; }

// Four nodes of a run that standardises, of which mallory says what it likes.
class Clinics {
 public:
  explicit Clinics(OnOutlier rule, double factor, double smoothness = 1)
      : bench_(options(rule)), factor_(factor), smoothness_(smoothness) {
    for (const char* name : {"a", "b", "c", "mallory"}) sessions_[name] = bench_.join(name, 3);
  }

  // Every node answers what it is asked.
  void answer() {
    for (int turn = 0; turn < 6; ++turn) {
      for (const auto& [name, session] : sessions_) {
        const Order order = bench_.order(name, session);
        if (order.kind != Order::Kind::kTask || order.task.ticket.round != 0) continue;
        Update update{order.task.run_id, order.task.ticket, 3, 0};
        update.base = order.task.state_digest;
        if (order.task.work == Work::kMeasure) {
          ColumnSums sums(kBenchColumns, 0);
          Dataset rows;
          rows.rows = 3;
          rows.columns = kBenchColumns;
          const double unit = name == "mallory" ? factor_ : 1;
          rows.features = DenseRows<double>{{unit, 10, 5, 2 * unit, 20, 6, 3 * unit, 35, 9}};
          EXPECT_TRUE(sums.add(rows, {}));
          update.payload = sums.pack();
          update.blocks = {{"sums", kSumsEncoding, update.payload.size()}};
        } else {
          const double smoothness = name == "mallory" ? smoothness_ : 2;
          update.payload.assign(reinterpret_cast<const char*>(&smoothness), sizeof smoothness);
          update.blocks = {{kSmoothness, "f64", 1}};
        }
        EXPECT_TRUE(bench_.submit(name, update) == Reason::kNone);
      }
      bench_.now += Time(50);
      bench_.coordinator->tick(bench_.now);
    }
  }

  void leave() { bench_.coordinator->leave(bench_.now, "mallory", sessions_.at("mallory")); }
  Joined join() { return bench_.coordinator->join(bench_.now, "mallory", {"config", 3, kBenchColumns, 64}); }
  FederationStatus status() const { return bench_.coordinator->status(); }
  double eta() { return bench_.order("a", sessions_.at("a")).task.eta; }

 private:
  static CoordinatorOptions options(OnOutlier rule) {
    CoordinatorOptions out = coordinator_options(4, 4);
    out.nodes = 4;
    out.on_outlier = rule;
    out.needs = [](const Schema&) {
      return PreparationNeeds{.standardise = Standardise::kFull, .step_size = true};
    };
    out.step_size_of = inverse;
    out.algorithm_of = [](double eta) { return make_fl(eta, 2); };
    return out;
  }

  Bench bench_;
  std::map<std::string, std::uint64_t> sessions_;
  double factor_, smoothness_;
};

TEST(Outliers, NoRoundStartsUntilTheNodeHasLeft) {
  for (const auto& [factor, smoothness] : {std::pair{1e6, 1.0}, {1.0, 1e300}}) {
    Clinics clinics(OnOutlier::kRefuse, factor, smoothness);
    clinics.answer();
    EXPECT_EQ(clinics.status().phase, "preparing");
    EXPECT_THAT(clinics.status().trouble, AllOf(HasSubstr("mallory"), HasSubstr("--on-outlier")));
    EXPECT_THAT(clinics.status().trouble, HasSubstr(factor == 1 ? "smoothness" : "column number 1"));
    clinics.leave();
    clinics.answer();
    EXPECT_EQ(clinics.status().phase, "preparing") << "four nodes are needed";
    EXPECT_EQ(clinics.status().trouble, "") << "the node that it named has left";
  }
}

TEST(Outliers, AnExcludedNodeIsNoMember) {
  for (const auto& [factor, smoothness] : {std::pair{1e6, 1.0}, {1.0, 1e300}}) {
    Clinics clinics(OnOutlier::kExclude, factor, smoothness);
    clinics.answer();
    EXPECT_EQ(clinics.status().phase, "training");
    EXPECT_EQ(clinics.status().needed, 3U);
    EXPECT_EQ(clinics.status().chosen, 3U);
    EXPECT_EQ(clinics.eta(), 0.5);
    EXPECT_THAT(clinics.status().trouble, "");
    EXPECT_THAT(clinics.status().warnings, Contains(AllOf(HasSubstr("mallory"), HasSubstr("excluded"))));
    const Joined again = clinics.join();
    EXPECT_EQ(again.verdict.reason, Reason::kOutlier);
    EXPECT_THAT(again.verdict.text, HasSubstr("excluded from this run"));
  }
}

TEST(Outliers, AWarningLetsTheRunGoOn) {
  Clinics clinics(OnOutlier::kWarn, 1e6, 1e300);
  clinics.answer();
  EXPECT_EQ(clinics.status().phase, "training");
  EXPECT_EQ(clinics.eta(), 1e-300);
  EXPECT_THAT(clinics.status().warnings, Contains(AllOf(HasSubstr("mallory"), HasSubstr("column number 1"))));
}

TEST(Outliers, HonestNodesStartWithoutAWord) {
  Clinics clinics(OnOutlier::kRefuse, 1, 1);
  clinics.answer();
  EXPECT_EQ(clinics.status().phase, "training");
  EXPECT_THAT(clinics.status().warnings, IsEmpty());
}

// Takes each task, waits as long as it dares, leaves and comes back, for ten minutes. Rounds take the others 100 ms.
TEST(Leaving, CostsLessThanHalfOfTheRounds) {
  for (const std::int64_t deadline : {2'000, 60'000})
    for (const std::int64_t patience : {std::int64_t{0}, deadline - 10}) {
      CoordinatorOptions options = coordinator_options(4, 4);
      options.steps = 1'000'000;
      options.round_deadline = Time(deadline);
      options.retry_pause = Time(1'000);
      Bench bench(options);
      std::map<std::string, std::uint64_t> sessions;
      for (const char* name : {"a", "b", "c", "mallory"}) sessions[name] = bench.join(name);
      constexpr Time kTurn{100}, kEnd{600'000};
      Time taken{-1};
      Ticket answered;
      for (; bench.now < kEnd; bench.now += kTurn) {
        bench.coordinator->tick(bench.now);
        for (const char* name : {"a", "b", "c"}) {
          const Order order = bench.order(name, sessions[name]);
          if (order.kind == Order::Kind::kTask) bench.submit(name, Bench::answer(order.task, 1));
        }
        const Order order = bench.order("mallory", sessions["mallory"]);
        if (order.kind == Order::Kind::kTask && taken < Time(0)) taken = bench.now;
        if (taken < Time(0) || bench.now - taken < Time(patience) - kTurn) continue;
        bench.coordinator->leave(bench.now, "mallory", sessions["mallory"]);
        sessions["mallory"] = bench.join("mallory");
        taken = Time(-1);
      }
      const double honest = kEnd / kTurn;
      EXPECT_GT(static_cast<double>(bench.log.rounds.size()), honest / 2)
          << "deadline " << deadline << " ms, leaves after " << patience << " ms";
      const auto standings = bench.coordinator->status().standings;
      ASSERT_EQ(standings.size(), 1U);
      EXPECT_EQ(standings[0].name, "mallory");
      EXPECT_GE(standings[0].failures, 3U);
      RecordProperty("rounds_" + std::to_string(deadline) + "_" + std::to_string(patience),
                     static_cast<int>(bench.log.rounds.size()));
    }
}

TEST(Leaving, IsNoFailureOfANodeThatAnswersTheTaskAfterJoiningAgain) {
  Bench bench(coordinator_options(40, 2, 1));
  bench.join("a");
  auto b = bench.join("b");
  for (int round = 0; round < 5; ++round) {
    const Assignment task = bench.order("b", b).task;
    bench.coordinator->leave(bench.now, "b", b);
    EXPECT_EQ(bench.coordinator->status().standings[0].failures, 1U);
    b = bench.join("b");
    EXPECT_EQ(bench.submit("b", Bench::answer(task, 1)), Reason::kNone);
    EXPECT_EQ(bench.submit("a", Bench::answer(task, 1)), Reason::kNone);
    EXPECT_EQ(bench.coordinator->status().standings[0].failures, 0U);
  }
  EXPECT_EQ(bench.log.rounds.size(), 5U);
  EXPECT_EQ(bench.coordinator->status().quarantined, 0U);
}

}  // namespace
}  // namespace mfl
