#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/engine/engine.h"

namespace mfl {
namespace {

// What the nodes of a round add up to, for one setting.
struct Sums {
  Sums(std::size_t columns, std::size_t vector_count)
      : vectors(vector_count, ExactMean(columns)), loss(1), square_moves(1) {}

  void clear() {
    for (ExactMean& sum : vectors) sum.clear();
    loss.clear();
    square_moves.clear();
    loss_is_finite = true;
    failure.reset();
  }
  void fail(std::size_t node, std::string what) {
    if (!failure || node < failure->node) failure = NotFinite{node, std::move(what)};
  }

  std::vector<ExactMean> vectors;
  ExactMean loss;
  ExactMean square_moves;
  bool loss_is_finite = true;
  std::optional<NotFinite> failure;
};

// What one node holds.
template <class T>
struct Holding {
  const Samples<T>& samples;
  Shard shard;
};

// What one worker needs to run any number of nodes: memory that does not grow with their number.
template <class T>
struct Worker {
  Worker(std::size_t columns, std::span<const Setting> settings, std::size_t wave)
      : memory(columns, settings, wave), losses(settings.size()) {
    for (const Setting& setting : settings) sums.emplace_back(columns, vector_names(setting.rule).size());
  }

  NodeMemory<T> memory;
  std::optional<Samples<T>> room;  // of a fleet: what the node that is run holds
  std::vector<double> losses;
  std::vector<Sums> sums;            // one a setting
  std::vector<HingeShard<T>> hinge;  // of the node that is run, one a setting; empty where none are kept
};

// One a setting, or none: where the samples have no HingeSums, or where they would take much memory beside the data, as with
// many settings on nodes of few samples.
template <class T>
std::vector<HingeMemory<T>> hinge_memories(const Federation<T>& federation, std::size_t settings,
                                           std::size_t wave) {
  if (federation.fleet) return {};  // it would be memory for every node
  const Samples<T>& samples = federation.train;
  const auto fits = [&](const Shard& shard) { return samples.has_hinge_sums(federation.loss, shard.count); };
  if (!std::ranges::all_of(federation.nodes, fits)) return {};
  const std::size_t bytes = settings * HingeMemory<T>::bytes(federation.nodes, samples.columns(), wave);
  if (bytes > samples.size() * samples.columns() / 2) return {};
  return std::vector<HingeMemory<T>>(settings, HingeMemory<T>(federation.nodes, samples.columns(), wave));
}

template <class T>
class LocalEngine final : public Engine<T> {
 public:
  LocalEngine(const Federation<T>& federation, std::vector<Setting> settings,
              std::unique_ptr<Workers> workers)
      : federation_(federation),
        settings_(std::move(settings)),
        workers_(std::move(workers)),
        run_blocks_([this](std::size_t n, const std::function<void(std::size_t)>& work) {
          workers_->for_each(n, [&](unsigned, std::size_t i) { work(i); });
        }),
        kept_(settings_.size()) {
    constexpr std::size_t kBlocksAWorker = 4;  // enough to even out, few enough to stay O(workers x model)
    const std::size_t count = workers_->count();
    over_blocks_ = count > 1 && uneven(federation.node_count(), count);
    const std::size_t wave = over_blocks_ ? kBlocksAWorker * count : 1;
    hinge_ = hinge_memories(federation, settings_.size(), wave);
    for (std::size_t i = 0; i < (over_blocks_ ? 1 : count); ++i) {
      states_.emplace_back(federation.train.columns(), settings_, wave);
      states_.back().hinge.resize(hinge_.size());
      if (federation.fleet) states_.back().room = federation.fleet->room();
    }
  }

  void run(std::span<Stretch<T>> stretches, std::uint64_t steps) override {
    chosen_.clear();
    ending_.clear();
    for (const Stretch<T>& stretch : stretches) {
      chosen_.push_back({stretch.setting, stretch.starts});
      if (stretch.starts)
        for (Worker<T>& worker : states_) worker.sums[stretch.setting].clear();
      if (!stretch.ends) make_place(stretch.setting, stretch.state->vectors.size());
    }
    for_each_node(stretches.front().participants,
                  [&](Worker<T>& worker, std::size_t node) { run_node(worker, stretches, node, steps); });
    for (Stretch<T>& stretch : stretches) conclude(stretch);
    workers_->for_each(ending_.size(),
                       [&](unsigned, std::size_t i) { average(*ending_[i].stretch, ending_[i].vector); });
  }

