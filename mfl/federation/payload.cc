#include "mfl/federation/payload.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace mfl {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are little-endian numbers");

template <class T>
void put(std::string& out, const Vector<T>& values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

template <class T>
std::string to_payload(const std::vector<NamedVector<T>>& vectors) {
  std::string out;
  if (!vectors.empty()) out.reserve(vectors.size() * vectors.front().values.size() * sizeof(T));
  for (const NamedVector<T>& vector : vectors) put(out, vector.values);
  return out;
}

template <class T>
std::string to_payload(const std::vector<Vector<T>>& vectors) {
  std::string out;
  if (!vectors.empty()) out.reserve(vectors.size() * vectors.front().size() * sizeof(T));
  for (const Vector<T>& vector : vectors) put(out, vector);
  return out;
}

template <class T>
std::vector<Vector<T>> from_payload(std::string_view payload, std::size_t count, std::size_t columns) {
  assert(payload.size() == count * columns * sizeof(T));
  std::vector<Vector<T>> vectors(count, Vector<T>(columns));
  for (Vector<T>& vector : vectors) {
    if (columns != 0) std::memcpy(vector.data(), payload.data(), columns * sizeof(T));
    payload.remove_prefix(columns * sizeof(T));
  }
  return vectors;
}

#define MFL_INSTANTIATE(T)                                             \
  template std::string to_payload(const std::vector<NamedVector<T>>&); \
  template std::string to_payload(const std::vector<Vector<T>>&);      \
  template std::vector<Vector<T>> from_payload(std::string_view, std::size_t, std::size_t);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
