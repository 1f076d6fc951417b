// Numbers as integers of their bits, so that +0 differs from -0 and a NaN equals itself.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace mfl::test {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <std::floating_point T>
Bits<T> bits(T x) {
  return std::bit_cast<Bits<T>>(x);
}

template <std::floating_point T>
std::vector<Bits<T>> bits(std::span<const T> x) {
  std::vector<Bits<T>> out;
  for (const T value : x) out.push_back(bits(value));
  return out;
}

}  // namespace mfl::test
