// Vectors as one string of little-endian numbers, one after the other, as they are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/accumulator.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/federation/messages.h"

namespace mfl {

// Those of the State that nodes get.
template <class T>
std::string down_payload(const VectorLayout& layout, const State<T>& state);
// Those that the server gets, or any others.
template <class T>
std::string to_payload(const std::vector<Vector<T>>& vectors);

// Moves numbers from the front of the payload, which has them, into `to`.
template <class T>
void take_numbers(std::string_view& payload, std::span<T> to);

// Vectors of these lengths, whose sum is payload.size() / sizeof(T).
template <class T>
std::vector<Vector<T>> from_payload(std::string_view payload, std::span<const std::size_t> lengths);

// The same without a copy. The payload outlives the views; it starts where a T can, as the bytes of a std::string do.
template <class T>
VectorViews<T> views_of(std::string_view payload, std::span<const SentVector> vectors);

// The blocks of a payload with some of the layout's vectors, for example layout.up(), in this encoding.
std::vector<Block> blocks_of(const VectorLayout& layout, std::span<const std::size_t> vectors,
                             std::size_t parameters, std::string_view encoding);

// The blocks of a task: what is sent down; for kEvaluate w, which is sent down then in any case.
template <class T>
std::vector<Block> task_blocks(const VectorLayout& layout, std::size_t parameters, Work work);
// The vectors of the same.
std::vector<std::size_t> task_vectors(const VectorLayout& layout, Work work);

// Of some of the layout's vectors.
std::vector<std::size_t> lengths_of(const VectorLayout& layout, std::span<const std::size_t> vectors,
                                    std::size_t parameters);

}  // namespace mfl
