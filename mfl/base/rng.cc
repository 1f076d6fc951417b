#include "mfl/base/rng.h"

#include <Random123/philox.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "mfl/base/math.h"

namespace mfl {

Stream::Stream(std::uint64_t seed, Purpose purpose, std::uint64_t round, std::uint64_t node,
               std::uint64_t part)
    : seed_(seed), purpose_(static_cast<std::uint64_t>(purpose)), round_(round), node_(node), part_(part) {}

std::uint64_t Stream::next() {
  if (used_ == 4) {
    const r123::Philox4x64::ctr_type counter = {{block_++, round_, node_, part_}};
    const r123::Philox4x64::key_type key = {{seed_, purpose_}};
    const auto drawn = r123::Philox4x64{}(counter, key);
    for (unsigned i = 0; i < 4; ++i) buffer_[i] = drawn[i];
    used_ = 0;
  }
  return buffer_[used_++];
}

double Stream::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::uint64_t Stream::below(std::uint64_t bound) {
  const std::uint64_t excess = (0 - bound) % bound;  // 2^64 mod bound
  std::uint64_t x = next();
  while (x < excess) x = next();
  return x % bound;
}

double Stream::normal() {  // Marsaglia's polar method
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

std::vector<std::uint32_t> permutation(std::size_t n, Stream stream) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

}  // namespace mfl
