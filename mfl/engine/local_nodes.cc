#include "mfl/engine/local_nodes.h"

#include <algorithm>

#include "mfl/base/message.h"
#include "mfl/engine/external_rounds.h"

namespace mfl {
namespace {

// Too few nodes to give every worker as many as the others.
bool uneven(std::size_t nodes, std::size_t workers) {
  constexpr std::size_t kManyEach = 4;
  return nodes < kManyEach * workers && nodes % workers != 0;
}

bool keep_vectors(std::span<const Setting> settings) {
  return std::ranges::any_of(settings,
                             [](const Setting& setting) { return setting.algorithm.keeps_at_nodes(); });
}

template <class T>
OwnNodes own_nodes(const Federation<T>& federation, const LocalNodeOptions& options) {
  if (!federation.fleet) return {federation.first_node, federation.nodes.size()};
  OwnNodes own{.anywhere = !keep_vectors(options.settings)};
  if (options.ranks != nullptr) own.rank = options.ranks->rank(), own.ranks = options.ranks->size();
  const auto [first, last] = equal_share(federation.node_count(), own.rank, own.ranks);
  own.first = first;
  own.count = last - first;
  return own;
}

// Replaces this rank's row blocks and their number of rows with those of all ranks, in the order of ranks.
void gather_blocks(Ranks& ranks, std::vector<Evaluation>& blocks, std::size_t& rows) {
  MessageWriter mine;
  mine.put(rows);
  mine.put_all(std::span<const Evaluation>(blocks));
  blocks.clear();
  rows = 0;
  for (const std::string& message : ranks.gather(mine.bytes())) {
    MessageReader theirs(message);
    rows += theirs.take<std::size_t>();
    const auto more = theirs.take_all<Evaluation>();
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
}

// Nodes whose rows the model passes over in this process.
template <class T>
class RowNodes : public LocalNodes<T> {
 public:
  RowNodes(const Federation<T>& federation, LocalNodeOptions options)
      : LocalNodes<T>(own_nodes(federation, options)),
        federation_(federation),
        model_(*federation.model),
        options_(std::move(options)),
        run_blocks_(for_each_of(options_.workers)) {
    constexpr std::size_t kBlocksAWorker = 4;  // enough to even out, few enough to stay O(workers x model)
    const std::size_t workers = options_.workers.count();
    const std::size_t here = federation.fleet ? federation.node_count() : federation.nodes.size();
    if (workers > 1 && uneven(here, workers)) wave_ = kBlocksAWorker * workers;
  }

  std::size_t wave() const override { return wave_; }

  void start(std::span<const StepRange<T>> ranges, std::uint64_t steps) override {
    chosen_.clear();
    for (const StepRange<T>& range : ranges)
      chosen_.push_back({.setting = range.setting,
                         .state = range.state->vectors,
                         .starts = range.starts,
                         .ends = range.ends,
                         .round = range.state->round + 1,
                         .round_steps = range.round_steps,
                         .evaluate = range.evaluate});
    options_.stepping.round = chosen_.front().round;
    steps_ = steps;
  }

  std::size_t train(unsigned worker, std::size_t node, NodeMemory<T>& memory,
                    std::span<NodeLosses> losses) override {
    const NodeData<T> data = data_of(worker, node);
    train_node<T>(options_.settings, chosen_, model_, data, steps_, options_.stepping, memory, losses,
                  wave_ > 1 ? &run_blocks_ : nullptr);
    return data.shard.count;
  }

  std::size_t evaluate(unsigned worker, std::size_t node, double lambda, const Vector<T>& w,
                       double& loss) override {
    const NodeData<T> data = data_of(worker, node);
    loss = model_.evaluate(data.samples, data.shard, lambda, w.data()).loss;
    return data.shard.count;
  }

  std::optional<TestMetrics> test(double lambda, const Vector<T>& w, TestDetail detail) override {
    if (!federation_.test) return std::nullopt;
    const Samples<T>& samples = *federation_.test;
    std::size_t n = samples.size();
    std::vector<Evaluation> blocks(row_blocks(n));
    options_.workers.for_each(blocks.size(), [&](unsigned, std::size_t b) {
      blocks[b] = model_.evaluate_block(samples, block_of({0, samples.size()}, b), w.data());
    });
    if (options_.ranks != nullptr) gather_blocks(*options_.ranks, blocks, n);
    Evaluation all;
    for (const Evaluation& block : blocks) {
      all.loss += block.loss;
      all.correct += block.correct;
    }
    return TestMetrics{score_test_set(model_, samples, w, detail, options_.workers, options_.ranks),
                       model_.regularised(samples.kernels(), lambda, all.loss, n, w.data()),
                       static_cast<double>(all.correct) / static_cast<double>(n)};
  }

 protected:
  // Valid until the next call for this worker.
  virtual NodeData<T> data_of(unsigned worker, std::size_t node) = 0;

  // The key of the node's name, where an order is drawn for it.
  std::uint64_t key_of(std::size_t node, std::size_t samples) const {
    if (takes_all(options_.stepping.batching, samples)) return 0;
    return node_key(federation_.names.empty() ? node_name(node)
                                              : federation_.names[node - federation_.first_node]);
  }

  const Federation<T>& federation_;
  const Model<T>& model_;
  LocalNodeOptions options_;

 private:
  ForEach run_blocks_;
  std::size_t wave_ = 1;
  std::vector<Chosen<T>> chosen_;
  std::uint64_t steps_ = 0;
};

template <class T>
class StoredNodes final : public RowNodes<T> {
 public:
  StoredNodes(const Federation<T>& federation, LocalNodeOptions options)
      : RowNodes<T>(federation, std::move(options)),
        cache_(federation.model->make_cache(federation.train, federation.nodes,
                                            this->options_.settings.size(), this->wave())) {}

 private:
  NodeData<T> data_of(unsigned /*worker*/, std::size_t node) override {
    const std::size_t here = node - this->federation_.first_node;
    const Shard shard = this->federation_.nodes[here];
    return {this->federation_.train, shard, cache_.get(), here, this->key_of(node, shard.count)};
  }

  std::unique_ptr<PassCache> cache_;
};

// A worker has memory for the rows of one node.
template <class T>
class GeneratedNodes final : public RowNodes<T> {
 public:
  GeneratedNodes(const Federation<T>& federation, LocalNodeOptions options)
      : RowNodes<T>(federation, std::move(options)) {
    const std::size_t buffers = this->wave() > 1 ? 1 : this->options_.workers.count();
    for (std::size_t i = 0; i < buffers; ++i) buffers_.push_back(federation.fleet->buffer());
  }

 private:
  NodeData<T> data_of(unsigned worker, std::size_t node) override {
    Samples<T>& buffer = buffers_[worker];
    this->federation_.fleet->fill(node, buffer);
    return {buffer, {0, buffer.size()}, nullptr, 0, this->key_of(node, buffer.size())};
  }

  std::vector<Samples<T>> buffers_;
};

}  // namespace

std::pair<std::size_t, std::size_t> equal_share(std::size_t all, unsigned rank, unsigned ranks) {
  return {all * rank / ranks, all * (rank + 1) / ranks};
}

std::pair<std::size_t, std::size_t> OwnNodes::part_of(std::span<const std::uint32_t> participants) const {
  if (participants.empty()) return {first, count};
  const auto place_of = [&](std::size_t node) {
    return static_cast<std::size_t>(std::ranges::lower_bound(participants, node) - participants.begin());
  };
  const auto [from, to] = anywhere ? equal_share(participants.size(), rank, ranks)
                                   : std::pair(place_of(first), place_of(first + count));
  return {from, to - from};
}

template <class T>
std::unique_ptr<LocalNodes<T>> make_local_nodes(const Federation<T>& federation, LocalNodeOptions options) {
  if (federation.external)
    return std::make_unique<ExternalRounds<T>>(own_nodes(federation, options), federation,
                                               std::move(options));
  if (federation.fleet) return std::make_unique<GeneratedNodes<T>>(federation, std::move(options));
  return std::make_unique<StoredNodes<T>>(federation, std::move(options));
}

template std::unique_ptr<LocalNodes<float>> make_local_nodes(const Federation<float>&, LocalNodeOptions);
template std::unique_ptr<LocalNodes<double>> make_local_nodes(const Federation<double>&, LocalNodeOptions);

}  // namespace mfl
