// Benchmarks of the parts: kernels as a share of what the machine can do, aggregation, updates, one round. One core.
//   mfl_bench [--json FILE] [--benchmark_filter=...]
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/algorithm/participation.h"
#include "mfl/base/files.h"
#include "mfl/base/rng.h"
#include "mfl/engine/engine.h"
#include "mfl/model/objective.h"

namespace mfl::bench {
namespace {

constexpr std::size_t kColumns = 784;
constexpr std::size_t kCachedRows = 512;                     // as bytes they fit the L2 cache
constexpr std::size_t kManyRows = 96 * 1024;                 // as f32 they are 300 MB and fit no cache

// The work of one iteration: the operations a kernel must do, and the bytes it must read.
struct Work {
  double operations = 0;
  double bytes = 0;
  std::string limit;  // the name of the limit that binds it; empty for limits and for parts without one
};

std::map<std::string, Work>& works() {
  static std::map<std::string, Work> all;
  return all;
}

void add(const std::string& name, Work work, std::function<void()> body) {
  works()[name] = std::move(work);
  benchmark::RegisterBenchmark(name.c_str(), [body = std::move(body)](benchmark::State& state) {
    for (auto _ : state) body();
  })->Unit(benchmark::kMicrosecond)->MinTime(0.2)->Repetitions(5)->ReportAggregatesOnly(false);
}

Dataset bytes_without_zeros(std::size_t rows) {
  Stream stream(1, Purpose::kSynthetic);
  Dataset data;
  data.rows = rows;
  data.columns = kColumns;
  data.scale = 1.0 / 255;
  DenseRows<std::uint8_t> dense;
  dense.values.resize(rows * kColumns);
  for (auto& byte : dense.values) byte = static_cast<std::uint8_t>(1 + stream.below(255));
  data.features = std::move(dense);
  return data;
}

template <class T>
Dataset as_numbers(Dataset data) {
  const auto& bytes = std::get<DenseRows<std::uint8_t>>(data.features).values;
  data.features = DenseRows<T>{{bytes.begin(), bytes.end()}};
  return data;
}

std::vector<double> signs(std::size_t n) {
  Stream stream(2, Purpose::kSynthetic);
  std::vector<double> y(n);
  for (double& v : y) v = stream.below(2) == 0 ? 1 : -1;
  return y;
}

// Loss and gradient of one pass for some settings.
template <class T>
void add_pass(const std::string& name, const Samples<T>& samples, Loss loss, std::size_t settings, const std::string& limit,
              double element_bytes) {
  auto w = std::make_shared<std::vector<Vector<T>>>(settings, Vector<T>(kColumns, T(0.001)));
  auto g = std::make_shared<std::vector<Vector<T>>>(settings, Vector<T>(kColumns));
  auto memory = std::make_shared<BlockMemory<T>>(kColumns, settings, 1);
  const auto numbers = static_cast<double>(samples.size() * kColumns);
  add(name, {2 * numbers * static_cast<double>(settings), numbers * element_bytes, limit}, [=, &samples] {
    std::vector<LinearItem<T>> items;
    for (std::size_t s = 0; s < settings; ++s) items.push_back({(*w)[s].data(), (*g)[s].data(), 0.3});
    loss_and_gradient(loss, samples, {0, samples.size()}, std::span(items), *memory);
    benchmark::DoNotOptimize(items.front().loss);
  });
}

// Steps of one model under the hinge, its sums kept from pass to pass: only margins are computed, and few of them in steps that need no loss.
void add_hinge_walk(const std::string& name, const Samples<float>& samples, bool wants_loss) {
  struct Walk {
    explicit Walk(const Samples<float>& from)
        : kept(shards(from), kColumns, 1), memory(kColumns, 1, 1), w(kColumns), g(kColumns) {}
    static std::vector<Shard> shards(const Samples<float>& from) { return {{0, from.size()}}; }
    HingeMemory<float> kept;
    BlockMemory<float> memory;
    Vector<float> w, g;
  };
  auto walk = std::make_shared<Walk>(samples);
  const auto numbers = static_cast<double>(samples.size() * kColumns);
  add(name, wants_loss ? Work{numbers, numbers, "limit/bytes_f32"} : Work{}, [=, &samples] {
    LinearItem<float> item{.w = walk->w.data(), .gradient = walk->g.data(), .lambda = 0.3, .wants_loss = wants_loss,
                     .hinge = walk->kept.of(0)};
    loss_and_gradient(Loss::kHinge, samples, {0, samples.size()}, std::span(&item, 1), walk->memory);
    samples.kernels().descent_step(kColumns, 0.0001F, walk->g.data(), walk->w.data());
  });
}

void add_limits() {
  constexpr std::size_t kRepeats = 20000;
  add("limit/fma_f32", {fused_multiply_adds_f32(1) * kRepeats, 0, {}}, [] { fused_multiply_adds_f32(kRepeats); });
  add("limit/fma_f64", {fused_multiply_adds_f64(1) * kRepeats, 0, {}}, [] { fused_multiply_adds_f64(kRepeats); });
  constexpr std::size_t kPasses = 32;
  add("limit/bytes_f32", {converted_multiply_adds_f32(1) * kPasses, 0, {}}, [] { converted_multiply_adds_f32(kPasses); });
  add("limit/bytes_f64", {converted_multiply_adds_f64(1) * kPasses, 0, {}}, [] { converted_multiply_adds_f64(kPasses); });
  add("limit/kept_f32", {kept_multiply_adds_f32(1) * kPasses, 0, {}}, [] { kept_multiply_adds_f32(kPasses); });
  static std::vector<std::uint64_t> nearest(16 * 1024 / 8, 1);
  add("limit/read_l1", {0, static_cast<double>(nearest.size() * 8), {}}, [] { benchmark::DoNotOptimize(read_all(nearest)); });
  add("limit/write_l1", {0, static_cast<double>(nearest.size() * 8), {}}, [] { write_all(nearest); });
  static std::vector<std::uint64_t> near(512 * 1024 / 8, 1), far(std::size_t{256} * 1024 * 1024 / 8, 1);
  add("limit/read_l2", {0, static_cast<double>(near.size() * 8), {}}, [] { benchmark::DoNotOptimize(read_all(near)); });
  add("limit/read_memory", {0, static_cast<double>(far.size() * 8), {}}, [] { benchmark::DoNotOptimize(read_all(far)); });
}

void add_kernels() {
  const auto y = signs(kManyRows);
  const std::span<const double> some = std::span(y).first(kCachedRows);
  static const Samples<float> bytes32(bytes_without_zeros(kCachedRows), some);
  static const Samples<double> bytes64(bytes_without_zeros(kCachedRows), some);
  static const Samples<float> dense32(as_numbers<float>(bytes_without_zeros(128)), some.first(128));
  static const Samples<float> large32(as_numbers<float>(bytes_without_zeros(kManyRows)), y);
  add_pass("fused bytes f32", bytes32, Loss::kSquared, 1, "limit/kept_f32", 1);
  add_hinge_walk("fused bytes f32, hinge, with the loss", bytes32, true);
  add_hinge_walk("step on bytes f32, hinge, no loss asked for", bytes32, false);
  add_pass("fused bytes f64", bytes64, Loss::kSquared, 1, "limit/bytes_f64", 1);
  add_pass("batched bytes f32, 16 settings", bytes32, Loss::kSquared, 16, "limit/fma_f32", 1);
  add_pass("fused f32 in cache", dense32, Loss::kSquared, 1, "limit/read_l2", 4);
  add_pass("fused f32 not in cache", large32, Loss::kSquared, 1, "limit/read_memory", 4);
}

void add_parts() {
  static Vector<float> x(kColumns), g(kColumns, 0.5F), d(kColumns), w(kColumns);
  Stream stream(3, Purpose::kSynthetic);
  for (float& v : x) v = static_cast<float>(stream.normal());
  static ExactMean mean(kColumns);
  add("exact accumulation of one vector, f32", {}, [] {
    mean.clear();
    mean.add(std::span<const float>(x), 1250);
  });
  add("exact mean of one vector, f32", {}, [] { mean.mean(std::span<float>(g)); });
  static ExactMean other(kColumns);
  other.add(std::span<const float>(x), 1250);
  add("exact merge of two sums of one vector, f32", {}, [] {
    other.merge(mean);
    benchmark::DoNotOptimize(other.total_weight());
  });
  add("update of d and w, f32", {}, [] {
    default_kernel_set().f32.momentum_step(kColumns, 0.002F, 0.5F, g.data(), d.data(), w.data());
    benchmark::DoNotOptimize(w.data());
  });
  static const auto federation = [] {
    std::vector<Shard> nodes;
    for (std::size_t i = 0; i < 4; ++i) nodes.push_back({i * 1250, 1250});
    return Federation<float>{linear_model<float>(Loss::kHinge, kColumns), Samples<float>(bytes_without_zeros(5000), signs(5000)), nodes, std::nullopt};
  }();
  static const Algorithm algorithm = make_mfl(0.0001, 0.5, 4);
  static const auto engine = local_engine<float>(federation, {Setting{algorithm, 0.3}}, serial_workers());
  static State<float> state = initial_state<float>(algorithm, kColumns);
  static Aggregate<float> aggregate;
  add("one round: 4 nodes, tau 4, 5,000 x 784 bytes, serial", {}, [] {
    StepRange<float> range{.state = &state, .out = &aggregate};
    engine->run(std::span(&range, 1), 4);
  });
}

// The same rounds twice: run by an engine, and as bare arithmetic. The difference is the engine's overhead.
struct Rounds {
  explicit Rounds(std::size_t nodes)
      : federation{linear_model<float>(Loss::kSquaredHinge, kColumns), Samples<float>(bytes_without_zeros(kRows), signs(kRows)), {}, std::nullopt} {
    for (std::size_t i = 0; i < nodes; ++i) federation.nodes.push_back({i * kRows / nodes, kRows / nodes});
    engine = local_engine<float>(federation, settings, serial_workers());
  }

