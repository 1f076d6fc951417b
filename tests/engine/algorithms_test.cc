// Algorithms beyond the four: every kind of vector, on every engine of this process.
#include "mfl/algorithm/algorithms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "federations.h"
#include "mfl/algorithm/estimating.h"
#include "scaffold.h"
#include "tests/base/sample_spec.h"

namespace mfl::test {
namespace {

// FedAvgM: v <- beta v + (w - mean w_i); w <- w - v, with v at the server alone.
class ServerMomentum final : public MethodOf<ServerMomentum> {
 public:
  ServerMomentum(double eta, double beta) : eta_(eta), beta_(beta) {}

  std::vector<VectorFlow> vectors() const override { return {averaged("w"), at_server("v")}; }

  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const {
    for (std::size_t i = 0; i < gradient.size(); ++i) node[0][i] -= static_cast<T>(eta_) * gradient[i];
  }

  template <class T>
  void server(ServerRound<T>& round) const {
    for (std::size_t i = 0; i < round[0].size(); ++i) {
      round[1][i] = static_cast<T>(beta_) * round[1][i] + (round[0][i] - round.mean(0)[i]);
      round[0][i] -= round[1][i];
    }
  }

 private:
  double eta_, beta_;
};

// One step along the gradient on all samples, taken in begin(), then as fl.
class FullGradientFirst final : public MethodOf<FullGradientFirst> {
 public:
  std::vector<VectorFlow> vectors() const override { return {averaged("w"), at_node("m")}; }

