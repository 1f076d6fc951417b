#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/engine/local_nodes.h"
#include "mfl/engine/sums.h"

namespace mfl {
namespace {

// What one worker needs to run any number of nodes: memory that does not grow with their number.
template <class T>
struct Worker {
  Worker(const Model<T>& model, std::span<const Setting> settings, std::size_t wave)
      : memory(model, settings, wave), losses(settings.size()) {
    for (const Setting& setting : settings) {
      const VectorLayout& layout = setting.algorithm.vectors();
      std::vector<std::size_t> lengths;
      for (const std::size_t v : layout.up()) lengths.push_back(layout.length(v, model.parameters()));
      sums.emplace_back(lengths);
    }
  }

  NodeMemory<T> memory;
  std::vector<NodeLosses> losses;
  std::vector<Sums> sums;  // one per setting
};

template <class T>
class LocalEngine final : public Engine<T> {
 public:
  // `ranks` is null where this process has all nodes.
  LocalEngine(const Federation<T>& federation, std::vector<Setting> settings,
              std::unique_ptr<Workers> workers, Ranks* ranks, EngineOptions options)
      : model_(*federation.model),
        settings_(std::move(settings)),
        workers_(std::move(workers)),
        ranks_(ranks),
        aggregator_(if_it_holds_updates(options.aggregator)),
        codecs_(std::move(options.codecs)),
        update_digests_(options.update_digests),
        alone_(ranks == nullptr && !aggregator_ && federation.node_count() == 1),
        run_blocks_(for_each_of(*workers_)),
        nodes_(make_local_nodes(
            federation, {settings_,
                         {.batching = options.batching, .before_step = std::move(options.before_step)},
                         *workers_,
                         ranks_})),
        unfinished_(settings_.size()),
        node_states_(settings_.size()),
        updates_(settings_.size()),
        keeps_(std::ranges::any_of(
            settings_, [](const Setting& setting) { return setting.algorithm.keeps_at_nodes(); })) {
    const unsigned count = one_by_one() ? 1 : workers_->count();
    for (unsigned i = 0; i < count; ++i) states_.emplace_back(model_, settings_, nodes_->wave());
  }

  void run(std::span<StepRange<T>> ranges, std::uint64_t steps) override {
    ending_.clear();
    for (const StepRange<T>& range : ranges) {
      if (range.starts)
        for (Worker<T>& worker : states_) worker.sums[range.setting].clear();
      const std::size_t count = nodes_->own().part_of(range.participants).second;
      if (!range.ends) {
        make_places(range.setting, count);
        continue;
      }
      if (aggregator_) updates_[range.setting].resize(count);
      if (!layout_of(range).kept().empty()) node_states_[range.setting].start_round(count);
    }
    nodes_->start(ranges, steps);
    for_each_node(ranges.front().participants, [&](unsigned worker, std::size_t node, std::size_t place) {
      run_node(worker, ranges, node, place);
    });
    const State<T>& state = *ranges.front().state;
    const VectorLayout& layout = layout_of(ranges.front());
    ranges.front().out->nodes =
        nodes_->take_reports(state.vectors[layout.place_in_state(*layout.start(0))].values);
    for (const StepRange<T>& range : ranges) merge_small(range);
    if (ranks_ != nullptr) hear_ranks(ranges);
    for (StepRange<T>& range : ranges) conclude(range);
    workers_->for_each(ending_.size(),
                       [&](unsigned, std::size_t i) { average(*ending_[i].range, ending_[i].vector); });
    if (ranks_ != nullptr && !vectors_are_small_)
      for (const Ending& ending : ending_) average_over_ranks(*ending.range, ending.vector);
  }

