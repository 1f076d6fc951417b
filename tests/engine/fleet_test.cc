// Nodes that make their data, and rounds in which not all nodes take part.
#include "mfl/engine/fleet.h"

#include <gtest/gtest.h>

#include <numeric>

#include "mfl/algorithm/algorithms.h"
#include "tests/engine/federations.h"

namespace mfl::test {
namespace {

constexpr std::size_t kFleetNodes = 23;

template <class T>
ClassTargets<T> even_odd(TargetKind kind) {
  ClassTargets<T> out;
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = kind == TargetKind::kIndex  ? static_cast<T>(c)
             : c % 2 == 0                ? T{1}
             : kind == TargetKind::kUnit ? T{0}
                                         : T{-1};
  return out;
}

template <class T>
Federation<T> made_when_run(const ModelCase& model, const FleetRows& rows) {
  Federation<T> out{model.make<T>(rows.shape().columns),
                    Samples<T>::buffer(0, rows.shape().columns, FleetRows::kScale),
                    {},
                    {}};
  out.fleet = std::make_shared<const Fleet<T>>(rows, kFleetNodes, even_odd<T>(model.targets));
  return out;
}

// The same rows, stored.
template <class T>
Federation<T> stored(const ModelCase& model, const FleetRows& rows) {
  const std::size_t columns = rows.shape().columns;
  Dataset data{.rows = 0, .columns = columns, .scale = FleetRows::kScale, .features = {}, .labels = {}};
  DenseRows<std::uint8_t> pixels;
  std::vector<double> targets;
  std::vector<Shard> nodes;
  for (std::size_t node = 0; node < kFleetNodes; ++node) {
    const std::size_t count = rows.samples(node);
    nodes.push_back({data.rows, count});
    data.rows += count;
    pixels.values.resize(data.rows * columns);
    targets.resize(data.rows);
    rows.fill<double>(node, std::span(pixels.values).last(count * columns), std::span(targets).last(count),
                      even_odd<double>(model.targets));
  }
  data.features = std::move(pixels);
  auto made = model.make<T>(data.columns);
  return {std::move(made), Samples<T>(std::move(data), targets), nodes, std::nullopt};
}

template <class T>
State<T> two_rounds(const ModelCase& model, const Federation<T>& federation, std::unique_ptr<Workers> workers,
                    std::span<const std::uint32_t> participants, double* loss) {
  const Algorithm algorithm = make_mfl(0.05, 0.5, 3);
  const auto engine = make_engine(model, federation, algorithm, std::move(workers));
  State<T> state = initial_state<T>(algorithm, federation.model->parameters());
  for (int round = 0; round < 2; ++round) {
    Aggregate<T> out;
    StepRange<T> range{.state = &state, .out = &out, .participants = participants};
    engine->run(std::span(&range, 1), 3);
    EXPECT_FALSE(range.failure);
    EXPECT_EQ(engine->train_loss(0, state.w(), participants), out.loss_before);
    apply(algorithm, state, out, {.steps = 3});
  }
  *loss = engine->train_loss(0, state.w(), participants);
  return state;
}

template <class T>
void expect_the_same_bits() {
  const FleetRows rows({1, 300, 37}, 4);
  const std::vector<std::uint32_t> some = {0, 3, 4, 11, 22}, one = {7}, all;
  for (const ModelCase& model : kModels) {
    const auto made = made_when_run<T>(model, rows);
    const auto kept = stored<T>(model, rows);
    for (const auto& participants : {all, some, one}) {
      double expected_loss = 0, loss = 0;
      const auto expected =
          state_digest(two_rounds(model, kept, serial_workers(), participants, &expected_loss));
      for (const unsigned threads : {1, 2, 3, 7}) {
        EXPECT_EQ(state_digest(two_rounds(model, made, thread_workers(threads), participants, &loss)),
                  expected);
        EXPECT_EQ(loss, expected_loss);
        EXPECT_EQ(state_digest(two_rounds(model, kept, thread_workers(threads), participants, &loss)),
                  expected);
        EXPECT_EQ(loss, expected_loss);
      }
    }
  }
}

TEST(FleetEngine, MadeAndStoredNodesGiveTheSameBitsF32) { expect_the_same_bits<float>(); }
TEST(FleetEngine, MadeAndStoredNodesGiveTheSameBitsF64) { expect_the_same_bits<double>(); }

TEST(Participants, ARoundOfSomeNodesIsThatOfAFederationOfThem) {
  const Dataset data = *make_synthetic(900, 60, 6);
  for (const ModelCase& model : kModels) {
    const auto whole = make_federation<float>(model, data, *contiguous(900, 9));
    auto part = make_federation<float>(model, data, *contiguous(900, 9));
    part.nodes = {whole.nodes[1], whole.nodes[4], whole.nodes[8]};
    const std::vector<std::uint32_t> chosen = {1, 4, 8};
    double loss = 0, expected_loss = 0;
    const auto expected = state_digest(two_rounds(model, part, serial_workers(), {}, &expected_loss));
    for (const unsigned threads : {1, 2, 5}) {
      EXPECT_EQ(state_digest(two_rounds(model, whole, thread_workers(threads), chosen, &loss)), expected);
      EXPECT_EQ(loss, expected_loss);
    }
  }
}

}  // namespace
}  // namespace mfl::test
