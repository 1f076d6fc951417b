// The safetensors format: u64 little-endian length of a JSON index, the index, and the numbers of all
// tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

// A tensor of a file. The last index runs fastest; a scalar has no sides.
struct StoredTensor {
  std::string name;
  std::string type;  // "F32", "F64", ...
  std::vector<std::size_t> shape;
  std::string_view bytes = {};  // little-endian, within what was parsed
};

// What precedes the numbers of these tensors, which follow each other in this order. Its length is a multiple
// of 8. `about`, if it is not empty, becomes "mfl" of the metadata.
std::string safetensors_head(std::span<const StoredTensor> tensors, std::size_t bytes_per_number,
                             std::string_view about = {});

// Takes any bytes, which outlive the result. Tensors are in the order of the index; they neither overlap nor
// leave gaps. kBadData for anything else. Entries named __metadata__ are ignored.
Result<std::vector<StoredTensor>> parse_safetensors(std::string_view bytes);

}  // namespace mfl