  double train_loss(std::size_t setting, const Vector<T>& w,
                    std::span<const std::uint32_t> participants) override {
    for (Worker<T>& worker : states_) worker.sums[setting].clear();
    for_each_node(participants, [&](unsigned worker, std::size_t node, std::size_t) {
      double loss = 0;
      const std::size_t samples = nodes_->evaluate(worker, node, settings_[setting].lambda, w, loss);
      Sums& sums = states_[worker].sums[setting];
      if (sums.loss.add(std::span(&loss, 1), samples)) sums.loss_is_finite = false;
    });
    nodes_->take_reports(w);
    merge_losses(setting);
    Sums& total = states_.front().sums[setting];
    if (ranks_ != nullptr) total.loss_is_finite = merge_over_ranks(*ranks_, total.loss, total.loss_is_finite);
    return mean_loss(setting);
  }

  std::optional<TestMetrics> test(std::size_t setting, const Vector<T>& w, TestDetail detail) override {
    return nodes_->test(settings_[setting].lambda, w, detail);
  }

  Metrics measured() const override { return nodes_->measured(); }

  void keep(std::size_t setting) override { node_states_[setting].commit(); }

  std::vector<KeptVectors<T>> kept(std::size_t setting) override {
    std::vector<KeptVectors<T>> here = node_states_[setting].all();
    return ranks_ == nullptr || !keeps_ ? here : gather_kept<T>(*ranks_, here);
  }

  void restore(std::size_t setting, const std::vector<KeptVectors<T>>& kept) override {
    std::vector<KeptVectors<T>> own;
    std::ranges::copy_if(kept, std::back_inserter(own),
                         [this](const KeptVectors<T>& one) { return nodes_->own().runs(one.node); });
    node_states_[setting].restore(std::move(own));
  }

  bool stop(bool asked) override {
    if (ranks_ == nullptr) return asked;
    stop_asked_ = asked;
    return stop_agreed_;
  }

 private:
  // Within a node, the workers then share its row blocks.
  bool one_by_one() const { return nodes_->wave() > 1; }

  // Calls work(worker, node, place) for every node that takes part and that this process runs; `place` is
  // that among those. A worker runs one node at a time.
  template <class Work>
  void for_each_node(std::span<const std::uint32_t> participants, const Work& work) {
    const auto [first, count] = nodes_->own().part_of(participants);
    const auto run_one = [&, first = first](unsigned worker, std::size_t i) {
      work(worker, participants.empty() ? first + i : participants[first + i], i);
    };
    if (one_by_one()) {
      for (std::size_t i = 0; i < count; ++i) run_one(0, i);
    } else {
      workers_->for_each(count, run_one);
    }
  }

  const VectorLayout& layout_of(const StepRange<T>& range) const {
    return settings_[range.setting].algorithm.vectors(range.state->round + 1);
  }

  void make_places(std::size_t setting, std::size_t count) {
    auto& unfinished = unfinished_[setting];
    while (unfinished.size() < count) unfinished.push_back(states_.front().memory.vectors(setting));
  }

  void run_node(unsigned number, std::span<StepRange<T>> ranges, std::size_t node, std::size_t place) {
    Worker<T>& worker = states_[number];
    for (const StepRange<T>& range : ranges)
      start_node(worker.memory.vectors(range.setting), range, node, place);
    const std::size_t samples = nodes_->train(number, node, worker.memory, worker.losses);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const StepRange<T>& range = ranges[i];
      Sums& sums = worker.sums[range.setting];
      if (range.starts && add_losses(sums, worker.losses[i], range.evaluate, samples)) {
        sums.loss_is_finite = false;
        sums.fail(node, "the loss");
      }
      std::vector<Vector<T>>& vectors = worker.memory.vectors(range.setting);
      if (!range.ends) {
        vectors.swap(unfinished_[range.setting][place]);
        continue;
      }
      if (range.measure_moves) sums.add_move(range.state->w(), vectors[0], samples);
      end_node(vectors, range, node, place, samples, sums,
               update_digests_ ? nodes_->last_report(number) : nullptr);
    }
  }