  void by_engine() {
    StepRange<float> range{.state = &state, .out = &aggregate};
    engine->run(std::span(&range, 1), kTau);
  }

  void bare() {
    for (ExactMean& sum : sums) sum.clear();
    loss.clear();
    for (const Shard& shard : federation.nodes) {
      for (std::size_t v = 0; v < sums.size(); ++v)
        std::ranges::copy(state.vectors[v].values, memory.vectors(0)[v].begin());
      train_node<float>(settings, chosen, *federation.model, {federation.train, shard}, kTau, {}, memory, losses);
      for (std::size_t v = 0; v < sums.size(); ++v)
        sums[v].add(std::span<const float>(memory.vectors(0)[v]), shard.count);
      loss.add(std::span<const double>(&losses.front().loss, 1), shard.count);
    }
    loss.mean(std::span<double>(&losses.front().loss, 1));
    for (ExactMean& sum : sums) sum.mean(std::span<float>(mean));
  }

  static constexpr std::size_t kRows = 4096, kTau = 4;
  Algorithm algorithm = make_mfl(0.0001, 0.5, kTau);
  std::vector<Setting> settings = {{algorithm, 0.3}};
  Federation<float> federation;
  std::unique_ptr<Engine<float>> engine;
  State<float> state = initial_state<float>(algorithm, kColumns);
  Aggregate<float> aggregate;
  std::vector<Chosen<float>> chosen = {{.state = state.vectors}};
  NodeMemory<float> memory{*federation.model, settings, 1};
  std::vector<ExactMean> sums{2, ExactMean(kColumns)};
  ExactMean loss{1};
  std::vector<NodeLosses> losses = {{}};
  Vector<float> mean = Vector<float>(kColumns);
};

void add_rounds() {
  for (const std::size_t nodes : {4, 64, 1024, 4096}) {
    const auto rounds = std::make_shared<Rounds>(nodes);
    add(fmt::format("round of {} nodes, bare", nodes), {}, [rounds] { rounds->bare(); });
    add(fmt::format("round of {} nodes, engine", nodes), {}, [rounds] { rounds->by_engine(); });
  }
}

// The cost of one node of a fleet in a round of MFL with tau 4, part by part: its data, its gradients and updates, its
// exact accumulation. It starts from the mean of a first round, so that vectors are as dense and as varied as in training.
struct NodeParts {
  explicit NodeParts(std::size_t samples)
      : fleet(FleetRows({static_cast<std::uint32_t>(samples), static_cast<std::uint32_t>(samples), kColumns}, 1), 1'000'000,
              {1, -1, 1, -1, 1, -1, 1, -1, 1, -1}),
        buffer(fleet.buffer()) {
    for (int i = 0; i < 256; ++i) {
      make();
      train();
      accumulate();
    }
    for (std::size_t v = 0; v < sums.size(); ++v) sums[v].mean(std::span<float>(state.vectors[v].values));
    train();
  }

