// The header of an NPY file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct NpyHeader {
  std::string type;  // as written, "<f8" for example
  bool fortran_order = false;
  std::vector<std::size_t> shape;
  std::size_t length = 0;  // bytes before the first number
};

// Reads versions 1.0 and 2.0. `path` is for messages.
Result<NpyHeader> parse_npy_header(std::string_view file, const std::filesystem::path& path);

// A version 1.0 header that ends on a multiple of 64 bytes.
std::string make_npy_header(std::string_view type, const std::vector<std::size_t>& shape);

}  // namespace mfl
