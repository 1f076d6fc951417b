// Two of ten nodes send what they like: the mean does not survive it, robust rules do on iid data.
#include <gtest/gtest.h>

#include <algorithm>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/data/synthetic.h"
#include "mfl/data/task.h"
#include "mfl/engine/engine.h"
#include "mfl/partition/partition.h"

namespace mfl {
namespace {

constexpr std::size_t kByzantineNodes = 10, kHostile = 2, kByzantineColumns = 100, kByzantineRounds = 100;
constexpr std::uint64_t kByzantineTau = 4;

enum class Attack { kNone, kFlipped, kScaled, kNoise };

class Byzantine : public ::testing::Test {
 protected:
  Byzantine() {
    const Dataset data = *make_synthetic(6000, kByzantineColumns, 3);
    const auto targets = make_targets(data, Task::kMulticlass, TargetKind::kIndex).value();
    std::vector<std::uint32_t> first(5000), last(1000);
    for (std::uint32_t i = 0; i < 6000; ++i) (i < 5000 ? first[i] : last[i - 5000]) = i;
    const auto take = [&](std::span<const std::uint32_t> rows) {
      std::vector<double> own;
      for (const std::uint32_t row : rows) own.push_back(targets[row]);
      return Samples<double>(take_rows(data, rows), own);
    };
    const Partition partition = *iid(5000, kByzantineNodes, 1);
    for (std::size_t i = 0; i < kByzantineNodes; ++i) {
      const auto rows = partition.node(i);
      nodes_.push_back({model_, take(rows), {{0, rows.size()}}, std::nullopt});
    }
    test_.emplace(take(last));
  }

  double accuracy(const std::string& spec, Attack attack) const {
    const auto aggregator = make_aggregator(spec).value();
    const Algorithm algorithm = make_mfl(0.2, 0.5, kByzantineTau);
    std::vector<std::unique_ptr<Engine<double>>> engines;
    for (const auto& node : nodes_)
      engines.push_back(local_engine<double>(node, {Setting{algorithm, 0}}, serial_workers()));
    State<double> state = initial_state<double>(algorithm, model_->parameters());
    Stream noise(7, Purpose::kSynthetic);
    for (std::size_t round = 0; round < kByzantineRounds; ++round) {
      std::vector<Aggregate<double>> sent(kByzantineNodes);
      std::vector<NodeVectors<double>> updates(kByzantineNodes);
      for (std::size_t i = 0; i < kByzantineNodes; ++i) {
        StepRange<double> range{.state = &state, .out = &sent[i]};
        engines[i]->run(std::span(&range, 1), kByzantineTau);
        if (i < kHostile) distort(sent[i].vectors, state, attack, noise);
        for (const auto& vector : sent[i].vectors) updates[i].vectors.emplace_back(vector);
      }
      NodeVectors<double> broadcast;
      for (const auto& vector : state.vectors) broadcast.vectors.emplace_back(vector.values);
      Aggregate<double> out;
      aggregator->aggregate(updates, broadcast, out.vectors, for_each_in_order);
      apply(algorithm, state, out, {kByzantineTau, engines.size(), engines.size()});
    }
    const auto found = model_->evaluate(*test_, {0, test_->size()}, 0, state.w().data());
    return static_cast<double>(found.correct) / static_cast<double>(test_->size());
  }

 private:
  static void distort(std::vector<Vector<double>>& vectors, const State<double>& state, Attack attack,
                      Stream& noise) {
    for (std::size_t v = 0; v < vectors.size(); ++v)
      for (std::size_t j = 0; j < vectors[v].size(); ++j) {
        const double from = state.vectors[v].values[j], move = vectors[v][j] - from;
        if (attack == Attack::kFlipped) vectors[v][j] = from - 10 * move;
        if (attack == Attack::kScaled) vectors[v][j] = from + 100 * move;
        if (attack == Attack::kNoise) vectors[v][j] = from + 20 * noise.normal();
      }
  }

  std::shared_ptr<const Model<double>> model_ = softmax_model<double>(kByzantineColumns, 10, true);
  std::vector<Federation<double>> nodes_;
  std::optional<Samples<double>> test_;
};

TEST_F(Byzantine, RobustRulesStayWithinTwoPointsOnIidData) {
  const double clean = accuracy("mean", Attack::kNone);
  EXPECT_GT(clean, 0.75);
  double worst_mean = 1;
  for (const Attack attack : {Attack::kFlipped, Attack::kScaled, Attack::kNoise}) {
    worst_mean = std::min(worst_mean, accuracy("mean", attack));
    for (const char* spec : {"median", "trimmed-mean(0.2)", "krum(2)", "multi-krum(2)",
                             "geometric-median(32)", "centred-clipping(0.5, 3)"})
      EXPECT_GE(accuracy(spec, attack), clean - 0.02) << spec << ' ' << static_cast<int>(attack);
  }
  EXPECT_LT(worst_mean, clean - 0.1);
}

}  // namespace
}  // namespace mfl
