#include "mfl/aggregate/centre.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mfl/base/kernels/kernels.h"

namespace mfl {
namespace {

constexpr double kLargeUnit = 0x1p600;

// A slice as doubles.
template <class T>
class Widened {
 public:
  std::span<const double> operator()(std::span<const T> x) {
    if constexpr (sizeof(T) == sizeof(double)) {
      return x;
    } else {
      numbers_.assign(x.begin(), x.end());
      return numbers_;
    }
  }

 private:
  Vector<double> numbers_;
};

void add_difference(std::size_t n, double share, const double* x, const double* v, double* __restrict sum) {
  for (std::size_t j = 0; j < n; ++j) sum[j] += share * (x[j] - v[j]);
}

template <class To>
To finite(double x) {
  constexpr double kMost = std::numeric_limits<To>::max();
  return static_cast<To>(std::clamp(x, -kMost, kMost));
}

}  // namespace

template <class T>
Centre<T>::Centre(std::span<const NodeVectors<T>> updates, const ForEach& run)
    : updates_(updates), run_(run), slices_(slices_of(updates.front())) {
  for (const auto& vector : updates.front().vectors) v_.emplace_back(vector.size());
}

template <class T>
void Centre<T>::start_at_mean() {
  exact_mean(updates_, all_of(updates_.size()), false, v_, run_);
}

template <class T>
void Centre<T>::start_at(const NodeVectors<T>& vectors) {
  for (std::size_t v = 0; v < v_.size(); ++v)
    v_[v].assign(vectors.vectors[v].begin(), vectors.vectors[v].end());
}

// Of the differences times `scale`, by update.
template <class T>
std::vector<double> Centre<T>::squares(double scale) const {
  const std::size_t n = updates_.size();
  const auto squared_distance = default_kernel_set().f64.squared_distance;
  std::vector<double> partial(slices_.size() * n);
  run_(slices_.size(), [&](std::size_t s) {
    const Slice& slice = slices_[s];
    const auto times_scale = [&](std::span<const double> x, Vector<double>& memory) {
      if (scale == 1) return x.data();
      memory.resize(x.size());
      std::ranges::transform(x, memory.begin(), [&](double number) { return number * scale; });
      return static_cast<const double*>(memory.data());
    };
    Vector<double> memory_v, memory_x;
    const double* v =
        times_scale(std::span<const double>(v_[slice.vector]).subspan(slice.first, slice.count), memory_v);
    Widened<T> widened;
    for (std::size_t i = 0; i < n; ++i)
      partial[s * n + i] =
          squared_distance(slice.count, times_scale(widened(slice_of(updates_[i], slice)), memory_x), v);
  });
  std::vector<double> total(n);
  for (std::size_t s = 0; s < slices_.size(); ++s)
    for (std::size_t i = 0; i < n; ++i) total[i] += partial[s * n + i];
  return total;
}

template <class T>
typename Centre<T>::Distances Centre<T>::distances() const {
  Distances out{squares(1), 1};
  const bool too_large = std::ranges::any_of(out.values, [](double square) { return std::isinf(square); });
  std::vector<double> scaled;
  if (too_large) {
    out.unit = kLargeUnit;
    scaled = squares(1 / kLargeUnit);
  }
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    double& value = out.values[i];
    value = std::isinf(value) ? std::sqrt(scaled[i]) : std::sqrt(value) / out.unit;
  }
  return out;
}

template <class T>
void Centre<T>::move(std::span<const double> shares) {
  double left = 1;
  for (const double share : shares) left -= share;
  run_(slices_.size(), [&](std::size_t s) {
    const Slice& slice = slices_[s];
    const auto v = slice_of(v_, slice);
    Vector<double> step(slice.count);
    Widened<T> widened;
    for (std::size_t i = 0; i < updates_.size(); ++i)
      add_difference(v.size(), shares[i], widened(slice_of(updates_[i], slice)).data(), v.data(),
                     step.data());
    for (std::size_t j = 0; j < v.size(); ++j) {
      if (std::isfinite(step[j])) {
        v[j] = finite<double>(v[j] + step[j]);
        continue;
      }
      // A difference of huge numbers is too large for f64, their mean is not.
      double sum = std::max(0.0, left) * v[j];
      for (std::size_t i = 0; i < updates_.size(); ++i)
        sum += shares[i] * static_cast<double>(slice_of(updates_[i], slice)[j]);
      v[j] = finite<double>(sum);
    }
  });
}

template <class T>
void Centre<T>::write(std::vector<Vector<T>>& out) const {
  run_(slices_.size(), [&](std::size_t s) {
    const auto to = slice_of(out, slices_[s]);
    const double* from = v_[slices_[s].vector].data() + slices_[s].first;
    for (std::size_t j = 0; j < to.size(); ++j) to[j] = finite<T>(from[j]);
  });
}

template class Centre<float>;
template class Centre<double>;

}  // namespace mfl