  void make() { fleet.fill(node++ % fleet.nodes(), buffer); }
  void train() {
    for (std::size_t v = 0; v < sums.size(); ++v) std::ranges::copy(state.vectors[v].values, memory.vectors(0)[v].begin());
    train_node<float>(settings, chosen, *model, {buffer, {0, buffer.size()}}, kTau, {}, memory, losses);
  }
  void accumulate() {
    for (std::size_t v = 0; v < sums.size(); ++v) sums[v].add(std::span<const float>(memory.vectors(0)[v]), buffer.size());
    loss.add(std::span<const double>(&losses.front().loss, 1), buffer.size());
  }

  static constexpr std::uint64_t kTau = 4;
  std::shared_ptr<const Model<float>> model = linear_model<float>(Loss::kSquaredHinge, kColumns);
  Fleet<float> fleet;
  Samples<float> buffer;
  std::size_t node = 0;
  Algorithm algorithm = make_mfl(0.01, 0.9, kTau);
  std::vector<Setting> settings = {{algorithm, 0.01}};
  State<float> state = initial_state<float>(algorithm, kColumns);
  std::vector<Chosen<float>> chosen = {{.state = state.vectors}};
  NodeMemory<float> memory{*model, settings, 1};
  std::vector<ExactMean> sums{2, ExactMean(kColumns)};
  ExactMean loss{1};
  std::vector<NodeLosses> losses = {{}};
};

// The same run by the engine: a round of 1,000 of a million nodes.
struct FleetRound {
  FleetRound() {
    federation.fleet = std::make_shared<const Fleet<float>>(parts.fleet);
    engine = local_engine<float>(federation, parts.settings, serial_workers());
  }
  void run() {
    const auto nodes = choose_participants({1, 0.001}, ++round, 1, 1'000'000);
    StepRange<float> range{.state = &parts.state, .out = &aggregate, .participants = nodes};
    engine->run(std::span(&range, 1), NodeParts::kTau);
  }