  double train_loss(std::size_t setting, const Vector<T>& w,
                    std::span<const std::uint32_t> participants) override {
    const Objective objective = {federation_.loss, settings_[setting].lambda};
    for (Worker<T>& worker : states_) worker.sums[setting].clear();
    for_each_node(participants, [&](Worker<T>& worker, std::size_t node) {
      const Holding<T> holding = hold(worker, node);
      const double loss = evaluate(objective, holding.samples, holding.shard, w).loss;
      Sums& sums = worker.sums[setting];
      if (sums.loss.add(std::span(&loss, 1), holding.shard.count)) sums.loss_is_finite = false;
    });
    return mean_loss(setting);
  }

  std::optional<TestMetrics> test(std::size_t setting, const Vector<T>& w) override {
    if (!federation_.test) return std::nullopt;
    const Objective objective = {federation_.loss, settings_[setting].lambda};
    const Samples<T>& samples = *federation_.test;
    const std::size_t n = samples.size();
    std::vector<Evaluation> blocks((n + kRowBlock - 1) / kRowBlock);
    workers_->for_each(blocks.size(), [&](unsigned, std::size_t b) {
      const Shard block = {b * kRowBlock, std::min(kRowBlock, n - b * kRowBlock)};
      blocks[b] = evaluate_block(objective, samples, block, w);
    });
    const Evaluation all = combine_blocks<T>(objective, samples, blocks, n, w);
    return TestMetrics{all.loss, static_cast<double>(all.correct) / static_cast<double>(n)};
  }

 private:
  // Too few nodes to give every worker as many as the others.
  static bool uneven(std::size_t nodes, std::size_t workers) {
    constexpr std::size_t kManyEach = 4;
    return nodes < kManyEach * workers && nodes % workers != 0;
  }

  // Calls work(worker, node) for every node that takes part. A worker runs one node at a time.
  template <class Work>
  void for_each_node(std::span<const std::uint32_t> participants, const Work& work) {
    const std::size_t count = participants.empty() ? federation_.node_count() : participants.size();
    const auto run_one = [&](unsigned worker, std::size_t i) {
      work(states_[worker], participants.empty() ? i : participants[i]);
    };
    if (over_blocks_) {
      for (std::size_t i = 0; i < count; ++i) run_one(0, i);
    } else {
      workers_->for_each(count, run_one);
    }
  }

  // Good until the worker holds another.
  Holding<T> hold(Worker<T>& worker, std::size_t node) const {
    if (!federation_.fleet) return {federation_.train, federation_.nodes[node]};
    federation_.fleet->fill(node, *worker.room);
    return {*worker.room, {0, worker.room->size()}};
  }

  void make_place(std::size_t setting, std::size_t vector_count) {
    auto& kept = kept_[setting];
    if (kept.empty())
      kept.assign(federation_.node_count() * vector_count, Vector<T>(federation_.train.columns()));
  }

  void run_node(Worker<T>& worker, std::span<Stretch<T>> stretches, std::size_t node, std::uint64_t steps) {
    const auto& [samples, shard] = hold(worker, node);
    for (const Stretch<T>& stretch : stretches)
      take_up(worker.memory.vectors(stretch.setting), stretch, node);
    for (std::size_t s = 0; s < worker.hinge.size(); ++s) worker.hinge[s] = hinge_[s].of(node);
    train_node<T>(settings_, chosen_, federation_.loss, samples, shard, steps, worker.memory, worker.hinge,
                  worker.losses, over_blocks_ ? &run_blocks_ : nullptr);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const Stretch<T>& stretch = stretches[i];
      Sums& sums = worker.sums[stretch.setting];
      if (stretch.starts && sums.loss.add(std::span<const double>(&worker.losses[i], 1), shard.count)) {
        sums.loss_is_finite = false;
        sums.fail(node, "the loss");
      }
      if (stretch.ends && stretch.measure_moves)
        add_move(worker.memory.vectors(stretch.setting)[0], stretch, shard.count, sums);
      put_down(worker.memory.vectors(stretch.setting), stretch, node, shard.count, sums);
    }
  }

