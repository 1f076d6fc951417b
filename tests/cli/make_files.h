// Small data files, valid and invalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mfl::test {

// IDX of bytes: magic 0x0000_08_dd, big-endian sizes, then `bytes`.
std::string idx(const std::vector<std::uint32_t>& sizes, std::string_view bytes);

std::string gzip(std::string_view bytes);

// Version 1.0; `type` such as "<f4"; `shape` such as "(3, 2)".
std::string npy(std::string_view type, std::string_view shape, std::string_view bytes, bool fortran = false);

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace mfl::test
