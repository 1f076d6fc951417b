#include "mfl/federation/payload.h"

#include <bit>
#include <cassert>
#include <cstring>

#include "mfl/codec/codec.h"

namespace mfl {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are little-endian numbers");

template <class T>
void append_values(std::string& out, const Vector<T>& values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

template <class T>
std::string down_payload(const VectorLayout& layout, const State<T>& state) {
  std::string out;
  out.reserve(layout.numbers_down(state.w().size()) * sizeof(T));
  for (const std::size_t v : layout.down())
    append_values(out, state.vectors[layout.place_in_state(v)].values);
  return out;
}

template <class T>
std::string to_payload(const std::vector<Vector<T>>& vectors) {
  std::size_t numbers = 0;
  for (const Vector<T>& vector : vectors) numbers += vector.size();
  std::string out;
  out.reserve(numbers * sizeof(T));
  for (const Vector<T>& vector : vectors) append_values(out, vector);
  return out;
}

template <class T>
void take_numbers(std::string_view& payload, std::span<T> to) {
  assert(payload.size() >= to.size_bytes());
  if (!to.empty()) std::memcpy(to.data(), payload.data(), to.size_bytes());
  payload.remove_prefix(to.size_bytes());
}

template <class T>
std::vector<Vector<T>> from_payload(std::string_view payload, std::span<const std::size_t> lengths) {
  std::vector<Vector<T>> vectors;
  for (const std::size_t length : lengths) take_numbers(payload, std::span<T>(vectors.emplace_back(length)));
  assert(payload.empty());
  return vectors;
}

template <class T>
VectorViews<T> views_of(std::string_view payload, std::span<const SentVector> vectors) {
  assert(reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(T) == 0);
  const T* next = reinterpret_cast<const T*>(payload.data());
  VectorViews<T> views;
  for (const SentVector& vector : vectors) {
    views.emplace_back(next, vector.length);
    next += vector.length;
  }
  return views;
}

std::vector<Block> blocks_of(const VectorLayout& layout, std::span<const std::size_t> vectors,
                             std::size_t parameters, std::string_view encoding) {
  std::vector<Block> blocks;
  for (const std::size_t v : vectors)
    blocks.push_back({layout[v].name, std::string(encoding), layout.length(v, parameters)});
  return blocks;
}

std::vector<std::size_t> task_vectors(const VectorLayout& layout, Work work) {
  if (work == Work::kEvaluate && !layout[0].down) return {0};
  return {layout.down().begin(), layout.down().end()};
}

template <class T>
std::vector<Block> task_blocks(const VectorLayout& layout, std::size_t parameters, Work work) {
  return blocks_of(layout, task_vectors(layout, work), parameters, CodecChain{}.encoding<T>());
}

std::vector<std::size_t> lengths_of(const VectorLayout& layout, std::span<const std::size_t> vectors,
                                    std::size_t parameters) {
  std::vector<std::size_t> lengths;
  for (const std::size_t v : vectors) lengths.push_back(layout.length(v, parameters));
  return lengths;
}

#define MFL_INSTANTIATE(T)                                                            \
  template std::string down_payload(const VectorLayout&, const State<T>&);            \
  template std::string to_payload(const std::vector<Vector<T>>&);                     \
  template std::vector<Block> task_blocks<T>(const VectorLayout&, std::size_t, Work); \
  template void take_numbers(std::string_view&, std::span<T>);                        \
  template VectorViews<T> views_of(std::string_view, std::span<const SentVector>);    \
  template std::vector<Vector<T>> from_payload(std::string_view, std::span<const std::size_t>);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
