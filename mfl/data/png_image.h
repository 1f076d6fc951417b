// Decoding PNG (libpng, which is optional).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct RgbImage {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // row by row; red, green, blue of each pixel
};

// At most `most_pixels` pixels. Other bytes than those of a whole PNG are kBadData; kBadConfig if mfl was
// built without libpng. `path` is for the message.
Result<RgbImage> decode_png(std::string_view bytes, std::size_t most_pixels,
                            const std::filesystem::path& path);

}  // namespace mfl