  NodeParts parts{10};
  Federation<float> federation{parts.model, Samples<float>::buffer(0, kColumns, FleetRows::kScale), {}, {}};
  std::unique_ptr<Engine<float>> engine;
  Aggregate<float> aggregate;
  std::uint64_t round = 0;
};

void add_fleet() {
  for (const std::size_t samples : {1, 10}) {
    const auto parts = std::make_shared<NodeParts>(samples);
    const std::string of = fmt::format("node of {} x 784, ", samples);
    add(of + "its data", {}, [parts] { parts->make(); });
    add(of + "its gradients and updates", {}, [parts] { parts->train(); });
    add(of + "its exact accumulation", {}, [parts] { parts->accumulate(); });
  }
  add("draw of 10,000 of 1,000,000 nodes", {}, [round = std::uint64_t{0}]() mutable {
    benchmark::DoNotOptimize(choose_participants({1, 0.01}, ++round, 1, 1'000'000));
  });
  const auto fleet_round = std::make_shared<FleetRound>();
  add("round of 1,000 of a fleet of 1,000,000 nodes, engine", {}, [fleet_round] { fleet_round->run(); });
}

// Keeps the median time of each benchmark beside the usual table.
class Collector : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median")
        seconds[run.run_name.function_name] = run.GetAdjustedRealTime() / 1e6;
    ConsoleReporter::ReportRuns(runs);
  }
  std::map<std::string, double> seconds;
};

