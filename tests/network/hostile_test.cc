// One hostile node of ten, over real connections: the run ends, the result is that of the run without it, and it is the only
// one named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "mfl/config/entries.h"
#include "mfl/experiment/engines.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/trainer.h"
#include "mfl/load/problem.h"
#include "mfl/network/client.h"
#include "mfl/network/server.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kNodes = 10, kQuorum = 7;
constexpr std::uint64_t kSteps = 120, kTau = 4;
constexpr const char* kHostile = "mallory";

class LastState final : public RoundLog {
 public:
  Result<void> commit(const CommittedRound& round) override {
    last = round.blob;
    return {};
  }
  Result<void> finish(const Ending& how) override {
    ending = how;
    return {};
  }
  std::string last;
  std::optional<Ending> ending;
};

// The data of ten nodes, and of a test.
class Data {
 public:
  Data() {
    config_.data.source = "synthetic";
    config_.data.train = 3'000;
    config_.data.test = 2'000;
    config_.federation.nodes = kNodes;
    config_.algorithm.eta = 0.01;
    config_.algorithm.tau = kTau;
    auto problem = load_problem<float>(Experiment(config_));
    if (!problem) throw std::runtime_error(problem.error().text());
    Federation<float>& all = problem->federation;
    for (const Shard& shard : all.nodes) shards_.push_back({all.model, all.train, {shard}, std::nullopt});
    test_ = std::move(all.test);
    model_ = all.model;
  }

  Algorithm algorithm() const { return make_algorithm(config_.algorithm); }
  std::uint64_t columns() const { return test_->columns(); }
  std::unique_ptr<Trainer> trainer(std::size_t node) const {
    return make_trainer<float>(shards_[node], setting_of(Experiment(config_)), serial_workers());
  }
  double accuracy(const std::string& blob) const {
    const auto state = decode_round<float>(blob).value().state;
    const auto found = model_->evaluate(*test_, {0, test_->size()}, 0, state.w().data());
    return static_cast<double>(found.correct) / static_cast<double>(test_->size());
  }

 private:
  Config config_;
  std::vector<Federation<float>> shards_;
  std::optional<Samples<float>> test_;
  std::shared_ptr<const Model<float>> model_;
};

const Data& data() {
  static const Data kData;
  return kData;
}

using Spoil = std::function<void(Update&)>;

// A node as others are, but for what `spoil` makes of its updates. Joins again where its session ends.
void take_part(const std::string& address, std::size_t node, const std::string& name, std::uint64_t weight,
               const Spoil& spoil, const std::atomic<bool>& over) {
  const auto trainer = data().trainer(node);
  while (!over) {
    const auto client = FederationClient::make({address, std::nullopt, name}).value();
    const auto plan = client->greet("");
    Joining joining{"config", weight == 0 ? trainer->weight() : weight, data().columns(), 32};
    joining.schema = {data().columns(), {}, "", "", LabelTask::kEvenOdd, {"odd", "even"}, ""};
    if (!plan || !client->attend(joining, std::uint64_t{1} << 24U)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    for (;;) {
      const auto order = client->next_order();
      if (!order || order->kind == Order::Kind::kEnded) break;
      if (order->kind == Order::Kind::kDone) return;
      if (order->kind != Order::Kind::kTask) continue;
      Trained trained = trainer->train(order->task).value();
      Update update{order->task.run_id, order->task.ticket,        joining.weight,
                    trained.losses,     std::move(trained.blocks), std::move(trained.payload)};
      update.base = order->task.state_digest;
      if (spoil) spoil(update);
      if (!client->submit(update)) break;
    }
  }
}

struct Federated {
  double accuracy = 0;
  FederationStatus status;
  std::vector<std::string> log;  // warnings
};

// With a hostile tenth node, or without it.
Federated federate(const std::optional<Spoil>& spoil, std::uint64_t hostile_weight = 0) {
  LastState log;
  CoordinatorOptions options;
  options.run_id = "run";
  options.config_digest = "config";
  options.epoch = 1;
  options.steps = kSteps;
  options.min_available_nodes = kNodes - 1;
  options.quorum = kQuorum;
  options.retry_pause = Time(10);
  options.max_samples = 10'000;
  const Plan plan{"run", "config", "", 32};
  Federated out;
  std::mutex mutex;
  ServerOptions server_options;
  server_options.log = [&](const LogLine& line) {
    if (line.level != LogLine::Level::kWarning) return;
    const std::lock_guard lock(mutex);
    std::string text = line.event;
    for (const auto& [key, value] : line.fields) text += ' ' + value;
    out.log.push_back(text);
  };
  const auto server =
      FederationServer::start(make_coordinator<float>(data().algorithm(), options, log), plan, server_options)
          .value();
  std::atomic<bool> over = false;
  std::vector<std::thread> nodes;
  for (std::size_t i = 0; i + 1 < kNodes; ++i)
    nodes.emplace_back([&, i] { take_part(server->address(), i, fmt::format("node-{}", i), 0, {}, over); });
  std::thread hostile([&] {
    if (spoil) take_part(server->address(), kNodes - 1, kHostile, hostile_weight, *spoil, over);
  });
  for (std::thread& node : nodes) node.join();
  over = true;
  out.status = server->status();
  server->stop();
  hostile.join();
  EXPECT_TRUE(log.ending && log.ending->status == RunStatus::kDone);
  out.accuracy = data().accuracy(log.last);
  return out;
}

Spoil all_of(float value) {
  return [value](Update& u) {
    const std::size_t count = u.payload.size() / sizeof(float);
    u.payload = to_payload(std::vector<Vector<float>>{Vector<float>(count, value)});
  };
}

TEST(Hostile, OneNodeOfTenOutOfBoundsDoesNotChangeTheResultAndIsTheOnlyOneNamed) {
  const double honest = federate(std::nullopt).accuracy;
  ASSERT_GT(honest, 0.8);
  struct Case {
    const char* name;
    Spoil spoil;
    std::uint64_t weight = 0;
    bool in_bounds = false;  // counted: the run ends, and the result suffers
  };
  int turn = 0;
  const Case cases[] = {
      {"1e38", all_of(1e38F)},
      {"1e10", all_of(1e10F)},
      {"not a number", all_of(std::numeric_limits<float>::quiet_NaN())},
      {"zeros", all_of(0), 0, true},
      {"2^32 samples", [](Update&) {}, std::uint64_t{1} << 32U},
      {"loss -1e308", [](Update& u) { u.losses.train_loss = -1e308; }},
      {"alternating",
       [&turn](Update& u) {
         if (++turn % 2 == 1) all_of(1e38F)(u);
       }},
  };
  for (const Case& hostile : cases) {
    SCOPED_TRACE(hostile.name);
    const Federated result = federate(hostile.spoil, hostile.weight);
    fmt::print("{}: accuracy {:.4f}, without it {:.4f}\n", hostile.name, result.accuracy, honest);
    if (!hostile.in_bounds) {
      EXPECT_NEAR(result.accuracy, honest, 0.01);
    }
    for (const NodeStanding& node : result.status.standings) EXPECT_EQ(node.name, kHostile);
    for (const std::string& warning : result.status.warnings) EXPECT_THAT(warning, HasSubstr(kHostile));
    for (const std::string& line : result.log) EXPECT_THAT(line, HasSubstr(kHostile));
  }
}

}  // namespace
}  // namespace mfl
