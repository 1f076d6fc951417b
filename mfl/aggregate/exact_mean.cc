#include "mfl/aggregate/exact_mean.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "mfl/base/kernels/kernels.h"

namespace mfl {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr unsigned kDigitBits = 32;
constexpr std::uint64_t kDigitMask = 0xffffffffU;
constexpr int kLowestExponent = -1074;  // of bit 0
constexpr std::size_t kPlaneCount = 70;
constexpr std::size_t kBlock = 256;                          // coordinates that kernels take at a time
constexpr std::size_t kPackedHeader = 2;                     // lowest plane, planes
constexpr std::size_t kPackedBlock = 1024;                   // coordinates whose digits stay in the cache
constexpr std::uint64_t kHeadroom = std::uint64_t{1} << 29;  // additions before a digit must be carried

// Digits below 2^52 times the units of these planes are finite doubles; planes above them are left to exact division.
constexpr std::size_t kFinitePlanes = kMostPlanes;

// The value of a one in each of them.
const std::array<double, kFinitePlanes> kPlaneUnits = [] {
  std::array<double, kFinitePlanes> units{};
  for (std::size_t k = 0; k < kFinitePlanes; ++k)
    units[k] = std::ldexp(1.0, static_cast<int>(kDigitBits * k) + kLowestExponent);
  return units;
}();

// |x| = mantissa * 2^(position + kLowestExponent)
struct Decoded {
  std::uint64_t mantissa;
  unsigned position;
  bool negative;
};

Decoded decode(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<unsigned>(bits >> 52) & 0x7ffU;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  return {exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52, exponent == 0 ? 0 : exponent - 1,
          (bits >> 63) != 0};
}

Decoded decode(float x) {
  constexpr unsigned kLowestFloat = 925;  // 2^-149 is bit 1074 - 149
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const unsigned exponent = (bits >> 23) & 0xffU;
  const std::uint32_t fraction = bits & 0x7fffffU;
  return {exponent == 0 ? fraction : fraction | 0x800000U, kLowestFloat + (exponent == 0 ? 0 : exponent - 1),
          (bits >> 31) != 0};
}

// mantissa (24 or 53 bits) * weight (33) * 2^31 fills this many digits.
template <class T>
constexpr std::size_t kDigitsOf = sizeof(T) == sizeof(float) ? 3 : 4;

// Rounds quotient * 2^(position + kLowestExponent), with `sticky` for anything below, to nearest even.
// The top bit of the quotient is set.
template <class T>
T round_once(std::uint64_t quotient, int position, bool sticky) {
  constexpr int kMantissa = std::numeric_limits<T>::digits;
  constexpr int kLowestBit = std::numeric_limits<T>::min_exponent - kMantissa - kLowestExponent;
  const int drop = std::max(64 - kMantissa, kLowestBit - position);
  if (drop > 64) return 0;
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  const std::uint64_t kept = drop == 64 ? 0 : quotient >> drop;
  const std::uint64_t rest = drop == 64 ? quotient : quotient & ((half << 1) - 1);
  const bool up = rest > half || (rest == half && (sticky || (kept & 1) != 0));
  return static_cast<T>(
      std::ldexp(static_cast<double>(kept + (up ? 1 : 0)), position + drop + kLowestExponent));
}

// One coordinate's signed digits, least significant first; digit 0 is at bit 32 * lowest_plane.
struct Digits {
  std::array<std::int64_t, kPlaneCount> values;
  std::size_t count;
  std::size_t lowest_plane;
};

// The same as sign and magnitude, each digit below 2^32.
struct Magnitude {
  std::array<std::uint64_t, kPlaneCount + 2> values;
  std::size_t count;
  bool negative;
};

Magnitude magnitude_of(const Digits& digits) {
  Magnitude out{};
  out.count = digits.count + 2;
  const auto propagate = [&](std::int64_t sign) {
    std::int64_t carry = 0;
    for (std::size_t k = 0; k < out.count; ++k) {
      const std::int64_t digit = (k < digits.count ? sign * digits.values[k] : 0) + carry;
      out.values[k] = static_cast<std::uint64_t>(digit) & kDigitMask;
      carry = digit >> kDigitBits;
    }
    return carry;
  };
  out.negative = propagate(1) < 0;
  if (out.negative) propagate(-1);
  return out;
}

// Long division in base 2^32.
template <class T>
T divide_exactly(const Digits& digits, std::uint64_t weight) {
  const Magnitude sum = magnitude_of(digits);
  const auto used = std::span(sum.values).first(sum.count);
  if (std::ranges::all_of(used, [](std::uint64_t digit) { return digit == 0; })) return 0;
  const auto digit_at = [&](int k) { return k >= 0 ? sum.values[static_cast<std::size_t>(k)] : 0; };
  int k = static_cast<int>(sum.count);
  Wide quotient = 0;
  std::uint64_t remainder = 0;
  while ((quotient >> 64) == 0) {
    const Wide dividend = (Wide{remainder} << kDigitBits) | digit_at(--k);
    quotient = (quotient << kDigitBits) | static_cast<std::uint64_t>(dividend / weight);
    remainder = static_cast<std::uint64_t>(dividend % weight);
  }
  const int extra = 64 - std::countl_zero(static_cast<std::uint64_t>(quotient >> 64));
  bool sticky = remainder != 0 || (quotient & ((Wide{1} << extra) - 1)) != 0;
  for (int rest = k - 1; rest >= 0 && !sticky; --rest) sticky = digit_at(rest) != 0;
  const int base = static_cast<int>(kDigitBits) * (static_cast<int>(digits.lowest_plane) + k);
  const T magnitude = round_once<T>(static_cast<std::uint64_t>(quotient >> extra), base + extra, sticky);
  return sum.negative ? -magnitude : magnitude;
}

// The plane that holds the bit 2^exponent.
std::size_t plane_of(int exponent) {
  return static_cast<std::size_t>(exponent - kLowestExponent) / kDigitBits;
}

// The exponent of the last bit of numbers of at least this size.
int lowest_bit(float least) {
  using Limits = std::numeric_limits<float>;
  return std::max(std::ilogb(least), Limits::min_exponent - 1) - (Limits::digits - 1);
}

// Whether a kernel may multiply numbers of these sizes.
bool products_are_exact(const Extent<float>&, std::uint64_t weight) {
  return weight < std::uint64_t{1} << 29;
}
bool products_are_exact(const Extent<double>& extent, std::uint64_t) {
  return extent.least >= 0x1p-900 && extent.most <= 0x1p900;
}

}  // namespace

