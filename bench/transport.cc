// Transfer rate of a large State: rounds of a federation against a bare gRPC stream of the same bytes, in the same process.
//
//   mfl_transport [NODES [MEGABYTES [ROUNDS]]]     default: 16 nodes, 40 MB, 5 rounds
//
// A round is the State down to every node and an update of the same size up from each. The bare side is the same service,
// messages, chunks and connections without a coordinator: no ordering, no checks, no mean, no digest, nothing stored. The
// federation's nodes answer with precomputed vectors, so nothing is trained; the resulting mean is checked.
// Prints one line of JSON: seconds of every round, bare, with rounds kept in memory, and with rounds committed to disk.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "mfl/algorithm/algorithm.h"
#include "mfl/base/files.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/store_log.h"
#include "mfl/network/client.h"
#include "mfl/network/server.h"
#include "mfl/network/wire.grpc.pb.h"
#include "mfl/network/wire.h"

namespace mfl {
namespace {

namespace v1 = wire::v1;
using Clock = std::chrono::steady_clock;

struct Load {
  std::size_t nodes = 16;
  std::size_t bytes = std::size_t{40} << 20U;  // of a State
  std::size_t rounds = 5;

  std::size_t columns() const { return bytes / 2 / sizeof(float); }  // w and d
  std::size_t chunks() const { return (bytes + wire::kChunk - 1) / wire::kChunk; }
};

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "mfl_transport: {}\n", why);
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().text());
  return *std::move(result);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Bare: chunks down, chunks up.

class ChunkWriter final : public grpc::ServerWriteReactor<v1::Order> {
 public:
  ChunkWriter(const v1::Order& chunk, std::size_t count) : chunk_(chunk), left_(count) { next(); }
  void OnWriteDone(bool ok) override { ok ? next() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void next() {
    if (left_ == 0) return Finish(grpc::Status::OK);
    --left_;
    StartWrite(&chunk_);
  }
  const v1::Order& chunk_;
  std::size_t left_;
};

class ChunkReader final : public grpc::ServerReadReactor<v1::UpdatePart> {
 public:
  ChunkReader(std::size_t expected, v1::Verdict* verdict) : expected_(expected), verdict_(verdict) {
    StartRead(&part_);
  }
  void OnReadDone(bool ok) override {
    if (ok) {
      bytes_ += part_.chunk().size();
      return StartRead(&part_);
    }
    verdict_->set_reason(bytes_ == expected_ ? v1::NONE : v1::SHAPE);
    Finish(grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  std::size_t expected_;
  v1::Verdict* verdict_;
  v1::UpdatePart part_;
  std::size_t bytes_ = 0;
};

class BareService final : public v1::Federation::CallbackService {
 public:
  explicit BareService(const Load& load) : load_(load) { chunk_.set_chunk(std::string(wire::kChunk, 'x')); }
  grpc::ServerWriteReactor<v1::Order>* Attend(grpc::CallbackServerContext*, const v1::Joining*) override {
    return new ChunkWriter(chunk_, load_.chunks());
  }
  grpc::ServerReadReactor<v1::UpdatePart>* Submit(grpc::CallbackServerContext*,
                                                  v1::Verdict* verdict) override {
    return new ChunkReader(load_.chunks() * wire::kChunk, verdict);
  }

 private:
  Load load_;
  v1::Order chunk_;
};

void bare_round(v1::Federation::Stub& stub, const Load& load, const v1::UpdatePart& part) {
  std::size_t bytes = 0;
  {
    grpc::ClientContext context;
    const auto reader = stub.Attend(&context, {});
    for (v1::Order order; reader->Read(&order);) bytes += order.chunk().size();
    if (!reader->Finish().ok() || bytes != load.chunks() * wire::kChunk) give_up("bare: bytes are missing");
  }
  grpc::ClientContext context;
  v1::Verdict verdict;
  const auto writer = stub.Submit(&context, &verdict);
  for (std::size_t i = 0; i < load.chunks(); ++i) writer->Write(part);
  writer->WritesDone();
  if (!writer->Finish().ok() || verdict.reason() != v1::NONE) give_up("bare: the server misses bytes");
}

std::vector<double> run_bare(const Load& load) {
  BareService service(load);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(static_cast<int>(2 * wire::kChunk));
  builder.SetResourceQuota(grpc::ResourceQuota("bare").Resize(ServerOptions{}.memory_quota));
  const auto server = builder.BuildAndStart();
  std::vector<double> seconds;
  Clock::time_point start = Clock::now();
  std::barrier all(static_cast<std::ptrdiff_t>(load.nodes), [&]() noexcept {
    seconds.push_back(seconds_since(start));
    start = Clock::now();
  });
  std::vector<std::thread> nodes;
  for (std::size_t i = 0; i < load.nodes; ++i)
    nodes.emplace_back([&] {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto stub = v1::Federation::NewStub(grpc::CreateCustomChannel(
          fmt::format("127.0.0.1:{}", port), grpc::InsecureChannelCredentials(), arguments));
      v1::UpdatePart part;
      part.set_chunk(std::string(wire::kChunk, 'x'));
      for (std::size_t round = 0; round <= load.rounds; ++round) {
        bare_round(*stub, load, part);
        all.arrive_and_wait();
      }
    });
  for (std::thread& node : nodes) node.join();
  server->Shutdown();
  seconds.erase(seconds.begin());  // it includes the connection set-up
  return seconds;
}

// The federation: a real server, coordinator and clients.

class TimedLog final : public RoundLog {
 public:
  explicit TimedLog(RoundLog* inner) : inner_(inner) {}
  Result<void> commit(const CommittedRound& round) override {
    if (inner_ != nullptr) MFL_CHECK(inner_->commit(round));
    times_.push_back(Clock::now());
    return {};
  }
  Result<void> finish(const Ending& ending) override {
    return inner_ != nullptr ? inner_->finish(ending) : Result<void>{};
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
  if (!client->attend({plan->config_digest, 1, load.columns(), 32}, load.bytes)) give_up("cannot join");
  // Node i sends i + 1 everywhere: the mean is exact, and known.
  const float mean = static_cast<float>(load.nodes + 1) / 2;
  Update update{plan->run_id, {}, 1, 0.5, vectors_of(load, static_cast<float>(node + 1))};
  const std::string expected = vectors_of(load, mean);
  for (;;) {
    const auto order = client->next_order();
    if (!order) give_up(order.error().error.text());
    if (order->kind == Order::Kind::kDone) return;
    if (order->kind != Order::Kind::kTask) give_up("the session ended");
    if (order->task.ticket.round > 1 && node == 0 && *order->task.payload != expected)
      give_up("the State is not the mean of what was sent");
    update.ticket = order->task.ticket;
    if (order->task.steps == 0) update.payload.clear();
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
  const Plan plan{run_id, "bench", "svm", 0.3, "mfl", 0.002, 0.5, 1, options.steps, 32};
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
  StoreLog log(store, run, {});
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
  const auto bare = run_bare(load);
  const auto memory = run_federation(load, nullptr, "bench");
  const auto disk = run_durable(load);
  fmt::print("{{\"nodes\": {}, \"bytes\": {}, \"bare\": [{}], \"memory\": [{}], \"disk\": [{}]}}\n",
             load.nodes, load.bytes, fmt::join(bare, ", "), fmt::join(memory, ", "), fmt::join(disk, ", "));
  return 0;
}
