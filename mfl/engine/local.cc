#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "mfl/algorithm/aggregation.h"
#include "mfl/base/digest.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/message.h"
#include "mfl/engine/gather_kept.h"
#include "mfl/engine/local_nodes.h"

namespace mfl {
namespace {

enum Number : std::size_t { kLoss, kEvaluated, kSquareMove };  // of an update

// What one worker needs to run any number of nodes: memory that does not grow with their number.
template <class T>
struct Worker {
  Worker(const Model<T>& model, std::span<const Setting> settings, std::size_t wave)
      : memory(model, settings, wave), losses(settings.size()) {}

  NodeMemory<T> memory;
  std::vector<NodeLosses> losses;
  SentUpdate<T> update;
};

template <class T>
class LocalEngine final : public Engine<T> {
 public:
  // `ranks` is null where this process has all nodes.
  LocalEngine(const Federation<T>& federation, std::vector<Setting> settings,
              std::unique_ptr<Workers> workers, Ranks* ranks, EngineOptions options)
      : federation_(federation),
        model_(*federation.model),
        settings_(std::move(settings)),
        workers_(std::move(workers)),
        ranks_(ranks),
        aggregator_(std::move(options.aggregator)),
        codecs_(std::move(options.codecs)),
        update_digests_(options.update_digests),
        seed_(options.batching.seed),
        keeps_(std::ranges::any_of(
            settings_,
            [this](const Setting& setting) { return keeps_at_nodes(setting.algorithm, codecs_); })),
        run_blocks_(for_each_of(*workers_)),
        nodes_(make_local_nodes(
            federation, {settings_,
                         {.batching = options.batching, .before_step = std::move(options.before_step)},
                         *workers_,
                         ranks_,
                         keeps_})),
        unfinished_(settings_.size()),
        node_states_(settings_.size()) {
    const unsigned count = one_by_one() ? 1 : workers_->count();
    for (unsigned i = 0; i < count; ++i) states_.emplace_back(model_, settings_, nodes_->wave());
    const Aggregator& aggregator = aggregator_ ? *aggregator_ : mean_aggregator();
    const AccumulatorOptions adding{.workers = count,
                                    .nodes = ranks == nullptr ? federation.node_count() : 0};
    for (const Setting& setting : settings_)
      sums_.push_back(
          aggregator.accumulator<T>(vectors_sent(setting.algorithm.vectors(), model_.parameters()), adding));
  }

  void run(std::span<StepRange<T>> ranges, std::uint64_t steps) override {
    for (const StepRange<T>& range : ranges) {
      sums_[range.setting]->clear(layout_of(range).up().size());
      const std::size_t count = nodes_->own().part_of(range.participants).second;
      if (!range.ends) {
        make_places(range.setting, count);
        continue;
      }
      if (keeps_at_nodes(settings_[range.setting].algorithm, codecs_))
        node_states_[range.setting].start_round(count);
    }
    nodes_->start(ranges, steps);
    for_each_node(ranges.front().participants, [&](unsigned worker, std::size_t node, std::size_t place) {
      run_node(worker, ranges, node, place);
    });
    const State<T>& state = *ranges.front().state;
    const VectorLayout& layout = layout_of(ranges.front());
    ranges.front().out->nodes =
        nodes_->take_reports(state.vectors[layout.place_in_state(*layout.start(0))].values);
    if (ranks_ != nullptr) hear_ranks(ranges);
    std::vector<StepRange<T>*> ending;
    for (StepRange<T>& range : ranges)
      if (conclude(range)) ending.push_back(&range);
    average(ending);
  }

