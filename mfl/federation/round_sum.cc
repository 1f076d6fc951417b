#include "mfl/federation/round_sum.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <span>
#include <utility>

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
RoundSum<T>::RoundSum(std::size_t vectors, std::size_t columns, Workers& workers, std::size_t most_held,
                      std::size_t most_bytes)
    : vectors_(vectors),
      columns_(columns),
      most_held_(std::clamp<std::size_t>(most_bytes / std::max<std::size_t>(1, vectors * columns * sizeof(T)),
                                         1, most_held)),
      most_bytes_(most_bytes),
      workers_(workers) {
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
std::optional<std::size_t> RoundSum<T>::add(std::string payload, std::uint64_t weight) {
  assert(payload.size() == vectors_ * columns_ * sizeof(T));
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::atomic<std::size_t> bad = kNone;
  for_each_slice([&](Slice& slice) {
    Numbers<T> numbers;
    const auto x = numbers.copy(place_in(payload, slice), slice.sum.size());
    const auto found = first_not_finite(x);
    if (!found) return;
    const std::size_t place = slice.vector * columns_ + slice.first + *found;
    for (std::size_t seen = bad; place < seen && !bad.compare_exchange_weak(seen, place);) {
    }
  });
  if (bad != kNone) return bad.load();
  held_.push_back({std::move(payload), weight});
  if (held_.size() >= most_held_) add_held();
  return std::nullopt;
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
    if (rooms_.size() < 2 * most_held_ && (rooms_.size() + 1) * held.payload.size() <= most_bytes_)
      rooms_.push_back(std::move(held.payload));
  held_.clear();
}

template <class T>
std::string RoundSum<T>::room() {
  if (rooms_.empty()) return {};
  std::string room = std::move(rooms_.back());
  rooms_.pop_back();
  room.clear();
  return room;
}

template <class T>
void RoundSum<T>::mean(std::vector<Vector<T>>& out) {
  add_held();
  out.resize(vectors_);
  for (Vector<T>& vector : out) vector.resize(columns_);
  for_each_slice([&](Slice& slice) {
    slice.sum.mean(std::span<T>(out[slice.vector]).subspan(slice.first, slice.sum.size()));
  });
}

template <class T>
void RoundSum<T>::clear() {
  drop_held();
  fresh_ = true;
}

template class RoundSum<float>;
template class RoundSum<double>;

}  // namespace mfl