template <class T>
std::optional<std::size_t> first_not_finite(std::span<const T> x) {
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const auto block = x.subspan(first, std::min(kBlock, x.size() - first));
    if (std::isfinite(default_kernel_set().of<T>().extent(block.size(), block.data()).most)) continue;
    const auto bad = std::ranges::find_if(block, [](T v) { return !std::isfinite(v); });
    return first + static_cast<std::size_t>(bad - block.begin());
  }
  return std::nullopt;
}

template std::optional<std::size_t> first_not_finite(std::span<const float>);
template std::optional<std::size_t> first_not_finite(std::span<const double>);

std::int64_t* ExactMean::plane(std::size_t k) {
  if (planes_[k].empty()) planes_[k].assign(size_, 0);
  return planes_[k].data();
}

template <class T>
void ExactMean::add_block(std::span<const T> x, std::size_t first, std::uint64_t weight) {
  const KernelSet& kernels = default_kernel_set();
  const Extent<T> extent = kernels.of<T>().extent(x.size(), x.data());
  if (extent.most == 0) return;
  if (!products_are_exact(extent, weight)) return add_one_by_one(x, first, weight);
  const double most = static_cast<double>(extent.most) * static_cast<double>(weight);
  if constexpr (sizeof(T) == sizeof(float)) {
    const std::size_t top = plane_of(std::ilogb(most)), bottom = plane_of(lowest_bit(extent.least));
    std::array<std::int64_t*, kMostF32Planes> digits;
    for (std::size_t k = top + 1; k-- > bottom;) digits[top - k] = plane(k) + first;
    kernels.digits.add_products(x.size(), x.data(), static_cast<double>(weight), kPlaneUnits[top],
                                top - bottom + 1, digits.data());
  } else {
    std::array<double, kBlock> high, low;
    kernels.digits.products(x.size(), x.data(), static_cast<double>(weight), high.data(), low.data());
    const auto add_digits = [&](std::array<double, kBlock>& rest, double largest) {
      if (largest == 0) return;
      std::size_t k = plane_of(std::ilogb(largest));
      while (kernels.digits.take_digits(x.size(), kPlaneUnits[k], rest.data(), plane(k) + first)) --k;
    };
    add_digits(high, most);
    add_digits(low, kernels.f64.extent(x.size(), low.data()).most);
  }
}

template <class T>
void ExactMean::add_one_by_one(std::span<const T> x, std::size_t first, std::uint64_t weight) {
  for (std::size_t j = 0; j < x.size(); ++j) add_at(first + j, x[j], weight);
}