  double train_loss(std::size_t setting, const Vector<T>& w,
                    std::span<const std::uint32_t> participants) override {
    Accumulator<T>& sums = *sums_[setting];
    sums.clear();
    for_each_node(participants, [&](unsigned worker, std::size_t node, std::size_t) {
      double loss = 0;
      const std::size_t samples = nodes_->evaluate(worker, node, settings_[setting].lambda, w, loss);
      sums.add({.samples = samples, .numbers = {loss}}, worker);
    });
    nodes_->take_reports(w);
    if (ranks_ != nullptr) {
      const std::vector<std::string> all = ranks_->gather(sums.pack(false));
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        if (rank != ranks_->rank()) merge(sums, all[rank]);
    }
    return sums.mean(kLoss).value();
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
    SentUpdate<T>& update = worker.update;
    update.node.number = node;
    update.samples = nodes_->train(number, node, worker.memory, worker.losses);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const StepRange<T>& range = ranges[i];
      update.vectors.clear();
      update.numbers = {};
      if (range.starts) add_losses(worker.losses[i], range, number);
      std::vector<Vector<T>>& vectors = worker.memory.vectors(range.setting);
      if (range.ends)
        end_node(vectors, range, place, number);
      else
        vectors.swap(unfinished_[range.setting][place]);
      sums_[range.setting]->add(update, number);
    }
  }

