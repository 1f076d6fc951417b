// The exact mean: sums by worker and slice. Updates that are held are added slice by slice, while the sums of
// a slice are in the cache.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "mfl/aggregate/accumulator.h"
#include "mfl/aggregate/rules.h"
#include "mfl/aggregate/slices.h"
#include "mfl/base/message.h"

namespace mfl {
namespace {

constexpr std::size_t kWeightWords = 2, kHeaderWords = 4;  // weight; and the header of ExactMean::pack()

template <class T>
class MeanAccumulator final : public Accumulator<T>, private SlicedSums<T> {
 public:
  MeanAccumulator(std::vector<SentVector> layout, AccumulatorOptions options)
      : Accumulator<T>(std::move(layout), std::move(options)),
        slices_(slices_of(this->layout())),
        sums_(this->options().workers) {
    std::size_t bytes = 0;
    for (const Slice& slice : slices_) bytes += slice.count * sizeof(T);
    most_held_ =
        std::min(this->options().most_held, this->options().most_bytes / std::max<std::size_t>(1, bytes));
    for (std::vector<ExactMean>& sums : sums_)
      for (const Slice& slice : slices_) sums.emplace_back(slice.count);
  }

  void finish(const VectorViews<T>& /*origin*/, std::vector<Vector<T>>& out, const ForEach& run) override {
    add_held();
    if (std::exchange(has_only_, false)) return out.swap(only_);
    make_room(out);
    run(slices().size(), [&](std::size_t s) {
      collect(s);
      finish_slice(s, out);
    });
  }

  SlicedSums<T>* sliced() override { return this; }

 private:
  void clear_vectors() override {
    for (std::vector<ExactMean>& sums : sums_)
      for (ExactMean& sum : sums) sum.clear();
    held_.clear();
    has_only_ = false;
    empty_ = true;
  }

  void add_vectors(const SentUpdate<T>& update, unsigned worker) override {
    if (this->options().nodes == 1) {
      if (std::exchange(empty_, false)) return keep_only(update, worker);
      settle();
    }
    if (update.memory) {
      held_.push_back(update);
      if (held_.size() >= most_held_) add_held();
      return;
    }
    const std::size_t count = slices().size();
    bool finite = true;
    for (std::size_t s = 0; s < count && finite; ++s) finite = add_slice(update, s, worker);
    if (!finite) this->fail_if_not_finite(update, worker);
  }

  // Whether the numbers are finite.
  bool add_slice(const SentUpdate<T>& update, std::size_t s, unsigned worker) {
    const auto [v, first, count] = slices_[s];
    const std::uint64_t weight = this->layout()[v].by_samples ? update.samples : 1;
    return !sums_[worker][s].add(update.vectors[v].subspan(first, count), weight);
  }

  void add_held() {
    if (held_.empty()) return;
    std::atomic<bool> finite = true;
    this->options().run(slices().size(), [&](std::size_t s) {
      for (const SentUpdate<T>& update : held_)
        if (!add_slice(update, s, 0)) finite = false;
    });
    if (!finite)
      for (const SentUpdate<T>& update : held_) this->fail_if_not_finite(update, 0);
    held_.clear();
  }

  // The exact mean of one vector is the vector, and of zeros of either sign the positive zero.
  void keep_only(const SentUpdate<T>& update, unsigned worker) {
    this->fail_if_not_finite(update, worker);
    only_.resize(update.vectors.size());
    for (std::size_t v = 0; v < only_.size(); ++v) {
      only_[v].resize(update.vectors[v].size());
      std::ranges::transform(update.vectors[v], only_[v].begin(), [](T x) { return x + T{0}; });
    }
    only_samples_ = update.samples;
    has_only_ = true;
  }

  // All that was added is in the sums.
  void settle() {
    add_held();
    if (!std::exchange(has_only_, false)) return;
    const SentUpdate<T> only{
        .samples = only_samples_, .vectors = {only_.begin(), only_.end()}, .numbers = {}};
    for (std::size_t s = 0; s < slices().size(); ++s) add_slice(only, s, 0);
  }