  void take_up(std::vector<Vector<T>>& vectors, const Stretch<T>& stretch, std::size_t node) {
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      if (stretch.starts) {
        const Vector<T>& from = stretch.state->vectors[v].values;
        std::copy(from.begin(), from.end(), vectors[v].begin());
      } else {
        vectors[v].swap(kept_[stretch.setting][node * vectors.size() + v]);
      }
    }
  }

  // A move that is not finite is seen as the vector is.
  static void add_move(const Vector<T>& w, const Stretch<T>& stretch, std::size_t weight, Sums& sums) {
    const Vector<T>& from = stretch.state->vectors[0].values;
    double square = 0;
    for (std::size_t j = 0; j < w.size(); ++j) {
      const double change = static_cast<double>(w[j]) - static_cast<double>(from[j]);
      square += change * change;
    }
    (void)sums.square_moves.add(std::span<const double>(&square, 1), weight);
  }

  void put_down(std::vector<Vector<T>>& vectors, const Stretch<T>& stretch, std::size_t node,
                std::size_t weight, Sums& sums) {
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      if (!stretch.ends) {
        vectors[v].swap(kept_[stretch.setting][node * vectors.size() + v]);
      } else if (const auto bad = sums.vectors[v].add(std::span<const T>(vectors[v]), weight)) {
        sums.fail(node, fmt::format("{}[{}]", stretch.state->vectors[v].name, *bad));
      }
    }
  }

  // Merges the losses that the workers have added up; the first one's sum is then the total.
  double mean_loss(std::size_t setting) {
    Sums& total = states_.front().sums[setting];
    for (const Worker<T>& worker : std::span(states_).subspan(1)) {
      total.loss.merge(worker.sums[setting].loss);
      total.loss_is_finite = total.loss_is_finite && worker.sums[setting].loss_is_finite;
    }
    double mean = std::numeric_limits<double>::quiet_NaN();
    if (total.loss_is_finite) total.loss.mean(std::span(&mean, 1));
    return mean;
  }

  // Merges what the workers know of moves and of failures; the first one's is the total.
  void conclude(Stretch<T>& stretch) {
    Sums& total = states_.front().sums[stretch.setting];
    for (const Worker<T>& worker : std::span(states_).subspan(1)) {
      const Sums& sums = worker.sums[stretch.setting];
      if (stretch.ends && stretch.measure_moves) total.square_moves.merge(sums.square_moves);
      if (sums.failure) total.fail(sums.failure->node, sums.failure->what);
    }
    if (stretch.starts) stretch.out->loss_before = mean_loss(stretch.setting);
    stretch.failure = total.failure;
    if (!stretch.ends || total.failure) return;
    if (stretch.measure_moves) total.square_moves.mean(std::span(&stretch.out->mean_square_move, 1));
    stretch.out->vectors.resize(total.vectors.size());
    for (std::size_t v = 0; v < total.vectors.size(); ++v) ending_.push_back({&stretch, v});
  }

  void average(Stretch<T>& stretch, std::size_t v) {
    ExactMean& total = states_.front().sums[stretch.setting].vectors[v];
    for (const Worker<T>& worker : std::span(states_).subspan(1))
      total.merge(worker.sums[stretch.setting].vectors[v]);
    stretch.out->vectors[v].resize(federation_.train.columns());
    total.mean(std::span<T>(stretch.out->vectors[v]));
  }

  const Federation<T>& federation_;
  std::vector<Setting> settings_;
  std::unique_ptr<Workers> workers_;
  ForEach run_blocks_;
  bool over_blocks_ = false;
  std::vector<Worker<T>> states_;
  std::vector<std::vector<Vector<T>>>
      kept_;  // by setting: the vectors of nodes between stretches of one round
  std::vector<HingeMemory<T>> hinge_;
  // Of the stretch that is run:
  struct Ending {
    Stretch<T>* stretch;
    std::size_t vector;
  };
  std::vector<Chosen> chosen_;
  std::vector<Ending> ending_;  // what is to be averaged
};

}  // namespace

template <class T>
std::unique_ptr<Engine<T>> local_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                        std::unique_ptr<Workers> workers) {
  return std::make_unique<LocalEngine<T>>(federation, std::move(settings), std::move(workers));
}

template std::unique_ptr<Engine<float>> local_engine(const Federation<float>&, std::vector<Setting>,
                                                     std::unique_ptr<Workers>);
template std::unique_ptr<Engine<double>> local_engine(const Federation<double>&, std::vector<Setting>,
                                                      std::unique_ptr<Workers>);

}  // namespace mfl
