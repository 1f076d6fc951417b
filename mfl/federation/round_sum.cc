#include "mfl/federation/round_sum.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

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

// By lanes, for SIMD, whose sums are added in a fixed order. Finite if all numbers are, short of an overflow.
template <class T>
double square_distance(std::span<const T> x, const T* from) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums = {};
  const auto add = [&](std::size_t lane, std::size_t i) {
    const double move = static_cast<double>(x[i]) - static_cast<double>(from[i]);
    sums[lane] += move * move;
  };
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
  for (std::size_t lane = 0; i < x.size(); ++i, ++lane) add(lane, i);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

template <class T>
RoundSum<T>::RoundSum(std::size_t vectors, std::size_t columns, Workers& workers,
                      std::shared_ptr<const Aggregator> aggregator, std::size_t most_held,
                      std::size_t most_bytes)
    : vectors_(vectors),
      columns_(columns),
      most_held_(std::clamp<std::size_t>(most_bytes / std::max<std::size_t>(1, vectors * columns * sizeof(T)),
                                         1, most_held)),
      most_bytes_(most_bytes),
      workers_(workers),
      aggregator_(if_it_holds_updates(std::move(aggregator))) {
  for (std::size_t v = 0; v < vectors; ++v)
    for (std::size_t first = 0; first < columns; first += kSliceColumns)
      slices_.push_back({v, first, ExactMean(std::min(kSliceColumns, columns - first))});
}

template <class T>
void RoundSum<T>::for_each_slice(const std::function<void(Slice& slice)>& work) {
  workers_.for_each(slices_.size(), [&](unsigned, std::size_t i) { work(slices_[i]); });
}

template <class T>
const char* RoundSum<T>::place_in(const std::string& payload, const Slice& slice) const {
  return payload.data() + (slice.vector * columns_ + slice.first) * sizeof(T);
}

template <class T>
typename RoundSum<T>::Measured RoundSum<T>::measure(const std::string& payload,
                                                    const std::vector<NamedVector<T>>& from) {
  assert(payload.size() == vectors_ * columns_ * sizeof(T) && from.size() == vectors_);
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::atomic<std::size_t> bad = kNone;
  squares_.resize(slices_.size());
  for_each_slice([&](Slice& slice) {
    Numbers<T> numbers;
    const auto x = numbers.copy(place_in(payload, slice), slice.sum.size());
    const T* start = from[slice.vector].values.data() + slice.first;
    const double square = square_distance(x, start);
    squares_[static_cast<std::size_t>(&slice - slices_.data())] = square;
    if (std::isfinite(square)) return;
    const auto found = first_not_finite(x);
    if (!found) return;
    const std::size_t place = slice.vector * columns_ + slice.first + *found;
    for (std::size_t seen = bad; place < seen && !bad.compare_exchange_weak(seen, place);) {
    }
  });
  Measured out;
  if (bad != kNone) out.not_finite = bad.load();
  out.moves.resize(vectors_);
  for (std::size_t i = 0; i < slices_.size(); ++i) out.moves[slices_[i].vector] += squares_[i];
  for (double& move : out.moves) move = std::sqrt(move);
  return out;
}

template <class T>
void RoundSum<T>::add(const std::string& node, std::string payload, std::uint64_t weight) {
  assert(payload.size() == vectors_ * columns_ * sizeof(T));
  if (aggregator_) {
    kept_[{node.size(), node}] = {from_payload<T>(payload, vectors_, columns_), weight};
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
    for (const Held& held : held_)
      slice.sum.add(numbers.copy(place_in(held.payload, slice), slice.sum.size()), held.weight);
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
void RoundSum<T>::aggregate(const std::vector<NamedVector<T>>& broadcast, std::vector<Vector<T>>& out) {
  std::vector<NodeUpdate<T>> updates;
  for (auto& [name, kept] : kept_) updates.push_back(std::move(kept));
  kept_.clear();
  aggregate_updates<T>(*aggregator_, updates, broadcast, out, [this](std::size_t n, const auto& work) {
    workers_.for_each(n, [&](unsigned, std::size_t i) { work(i); });
  });
}

template <class T>
void RoundSum<T>::finish(const std::vector<NamedVector<T>>& broadcast, std::vector<Vector<T>>& out) {
  if (aggregator_) return aggregate(broadcast, out);
  add_held();
  out.resize(vectors_);
  for (Vector<T>& vector : out) vector.resize(columns_);
  for_each_slice([&](Slice& slice) {
    slice.sum.mean(std::span<T>(out[slice.vector]).subspan(slice.first, slice.sum.size()));
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
