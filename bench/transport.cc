// Transfer rate of a large State: rounds of a federation against the same bytes without one, in the same process.
//
//   mfl_transport [NODES [MEGABYTES [ROUNDS [WHAT]]]]     default: 16 nodes, 40 MB, 5 rounds, tcp,bare,memory,disk
//
// A round is the State down to every node and an update of the same size up from each. The bare side is the same transport,
// messages, chunks and connections without a coordinator: no ordering, no checks, no mean, no digest, nothing stored. The TCP side has
// no messages either: one thread per connection on both sides that write and read 256 KiB at a time. The federation's nodes answer with
// precomputed vectors, so nothing is trained; the resulting mean is checked.
// Prints one line of JSON: seconds of every round over TCP, bare, with rounds kept in memory, and with rounds committed to disk, one behind
// as mfl server does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "mfl/algorithm/algorithms.h"
#include "mfl/base/files.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/store_log.h"
#include "mfl/federation/write_behind.h"
#include "mfl/network/client.h"
#include "mfl/network/server.h"
#include "transport_peers.h"

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;
using Load = TransportLoad;

// The federation: a real server, coordinator and clients.

class TimedLog final : public RoundLog {
 public:
  explicit TimedLog(RoundLog* inner) : inner_(inner) {}
  Result<void> commit(const CommittedRound&) override {
    give_up("a round was copied");
  }
  Result<void> take(CommittedRound& round) override {
    if (inner_ != nullptr) MFL_CHECK(inner_->take(round));
    times_.push_back(Clock::now());
    return {};
  }
  Result<void> finish(const Ending& ending) override {
    return inner_ != nullptr ? inner_->finish(ending) : Result<void>{};
  }
  Result<void> flush() override { return inner_ != nullptr ? inner_->flush() : Result<void>{}; }
  std::optional<std::uint64_t> durable() const override {
    return inner_ != nullptr ? inner_->durable() : std::nullopt;
  }

  std::vector<double> seconds() const {
    std::vector<double> out;
    for (std::size_t i = 1; i < times_.size(); ++i)
      out.push_back(std::chrono::duration<double>(times_[i] - times_[i - 1]).count());
    return out;
  }

 private:
  RoundLog* inner_;
  std::vector<Clock::time_point> times_;
};

std::string vectors_of(const Load& load, float value) {
  const std::vector<float> numbers(2 * load.columns(), value);
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

void take_part(const std::string& address, const Load& load, std::size_t node) {
  const auto client = must(FederationClient::make({address, std::nullopt, fmt::format("node-{:04}", node)}));
  const auto plan = client->greet("");
  if (!plan) give_up(plan.error().error.text());
  Joining joining{plan->config_digest, 1, load.columns(), 32};
  joining.schema.columns = load.columns();
  joining.schema.task = LabelTask::kRegression;
  const auto joined = client->attend(joining, load.bytes);
  if (!joined) give_up(joined.error().error.text());
  // Node i sends i + 1 everywhere: the mean is exact, and known.
  const float mean = static_cast<float>(load.nodes + 1) / 2;
  Update update{.run_id = plan->run_id,
                .ticket = {},
                .weight = 1,
                .losses = {.train_loss = 0.5},
                .payload = vectors_of(load, static_cast<float>(node + 1))};
  const std::string expected = node == 0 ? vectors_of(load, mean) : std::string();
  for (;;) {
    const auto order = client->next_order();
    if (!order) give_up(order.error().error.text());
    if (order->kind == Order::Kind::kDone) return;
    if (order->kind != Order::Kind::kTask) give_up("the session ended");
    if (order->task.ticket.round > 1 && node == 0 && *order->task.payload != expected)
      give_up("the State is not the mean of what was sent");
    update.ticket = order->task.ticket;
    update.base = order->task.state_digest;
    update.blocks = order->task.blocks;
    if (order->task.steps == 0) {
      update.blocks.clear();
      update.payload.clear();
    }
    const auto verdict = client->submit(update);
    if (!verdict || !verdict->counts()) give_up(verdict ? verdict->text : verdict.error().error.text());
  }
}

std::vector<double> run_federation(const Load& load, RoundLog* kept, const std::string& run_id) {
  CoordinatorOptions options;
  options.run_id = run_id;
  options.config_digest = "bench";
  options.epoch = 1;
  options.steps = load.rounds + 1;
  options.min_available_nodes = load.nodes;
  options.columns = load.columns();
  options.round_deadline = Time(600'000);
  options.threads = 0;
  TimedLog log(kept);
  const Plan plan{.run_id = run_id, .config_digest = "bench", .experiment = {}};
  const auto server =
      must(FederationServer::start(make_coordinator<float>(make_mfl(0.002, 0.5, 1), options, log), plan, {}));
  std::vector<std::thread> nodes;
  for (std::size_t i = 0; i < load.nodes; ++i)
    nodes.emplace_back([&, i] { take_part(server->address(), load, i); });
  for (std::thread& node : nodes) node.join();
  server->stop();
  return log.seconds();
}

std::vector<double> run_durable(const Load& load) {
  const TempFolder folder = must(TempFolder::make());
  Store store = must(Store::open(folder.path() / "runs.db", {.full_sync = true}));
  const std::string run = must(store.create_run({}));
  StoreLog store_log(store, run, {});
  WriteBehind log(store_log);
  return run_federation(load, &log, run);
}

std::size_t argument(int count, char** words, int at, std::size_t otherwise) {
  return count > at ? std::strtoull(words[at], nullptr, 10) : otherwise;
}

}  // namespace
}  // namespace mfl

int main(int count, char** words) {
  using namespace mfl;
  Load load;
  load.nodes = argument(count, words, 1, load.nodes);
  load.bytes = argument(count, words, 2, load.bytes >> 20U) << 20U;
  load.rounds = argument(count, words, 3, load.rounds);
  if (load.nodes == 0 || load.bytes == 0 || load.rounds == 0)
    give_up("NODES, MEGABYTES and ROUNDS must be at least 1");
  const std::string_view what = count > 4 ? words[4] : "tcp,bare,memory,disk";
  std::string out = fmt::format("\"nodes\": {}, \"bytes\": {}", load.nodes, load.bytes);
  const auto measure = [&](std::string_view name, const auto& run) {
    if (what.find(name) != std::string_view::npos)
      out += fmt::format(", \"{}\": [{}]", name, fmt::join(run(), ", "));
  };
  measure("tcp", [&] { return run_tcp(load); });
  measure("bare", [&] { return run_bare(load); });
  measure("memory", [&] { return run_federation(load, nullptr, "bench"); });
  measure("disk", [&] { return run_durable(load); });
  fmt::print("{{{}}}\n", out);
  return 0;
}
