// The weighted mean of vectors, exact until one final rounding.
//
// sum_i weight_i * x_i is kept per coordinate as a fixed-point integer wide enough for every finite number, so the
// order of additions, the split among workers and processes and the order of merges change nothing. The laws: an empty
// accumulator is neutral, merge is associative and commutative, and adding x to an accumulator equals merging an
// accumulator that holds x. The mean of one vector is that vector; a zero mean is +0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mfl {

// The index of the first value that is infinite or NaN.
template <class T>
std::optional<std::size_t> first_not_finite(std::span<const T> x);

// Not thread-safe: one per worker, merged afterwards. Memory grows with the range of exponents that it meets. clear() forgets the
// values and their range but keeps the memory, so rounds after the first allocate nothing.
class ExactMean {
 public:
  explicit ExactMean(std::size_t size) : size_(size) {}

  // Adds weight * x. Returns the first coordinate that is not finite, in which case nothing was added.
  // x.size() == size(), 0 < weight <= kMaxWeight.
  std::optional<std::size_t> add(std::span<const float> x, std::uint64_t weight);
  std::optional<std::size_t> add(std::span<const double> x, std::uint64_t weight);

  // The same for a vector that is zero but at these places, which differ.
  std::optional<std::size_t> add_sparse(std::span<const std::uint32_t> places, std::span<const double> x,
                                        std::uint64_t weight);

  // other.size() == size()
  void merge(const ExactMean& other);

  // The correctly rounded (to nearest, ties to even) mean. total_weight() > 0. The sum is unchanged.
  void mean(std::span<float> out);
  void mean(std::span<double> out);

  void clear();

  // The sums of the coordinates first .. first + count as words for merge_packed: a header of two words, then only the
  // digits that they need. The result points into `buffer`, whose memory is reused. count > 0.
  std::span<const std::uint32_t> pack(std::size_t first, std::size_t count,
                                      std::vector<std::uint32_t>& buffer) const;
  // Merges the result of another accumulator's pack() of size() coordinates, with a total weight of `weight`. Words of any
  // other shape throw std::invalid_argument.
  void merge_packed(std::span<const std::uint32_t> words, std::uint64_t weight);
  // Upper bound on the length of pack() for `count` coordinates of the current sums.
  std::size_t most_packed_words(std::size_t count) const;

  std::size_t size() const { return size_; }
  std::uint64_t total_weight() const { return total_weight_; }

  static constexpr std::uint64_t kMaxWeight = std::uint64_t{1} << 32;

 private:
  // A coordinate's sum is sum_k plane[k][j] * 2^(32 k - 1074). Unused planes are empty.
  static constexpr std::size_t kPlanes = 70;
  using Plane = std::vector<std::int64_t>;

  template <class T>
  std::optional<std::size_t> add_any(std::span<const T> x, std::uint64_t weight);
  template <class T>
  void add_block(std::span<const T> x, std::size_t first, std::uint64_t weight);
  template <class T>
  void add_one_by_one(std::span<const T> x, std::size_t first, std::uint64_t weight);
  template <class T>
  void add_at(std::size_t place, T x, std::uint64_t weight);
  template <class T>
  void mean_any(std::span<T> out);
  std::int64_t* plane(std::size_t k);
  // first <= k < end; empty if only zeros were added.
  struct PlaneRange {
    std::size_t first, end;
  };
  PlaneRange used_planes() const;
  void carry();

  std::size_t size_;
  std::uint64_t total_weight_ = 0;
  std::uint64_t additions_ = 0;  // since the last carry; a digit grows by no more than 2^33 with each
  std::array<Plane, kPlanes> planes_;
};

}  // namespace mfl
