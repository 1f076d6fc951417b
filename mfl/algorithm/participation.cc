#include "mfl/algorithm/participation.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "mfl/base/rng.h"

namespace mfl {
namespace {

// Numbers below 2^32 - 1 by open addressing, at most half full.
class NumberSet {
 public:
  explicit NumberSet(std::size_t most) : slots_(std::bit_ceil(2 * most), kFree) {}

  bool insert(std::uint32_t number) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // Fibonacci hashing
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(number * kSpread >> 32U) & mask;
    while (slots_[at] != kFree && slots_[at] != number) at = (at + 1) & mask;
    const bool is_new = slots_[at] == kFree;
    slots_[at] = number;
    return is_new;
  }

 private:
  static constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> slots_;
};

}  // namespace

// Floyd's sampling: for each j of the last k numbers, one of 0..j, or j itself if that one is already taken.
std::vector<std::uint32_t> choose_participants(const Participation& participation, std::uint64_t round,
                                               std::uint64_t attempt, std::size_t nodes) {
  assert(nodes < std::numeric_limits<std::uint32_t>::max());
  const std::size_t count = participant_count(participation, nodes);
  std::vector<std::uint32_t> chosen(count);
  if (count == nodes) {
    std::iota(chosen.begin(), chosen.end(), 0U);
    return chosen;
  }
  Stream stream(participation.seed, Purpose::kChooseNodes, round, attempt);
  NumberSet taken(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t last = nodes - count + i;
    chosen[i] = static_cast<std::uint32_t>(stream.below(last + 1));
    if (taken.insert(chosen[i])) continue;
    chosen[i] = static_cast<std::uint32_t>(last);
    taken.insert(chosen[i]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace mfl
