// The exact mean over processes against a bare MPI_Allreduce of the same values as doubles, and its share of a round.
//   mpirun -n 4 mpi_bench [--parameters N] [--repeats N] [--json FILE]
// Checks the mean against that of one process before it times anything. Every time is that of the slowest rank.
#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/base/files.h"
#include "mfl/base/rng.h"
#include "mfl/engine/engine.h"
#include "mfl/engine/mpi/communicator.h"

namespace mfl::bench {
namespace {

struct Options {
  std::size_t parameters = 10'000'000;
  int repeats = 7;
  std::string json;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--parameters") options.parameters = std::stoul(argv[i + 1]);
    if (name == "--repeats") options.repeats = std::stoi(argv[i + 1]);
    if (name == "--json") options.json = argv[i + 1];
  }
  return options;
}

// What a node might send: weights of either sign over a few orders of magnitude.
template <class T>
Vector<T> weights_of(unsigned node, std::size_t size) {
  Stream stream(1, Purpose::kSynthetic, node);
  Vector<T> w(size);
  for (T& v : w) {
    const std::uint64_t bits = stream.next();
    const double fraction = static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
    v = static_cast<T>(std::ldexp(fraction, -static_cast<int>(bits & 15)));
  }
  return w;
}

constexpr std::uint64_t kWeight = 1250;  // samples of a node

// What a rank adds, and the mean over all.
template <class T>
struct Node {
  Node(unsigned node, std::size_t size)
      : w(weights_of<T>(node, size)), sums(mean_aggregator().accumulator<T>({{"w", size}})) {}
  void add() {
    sums->clear();
    sums->add({.samples = kWeight, .vectors = {w}});
  }
  void average(Ranks& ranks) {
    sums->sliced()->prepare(means, for_each_in_order);
    ranks.finish(*sums->sliced(), means);
  }

  Vector<T> w;
  std::unique_ptr<Accumulator<T>> sums;
  std::vector<Vector<T>> means;
};

template <class T>
bool equals_one_process(Ranks& ranks, std::size_t size, const Vector<T>& out) {
  int equal = 1;
  if (ranks.first()) {
    ExactMean all(size);
    for (unsigned node = 0; node < ranks.size(); ++node)
      all.add(std::span<const T>(weights_of<T>(node, size)), kWeight);
    Vector<T> expected(size);
    all.mean(std::span<T>(expected));
    equal = expected == out ? 1 : 0;
  }
  MPI_Bcast(&equal, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return equal == 1;
}

// The measured operations run in turn within every repeat, so that a slow phase of the machine affects all of them.
using Works = std::vector<std::pair<std::string, std::function<void()>>>;

double seconds_of_slowest(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  work();
  double taken = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return taken;
}

// Fills `out` with seconds, an array for each work. The first repeat is not counted.
void time(const Works& works, int repeats, nlohmann::json& out) {
  for (int i = 0; i <= repeats; ++i)
    for (const auto& [name, work] : works) {
      const double seconds = seconds_of_slowest(work);
      if (i > 0) out[name].push_back(seconds);
    }
}

template <class T>
bool add_means(const std::string& name, Ranks& ranks, const Options& options, Works& works) {
  const auto node = std::make_shared<Node<T>>(ranks.rank(), options.parameters);
  node->add();
  node->average(ranks);
  if (!equals_one_process<T>(ranks, options.parameters, node->means.front())) return false;
  works.emplace_back("add_" + name, [node] { node->add(); });
  works.emplace_back("mean_" + name, [node, &ranks] { node->average(ranks); });  // of what was added last
  return true;
}

void add_allreduce(const Options& options, unsigned rank, Works& works) {
  const auto w = std::make_shared<Vector<double>>(weights_of<double>(rank, options.parameters));
  const auto sum = std::make_shared<Vector<double>>(options.parameters);
  works.emplace_back("allreduce", [w, sum] {
    MPI_Allreduce(w->data(), sum->data(), static_cast<int>(w->size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  });
}

// A round of FL in f32: one node per rank with a few rows of bytes as wide as the model, tau steps, one vector averaged.
void add_round(Ranks& ranks, const Options& options, nlohmann::json& out) {
  constexpr std::size_t kRows = 16;
  constexpr std::uint64_t kTau = 4;
  Dataset data{
      .rows = kRows, .columns = options.parameters, .scale = 1.0 / 255, .features = {}, .labels = {}};
  DenseRows<std::uint8_t> bytes;
  bytes.values.resize(kRows * options.parameters);
  Stream stream(2, Purpose::kSynthetic, ranks.rank());
  for (std::uint8_t& byte : bytes.values) byte = static_cast<std::uint8_t>(stream.next());
  data.features = std::move(bytes);
  std::vector<double> targets(kRows);
  for (std::size_t i = 0; i < kRows; ++i) targets[i] = i % 2 == 0 ? 1 : -1;
  Federation<float> federation{linear_model<float>(Loss::kSquaredHinge, data.columns),
                               Samples<float>(std::move(data), targets),
                               {{0, kRows}},
                               {}};
  federation.first_node = ranks.rank();
  federation.all_samples.assign(ranks.size(), kRows);
  const Algorithm algorithm = make_fl(1e-9, kTau);
  const auto engine = shared_engine<float>(federation, {Setting{algorithm, 0.3}}, serial_workers(), ranks);
  State<float> state = initial_state<float>(algorithm, options.parameters);
  Aggregate<float> aggregate;
  out["rows_per_node"] = kRows;
  time({{"round",
         [&] {
           StepRange<float> range{.state = &state, .out = &aggregate};
           engine->run(std::span(&range, 1), kTau);
           apply(algorithm, state, aggregate, {.steps = kTau});
         }}},
       options.repeats, out);
}

int run(const Options& options) {
  const auto ranks = ranks_over(MPI_COMM_WORLD);
  nlohmann::json out = {{"ranks", ranks->size()}, {"parameters", options.parameters}};
  {
    Works works;
    add_allreduce(options, ranks->rank(), works);
    if (!add_means<float>("f32", *ranks, options, works) ||
        !add_means<double>("f64", *ranks, options, works)) {
      if (ranks->first()) fmt::print(stderr, "mpi_bench: the mean over ranks is not that of one process\n");
      return 1;
    }
    time(works, options.repeats, out);
  }
  add_round(*ranks, options, out);
  if (!ranks->first()) return 0;
  if (options.json.empty()) {
    fmt::print("{}\n", out.dump());
    return 0;
  }
  const auto written = write_file(options.json, out.dump(2) + "\n");
  if (!written) fmt::print(stderr, "mpi_bench: {}\n", written.error().text());
  return written ? 0 : 1;
}

}  // namespace
}  // namespace mfl::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = mfl::bench::run(mfl::bench::parse(argc, argv));
  MPI_Finalize();
  return code;
}
