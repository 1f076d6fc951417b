#include "mfl/data/png_image.h"

namespace mfl {

Result<RgbImage> decode_png(std::string_view, std::size_t, const std::filesystem::path&) {
  return fail(ErrorCode::kBadConfig, "this build of mfl cannot decode PNG images",
              "build it with libpng (Debian: libpng-dev)");
}

}  // namespace mfl