  template <class T>
  void begin(NodeRound<T>& node) const {
    for (const T x : node[1]) EXPECT_EQ(x, 0) << "a vector of the node alone starts at zero";
    node.full_gradient(node[1]);
  }
  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const {
    for (std::size_t i = 0; i < gradient.size(); ++i)
      node[0][i] -= static_cast<T>(0.005) * (gradient[i] + node[1][i]);
  }
};

std::vector<Algorithm> algorithms_of_tests() {
  std::vector<Algorithm> out = {
      scaffold(0.01, 3),
      {"server momentum", std::make_shared<ServerMomentum>(0.01, 0.7), 3},
      {"full-gradient", std::make_shared<FullGradientFirst>(), 3},
      *make_algorithm("mfl", {.eta = 0.01, .gamma = 0.8, .sync_momentum = 3}, 3),
      *make_algorithm("mfl", {.eta = 0.01, .gamma = 0.8, .momentum = "keep-local"}, 3),
      estimating(make_fl(0.01, 3)),
      estimating(make_mfl(0.01, 0.8, 3))};
  for (const AlgorithmEntry& entry : algorithms())
    if (!entry.centralised)
      out.push_back(*make_algorithm(sample_spec(entry), {.eta = 0.01, .gamma = 0.8}, 3));
  return out;
}

constexpr std::size_t kNodes = 5, kColumns = 30;

template <class T>
Federation<T> five_nodes() {
  return make_federation<T>(kModels[1], as_floats<T>(*make_synthetic(110, kColumns, 7)),
                            *contiguous(110, kNodes));
}

// Ten rounds in which nodes take turns; every third round is computed twice and counted once.
template <class T>
State<T> ten_rounds(Engine<T>& engine, const Algorithm& algorithm, State<T> state, int first = 0) {
  for (int round = first; round < 10; ++round) {
    const std::vector<std::uint32_t> part = {static_cast<std::uint32_t>(round % 3), 3, 4};
    Aggregate<T> out;
    for (int attempt = 0; attempt < (round % 3 == 0 ? 2 : 1); ++attempt) {
      StepRange<T> range{.state = &state, .out = &out, .participants = part};
      engine.run(std::span(&range, 1), 3);
      EXPECT_FALSE(range.failure);
    }
    apply(algorithm, state, out, {3, part.size(), kNodes});
    engine.keep(0);
  }
  return state;
}

TEST(Algorithms, OneDigestOverThreadsAndAResumeAtEveryRound) {
  const auto federation = five_nodes<float>();
  for (const Algorithm& algorithm : algorithms_of_tests()) {
    SCOPED_TRACE(algorithm.name);
    const auto engine_on = [&](std::unique_ptr<Workers> workers, EngineOptions options = {}) {
      return local_engine<float>(federation, {Setting{algorithm, 0.1}}, std::move(workers),
                                 std::move(options));
    };
    const State<float> start = initial_state<float>(algorithm, kColumns);
    const auto serial = engine_on(serial_workers());
    const std::string expected = state_digest(ten_rounds(*serial, algorithm, start));
    for (const unsigned threads : {1U, 2U, 3U, 8U})
      EXPECT_EQ(state_digest(ten_rounds(*engine_on(thread_workers(threads)), algorithm, start)), expected);
    // Stopped after one round, continued by another engine.
    State<float> state = start;
    std::vector<KeptVectors<float>> kept;
    for (int round = 0; round < 10; ++round) {
      const auto engine = engine_on(serial_workers());
      engine->restore(0, kept);
      const std::vector<std::uint32_t> part = {static_cast<std::uint32_t>(round % 3), 3, 4};
      Aggregate<float> out;
      StepRange<float> range{.state = &state, .out = &out, .participants = part};
      engine->run(std::span(&range, 1), 3);
      apply(algorithm, state, out, {3, part.size(), kNodes});
      engine->keep(0);
      kept = engine->kept(0);
    }
    EXPECT_EQ(state_digest(state), expected);
    EXPECT_EQ(kept.size(), algorithm.keeps_at_nodes() ? kNodes : 0U);
  }
}

TEST(Algorithms, NodesThatMissRoundsKeepTheirVectors) {
  const auto federation = five_nodes<double>();
  const Algorithm algorithm = scaffold(0.01, 3);
  const auto engine = local_engine<double>(federation, {Setting{algorithm, 0.1}}, serial_workers());
  State<double> state = initial_state<double>(algorithm, kColumns);
  const auto round = [&](std::vector<std::uint32_t> part, bool counts) {
    Aggregate<double> out;
    StepRange<double> range{.state = &state, .out = &out, .participants = part};
    engine->run(std::span(&range, 1), 3);
    if (!counts) return;
    apply(algorithm, state, out, {3, part.size(), kNodes});
    engine->keep(0);
  };
  round({0, 1}, true);
  const auto first = engine->kept(0);
  ASSERT_EQ(first.size(), 2U);
  round({1, 2}, false);
  EXPECT_EQ(engine->kept(0).size(), 2U) << "a round that was not counted changes nothing";
  round({1, 2}, true);
  const auto second = engine->kept(0);
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(second[0].vectors, first[0].vectors);
  EXPECT_NE(second[1].vectors, first[1].vectors);
}

// With equal data everywhere the corrections vanish after the first round, and scaffold is gradient descent.
TEST(Algorithms, ScaffoldOnEqualNodesIsGradientDescent) {
  const auto& model = kModels[1];
  const auto one = make_federation<double>(model, *make_synthetic(40, kColumns, 3), *contiguous(40, 1));
  Federation<double> copies{one.model, one.train, std::vector<Shard>(4, one.nodes[0]), std::nullopt};
  const auto expected = train(model, one, make_gd(0.01), 40),
             got = train(model, copies, scaffold(0.01, 4), 40);
  for (std::size_t i = 0; i < kColumns; ++i) EXPECT_NEAR(got.w()[i], expected.w()[i], 1e-12);
}

template <class T>
State<T> one_round(const Federation<T>& federation, const Algorithm& algorithm, State<T> state,
                   std::uint64_t steps) {
  const auto engine = local_engine<T>(federation, {Setting{algorithm, 0.1}}, serial_workers());
  Aggregate<T> out;
  StepRange<T> range{.state = &state, .out = &out};
  engine->run(std::span(&range, 1), steps);
  apply(algorithm, state, out, {steps, federation.nodes.size(), federation.nodes.size()});
  return state;
}

// Against gradients from steps of gradient descent on the nodes one by one.
TEST(Estimating, DeltaIsTheDistanceOfTheNodesGradients) {
  const auto federation = five_nodes<double>();
  const Algorithm algorithm = estimating(make_fl(0.01, 2));
  State<double> start = initial_state<double>(algorithm, kColumns);
  for (std::size_t i = 0; i < kColumns; ++i) start.vectors[0].values[i] = 0.01 * static_cast<double>(i % 7);
  const auto gradient = [&](std::vector<Shard> nodes) {
    Federation<double> part{federation.model, federation.train, std::move(nodes), std::nullopt};
    State<double> plain = initial_state<double>(make_fl(1, 1), kColumns);
    plain.vectors[0].values = start.w();
    Vector<double> out = start.w();
    const State<double> stepped = one_round(part, make_fl(1, 1), std::move(plain), 1);
    for (std::size_t i = 0; i < kColumns; ++i) out[i] -= stepped.w()[i];
    return out;
  };
  const Vector<double> mean = gradient(federation.nodes);
  double squares = 0, samples = 0;
  for (const Shard& shard : federation.nodes) {
    const Vector<double> own = gradient({shard});
    for (std::size_t i = 0; i < kColumns; ++i)
      squares += static_cast<double>(shard.count) * (own[i] - mean[i]) * (own[i] - mean[i]);
    samples += static_cast<double>(shard.count);
  }
  const auto known = estimates_of(one_round(federation, algorithm, start, 2));
  ASSERT_TRUE(known);
  EXPECT_NEAR(known->delta, std::sqrt(squares / samples), 1e-9 * known->delta);
  EXPECT_EQ(known->steps, 2U);
  EXPECT_FALSE(estimates_of(start));
  // f32 has the same to its own precision: squares are sent in two numbers.
  const auto in_f32 = five_nodes<float>();
  State<float> start_f32 = initial_state<float>(algorithm, kColumns);
  for (std::size_t i = 0; i < kColumns; ++i)
    start_f32.vectors[0].values[i] = static_cast<float>(start.w()[i]);
  const auto coarse = estimates_of(one_round(in_f32, algorithm, start_f32, 2));
  EXPECT_NEAR(coarse->delta, known->delta, 1e-4 * known->delta);
  EXPECT_NEAR(coarse->beta, known->beta, 1e-3 * known->beta);
  EXPECT_NEAR(coarse->rho, known->rho, 1e-3 * known->rho);
}

// One node, one step: w_i - w is -eta grad F(w), so rho and beta follow from losses and gradients of two models.
TEST(Estimating, RhoAndBetaAreSlopesBetweenTheTwoModels) {
  const auto one = make_federation<double>(kModels[1], as_floats<double>(*make_synthetic(60, kColumns, 7)),
                                           *contiguous(60, 1));
  const Algorithm algorithm = estimating(make_fl(0.01, 1));
  const State<double> start = initial_state<double>(algorithm, kColumns);
  const State<double> first = one_round(one, algorithm, start, 1),
                      second = one_round(one, algorithm, first, 1);
  double moved = 0, changed = 0;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const double step = first.w()[i] - start.w()[i], next = second.w()[i] - first.w()[i];
    moved += step * step;
    changed += (next - step) * (next - step) / (0.01 * 0.01);
  }
  const auto engine = local_engine<double>(one, {Setting{make_fl(0.01, 1), 0.1}}, serial_workers());
  const double fell = std::abs(engine->train_loss(0, first.w()) - engine->train_loss(0, start.w()));
  const auto known = estimates_of(first);
  EXPECT_NEAR(known->rho, fell / std::sqrt(moved), 1e-9 * known->rho);
  EXPECT_NEAR(known->beta, std::sqrt(changed / moved), 1e-6 * known->beta);
  EXPECT_NEAR(known->delta, 0, 1e-6) << "one node has the gradient of all";
}

TEST(Estimating, TheModelIsThatOfTheAlgorithmItself) {
  const auto federation = five_nodes<float>();
  const Algorithm plain = make_mfl(0.01, 0.8, 3), with = estimating(plain);
  const auto engine = [&](const Algorithm& algorithm) {
    return local_engine<float>(federation, {Setting{algorithm, 0.1}}, serial_workers());
  };
  const State<float> a = ten_rounds(*engine(plain), plain, initial_state<float>(plain, kColumns));
  const State<float> b = ten_rounds(*engine(with), with, initial_state<float>(with, kColumns));
  EXPECT_EQ(a.w(), b.w());
  EXPECT_EQ(a.vectors[1].values, b.vectors[1].values);
  EXPECT_EQ(b.vectors.size(), 3U);
}

TEST(Algorithms, LayoutsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(VectorLayout({}), std::invalid_argument);
  EXPECT_THROW(VectorLayout({averaged("d")}), std::invalid_argument);
  EXPECT_THROW(VectorLayout({VectorFlow{.name = "w", .in_state = true, .at_node = true, .up = true}}),
               std::invalid_argument)
      << "nodes evaluate w, so they get it";
  EXPECT_THROW(VectorLayout({averaged("w"), averaged("w")}), std::invalid_argument);
  EXPECT_THROW(VectorLayout({averaged("w"), VectorFlow{.name = "x"}}), std::invalid_argument);
  EXPECT_THROW(VectorLayout({averaged("w"), VectorFlow{.name = "x", .in_state = true, .up = true}}),
               std::invalid_argument);
  EXPECT_THROW(VectorLayout({averaged("w"), VectorFlow{.name = "x", .down = true, .at_node = true}}),
               std::invalid_argument);
}

// Every codec, in every precision, on any number of threads; the distance of an update is what clip says.
TEST(Codecs, OneDigestOverThreads) {
  const auto federation = five_nodes<float>();
  for (const Algorithm& algorithm : algorithms_of_tests())
    for (const char* chain :
         {"clip(0.001)", "bf16", "clip(0.01), bf16", "int8", "topk(0.3)", "clip(0.01), topk(0.3), int8"}) {
      SCOPED_TRACE(algorithm.name + " " + chain);
      const auto digest = [&](std::unique_ptr<Workers> workers, const char* codecs) {
        const auto engine = local_engine<float>(federation, {Setting{algorithm, 0.1}}, std::move(workers),
                                                {.codecs = CodecChain::parse(codecs).value()});
        return state_digest(ten_rounds(*engine, algorithm, initial_state<float>(algorithm, kColumns)));
      };
      const std::string expected = digest(serial_workers(), chain);
      EXPECT_NE(expected, digest(serial_workers(), "")) << "the codec has an effect";
      for (const unsigned threads : {2U, 3U, 8U}) EXPECT_EQ(digest(thread_workers(threads), chain), expected);
    }
}

}  // namespace
}  // namespace mfl::test