nlohmann::json report(const std::map<std::string, double>& seconds) {
  const auto rate = [&](const std::string& name, double Work::*what) {
    return works()[name].*what / seconds.at(name) / 1e9;
  };
  nlohmann::json out;
  out["limits"] = nlohmann::json::object();  // a filter may leave some out
  const auto add_limit = [&](const char* name, const std::string& benchmark, double factor, double Work::*what) {
    if (seconds.contains(benchmark)) out["limits"][name] = factor * rate(benchmark, what);
  };
  add_limit("fma_gflops_f32", "limit/fma_f32", 2, &Work::operations);
  add_limit("fma_gflops_f64", "limit/fma_f64", 2, &Work::operations);
  add_limit("bytes_gflops_f32", "limit/bytes_f32", 2, &Work::operations);
  add_limit("bytes_gflops_f64", "limit/bytes_f64", 2, &Work::operations);
  add_limit("kept_gflops_f32", "limit/kept_f32", 2, &Work::operations);
  add_limit("l1_gbs", "limit/read_l1", 1, &Work::bytes);
  add_limit("l1_write_gbs", "limit/write_l1", 1, &Work::bytes);
  add_limit("l2_gbs", "limit/read_l2", 1, &Work::bytes);
  add_limit("memory_gbs", "limit/read_memory", 1, &Work::bytes);
  out["kernels"] = nlohmann::json::array();
  for (const auto& [name, time] : seconds) {
    if (name.starts_with("limit/")) continue;
    const Work& work = works()[name];
    nlohmann::json row = {{"name", name}, {"seconds", time}, {"flops", 2 * work.operations}, {"bytes", work.bytes}};
    if (!work.limit.empty() && seconds.contains(work.limit)) {
      static const std::map<std::string, std::string> names = {
          {"limit/fma_f32", "fma"}, {"limit/bytes_f32", "conversion of bytes and fma"}, {"limit/bytes_f64", "conversion of bytes and fma"},
          {"limit/kept_f32", "one conversion of bytes, kept in L1, and two fma"}, {"limit/read_l2", "L2"}, {"limit/read_memory", "memory"}};
      const auto what = work.limit.starts_with("limit/read") ? &Work::bytes : &Work::operations;
      row["bound"] = names.at(work.limit);
      row["share"] = work.*what / time / 1e9 / rate(work.limit, what);
    }
    out["kernels"].push_back(row);
  }
  return out;
}

}  // namespace
}  // namespace mfl::bench

int main(int argc, char** argv) {
  std::string json;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--json") == 0) {
      json = argv[i + 1];
      std::rotate(argv + i, argv + i + 2, argv + argc);
      argc -= 2;
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  mfl::bench::add_limits();
  mfl::bench::add_kernels();
  mfl::bench::add_parts();
  mfl::bench::add_rounds();
  mfl::bench::add_fleet();
  mfl::bench::Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  if (json.empty()) return 0;
  const auto written = mfl::write_file(json, mfl::bench::report(collector.seconds).dump(2) + "\n");
  if (!written) fmt::print(stderr, "mfl_bench: {}\n", written.error().text());
  return written ? 0 : 1;
}