  void make_room(std::vector<Vector<T>>& out) const {
    const auto vectors = this->layout();
    out.resize(vectors.size());
    for (std::size_t v = 0; v < out.size(); ++v) out[v].resize(vectors[v].length);
  }

  // The slice of all workers becomes that of the first.
  void collect(std::size_t s) {
    for (std::vector<ExactMean>& sums : std::span(sums_).subspan(1)) {
      sums_.front()[s].merge(sums[s]);
      sums[s].clear();
    }
  }

  void prepare(std::vector<Vector<T>>& out, const ForEach& run) override {
    settle();
    make_room(out);
    run(slices().size(), [&](std::size_t s) { collect(s); });
  }

  // Slices are in the order of vectors.
  std::span<const Slice> slices() const override {
    const auto end = std::ranges::lower_bound(slices_, this->layout().size(), {}, &Slice::vector);
    return {slices_.begin(), end};
  }

  std::size_t most_words(std::size_t s) const override {
    return kWeightWords + sums_.front()[s].most_packed_words(slices_[s].count);
  }

  void pack_slice(std::size_t s, std::vector<std::uint32_t>& to) override {
    const ExactMean& sum = sums_.front()[s];
    const std::uint64_t weight = sum.total_weight();
    const auto words = sum.pack(0, sum.size(), buffer_);
    to.push_back(static_cast<std::uint32_t>(weight));
    to.push_back(static_cast<std::uint32_t>(weight >> 32U));
    to.insert(to.end(), words.begin(), words.end());
  }

  std::span<const std::uint32_t> merge_slice(std::size_t s, std::span<const std::uint32_t> words) override {
    ExactMean& sum = sums_.front()[s];
    if (words.size() < kHeaderWords) throw std::invalid_argument("sums are cut short");
    const std::uint64_t length = kHeaderWords + std::uint64_t{words[kHeaderWords - 1]} * sum.size();
    if (length > words.size()) throw std::invalid_argument("sums are cut short");
    sum.merge_packed(words.subspan(kWeightWords, length - kWeightWords),
                     words[0] | std::uint64_t{words[1]} << 32U);
    return words.subspan(length);
  }

  void finish_slice(std::size_t s, std::vector<Vector<T>>& out) override {
    sums_.front()[s].mean(slice_of(out, slices_[s]));
  }

  void put_vectors(MessageWriter& to) override {
    settle();
    std::vector<std::uint32_t> words;
    for (std::size_t s = 0; s < slices().size(); ++s) {
      collect(s);
      pack_slice(s, words);
    }
    to.put_all(std::span<const std::uint32_t>(words));
  }

  void merge_vectors(MessageReader& from) override {
    settle();
    empty_ = false;
    const auto words = from.take_all<std::uint32_t>();
    std::span<const std::uint32_t> rest = words;
    for (std::size_t s = 0; s < slices().size(); ++s) rest = merge_slice(s, rest);
    if (!rest.empty()) throw std::invalid_argument("sums of more vectors");
  }

  std::vector<Slice> slices_;
  std::vector<std::vector<ExactMean>> sums_;  // by worker and slice
  std::vector<SentUpdate<T>> held_;
  std::size_t most_held_ = 0;
  // With one node: nothing was added yet; its update, if that is all that was added.
  bool empty_ = true, has_only_ = false;
  std::vector<Vector<T>> only_;
  std::uint64_t only_samples_ = 0;
  std::vector<std::uint32_t> buffer_;
};

}  // namespace

template <class T>
std::unique_ptr<Accumulator<T>> make_mean_accumulator(std::vector<SentVector> layout,
                                                      AccumulatorOptions options) {
  return std::make_unique<MeanAccumulator<T>>(std::move(layout), std::move(options));
}

template std::unique_ptr<Accumulator<float>> make_mean_accumulator(std::vector<SentVector>,
                                                                   AccumulatorOptions);
template std::unique_ptr<Accumulator<double>> make_mean_accumulator(std::vector<SentVector>,
                                                                    AccumulatorOptions);

}  // namespace mfl
