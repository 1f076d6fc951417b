// Measured limits of one core of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mfl::bench {

// Loops of pure arithmetic; each returns the number of lane operations that it did.
double fused_multiply_adds_f32(std::size_t repeats);
double fused_multiply_adds_f64(std::size_t repeats);

// Bytes from the L1 cache, widened, converted and multiplied into sums: what any kernel on bytes must do with each byte.
double converted_multiply_adds_f32(std::size_t repeats);
double converted_multiply_adds_f64(std::size_t repeats);

// Bytes from the L1 cache, converted once: multiplied into sums, stored as floats in the L1 cache, loaded from there
// and multiplied again: what a kernel must do with each byte that a margin and a gradient need.
double kept_multiply_adds_f32(std::size_t repeats);

// Stores to all of it.
void write_all(std::span<std::uint64_t> words);

// Reads all of it.
std::uint64_t read_all(std::span<const std::uint64_t> words);

}  // namespace mfl::bench
