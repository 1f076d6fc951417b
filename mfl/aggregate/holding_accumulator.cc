// The updates of a round until a rule that needs all of them can have them.
#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "mfl/aggregate/aggregator.h"
#include "mfl/base/message.h"

namespace mfl {
namespace {

template <class T>
class HoldingAccumulator final : public Accumulator<T> {
 public:
  HoldingAccumulator(const Aggregator& aggregator, std::vector<SentVector> layout, AccumulatorOptions options)
      : Accumulator<T>(std::move(layout), std::move(options)),
        aggregator_(aggregator),
        held_(this->options().workers) {}

  void finish(const VectorViews<T>& origin, std::vector<Vector<T>>& out, const ForEach& run) override {
    const auto vectors = this->layout();
    std::vector<SentUpdate<T>>& all = collect();
    std::ranges::sort(all, {}, &SentUpdate<T>::node);
    std::vector<NodeVectors<T>> views;
    for (const SentUpdate<T>& update : all) views.push_back({update.vectors, update.samples});
    std::vector<Vector<T>> zeros(vectors.size());
    NodeVectors<T> from{origin};
    for (std::size_t v = 0; v < vectors.size(); ++v)
      if (origin[v].empty()) from.vectors[v] = zeros[v] = Vector<T>(vectors[v].length);
    aggregator_.aggregate(views, from, out, run);
    all.clear();
  }

 private:
  void clear_vectors() override {
    for (std::vector<SentUpdate<T>>& held : held_) held.clear();
  }

  void add_vectors(const SentUpdate<T>& update, unsigned worker) override {
    this->fail_if_not_finite(update, worker);
    SentUpdate<T>& held = held_[worker].emplace_back(update);
    held.metrics = nullptr;
    if (!held.memory) own(held);
  }

  static void own(SentUpdate<T>& update) {
    auto memory = std::make_shared<std::vector<Vector<T>>>();
    for (std::span<const T>& vector : update.vectors)
      vector = memory->emplace_back(vector.begin(), vector.end());
    update.memory = std::move(memory);
  }

  std::vector<SentUpdate<T>>& collect() {
    std::vector<SentUpdate<T>>& all = held_.front();
    for (std::vector<SentUpdate<T>>& held : std::span(held_).subspan(1)) {
      std::ranges::move(held, std::back_inserter(all));
      held.clear();
    }
    return all;
  }

  void put_vectors(MessageWriter& to) override {
    const std::vector<SentUpdate<T>>& all = collect();
    to.put(all.size());
    for (const SentUpdate<T>& update : all) {
      to.put(update.node.number);
      to.put_text(update.node.name);
      to.put(update.samples);
      for (const std::span<const T> vector : update.vectors) to.put_all(vector);
    }
  }

  void merge_vectors(MessageReader& from) override {
    for (auto left = from.take<std::size_t>(); left > 0; --left) {
      SentUpdate<T> update;
      update.node.number = from.take<std::uint64_t>();
      update.node.name = from.take_text();
      update.samples = from.take<std::uint64_t>();
      if (update.samples == 0 || update.samples > ExactMean::kMaxWeight)
        throw std::invalid_argument("an update without a weight");
      auto memory = std::make_shared<std::vector<std::vector<T>>>();
      for (const SentVector& vector : this->layout()) {
        update.vectors.push_back(memory->emplace_back(from.take_all<T>()));
        if (update.vectors.back().size() != vector.length)
          throw std::invalid_argument("an update of another shape");
      }
      update.memory = std::move(memory);
      add_vectors(update, 0);
    }
  }

  const Aggregator& aggregator_;
  std::vector<std::vector<SentUpdate<T>>> held_;  // by worker
};

}  // namespace

template <class T>
std::unique_ptr<Accumulator<T>> hold_updates(const Aggregator& aggregator, std::vector<SentVector> layout,
                                             AccumulatorOptions options) {
  return std::make_unique<HoldingAccumulator<T>>(aggregator, std::move(layout), std::move(options));
}

template std::unique_ptr<Accumulator<float>> hold_updates(const Aggregator&, std::vector<SentVector>,
                                                          AccumulatorOptions);
template std::unique_ptr<Accumulator<double>> hold_updates(const Aggregator&, std::vector<SentVector>,
                                                           AccumulatorOptions);

}  // namespace mfl
