#include "tests/fuzz/gzip.h"

#include <zlib.h>

#include "tests/fuzz/fuzz.h"

namespace mfl::fuzz {

std::string gzip(std::string_view bytes) {
  constexpr int kGzipWindow = 9 + 16;  // the smallest, because set-up dominates
  z_stream stream{};
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 1, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib starts");
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib packs");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace mfl::fuzz
