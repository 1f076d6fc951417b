#include "mfl/data/png_image.h"

#include <fmt/core.h>
#include <png.h>

#include "mfl/data/text.h"

namespace mfl {

Result<RgbImage> decode_png(std::string_view bytes, std::size_t most_pixels,
                            const std::filesystem::path& path) {
  constexpr const char* kGetAgain = "get the file again";
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  const auto bad = [&] {
    const std::string reason = header.message;
    png_image_free(&header);
    return bad_file(path, fmt::format("not a PNG image: {}", reason), kGetAgain);
  };
  if (png_image_begin_read_from_memory(&header, bytes.data(), bytes.size()) == 0) return bad();
  RgbImage image{header.width, header.height, {}};
  if (image.height > most_pixels / image.width) {
    png_image_free(&header);
    return bad_file(path, fmt::format("{} x {} pixels are too many", image.width, image.height), kGetAgain);
  }
  header.format = PNG_FORMAT_RGB;
  image.pixels.resize(PNG_IMAGE_SIZE(header));
  if (png_image_finish_read(&header, nullptr, image.pixels.data(), 0, nullptr) == 0) return bad();
  return image;
}

}  // namespace mfl
