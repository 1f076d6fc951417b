#include "mfl/data/idx.h"

#include <fmt/core.h>

#include <limits>
#include <string>
#include <string_view>

#include "mfl/data/gzip.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kUnsignedByte = 8;
constexpr std::size_t kLongestHeader = 4 + 4 * 255;
constexpr const char* kGetAgain = "get the file again";

struct Header {
  std::size_t length = 0;  // of the header itself
  std::size_t rows = 0;
  std::size_t columns = 1;  // product of the other dimensions
  std::size_t file_length() const { return length + rows * columns; }
};

std::size_t big_endian(std::string_view bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Result<Header> parse_header(std::string_view bytes, bool images, const fs::path& path) {
  if (bytes.empty()) return bad_file(path, "the file is empty", kGetAgain);
  if (bytes.size() < 4)
    return bad_file(path, fmt::format("truncated in the magic number at byte {}", bytes.size()), kGetAgain);
  const std::size_t magic = big_endian(bytes, 0);
  const std::size_t type = magic >> 8;
  const std::size_t rank = magic & 255;
  if (type != kUnsignedByte || (images ? rank < 2 : rank != 1))
    return bad_file(path,
                    fmt::format("bad magic 0x{:08x} at byte 0, expected {}", magic,
                                images ? "0x00000803 (unsigned bytes, rank 2 or more)"
                                       : "0x00000801 (unsigned bytes, rank 1)"),
                    "this is no IDX file of that kind; were images and labels swapped?");
  Header header{.length = 4 + 4 * rank};
  if (bytes.size() < header.length)
    return bad_file(path, fmt::format("truncated in the header at byte {}", bytes.size()), kGetAgain);
  header.rows = big_endian(bytes, 4);
  for (std::size_t i = 1; i < rank; ++i) {
    const std::size_t extent = big_endian(bytes, 4 + 4 * i);
    if (extent != 0 && header.columns > std::numeric_limits<std::uint32_t>::max() / extent)
      return bad_file(path,
                      fmt::format("impossible size {} of dimension {} at byte {}", extent, i, 4 + 4 * i),
                      kGetAgain);
    header.columns *= extent;
  }
  if (header.rows == 0 || header.columns == 0)
    return bad_file(path, "holds no samples (a size in the header is 0)", kGetAgain);
  return header;
}

struct Array {
  Header header;
  std::string bytes;  // header included
};

Result<Array> read_array(const fs::path& path, bool images) {
  MFL_TRY(std::string file, read_data_file(path));
  const bool packed = is_gzip(file);
  std::string start;
  if (packed) {
    MFL_TRY(start, gunzip(file, kLongestHeader, path));
  }
  MFL_TRY(const Header header, parse_header(packed ? start : file, images, path));
  const std::size_t expected = header.file_length();
  const auto truncated = [&](std::string_view at_most, std::size_t found) {
    return bad_file(path,
                    fmt::format("truncated: the header promises {} bytes, the {} ends at {}byte {}", expected,
                                packed ? "unpacked file" : "file", at_most, found),
                    kGetAgain);
  };
  if (packed && expected / kGzipMostRatio > file.size())
    return truncated("most at ", file.size() * kGzipMostRatio);
  if (packed) {
    MFL_TRY(file, gunzip(file, expected, path));
  }
  if (file.size() < expected) return truncated("", file.size());
  if (file.size() > expected)
    return bad_file(path,
                    fmt::format("over-long: the header promises {} bytes, but data goes on from byte {}",
                                expected, expected),
                    kGetAgain);
  return Array{header, std::move(file)};
}

}  // namespace

Result<Dataset> read_idx(const fs::path& images, const fs::path& labels) {
  MFL_TRY(const Array x, read_array(images, true));
  MFL_TRY(const Array y, read_array(labels, false));
  if (x.header.rows != y.header.rows)
    return bad_file(
        labels,
        fmt::format("{} labels, but {} holds {} images", y.header.rows, images.string(), x.header.rows),
        "images and labels must come from the same set");
  const auto body = [](const Array& array) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(array.bytes.data());
    return std::span(bytes + array.header.length, bytes + array.bytes.size());
  };
  Dataset data{
      .rows = x.header.rows, .columns = x.header.columns, .scale = 1.0 / 255, .features = {}, .labels = {}};
  const auto pixels = body(x);
  data.features = DenseRows<std::uint8_t>{{pixels.begin(), pixels.end()}};
  const auto classes = body(y);
  data.labels.assign(classes.begin(), classes.end());
  return data;
}

}  // namespace mfl