template <class T>
void ExactMean::add_at(std::size_t place, T x, std::uint64_t weight) {
  const Decoded value = decode(x);
  if (value.mantissa == 0) return;
  const std::size_t k = value.position / kDigitBits;
  const Wide product = (Wide{value.mantissa} * weight) << (value.position % kDigitBits);
  const std::int64_t sign = value.negative ? -1 : 1;
  for (std::size_t i = 0; i < kDigitsOf<T>; ++i) {
    const auto digit =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> (kDigitBits * i)) & kDigitMask);
    if (digit != 0) plane(k + i)[place] += sign * digit;
  }
}

std::optional<std::size_t> ExactMean::add_sparse(std::span<const std::uint32_t> places,
                                                 std::span<const double> x, std::uint64_t weight) {
  assert(places.size() == x.size() && weight > 0 && weight <= kMaxWeight);
  if (const auto bad = first_not_finite(x)) return places[*bad];
  if (additions_ >= kHeadroom) carry();
  for (std::size_t i = 0; i < x.size(); ++i) add_at(places[i], x[i], weight);
  ++additions_;
  total_weight_ += weight;
  return std::nullopt;
}

template <class T>
std::optional<std::size_t> ExactMean::add_any(std::span<const T> x, std::uint64_t weight) {
  assert(x.size() == size_ && weight > 0 && weight <= kMaxWeight);
  if (const auto bad = first_not_finite(x)) return bad;
  if (additions_ >= kHeadroom) carry();
  for (std::size_t first = 0; first < size_; first += kBlock)
    add_block(x.subspan(first, std::min(kBlock, size_ - first)), first, weight);
  ++additions_;
  total_weight_ += weight;
  return std::nullopt;
}

void ExactMean::merge(const ExactMean& other) {
  assert(other.size_ == size_);
  if (additions_ + other.additions_ > kHeadroom) carry();
  for (std::size_t k = 0; k < kPlanes; ++k) {
    if (other.planes_[k].empty()) continue;
    std::int64_t* to = plane(k);
    const std::int64_t* from = other.planes_[k].data();
    for (std::size_t j = 0; j < size_; ++j) to[j] += from[j];
  }
  additions_ += other.additions_;
  total_weight_ += other.total_weight_;
}

// Digits in two's complement: all below 2^32, the top one signed. Plane by plane, so that omitting planes of zeros below
// and of sign bits above leaves one contiguous run of words, directly after the header.
std::span<const std::uint32_t> ExactMean::pack(std::size_t first, std::size_t count,
                                               std::vector<std::uint32_t>& buffer) const {
  assert(count > 0 && first + count <= size_);
  const auto [low, end_of_used] = used_planes();
  const std::size_t planes = end_of_used - low + 1;  // the top one holds the sign
  buffer.resize(std::max(buffer.size(), kPackedHeader + planes * count));
  std::uint32_t* const digits = buffer.data() + kPackedHeader;
  std::array<std::uint32_t, kPlanes + 1> seen{}, beside_sign{};
  std::array<std::int64_t, kPackedBlock> carry;
  for (std::size_t block = 0; block < count; block += kPackedBlock) {
    const std::size_t n = std::min(kPackedBlock, count - block);
    std::fill_n(carry.begin(), n, 0);
    for (std::size_t k = 0; k < planes; ++k) {
      const std::int64_t* from = low + k >= end_of_used || planes_[low + k].empty()
                                     ? nullptr
                                     : planes_[low + k].data() + first + block;
      std::uint32_t* to = digits + k * count + block;
      for (std::size_t j = 0; j < n; ++j) {
        const std::int64_t digit = (from == nullptr ? 0 : from[j]) + carry[j];
        to[j] = static_cast<std::uint32_t>(digit);
        carry[j] = digit >> kDigitBits;
      }
    }
    for (std::size_t k = 0; k < planes; ++k) {
      const std::uint32_t* from = digits + k * count + block;
      for (std::size_t j = 0; j < n; ++j) {
        seen[k] |= from[j];
        beside_sign[k] |= from[j] ^ static_cast<std::uint32_t>(carry[j]);
      }
    }
  }
  std::size_t lowest = 0, end = planes;
  while (lowest < end && seen[lowest] == 0) ++lowest;
  if (lowest == end) lowest = end = 0;
  // The top plane can be dropped if it only repeats the sign of the plane below it.
  while (end > lowest + 1 && beside_sign[end - 1] == 0 && (beside_sign[end - 2] >> 31) == 0) --end;
  std::uint32_t* const words = digits + lowest * count - kPackedHeader;
  words[0] = static_cast<std::uint32_t>(low + lowest);
  words[1] = static_cast<std::uint32_t>(end - lowest);
  return {words, kPackedHeader + (end - lowest) * count};
}

