#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/engine/engine.h"
#include "mfl/solve/node.h"

namespace mfl {
namespace {

// What one worker needs to run any number of nodes: memory that does not grow with their number.
template <class T>
struct Worker {
  Worker(std::size_t columns, std::size_t vectors)
      : memory(columns, vectors), sums(vectors, ExactMean(columns)), loss(1) {}

  void clear() {
    for (ExactMean& sum : sums) sum.clear();
    loss.clear();
    losses = 0;
    failure.reset();
  }
  void fail(std::size_t node, std::string what) {
    if (!failure || node < failure->node) failure = NotFinite{node, std::move(what)};
  }

  NodeMemory<T> memory;
  std::vector<ExactMean> sums;  // one a vector
  ExactMean loss;
  std::size_t losses = 0;  // that were finite
  std::optional<NotFinite> failure;
};

template <class T>
class LocalEngine final : public Engine<T> {
 public:
  LocalEngine(const Federation<T>& federation, const Algorithm& algorithm, std::unique_ptr<Workers> workers)
      : federation_(federation), algorithm_(algorithm), workers_(std::move(workers)) {
    const std::size_t vectors = vector_names(algorithm.rule).size();
    for (unsigned i = 0; i < workers_->count(); ++i) states_.emplace_back(federation.train.columns(), vectors);
  }

  std::optional<NotFinite> run_round(const State<T>& state, std::uint64_t steps, Aggregate<T>& out) override {
    for (Worker<T>& worker : states_) worker.clear();
    workers_->for_each(federation_.nodes.size(), [&](unsigned index, std::size_t node) {
      run_node(states_[index], state, node, steps);
    });
    Worker<T>& total = states_.front();
    for (std::size_t i = 1; i < states_.size(); ++i) merge(total, states_[i]);
    out.loss_before = std::numeric_limits<double>::quiet_NaN();
    if (total.losses == federation_.nodes.size()) total.loss.mean(std::span(&out.loss_before, 1));
    if (total.failure) return total.failure;
    out.vectors.resize(state.vectors.size());
    for (std::size_t v = 0; v < state.vectors.size(); ++v) {
      out.vectors[v].resize(state.vectors[v].values.size());
      total.sums[v].mean(std::span<T>(out.vectors[v]));
    }
    return std::nullopt;
  }

  double train_loss(const Vector<T>& w) override {
    std::vector<double> losses(federation_.nodes.size());
    workers_->for_each(losses.size(), [&](unsigned, std::size_t node) {
      losses[node] = evaluate(federation_.objective, federation_.train, federation_.nodes[node], w).loss;
    });
    ExactMean mean(1);
    for (std::size_t node = 0; node < losses.size(); ++node)
      if (mean.add(std::span<const double>(&losses[node], 1), federation_.nodes[node].count))
        return std::numeric_limits<double>::quiet_NaN();
    double out = 0;
    mean.mean(std::span(&out, 1));
    return out;
  }

  std::optional<TestMetrics> test(const Vector<T>& w) override {
    if (!federation_.test) return std::nullopt;
    const Samples<T>& samples = *federation_.test;
    const std::size_t n = samples.size();
    std::vector<Evaluation> blocks((n + kRowBlock - 1) / kRowBlock);
    workers_->for_each(blocks.size(), [&](unsigned, std::size_t b) {
      const Shard block = {b * kRowBlock, std::min(kRowBlock, n - b * kRowBlock)};
      blocks[b] = evaluate_block(federation_.objective, samples, block, w);
    });
    const Evaluation all = combine_blocks<T>(federation_.objective, samples, blocks, n, w);
    return TestMetrics{all.loss, static_cast<double>(all.correct) / static_cast<double>(n)};
  }

 private:
  void run_node(Worker<T>& worker, const State<T>& state, std::size_t node, std::uint64_t steps) {
    const Shard shard = federation_.nodes[node];
    for (std::size_t v = 0; v < state.vectors.size(); ++v)
      std::copy(state.vectors[v].values.begin(), state.vectors[v].values.end(), worker.memory.vectors[v].begin());
    const double loss =
        train_node(algorithm_.rule, federation_.objective, federation_.train, shard, steps, worker.memory);
    if (worker.loss.add(std::span<const double>(&loss, 1), shard.count))
      worker.fail(node, "the loss");
    else
      ++worker.losses;
    for (std::size_t v = 0; v < state.vectors.size(); ++v)
      if (const auto bad = worker.sums[v].add(std::span<const T>(worker.memory.vectors[v]), shard.count))
        worker.fail(node, fmt::format("{}[{}]", state.vectors[v].name, *bad));
  }

  static void merge(Worker<T>& into, const Worker<T>& from) {
    for (std::size_t v = 0; v < into.sums.size(); ++v) into.sums[v].merge(from.sums[v]);
    into.loss.merge(from.loss);
    into.losses += from.losses;
    if (from.failure) into.fail(from.failure->node, from.failure->what);
  }

  const Federation<T>& federation_;
  Algorithm algorithm_;
  std::unique_ptr<Workers> workers_;
  std::vector<Worker<T>> states_;
};

}  // namespace

template <class T>
std::unique_ptr<Engine<T>> local_engine(const Federation<T>& federation, const Algorithm& algorithm,
                                        std::unique_ptr<Workers> workers) {
  return std::make_unique<LocalEngine<T>>(federation, algorithm, std::move(workers));
}

template std::unique_ptr<Engine<float>> local_engine(const Federation<float>&, const Algorithm&,
                                                     std::unique_ptr<Workers>);
template std::unique_ptr<Engine<double>> local_engine(const Federation<double>&, const Algorithm&,
                                                      std::unique_ptr<Workers>);

}  // namespace mfl
