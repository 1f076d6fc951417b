#include "mfl/federation/round_sum.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "mfl/base/kernels/kernels.h"
#include "mfl/federation/payload.h"

namespace mfl {
namespace {

constexpr std::size_t kSliceColumns = 4096;  // whose digits fit a second-level cache

// The numbers at a place that need not be aligned for them.
template <class T>
class Numbers {
 public:
  std::span<const T> copy(const char* from, std::size_t count) {
    std::memcpy(numbers_.data(), from, count * sizeof(T));
    return {numbers_.data(), count};
  }

 private:
  std::array<T, kSliceColumns> numbers_;
};

}  // namespace

template <class T>
RoundSum<T>::RoundSum(VectorLayout layout, std::size_t parameters, Workers& workers,
                      std::shared_ptr<const Aggregator> aggregator, std::size_t most_held,
                      std::size_t most_bytes)
    : layout_(std::move(layout)),
      lengths_(lengths_of(layout_, layout_.up(), parameters)),
      numbers_(layout_.numbers_up(parameters)),
      most_held_(
          std::clamp<std::size_t>(most_bytes / std::max<std::size_t>(1, numbers_ * sizeof(T)), 1, most_held)),
      most_bytes_(most_bytes),
      workers_(workers),
      aggregator_(if_it_holds_updates(std::move(aggregator))) {
  std::size_t place = 0;
  for (std::size_t up = 0; up < lengths_.size(); ++up)
    for (std::size_t first = 0; first < lengths_[up]; first += kSliceColumns) {
      slices_.push_back({up, first, place, ExactMean(std::min(kSliceColumns, lengths_[up] - first))});
      place += slices_.back().sum.size();
    }
}

template <class T>
void RoundSum<T>::for_each_slice(const std::function<void(Slice& slice)>& work) {
  workers_.for_each(slices_.size(), [&](unsigned, std::size_t i) { work(slices_[i]); });
}

template <class T>
const T* RoundSum<T>::start_of(const Slice& slice, const State<T>& state) const {
  const auto start = layout_.start(layout_.up()[slice.up]);
  return start ? state.vectors[layout_.place_in_state(*start)].values.data() + slice.first : nullptr;
}

template <class T>
std::string RoundSum<T>::name_of(std::size_t place) const {
  std::size_t up = 0;
  for (; place >= lengths_[up]; ++up) place -= lengths_[up];
  return fmt::format("{}[{}]", layout_[layout_.up()[up]].name, place);
}

template <class T>
typename RoundSum<T>::Measured RoundSum<T>::measure(const std::string& payload, const State<T>& state) {
  assert(payload.size() == numbers_ * sizeof(T));
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::atomic<std::size_t> bad = kNone;
  squares_.resize(slices_.size());
  const Kernels<T>& kernels = default_kernel_set().of<T>();
  for_each_slice([&](Slice& slice) {
    Numbers<T> numbers;
    const auto x = numbers.copy(payload.data() + slice.place * sizeof(T), slice.sum.size());
    const T* const start = start_of(slice, state);
    const double square = start != nullptr ? kernels.squared_distance(x.size(), x.data(), start)
                                           : kernels.squared_norm(x.size(), x.data());
    squares_[static_cast<std::size_t>(&slice - slices_.data())] = square;
    if (std::isfinite(square)) return;
    const auto found = first_not_finite(x);
    if (!found) return;
    const std::size_t place = slice.place + *found;
    for (std::size_t seen = bad; place < seen && !bad.compare_exchange_weak(seen, place);) {
    }
  });
  Measured out;
  if (bad != kNone) out.not_finite = bad.load();
  out.moves.resize(lengths_.size());
  for (std::size_t i = 0; i < slices_.size(); ++i) out.moves[slices_[i].up] += squares_[i];
  for (double& move : out.moves) move = std::sqrt(move);
  return out;
}

template <class T>
void RoundSum<T>::add(const std::string& node, std::string payload, std::uint64_t weight) {
  assert(payload.size() == numbers_ * sizeof(T));
  if (aggregator_) {
    kept_[{node.size(), node}] = {from_payload<T>(payload, lengths_), weight};
    return;
  }
  held_.push_back({std::move(payload), weight});
  if (held_.size() >= most_held_) add_held();
}

template <class T>
void RoundSum<T>::add_held() {
  for_each_slice([&](Slice& slice) {
    if (fresh_) slice.sum.clear();
    Numbers<T> numbers;
    const bool by_samples = layout_[layout_.up()[slice.up]].weighting == Weighting::kBySamples;
    for (const Held& held : held_)
      slice.sum.add(numbers.copy(held.payload.data() + slice.place * sizeof(T), slice.sum.size()),
                    by_samples ? held.weight : 1);
  });
  drop_held();
  fresh_ = false;
}

template <class T>
void RoundSum<T>::drop_held() {
  for (Held& held : held_)
    if (spare_buffers_.size() < 2 * most_held_ &&
        (spare_buffers_.size() + 1) * held.payload.size() <= most_bytes_)
      spare_buffers_.push_back(std::move(held.payload));
  held_.clear();
}

template <class T>
std::string RoundSum<T>::spare_buffer() {
  if (spare_buffers_.empty()) return {};
  std::string buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  buffer.clear();
  return buffer;
}

template <class T>
void RoundSum<T>::aggregate(const State<T>& state, std::vector<Vector<T>>& out) {
  std::vector<NodeUpdate<T>> updates;
  for (auto& [name, kept] : kept_) updates.push_back(std::move(kept));
  kept_.clear();
  aggregate_updates<T>(*aggregator_, updates, origin_of_updates(layout_, state), out,
                       [this](std::size_t n, const auto& work) {
                         workers_.for_each(n, [&](unsigned, std::size_t i) { work(i); });
                       });
}

template <class T>
void RoundSum<T>::finish(const State<T>& state, std::vector<Vector<T>>& out) {
  if (aggregator_) return aggregate(state, out);
  add_held();
  out.resize(lengths_.size());
  for (std::size_t up = 0; up < out.size(); ++up) out[up].resize(lengths_[up]);
  for_each_slice([&](Slice& slice) {
    slice.sum.mean(std::span<T>(out[slice.up]).subspan(slice.first, slice.sum.size()));
  });
}

template <class T>
void RoundSum<T>::clear() {
  kept_.clear();
  drop_held();
  fresh_ = true;
}

template class RoundSum<float>;
template class RoundSum<double>;

}  // namespace mfl