void ExactMean::merge_packed(std::span<const std::uint32_t> words, std::uint64_t weight) {
  const std::size_t low = words.size() < kPackedHeader ? kPlanes : words[0];
  const std::size_t planes = words.size() < kPackedHeader ? kPlanes : words[1];
  if (low + planes > kPlanes || words.size() != kPackedHeader + planes * size_)
    throw std::invalid_argument("packed sums of another shape");
  if (additions_ >= kHeadroom) carry();
  for (std::size_t k = 0; k < planes; ++k) {
    const std::uint32_t* from = words.data() + kPackedHeader + k * size_;
    std::int64_t* to = plane(low + k);
    if (k + 1 < planes)
      for (std::size_t j = 0; j < size_; ++j) to[j] += from[j];
    else
      for (std::size_t j = 0; j < size_; ++j) to[j] += static_cast<std::int32_t>(from[j]);
  }
  ++additions_;
  total_weight_ += weight;
}

std::size_t ExactMean::most_packed_words(std::size_t count) const {
  const auto [low, end] = used_planes();
  return kPackedHeader + (end - low + 1) * count;
}

// Makes every digit at most 2^32 in size. The top digit keeps the sign, so a plane is added only when necessary.
void ExactMean::carry() {
  constexpr std::int64_t kTop = std::int64_t{1} << kDigitBits;
  const auto [low, end] = used_planes();
  for (std::size_t k = low; k < kPlanes; ++k) {
    std::int64_t* from = plane(k);
    if (k + 1 >= end && std::all_of(from, from + size_, [](std::int64_t d) { return d > -kTop && d < kTop; }))
      break;
    std::int64_t* to = plane(k + 1);
    for (std::size_t j = 0; j < size_; ++j) {
      to[j] += from[j] >> kDigitBits;
      from[j] &= static_cast<std::int64_t>(kDigitMask);
    }
  }
  additions_ = 1;
}

ExactMean::PlaneRange ExactMean::used_planes() const {
  std::size_t low = 0, end = kPlanes;
  while (low < end && planes_[low].empty()) ++low;
  while (end > low && planes_[end - 1].empty()) --end;
  return {low, end};
}

template <class T>
void ExactMean::mean_any(std::span<T> out) {
  assert(out.size() == size_ && total_weight_ > 0);
  constexpr std::uint64_t kDigitsStayBelow52Bits = std::uint64_t{1} << 18;
  if (additions_ > kDigitsStayBelow52Bits) carry();
  const auto [low, end] = used_planes();
  const bool quick = total_weight_ < std::uint64_t{1} << 53 && end <= kFinitePlanes;
  std::array<const std::int64_t*, kFinitePlanes> planes;
  std::array<double, kFinitePlanes> units;
  std::size_t count = 0;
  if (quick)
    for (std::size_t k = end; k-- > low;) {
      if (planes_[k].empty()) continue;
      planes[count] = planes_[k].data();
      units[count++] = kPlaneUnits[k];
    }
  Digits digits{{}, end - low, low};
  std::array<std::uint32_t, kBlock> undecided;
  for (std::size_t first = 0; first < size_; first += kBlock) {
    const std::size_t n = std::min(kBlock, size_ - first);
    std::size_t left = n;
    if (quick)
      left = default_kernel_set().of<T>().divide_digits(n, count, planes.data(), units.data(),
                                                        static_cast<double>(total_weight_),
                                                        out.data() + first, undecided.data());
    else
      std::iota(undecided.begin(), undecided.end(), 0U);
    for (std::size_t k = 0; k < count; ++k) planes[k] += n;
    for (const std::uint32_t i : std::span(undecided).first(left)) {
      for (std::size_t k = 0; k < digits.count; ++k)
        digits.values[k] = planes_[low + k].empty() ? 0 : planes_[low + k][first + i];
      out[first + i] = divide_exactly<T>(digits, total_weight_);
    }
  }
}

void ExactMean::clear() {
  for (Plane& plane : planes_) plane.clear();
  total_weight_ = 0;
  additions_ = 0;
}

std::optional<std::size_t> ExactMean::add(std::span<const float> x, std::uint64_t weight) {
  return add_any(x, weight);
}
std::optional<std::size_t> ExactMean::add(std::span<const double> x, std::uint64_t weight) {
  return add_any(x, weight);
}
void ExactMean::mean(std::span<float> out) { mean_any(out); }
void ExactMean::mean(std::span<double> out) { mean_any(out); }

}  // namespace mfl
