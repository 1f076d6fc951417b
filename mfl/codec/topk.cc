// The k = max(1, ceil(fraction n)) largest changes of a vector of n numbers by magnitude, NaN being the
// largest and ties going to the lower index: their indices, ascending, in ceil(log2 n) bits each, the lowest
// bit first, padded with zero bits to a byte; their values are handed on. What is not sent is the residual.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "mfl/codec/built_in.h"

namespace mfl {
namespace {

unsigned index_bits(std::size_t n) { return n < 2 ? 0 : static_cast<unsigned>(std::bit_width(n - 1)); }

std::size_t index_bytes(std::size_t k, std::size_t n) { return (k * index_bits(n) + 7) / 8; }

// Appends the indices, `bits` bits each.
void pack(std::span<const std::size_t> indices, unsigned bits, std::string& bytes) {
  std::uint64_t held = 0;
  unsigned used = 0;
  for (const std::size_t index : indices) {
    for (unsigned bit = 0; bit < bits; ++bit) {
      held |= static_cast<std::uint64_t>(index >> bit & 1U) << used;
      if (++used < 8) continue;
      bytes += static_cast<char>(held);
      held = used = 0;
    }
  }
  if (used > 0) bytes += static_cast<char>(held);
}

std::size_t unpack(std::string_view bytes, std::size_t place, unsigned bits) {
  std::size_t index = 0;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const std::size_t at = place * bits + bit;
    index |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[at / 8]) >> at % 8 & 1U) << bit;
  }
  return index;
}

template <class T>
std::vector<std::size_t> largest(std::span<const T> changes, std::size_t k) {
  const auto size = [&](std::size_t i) {
    return std::isnan(changes[i]) ? std::numeric_limits<T>::infinity() : std::abs(changes[i]);
  };
  std::vector<std::size_t> indices(changes.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  const auto cut = indices.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(indices.begin(), cut, indices.end(), [&](std::size_t a, std::size_t b) {
    return size(a) > size(b) || (size(a) == size(b) && a < b);
  });
  indices.resize(k);
  std::ranges::sort(indices);
  return indices;
}

class Topk final : public CodecOf<Topk> {
 public:
  Topk(std::string spec, double fraction) : CodecOf(std::move(spec)), fraction_(fraction) {}

  std::string_view encoding() const override { return "topk"; }
  bool keeps_residuals() const override { return true; }
  std::size_t most_bytes(std::size_t numbers) const override {
    return index_bytes(most_handed_on(numbers), numbers);
  }
  std::size_t most_handed_on(std::size_t numbers) const override {
    const double share = std::ceil(fraction_ * static_cast<double>(numbers));
    return std::min(numbers, std::max(std::size_t{1}, static_cast<std::size_t>(share)));
  }

  template <class T>
  void write(std::span<const T> changes, Stream& /*stream*/, std::string& bytes, Vector<T>& handed_on) const {
    const std::vector<std::size_t> indices = largest(changes, most_handed_on(changes.size()));
    pack(indices, index_bits(changes.size()), bytes);
    for (const std::size_t i : indices) handed_on.push_back(changes[i]);
  }

  template <class T>
  Result<void> read(std::string_view& bytes, const HandedOn<T>& handed_on, std::span<T> changes) const {
    const std::size_t n = changes.size(), k = most_handed_on(n);
    MFL_TRY(const std::string_view mine, take_bytes(bytes, index_bytes(k, n)));
    std::vector<std::size_t> indices(k);
    for (std::size_t i = 0; i < k; ++i) {
      indices[i] = unpack(mine, i, index_bits(n));
      if (indices[i] >= n || (i > 0 && indices[i] <= indices[i - 1])) return bad_index(indices, i, n);
    }
    if (const std::size_t used = k * index_bits(n) % 8;
        used != 0 && static_cast<unsigned char>(mine.back()) >> used != 0)
      return fail(ErrorCode::kBadData, "bits behind the last index are not zero");
    Vector<T> values(k);
    MFL_CHECK(handed_on(values));
    std::ranges::fill(changes, T{0});
    for (std::size_t i = 0; i < k; ++i) changes[indices[i]] = values[i];
    return {};
  }

 private:
  static tl::unexpected<Error> bad_index(std::span<const std::size_t> indices, std::size_t i, std::size_t n) {
    return fail(ErrorCode::kBadData, indices[i] >= n
                                         ? fmt::format("index {} of a vector of {} numbers", indices[i], n)
                                         : fmt::format("index {} follows {}", indices[i], indices[i - 1]));
  }

  double fraction_;
};

}  // namespace

std::unique_ptr<const Codec> make_topk(std::string spec, double fraction) {
  return std::make_unique<Topk>(std::move(spec), fraction);
}

}  // namespace mfl