  // Whether one of them is not finite.
  static bool add_losses(Sums& sums, const NodeLosses& losses, bool evaluated, std::size_t samples) {
    const bool bad = sums.loss.add(std::span(&losses.loss, 1), samples).has_value();
    return (evaluated && sums.evaluated.add(std::span(&losses.evaluated, 1), samples)) || bad;
  }

  // The vectors of a node at the start of a round, or as it left them within one.
  void start_node(std::vector<Vector<T>>& vectors, const StepRange<T>& range, std::size_t node,
                  std::size_t place) {
    if (!range.starts) return vectors.swap(unfinished_[range.setting][place]);
    const VectorLayout& layout = layout_of(range);
    const auto* const kept = layout.kept().empty() ? nullptr : node_states_[range.setting].find(node);
    std::size_t next_kept = 0;
    for (const std::size_t v : layout.at_node()) {
      Vector<T>& own = vectors[layout.place_at_node(v)];
      if (const auto start = layout.start(v))
        std::ranges::copy(range.state->vectors[layout.place_in_state(*start)].values, own.begin());
      else if (layout[v].kept && kept != nullptr)
        std::ranges::copy((*kept)[next_kept], own.begin());
      else
        std::ranges::fill(own, T{0});
      if (layout[v].kept) ++next_kept;
    }
  }

  // Hands over what a node keeps and sends up. `report` gets the digest of the update; null: nobody wants it.
  void end_node(std::vector<Vector<T>>& vectors, const StepRange<T>& range, std::size_t node,
                std::size_t place, std::size_t samples, Sums& sums, NodeReport* report) {
    const VectorLayout& layout = layout_of(range);
    if (!layout.kept().empty()) propose(vectors, range, node, place, sums);
    if (report != nullptr) {
      const std::vector<Vector<T>> origin = origin_of_updates(layout, *range.state);
      const auto sent = sent_vectors<T>(layout, vectors, origin);
      const std::string bytes = codecs_.encode<T>(sent);
      report->digest = sha256_hex(bytes);
      codecs_.decode<T>(bytes, sent);
    } else if (!codecs_.empty()) {
      const std::vector<Vector<T>> origin = origin_of_updates(layout, *range.state);
      codecs_.pass<T>(sent_vectors<T>(layout, vectors, origin));
    }
    if (alone_) range.out->vectors.resize(layout.up().size());
    NodeUpdate<T> update{{}, samples};
    for (std::size_t up = 0; up < layout.up().size(); ++up) {
      const VectorFlow& flow = layout[layout.up()[up]];
      const Vector<T>& own = vectors[layout.place_at_node(layout.up()[up])];
      const auto bad = aggregator_ || alone_
                           ? first_not_finite(std::span<const T>(own))
                           : sums.vectors[up].add(std::span<const T>(own),
                                                  flow.weighting == Weighting::kBySamples ? samples : 1);
      if (bad) sums.fail(node, fmt::format("{}[{}]", flow.name, *bad));
      if (aggregator_) update.vectors.push_back(own);
      if (alone_ && !bad) mean_of_one(own, range.out->vectors[up]);
    }
    sums.samples += samples;
    sums.nodes += 1;
    if (aggregator_) updates_[range.setting][place] = std::move(update);
  }

  // The exact mean of one vector is the vector, and of zeros of either sign the positive zero.
  static void mean_of_one(const Vector<T>& own, Vector<T>& out) {
    out.resize(own.size());
    std::ranges::transform(own, out.begin(), [](T x) { return x + T{0}; });
  }

  // What the node would keep.
  void propose(const std::vector<Vector<T>>& vectors, const StepRange<T>& range, std::size_t number,
               std::size_t place, Sums& sums) {
    const VectorLayout& layout = layout_of(range);
    KeptVectors<T> kept{number, {}};
    for (const std::size_t v : layout.kept()) {
      kept.vectors.push_back(vectors[layout.place_at_node(v)]);
      if (const auto bad = first_not_finite(std::span<const T>(kept.vectors.back())))
        sums.fail(number, fmt::format("{}[{}]", layout[v].name, *bad));
    }
    node_states_[range.setting].propose(place, std::move(kept));
  }

