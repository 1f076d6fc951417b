// A node and a server that says what it likes: whatever arrives, the node ends with an error that says what it was, has read nothing
// out of bounds (the sanitizers look) and has sent nothing of its data.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/config/entries.h"
#include "mfl/federation/coordinator.h"
#include "mfl/network/node.h"
#include "mfl/network/server.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kLiarColumns = 2;

// What it sends, one after the other, whatever the answers are; and what it got.
struct Script {
  std::vector<Assignment> tasks;
  Schema schema;
  std::mutex mutex;
  std::vector<Update> got;
};

class LyingCoordinator final : public Coordinator {
 public:
  explicit LyingCoordinator(Script& script) : script_(script) {}

  Joined join(Time, const std::string&, const Joining&) override { return {1, {}}; }
  void leave(Time, const std::string&, std::uint64_t) override {}
  Order order_for(const std::string&, std::uint64_t, const Ticket& last) const override {
    if (next_ == script_.tasks.size()) return {Order::Kind::kDone, {}, "done", "digest"};
    Order order{Order::Kind::kTask, script_.tasks[next_], {}, {}};
    order.task.ticket.attempt = next_ + 1;
    return order.task.ticket == last ? Order{} : order;
  }
  std::uint64_t version() const override { return next_ + 1; }
  Verdict submit(Time, const std::string&, Update update) override {
    const std::lock_guard lock(script_.mutex);
    script_.got.push_back(std::move(update));
    ++next_;
    return {};
  }
  void tick(Time) override {}
  void flush() override {}
  void set_min_available_nodes(Time, std::size_t) override {}
  std::optional<Time> deadline() const override { return std::nullopt; }
  std::optional<std::uint64_t> payload_size(const std::string&, const Ticket&) const override {
    return std::uint64_t{1} << 20U;
  }
  std::string spare_buffer() override { return {}; }
  const Schema& schema() const override { return script_.schema; }
  bool over() const override { return false; }
  const std::optional<Error>& failure() const override { return failure_; }
  FederationStatus status() const override { return {}; }

 private:
  Script& script_;
  std::size_t next_ = 0;
  std::optional<Error> failure_;
};

class LyingServer : public ::testing::Test {
 protected:
  LyingServer() {
    EXPECT_TRUE(write_file(folder_.path() / "data.csv", "a,b,y\n1,10,no\n2,20,yes\n3,30,no\n4,50,yes\n"));
    config_.data.source = kFederationSource;
    config_.model.name = "logistic";
    config_.model.intercept = false;
    config_.algorithm.name = "fl";
    config_.algorithm.eta = 0.1;
    config_.algorithm.tau = 2;
    schema_.columns = kLiarColumns;
    schema_.features = {"a", "b"};
    schema_.label = "y";
    schema_.task = LabelTask::kBinary;
    schema_.classes = {"no", "yes"};
    schema_.positive = "yes";
    schema_.own_data = true;
  }

  static Assignment task(Work work, const std::vector<std::pair<std::string, std::vector<double>>>& parts,
                         std::uint64_t steps = 0) {
    Assignment out;
    out.run_id = "run";
    out.ticket = {1, work == Work::kTrain ? 1U : 0U, 1};
    out.work = work;
    out.steps = steps;
    out.state_digest = fmt::format("digest {}", parts.size());
    std::string payload;
    for (const auto& [name, numbers] : parts) {
      out.blocks.push_back({name, "f64", numbers.size()});
      payload.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
    }
    out.payload = std::make_shared<const std::string>(payload.empty() ? "12345678" : payload);
    return out;
  }

  // The end of a node that is sent these.
  Result<NodeOutcome> serve(std::vector<Assignment> tasks, bool allow_measure = true) {
    script_.tasks = std::move(tasks);
    script_.schema = schema_;
    script_.got.clear();
    ServerOptions server_options;
    server_options.listen = "127.0.0.1:0";
    config_.run.precision = Precision::kF64;
    const Plan plan{"run", "digest", experiment_.value_or(to_toml(config_)), 64, schema_};
    const auto server =
        FederationServer::start(std::make_unique<LyingCoordinator>(script_), plan, server_options).value();
    NodeOptions options;
    options.client = {server->address(), std::nullopt, "site"};
    options.data.source = "csv:" + (folder_.path() / "data.csv").string();
    options.threads = 1;
    options.allow_measure = allow_measure;
    options.max_payload = 1 << 20;
    options.give_up_after = std::chrono::seconds(5);
    return run_node(options);
  }

  // It ends with an error that says this, after `answers` answers.
  void expect_refused(std::vector<Assignment> tasks, const std::string& text, std::size_t answers = 0,
                      bool allow_measure = true) {
    const auto outcome = serve(std::move(tasks), allow_measure);
    ASSERT_FALSE(outcome) << text;
    EXPECT_THAT(outcome.error().text(), HasSubstr(text));
    EXPECT_EQ(script_.got.size(), answers) << text;
  }