  void add_losses(const NodeLosses& losses, const StepRange<T>& range, unsigned number) {
    SentUpdate<T>& update = states_[number].update;
    update.numbers[kLoss] = losses.loss;
    if (range.evaluate) update.numbers[kEvaluated] = losses.evaluated;
    if (std::isfinite(losses.loss) && std::isfinite(update.numbers[kEvaluated].value_or(0))) return;
    update.numbers[kLoss] = std::numeric_limits<double>::quiet_NaN();
    sums_[range.setting]->fail(update.node, "the loss", number);
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

  // What a node keeps and sends up, at the end of a round.
  void end_node(std::vector<Vector<T>>& vectors, const StepRange<T>& range, std::size_t place,
                unsigned number) {
    SentUpdate<T>& update = states_[number].update;
    const VectorLayout& layout = layout_of(range);
    if (range.measure_moves)
      update.numbers[kSquareMove] = default_kernel_set().of<T>().squared_distance(
          vectors[0].size(), vectors[0].data(), range.state->w().data());
    for (const std::size_t up : layout.up()) update.vectors.emplace_back(vectors[layout.place_at_node(up)]);
    KeptVectors<T> kept = kept_of(vectors, range, number);
    update.bytes = send(vectors, range, kept, number);
    if (!kept.vectors.empty()) node_states_[range.setting].propose(place, std::move(kept));
  }

  // What the algorithm leaves at the node, if the round counts.
  KeptVectors<T> kept_of(const std::vector<Vector<T>>& vectors, const StepRange<T>& range, unsigned number) {
    const NodePlace& node = states_[number].update.node;
    const VectorLayout& layout = layout_of(range);
    KeptVectors<T> kept{node.number, {}};
    for (const std::size_t v : layout.kept()) {
      kept.vectors.push_back(vectors[layout.place_at_node(v)]);
      if (const auto bad = first_not_finite(std::span<const T>(kept.vectors.back())))
        sums_[range.setting]->fail(node, fmt::format("{}[{}]", layout[v].name, *bad), number);
    }
    return kept;
  }

  // Replaces what is sent up by what the server makes of it, and adds the residuals to what is kept. Returns
  // the number of bytes that are sent.
  std::size_t send(std::vector<Vector<T>>& vectors, const StepRange<T>& range, KeptVectors<T>& kept,
                   unsigned number) {
    if (settings_[range.setting].algorithm.centralised) return 0;
    const VectorLayout& layout = layout_of(range);
    NodeReport* const report = update_digests_ ? nodes_->last_report(number) : nullptr;
    std::string bytes;
    std::string* const sent = range.sent != nullptr ? range.sent : report != nullptr ? &bytes : nullptr;
    if (codecs_.empty() && sent == nullptr) {
      std::size_t size = 0;
      for (const std::span<const T> vector : states_[number].update.vectors) size += vector.size_bytes();
      return size;
    }
    const std::span<Vector<T>> residuals = add_residuals(range, kept);
    const std::vector<Vector<T>> origin = origin_of_updates(layout, *range.state);
    const CodecDraws draws{seed_, range.state->round + 1, node_key(federation_.name_of(kept.node))};
    const std::size_t size =
        codecs_.send<T>(sent_vectors<T>(layout, vectors, origin), draws, residuals, sent);
    if (report != nullptr) report->digest = sha256_hex(*sent);
    return size;
  }

  // The residuals of the node before this round, at the end of what it keeps; none where codecs keep none.
  std::span<Vector<T>> add_residuals(const StepRange<T>& range, KeptVectors<T>& kept) {
    if (!codecs_.keeps_residuals()) return {};
    const VectorLayout& layout = settings_[range.setting].algorithm.vectors();
    const std::size_t first = kept.vectors.size();
    if (const auto* const before = node_states_[range.setting].find(kept.node))
      kept.vectors.insert(kept.vectors.end(), before->begin() + static_cast<std::ptrdiff_t>(first),
                          before->end());
    else
      for (const std::size_t v : layout.up())
        kept.vectors.emplace_back(layout.length(v, model_.parameters()));
    return std::span(kept.vectors).subspan(first);
  }

  static void merge(Accumulator<T>& sums, std::string_view packed) {
    if (const auto merged = sums.merge(packed); !merged) throw std::invalid_argument(merged.error().text());
  }

  // Adds what the other ranks have added: the vectors too where they are small, or needed as a whole.
  void hear_ranks(std::span<const StepRange<T>> ranges) {
    vectors_are_small_ = small(ranges);
    MessageWriter mine;
    mine.put(stop_asked_);
    for (const StepRange<T>& range : ranges) {
      Accumulator<T>& sums = *sums_[range.setting];
      mine.put_text(sums.pack(range.ends && (vectors_are_small_ || sums.sliced() == nullptr)));
    }
    const std::vector<std::string> all = ranks_->gather(mine.bytes());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      MessageReader theirs(all[rank]);
      stop_agreed_ |= theirs.template take<bool>();
      if (rank == ranks_->rank()) continue;
      for (const StepRange<T>& range : ranges) merge(*sums_[range.setting], theirs.take_text());
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

  // Whether there are vectors to average.
  bool conclude(StepRange<T>& range) {
    Accumulator<T>& sums = *sums_[range.setting];
    if (range.starts) range.out->loss_before = sums.mean(kLoss).value();
    if (range.starts && range.evaluate) range.out->evaluated = sums.mean(kEvaluated).value();
    range.failure.reset();
    if (const auto& failure = sums.failure()) range.failure = NotFinite{failure->node.number, failure->what};
    if (!range.ends || range.failure) return false;
    range.out->bytes_up = sums.bytes();
    if (range.measure_moves) range.out->mean_square_move = sums.mean(kSquareMove).value();
    return true;
  }

  // Over settings at a time if they are enough for the workers, else over slices.
  void average(std::span<StepRange<T>* const> ranges) {
    const bool on_shares = ranks_ != nullptr && !vectors_are_small_;
    const auto finish = [&](StepRange<T>& range, const ForEach& run) {
      Accumulator<T>& sums = *sums_[range.setting];
      std::vector<Vector<T>>& out = range.out->vectors;
      if (SlicedSums<T>* const sliced = on_shares ? sums.sliced() : nullptr) {
        sliced->prepare(out, run);
        ranks_->finish(*sliced, out);
      } else {
        sums.finish(starts_of_updates(layout_of(range), *range.state), out, run);
      }
    };
    if (on_shares || ranges.size() < workers_->count())
      for (StepRange<T>* const range : ranges) finish(*range, run_blocks_);
    else
      workers_->for_each(ranges.size(),
                         [&](unsigned, std::size_t i) { finish(*ranges[i], for_each_in_order); });
  }

  const Federation<T>& federation_;
  const Model<T>& model_;
  std::vector<Setting> settings_;
  std::unique_ptr<Workers> workers_;
  Ranks* ranks_;
  std::shared_ptr<const Aggregator> aggregator_;  // null: the exact mean
  CodecChain codecs_;
  bool update_digests_;
  std::uint64_t seed_;
  bool keeps_;  // some setting has vectors that nodes keep
  bool stop_asked_ = false, stop_agreed_ = false;
  bool vectors_are_small_ = false;  // of the ranges that are run: the ranks have told each other
  ForEach run_blocks_;
  std::unique_ptr<LocalNodes<T>> nodes_;
  std::vector<Worker<T>> states_;
  std::vector<std::unique_ptr<Accumulator<T>>> sums_;  // by setting
  // By setting and place: the vectors of nodes between ranges of one round.
  std::vector<std::vector<std::vector<Vector<T>>>> unfinished_;
  std::vector<NodeStates<T>> node_states_;  // by setting
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