  // Merges the losses that the workers have added up; the first one's sum is then the total.
  void merge_losses(std::size_t setting) {
    Sums& total = states_.front().sums[setting];
    for (const Worker<T>& worker : std::span(states_).subspan(1)) {
      total.loss.merge(worker.sums[setting].loss);
      total.evaluated.merge(worker.sums[setting].evaluated);
      total.loss_is_finite = total.loss_is_finite && worker.sums[setting].loss_is_finite;
    }
  }

  double mean_loss(std::size_t setting) {
    Sums& total = states_.front().sums[setting];
    double mean = std::numeric_limits<double>::quiet_NaN();
    if (total.loss_is_finite) total.loss.mean(std::span(&mean, 1));
    return mean;
  }

  Sums& total_of(const StepRange<T>& range) { return states_.front().sums[range.setting]; }

  // Merges what the workers know of losses, moves and failures; the first one's is the total.
  void merge_small(const StepRange<T>& range) {
    if (range.starts) merge_losses(range.setting);
    Sums& total = total_of(range);
    for (const Worker<T>& worker : std::span(states_).subspan(1)) {
      const Sums& sums = worker.sums[range.setting];
      if (range.ends && range.measure_moves) total.square_moves.merge(sums.square_moves);
      total.samples += sums.samples;
      total.nodes += sums.nodes;
      if (sums.failure) total.fail(sums.failure->node, sums.failure->what);
    }
  }

  // The same over the ranks, each of which tells the others what it knows.
  void hear_ranks(std::span<StepRange<T>> ranges) {
    const auto parts = [](const StepRange<T>& range) {
      return SmallParts{range.starts, range.starts && range.evaluate, range.ends && range.measure_moves,
                        range.ends};
    };
    vectors_are_small_ = small(ranges);
    MessageWriter mine;
    mine.put(stop_asked_);
    for (const StepRange<T>& range : ranges) {
      put_small(mine, total_of(range), parts(range));
      if (!range.ends || !vectors_are_small_ || aggregator_) continue;
      for (std::size_t v = 0; v < total_of(range).vectors.size(); ++v) merge_vectors(range, v);
      put_vectors(mine, total_of(range));
    }
    const std::vector<std::string> all = ranks_->gather(mine.bytes());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      MessageReader theirs(all[rank]);
      stop_agreed_ |= theirs.template take<bool>();
      if (rank == ranks_->rank()) continue;
      for (const StepRange<T>& range : ranges) {
        merge_small_from(theirs, total_of(range), parts(range));
        if (range.ends && vectors_are_small_ && !aggregator_) merge_vectors_from(theirs, total_of(range));
      }
    }
  }

  // Whether every rank may as well hear the vectors of all the others: one message instead of many.
  bool small(std::span<const StepRange<T>> ranges) const {
    constexpr std::size_t kSmall = std::size_t{1} << 20, kBytesOfACoordinate = 16;
    std::size_t coordinates = 0;
    for (const StepRange<T>& range : ranges)
      if (range.ends) coordinates += layout_of(range).numbers_up(model_.parameters());
    return coordinates * kBytesOfACoordinate * ranks_->size() <= kSmall;
  }

  void conclude(StepRange<T>& range) {
    Sums& total = total_of(range);
    if (range.starts) range.out->loss_before = mean_loss(range.setting);
    if (range.starts && range.evaluate && total.loss_is_finite)
      total.evaluated.mean(std::span(&range.out->evaluated, 1));
    range.failure = total.failure;
    if (!range.ends || total.failure) return;
    if (range.measure_moves) total.square_moves.mean(std::span(&range.out->mean_square_move, 1));
    if (aggregator_) return aggregate(range);
    if (alone_) return;  // end_node() has written them
    const std::size_t sent = layout_of(range).up().size();
    range.out->vectors.resize(sent);
    for (std::size_t v = 0; v < sent; ++v) ending_.push_back({&range, v});
  }