  TempFolder folder_ = TempFolder::make().value();
  Config config_;
  Schema schema_;
  std::optional<std::string> experiment_;
  Script script_;
};

const std::pair<std::string, std::vector<double>> kPrepared{"columns", {kLiarColumns}};

TEST_F(LyingServer, AnHonestScriptIsFollowed) {
  const auto outcome = serve({task(Work::kTrain, {{"w", {0, 0}}}, 2)});
  ASSERT_TRUE(outcome) << outcome.error().text();
  ASSERT_EQ(script_.got.size(), 1U);
  EXPECT_EQ(script_.got[0].payload.size(), kLiarColumns * sizeof(double));
}

TEST_F(LyingServer, WhatPrecedesTheFirstRoundMustFitTheSchema) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using Parts = std::vector<std::pair<std::string, std::vector<double>>>;
  for (const Parts& parts : {Parts{{"class_weights", {5}}},
                             {{"class_weights", {5, 1, 1}}},
                             {{"deviations", {1}}},
                             {{"means", {1}}},
                             {{"deviations", {1, 0}}},
                             {{"deviations", {1, nan}}},
                             {{"deviations", {1, 1}}, {"deviations", {2, 2}}},
                             {{"means", {1, 1}}},
                             {{"columns", {3}}},
                             {{"w", {0, 0}}},
                             {{"deviations", std::vector<double>(1000, 1)}}})
    expect_refused({task(Work::kPrepare, parts)}, "to prepare with");
  Assignment claims = task(Work::kPrepare, {{"deviations", {1, 1}}});
  claims.blocks[0].numbers = std::numeric_limits<std::uint64_t>::max();
  expect_refused({claims}, "to prepare with");
  claims.blocks[0] = {"deviations", "bf16", 2};
  expect_refused({claims}, "to prepare with");
}

TEST_F(LyingServer, SumsAreSentOnlyWhereThePlanNeedsThemAndTheSiteAllowsThem) {
  expect_refused({task(Work::kMeasure, {kPrepared})}, "its plan neither standardises nor weighs classes");
  config_.model.standardise = Standardise::kFull;
  expect_refused({task(Work::kMeasure, {kPrepared})}, "which --allow does not name", 0, false);
  (void)serve({task(Work::kMeasure, {kPrepared})});
  ASSERT_EQ(script_.got.size(), 1U);
  EXPECT_EQ(script_.got[0].blocks[0].name, "sums");
}

TEST_F(LyingServer, TasksMustBeThoseOfThePlan) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_refused({task(Work::kTrain, {{"w", {0}}}, 2)}, "was expected");
  expect_refused({task(Work::kTrain, {{"w", {0, 0, 0}}}, 2)}, "was expected");
  expect_refused({task(Work::kTrain, {{"v", {0, 0}}}, 2)}, "was expected");
  expect_refused({task(Work::kTrain, {{"w", {0, inf}}}, 2)}, "is not finite");
  expect_refused({task(Work::kTrain, {{"w", {0, 0}}}, 3)}, "tau is 2");
  expect_refused({task(Work::kTrain, {{"w", {0, 0}}}, std::numeric_limits<std::uint64_t>::max())},
                 "tau is 2");
  expect_refused({task(Work::kTrain, {}, 2)}, "was expected");
  expect_refused({task(Work::kInitialise, {kPrepared})}, "the weights of a trainer");
  Assignment cut = task(Work::kTrain, {{"w", {0, 0}}}, 2);
  cut.payload = std::make_shared<const std::string>("short");
  expect_refused({cut}, "were expected");
  config_.model.standardise = Standardise::kFull;
  expect_refused({task(Work::kTrain, {{"w", {0, 0}}}, 2)}, "before it has sent what was measured");
}

TEST_F(LyingServer, APlanIsReadAsAnExperimentFileIs) {
  for (const std::string& plan :
       {std::string("\xff\xfe"), "x = " + std::string(100'000, '['),
        std::string("[model]\nname = \"external\"\n"), std::string("[run]\nsteps = -1\n"),
        std::string("[algorithm]\neta = nan\n")}) {
    experiment_ = plan;
    const auto outcome = serve({});
    ASSERT_FALSE(outcome) << plan.substr(0, 20);
    EXPECT_FALSE(outcome.error().text().empty());
  }
}

TEST_F(LyingServer, ASchemaThatIsNotThatOfTheDataIsRefused) {
  const Schema right = schema_;
  const auto refused = [&](auto change) {
    schema_ = right;
    change(schema_);
    const auto outcome = serve({task(Work::kTrain, {{"w", {0, 0}}}, 2)});
    EXPECT_FALSE(outcome);
    EXPECT_TRUE(script_.got.empty());
  };
  refused([](Schema& schema) { schema.classes = {"maybe", "perhaps"}; });
  refused([](Schema& schema) { schema.positive = "perhaps"; });
  refused([](Schema& schema) {
    schema.columns = std::uint64_t{1} << 60U;
    schema.features.clear();
  });
}

}  // namespace
}  // namespace mfl