  void aggregate(StepRange<T>& range) {
    std::vector<NodeUpdate<T>>& updates = updates_[range.setting];
    if (ranks_ != nullptr) updates = gather_updates<T>(*ranks_, updates);
    aggregate_updates<T>(*aggregator_, updates, origin_of_updates(layout_of(range), *range.state),
                         range.out->vectors, run_blocks_);
  }

  void merge_vectors(const StepRange<T>& range, std::size_t v) {
    for (const Worker<T>& worker : std::span(states_).subspan(1))
      total_of(range).vectors[v].merge(worker.sums[range.setting].vectors[v]);
  }

  void average(StepRange<T>& range, std::size_t v) {
    const bool merged = ranks_ != nullptr && vectors_are_small_;
    if (!merged) merge_vectors(range, v);
    range.out->vectors[v].resize(total_of(range).vectors[v].size());
    if (ranks_ == nullptr || merged) total_of(range).vectors[v].mean(std::span<T>(range.out->vectors[v]));
  }

  void average_over_ranks(StepRange<T>& range, std::size_t v) {
    const Sums& total = total_of(range);
    const bool by_samples = layout_of(range)[layout_of(range).up()[v]].weighting == Weighting::kBySamples;
    ranks_->mean(total.vectors[v], by_samples ? total.samples : total.nodes,
                 std::span<T>(range.out->vectors[v]));
  }

  const Model<T>& model_;
  std::vector<Setting> settings_;
  std::unique_ptr<Workers> workers_;
  Ranks* ranks_;
  std::shared_ptr<const Aggregator> aggregator_;  // null: the exact mean
  CodecChain codecs_;
  bool update_digests_;
  bool alone_;  // there is one node, and its vectors are the mean
  bool stop_asked_ = false, stop_agreed_ = false;
  bool vectors_are_small_ = false;  // of the ranges that are run: the ranks have told each other
  ForEach run_blocks_;
  std::unique_ptr<LocalNodes<T>> nodes_;
  std::vector<Worker<T>> states_;
  // By setting and place: the vectors of nodes between ranges of one round.
  std::vector<std::vector<std::vector<Vector<T>>>> unfinished_;
  std::vector<NodeStates<T>> node_states_;           // by setting
  std::vector<std::vector<NodeUpdate<T>>> updates_;  // by setting, in the order of nodes; for aggregator_
  bool keeps_;                                       // some setting has vectors that nodes keep
  // Of the range that is run:
  struct Ending {
    StepRange<T>* range;
    std::size_t vector;
  };
  std::vector<Ending> ending_;  // what is to be averaged
};

}  // namespace

template <class T>
std::unique_ptr<Engine<T>> local_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                        std::unique_ptr<Workers> workers, EngineOptions options) {
  return std::make_unique<LocalEngine<T>>(federation, std::move(settings), std::move(workers), nullptr,
                                          std::move(options));
}

template <class T>
std::unique_ptr<Engine<T>> shared_engine(const Federation<T>& federation, std::vector<Setting> settings,
                                         std::unique_ptr<Workers> workers, Ranks& ranks,
                                         EngineOptions options) {
  return std::make_unique<LocalEngine<T>>(federation, std::move(settings), std::move(workers), &ranks,
                                          std::move(options));
}

#define MFL_INSTANTIATE(T)                                                                      \
  template std::unique_ptr<Engine<T>> local_engine(const Federation<T>&, std::vector<Setting>,  \
                                                   std::unique_ptr<Workers>, EngineOptions);    \
  template std::unique_ptr<Engine<T>> shared_engine(const Federation<T>&, std::vector<Setting>, \
                                                    std::unique_ptr<Workers>, Ranks&, EngineOptions);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
